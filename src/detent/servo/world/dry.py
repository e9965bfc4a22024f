"""Dry friction in joints and tendons (MuJoCo's ``frictionloss``), and D + T·C with it."""

from __future__ import annotations

import math

from detent.kernels.constants import MOST_DAMPING, MOST_STIFFNESS
from detent.kernels.inertia import Inertia, factor_block, whiten_open_rows
from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector, copy_vector, dot
from detent.servo.constants import STANDING, STOPPING
from detent.servo.structs import DRY_JOINTS, DRY_TENDONS, IMPLICIT, JOINT_DAMPING, Motion, Scene
from detent.servo.world.axes import add_tendon_row
from detent.world.bridge import mjd_smooth_vel


@kernel
def rub_joint(sc: Scene, mo: Motion, j: int, step: float) -> float:
    r"""The torque of dry friction on a joint; returns what it adds to C.

    A bond stretches by z up to z₀ and pulls with f z/z₀; at z₀ the joint slips, with f against
    the motion. Both are implicit, so that no friction is too much for a light joint:

    .. math:: (D + T^2 K + T c)\,\ddot q = \dots - K (z + T \dot q) - c \dot q
              \quad\text{or}\quad (D + T f/|\dot q|)\,\ddot q = \dots - f \operatorname{sgn} \dot q

    with K = f/z₀ and c critical, but never so large that friction exceeds f. A joint that slips so
    fast that friction cannot stop it within a few steps needs no implicit part.
    """
    most, reach, v = sc.dry[j], sc.dry_reach[j], sc.qvel[j]
    z = min(max(mo.bond[j] + step * v, -reach), reach)
    mo.bond[j] = z
    stretch = z + step * v
    if abs(stretch) >= reach and z * v > 0.0:
        mo.bond[j] = math.copysign(reach, v)
        sc.passive[j] -= math.copysign(most, v)
        slow = abs(v) < STOPPING * step * most * mo.inertia.diaginv[j]
        return most / max(abs(v), STANDING) if slow else 0.0
    stiffness = most / reach
    inertia = sc.M[mo.inertia.rowadr[j] + mo.inertia.rownnz[j] - 1]
    damping = 2.0 * math.sqrt(stiffness * inertia)
    left = max(most - stiffness * abs(stretch), 0.0)
    if damping * abs(v) > left:
        damping = left / max(abs(v), STANDING)
    sc.passive[j] -= stiffness * stretch + damping * v
    return damping + step * stiffness


@kernel
def rub_joints(sc: Scene, mo: Motion, step: float) -> None:
    """mo.dry_damping ← what dry friction adds to the diagonal of C."""
    for j in range(sc.nv):
        if sc.tree_awake[sc.dof_tree[j]] != 0:
            mo.dry_damping[j] = rub_joint(sc, mo, j, step) if sc.dry[j] > 0.0 else 0.0


@kernel
def rub_tendons(sc: Scene, mo: Motion, step: float) -> None:
    """The torques of dry friction along tendons, by bonds as stiff as the step can hold."""
    row = mo.rank_one
    for i in range(sc.tendon_dry.shape[0]):
        most = sc.tendon_dry[i]
        tree = sc.tendon_trees[i, 0]
        if most == 0.0 or tree < 0 or sc.tree_awake[tree] == 0:
            continue
        clear_vector(row[0])
        add_tendon_row(sc, i, 1.0, 0, row[0])
        copy_vector(row[0], row[1])
        whiten_open_rows(mo.inertia, 1, row[1:2])
        mobility = dot(row[1], row[1], sc.nv)
        if mobility == 0.0:
            continue
        stiffness = MOST_STIFFNESS / (mobility * step * step)
        reach = most / stiffness
        v = sc.tendon_velocity[i]
        z = min(max(mo.bond[sc.nv + i] + step * v, -reach), reach)
        mo.bond[sc.nv + i] = z
        pull = stiffness * z + MOST_DAMPING / (mobility * step) * v
        pull = min(max(pull, -most), most)
        for j in range(sc.nv):
            sc.passive[j] -= pull * row[0, j]


@kernel
def copy_factor(source: Inertia, out: Inertia, first: int, end: int) -> None:
    """The factor of some dofs, those of a whole tree, for another inertia that is the same."""
    for k in range(first, end):
        out.diaginv[k], out.root[k] = source.diaginv[k], source.root[k]
    for a in range(source.rowadr[first], source.rowadr[end - 1] + source.rownnz[end - 1]):
        out.LD[a] = source.LD[a]


@kernel
def damp_tree(sc: Scene, mo: Motion, first: int, end: int, step: float) -> None:
    """D + T·C in the dofs of a tree, factored."""
    rowadr, rownnz, features = mo.inertia.rowadr, mo.inertia.rownnz, sc.features
    for a in range(rowadr[first], rowadr[end - 1] + rownnz[end - 1]):
        mo.M[a] = sc.M[a]
        if features[IMPLICIT] != 0:
            mo.M[a] -= step * sc.derivative[sc.derivative_place[a]]
    for i in range(first, end):
        diagonal = rowadr[i] + rownnz[i] - 1
        if features[IMPLICIT] == 0:
            mo.M[diagonal] += step * sc.dof_damping[i]
        if features[DRY_JOINTS] != 0:
            mo.M[diagonal] += step * mo.dry_damping[i]
    if not factor_block(mo.M, mo.damped, first, end):  # a servo that drives: leave it explicit
        for a in range(rowadr[first], rowadr[end - 1] + rownnz[end - 1]):
            mo.M[a] = sc.M[a]
        factor_block(mo.M, mo.damped, first, end)


@kernel
def update_damped(sc: Scene, mo: Motion, step: float) -> None:
    """D + T·C of the present state, factored: C is what damping, servos and fluids do.

    Where more than the joints' own damping depends on the velocity, C is MuJoCo's derivative,
    symmetric, as in its integrator ``implicitfast``. Trees that sleep keep theirs.
    """
    if sc.features[IMPLICIT] != 0:
        mjd_smooth_vel(sc.model, sc.data, 0)
    for t in range(sc.tree_dofs.shape[0]):
        if sc.tree_awake[t] == 0:
            continue
        first, end = sc.tree_dofs[t, 0], sc.tree_dofs[t, 0] + sc.tree_dofs[t, 1]
        if sc.features[JOINT_DAMPING] == 0:
            copy_factor(mo.inertia, mo.damped, first, end)
        else:
            damp_tree(sc, mo, first, end, step)


@kernel
def damp(sc: Scene, mo: Motion, step: float, fresh: bool) -> None:
    """Dry friction of this tick, and the damped inertia where it is due."""
    dry = sc.features[DRY_JOINTS] != 0
    if dry:
        rub_joints(sc, mo, step)
    if fresh or dry:
        update_damped(sc, mo, step)
    if sc.features[DRY_TENDONS] != 0:
        rub_tendons(sc, mo, step)
