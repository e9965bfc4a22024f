"""What the simulation does about the limits of the device (TH 4.5.2, M8)."""

from __future__ import annotations

import numpy as np

from detent.kernels.contact import group_root
from detent.kernels.inertia import kinetic_energy
from detent.kernels.jit import kernel
from detent.kernels.vectors import copy_vector
from detent.servo.contact.groups import row_group
from detent.servo.hand.reach import map_to_hand
from detent.servo.parameters import SPREAD
from detent.servo.structs import COLLIDING, Motion, Rows, Scene, Servo


@kernel
def share_within(other: np.ndarray, part: np.ndarray, limit: np.ndarray) -> float:
    r"""The largest a in [0, 1] for which other + a·part stays within the limits.

    Uniform: the direction of the part is kept, and with it passivity (errata E8).
    """
    share = 1.0
    for i in range(6):
        total = other[i] + share * part[i]
        if abs(total) > limit[i] and part[i] != 0.0:
            room = (limit[i] if total > 0.0 else -limit[i]) - other[i]
            share = min(share, max(room / part[i], 0.0))
    return share


@kernel
def tool_part(sc: Scene, mo: Motion, impulses_only: int) -> None:
    """mo.scratch ← the contact torques on the tool that are to be limited."""
    for j in range(sc.nv):
        mo.scratch[j] = 0.0
        if sc.in_tool[sc.dof_tree[j]] != 0:
            mo.scratch[j] = mo.impulsive[j]
            if impulses_only == 0:
                mo.scratch[j] += mo.penalty[j]


@kernel
def scale_group(sc: Scene, mo: Motion, rows: Rows, share: float, impulses_only: int) -> None:
    """Scale what contacts do to all bodies of the tool's group: action is still reaction."""
    root = group_root(rows.parent, sc.tool_tree)
    for j in range(sc.nv):
        if group_root(rows.parent, sc.dof_tree[j]) != root:
            continue
        mo.impulsive[j] *= share
        mo.velocity[j] = sc.qvel[j] + share * (mo.velocity[j] - sc.qvel[j])
        if impulses_only == 0:
            mo.penalty[j] *= share
    for r in range(rows.count[0]):
        struck = rows.group_state[root] == COLLIDING
        if row_group(rows, r) == root and (struck or impulses_only == 0):
            rows.force[r] *= share
            for k in range(3):
                rows.rub[r, k] *= share


@kernel
def limit(s: Servo) -> None:
    r"""Stage: scale the contact response so that the device can render it.

    .. math:: F_{env} = F_{other} + a F_{contact}, \quad |F_{env,i}| \le F_{lim,i}

    Tool and device then receive the same. By default all contact forces are limited, in
    every state; limiting impulses only lets the penalty spring give back energy that
    nobody put in (errata E9). ``spread`` stays in the colliding state until nothing had to
    be cut.
    """
    sc, mo, rows, de, p = s.scene, s.motion, s.rows, s.device, s.parameters
    impulses_only = p["collisions_only"][0]
    tool_part(sc, mo, impulses_only)
    part, other = mo.part, mo.other
    map_to_hand(sc, mo, de, mo.scratch, part)
    for i in range(6):
        other[i] = 0.0 if impulses_only != 0 else de.environment[i] - part[i]
    share = share_within(other, part, p["limit"][0])
    rows.spreading[0] = int(share < 1.0 and rows.struck[0] > 0 and p["strategy"][0] == SPREAD)
    if share == 1.0:
        return
    scale_group(sc, mo, rows, share, impulses_only)
    for i in range(6):
        de.environment[i] += (share - 1.0) * part[i]
    copy_vector(de.environment, de.felt)
    if rows.struck[0] > 0:
        rows.impact[0] = kinetic_energy(sc.M, mo.inertia, mo.velocity)
        rows.impact[0] -= kinetic_energy(sc.M, mo.inertia, sc.qvel)
