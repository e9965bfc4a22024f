"""The joints of a linkage at the hand: rank and topological constraints (TH 5.4, M20)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.inertia import add_momentum
from detent.kernels.jit import kernel
from detent.kernels.linalg import cholesky_solve
from detent.kernels.loops import closure_multipliers
from detent.kernels.mapping import map_torques
from detent.kernels.rank import trust_mobility, weigh, weighted_trace
from detent.kernels.topology import tied_directions, topology_wrench
from detent.kernels.vectors import Triple, clear_vector, cross, inner, largest, plus
from detent.servo.constants import MOST_APART
from detent.servo.hand.constants import CALM, LOCKED, SLACK_LEFT, TENSE, TWISTED
from detent.servo.hand.follow import respond_to_hand
from detent.servo.hand.point import add_hand_torque, update_free_mobility, update_mobility
from detent.servo.structs import Closures, Device, Motion, Scene, Servo
from detent.servo.world.close import COUPLED, coupled_motion, find_places
from detent.servo.world.sense import is_fresh


@kernel
def packed(source: np.ndarray, de: Device, out: np.ndarray) -> np.ndarray:
    """The part of a 6 × 6 matrix within the device's subspace, in out if it is not all of it."""
    n = de.dimension[0]
    if n == 6:
        return source
    for i in range(n):
        for k in range(n):
            out[i, k] = source[de.axes[i], de.axes[k]]
    return out


@kernel
def weigh_free(s: Servo) -> None:
    """Stage: Λ_h⁻¹ of a free body, which no mapping needs."""
    update_free_mobility(s.scene, s.motion)
    s.motion.rank[0] = 6


@kernel
def weigh_rigid(s: Servo) -> None:
    """Stage: Λ_h⁻¹ in the device's subspace, of a tool that moves in all of it in every pose."""
    mo, de = s.motion, s.device
    update_mobility(s.scene, mo)
    trust_mobility(packed(mo.mobility, de, mo.inside[0]), de.dimension[0], mo.mapping)
    mo.rank[0] = de.dimension[0]


@kernel
def weigh_linkage(s: Servo) -> None:
    """Stage: the same of any tool, with its rank, and what its joints do to the hand."""
    mo, de, p = s.motion, s.device, s.parameters
    n = de.dimension[0]
    update_mobility(s.scene, mo)
    if is_fresh(s):
        update_link_inertia(s.scene, mo)
        if mo.inertia.closed[0] > 0:
            link, apart = packed(mo.link, de, mo.inside[1]), packed(mo.open, de, mo.inside[0])
            part = LOCKED if p["topology_ease"][0] >= 1.0 else 1.0
            mo.mapping.floor[0] = part * weighted_trace(apart, link, n) / n
        mobility, link = packed(mo.mobility, de, mo.inside[0]), packed(mo.link, de, mo.inside[1])
        enter, leave = p["singular"][0, 0], p["singular"][0, 1]
        mo.rank[0] = weigh(mobility, link, n, enter, leave, mo.rank[0], mo.mapping)
    mo.rank[1] = n - max(mo.rank[0], 0)
    hold_topology(s.scene, mo, de, s.closures, p)


@kernel
def update_link_inertia(sc: Scene, mo: Motion) -> None:
    """M_hl: the inertia of the held link alone, at the hand point, in world axes."""
    body, out = sc.held_body, mo.link
    mass = sc.body_mass[body]
    c0 = sc.xipos[body, 0] - mo.point[0]
    c1 = sc.xipos[body, 1] - mo.point[1]
    c2 = sc.xipos[body, 2] - mo.point[2]
    square = c0 * c0 + c1 * c1 + c2 * c2
    for i in range(3):
        ci = sc.xipos[body, i] - mo.point[i]
        for k in range(3):
            ck = sc.xipos[body, k] - mo.point[k]
            out[i, k] = mass if i == k else 0.0
            turn = mass * ((square if i == k else 0.0) - ci * ck)
            for a in range(3):
                turn += (
                    sc.ximat[body, 3 * i + a]
                    * sc.body_inertia[body, a]
                    * (sc.ximat[body, 3 * k + a])
                )
            out[3 + i, 3 + k] = turn
            out[i, 3 + k] = 0.0
    # v_com = v + ω × c: the coupling is −m [c]×
    out[0, 4], out[0, 5] = mass * c2, -mass * c1
    out[1, 3], out[1, 5] = -mass * c2, mass * c0
    out[2, 3], out[2, 4] = mass * c1, -mass * c0
    for i in range(3):
        for k in range(3):
            out[3 + k, i] = out[i, 3 + k]


@kernel
def still_tied(mo: Motion, ease: float) -> bool:
    """Whether a constraint comes, or has not yet gone."""
    if ease >= 1.0:
        return False
    return largest(mo.tied) > 0.0 or (mo.mapping.whole[0] == 0 and mo.mapping.share[0] < 1.0)


@kernel
def tie(mo: Motion, n: int, ahead: np.ndarray, ease: float) -> int:
    """How many constraints there are, mo.tied; *ahead* loses mo.slack.

    By what the device is ahead when a constraint comes, it has slack, and that goes slowly: its
    force begins with none, whatever its stiffness is.
    """
    work, came = mo.mapping, mo.part
    count = tied_directions(n, mo.rank[0], ease, work, mo.tied, came)
    if ease >= 1.0:
        return count
    for j in range(n):
        mo.slack[j] *= 1.0 - SLACK_LEFT * ease
    for j in range(count):
        if came[j] == 0.0:
            continue
        lacking = 0.0
        for i in range(n):
            work.y[i] = work.N[i, j]
            lacking += work.N[i, j] * (ahead[i] - mo.slack[i])
        cholesky_solve(work.L, n, work.y, work.z)
        for i in range(n):
            mo.slack[i] += lacking * work.z[i]
    for i in range(n):
        ahead[i] -= mo.slack[i]
    return count


@kernel
def calm(sc: Scene, mo: Motion, de: Device) -> None:
    r"""Damp what joints do without moving the hand, as far as they are tied and it pulls at them.

    .. math:: \tau = -c w \min(1, |\Delta x|^2 / d^2) (D \dot q - J_h^T F), \qquad
              F = J_h^{\#T} D \dot q

    A stretched arm swings through its singular pose, where neither the hand nor the coupling
    could damp it. That takes energy: F moves what is free, and no more than all. What joints hold
    in every pose needs none of it.
    """
    n, apart = de.dimension[0], 0.0
    for i in range(6):
        apart += (de.mask[i] * mo.error[0, i] / (TENSE if i < 3 else TWISTED)) ** 2
    rate = CALM * largest(mo.tied) * min(apart, 1.0)
    for i in range(n):
        mo.pushed[i] = mo.twist[de.axes[i]]
    map_torques(n, mo.rank[0], mo.mapping, mo.pushed, mo.mapped)
    clear_vector(mo.part)
    for i in range(n):
        mo.part[de.axes[i]] = rate * mo.mapped[i]
    clear_vector(mo.scratch)
    add_momentum(sc.M, mo.inertia, sc.qvel, mo.scratch)
    for j in range(sc.nv):
        if sc.in_tool[sc.dof_tree[j]] != 0:
            mo.reaction[j] -= rate * mo.scratch[j]
    add_hand_torque(mo, mo.part, sc.nv, mo.reaction)


@kernel
def hold_topology(sc: Scene, mo: Motion, de: Device, cl: Closures, p: np.ndarray) -> None:
    """The penalty that keeps the device where the linkage can follow (TH 5.23, M20)."""
    clear_vector(de.topology)
    clear_vector(mo.reaction)
    if p["topology_k"][0] == 0.0 and p["topology_b"][0] == 0.0:
        return
    if mo.rank[1] == 0 and not still_tied(mo, p["topology_ease"][0]):
        clear_vector(mo.tied)
        clear_vector(mo.slack)
        return
    n = de.dimension[0]
    ahead, faster, wrench = mo.pushed, mo.mapped, mo.other
    for i in range(n):
        ahead[i] = -mo.error[0, de.axes[i]]
        faster[i] = -mo.error[1, de.axes[i]]
    count = tie(mo, n, ahead, p["topology_ease"][0])
    topology_wrench(
        n, count, mo.mapping, de.packed[0], de.packed[1], ahead, faster,
        p["topology_k"][0], p["topology_b"][0], p["topology_literal"][0], mo.tied, wrench,
    )  # fmt: skip
    for i in range(n):
        de.topology[de.axes[i]] = wrench[i]
    if p["topology_literal"][0] == 0:
        map_torques(n, mo.rank[0], mo.mapping, ahead, faster)
        respond_to_hand(mo, de, faster)
        react_on_linkage(sc, mo, de, cl)
    if p["topology_ease"][0] < 1.0 and mo.mapping.lost[0] == 0:
        calm(sc, mo, de)


@kernel
def spatial_axis(sc: Scene, j: int) -> tuple[Triple, Triple]:
    """The angular and the linear part of a degree of freedom."""
    axis = sc.cdof[j]
    return (axis[0], axis[1], axis[2]), (axis[3], axis[4], axis[5])


@kernel
def limit_turns(sc: Scene, body: int, y: np.ndarray) -> None:
    """Shorten joint displacements that turn a link by more than the linear term is good for."""
    most = 0.0
    j = sc.body_last_dof[body]
    while j >= 0:
        axis, _ = spatial_axis(sc, j)
        most = max(most, y[j] * y[j] * inner(axis, axis))
        j = sc.dof_parent[j]
    if most > MOST_APART * MOST_APART:
        for j in range(sc.nv):
            y[j] *= MOST_APART / math.sqrt(most)


@kernel
def react_on_linkage(sc: Scene, mo: Motion, de: Device, cl: Closures) -> None:
    r"""mo.reaction ← torques of the penalty's reaction on the linkage.

    The directions N are those of the present pose, and there the reaction is balanced by the
    joints and the closures of loops, :math:`J_h^T u = W^T \mu`. But they turn with the
    linkage. The device is ahead by joint displacements y, :math:`J_h y = \Delta x`, and at
    that pose the reaction has torques:

    .. math:: \tau = -J_h(q - y)^T u + W(q - y)^T \mu
              \approx \left(\frac{d J_h}{dq} y\right)^T u - \left(\frac{d W}{dq} y\right)^T \mu

    Without them the penalty is not that of a potential, and a soft position channel turns it
    into a source of energy: a limit cycle. On entry mo.white holds y.
    """
    limit_turns(sc, sc.held_body, mo.white)
    for i in range(cl.kind.shape[0]):
        for side in range(2):
            limit_turns(sc, cl.body[i, side], mo.white)
    add_reaction(sc, mo, sc.held_body, mo.point, 1.0, de.topology)
    if mo.inertia.closed[0] > 0:
        add_closure_reactions(sc, mo, de, cl)


@kernel
def add_closure_reactions(sc: Scene, mo: Motion, de: Device, cl: Closures) -> None:
    r"""mo.reaction −= :math:`\left(\frac{dW}{dq} y\right)^T \mu`, with y in mo.white."""
    clear_vector(mo.scratch)
    add_hand_torque(mo, de.topology, sc.nv, mo.scratch)
    closure_multipliers(mo.inertia, mo.scratch, cl.rates, cl.covered)
    for i in range(cl.kind.shape[0]):
        if cl.kind[i] == COUPLED:
            x = cl.dof[i, 1]
            if x >= 0:
                _, _, curve = coupled_motion(sc, cl, i)
                mo.reaction[x] += curve * mo.white[x] * cl.covered[cl.first[i]]
            continue
        find_places(sc, cl, i)
        push = mo.pushed
        clear_vector(push)
        for k in range(cl.first[i + 1] - cl.first[i]):
            push[k] = cl.covered[cl.first[i] + k]
        for side in range(2):
            add_reaction(sc, mo, cl.body[i, side], cl.place[side], 2.0 * side - 1.0, push)


@kernel
def add_reaction(
    sc: Scene, mo: Motion, body: int, point: np.ndarray, sign: float, u: np.ndarray
) -> None:
    r"""mo.reaction += sign · :math:`\left(\frac{dJ}{dq} y\right)^T u` of a point, y in mo.white."""
    root = sc.body_root[body]
    r = (
        point[0] - sc.subtree_com[root, 0],
        point[1] - sc.subtree_com[root, 1],
        point[2] - sc.subtree_com[root, 2],
    )
    turn, shift = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    j = sc.body_last_dof[body]
    while j >= 0:  # the motion of the body, of which the chain is taken away again
        axis, line = spatial_axis(sc, j)
        turn, shift = plus(turn, mo.white[j], axis), plus(shift, mo.white[j], line)
        j = sc.dof_parent[j]
    v = plus(shift, 1.0, cross(turn, r))
    force, moment = (u[0], u[1], u[2]), (u[3], u[4], u[5])
    j = sc.body_last_dof[body]
    while j >= 0:
        axis, line = spatial_axis(sc, j)
        turn, shift = plus(turn, -mo.white[j], axis), plus(shift, -mo.white[j], line)
        turned = cross(turn, axis)
        moved = plus(cross(turn, line), 1.0, cross(shift, axis))
        moved = plus(plus(moved, 1.0, cross(turned, r)), 1.0, cross(axis, v))
        mo.reaction[j] += sign * (inner(force, moved) + inner(moment, turned))
        j = sc.dof_parent[j]
