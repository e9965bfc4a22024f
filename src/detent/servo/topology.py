"""The joints of a linkage at the hand: rank and topological constraints (TH 5.4, M20)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.loops import closure_multipliers
from detent.kernels.mapping import (
    constraint_directions,
    map_torques,
    topology_wrench,
    trust_mobility,
    weigh,
)
from detent.kernels.vectors import clear_vector, dot
from detent.servo.close import COUPLED, coupled_motion, find_places
from detent.servo.couple import add_hand_torque, respond_to_hand
from detent.servo.records import Closures, Device, Motion, Scene, Servo
from detent.servo.sense import is_fresh

MOST_TURN = 0.5  # [rad] between the linkage and where the device would have it


@kernel
def pack(source: np.ndarray, de: Device, out: np.ndarray) -> None:
    """out = the part of a 6 × 6 matrix within the device's subspace."""
    for i in range(de.dimension[0]):
        for k in range(de.dimension[0]):
            out[i, k] = source[de.axes[i], de.axes[k]]


@kernel
def weigh_rigid(s: Servo) -> None:
    """Stage: Λ_h⁻¹ in the device's subspace, of a tool that moves in all of it in every pose."""
    mo, de = s.motion, s.device
    pack(mo.mobility, de, mo.inside[0])
    trust_mobility(mo.inside[0], de.dimension[0], mo.mapping)
    mo.rank[0] = de.dimension[0]


@kernel
def weigh_linkage(s: Servo) -> None:
    """Stage: the same of any tool, with its rank, and what its joints do to the hand."""
    mo, de, p = s.motion, s.device, s.parameters
    n = de.dimension[0]
    pack(mo.mobility, de, mo.inside[0])
    update_link_inertia(s.scene, mo)
    pack(mo.link, de, mo.inside[1])
    enter, leave = p["singular"][0, 0], p["singular"][0, 1]
    if is_fresh(s):
        mo.rank[0] = weigh(mo.inside[0], mo.inside[1], n, enter, leave, mo.rank[0], mo.mapping)
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
def hold_topology(sc: Scene, mo: Motion, de: Device, cl: Closures, p: np.ndarray) -> None:
    """The penalty that keeps the device where the linkage can follow (TH 5.23, M20)."""
    clear_vector(de.topology)
    clear_vector(mo.reaction)
    if mo.rank[1] == 0 or (p["topology_k"][0] == 0.0 and p["topology_b"][0] == 0.0):
        return
    n = de.dimension[0]
    ahead, faster, wrench = mo.hand6[2], mo.hand6[4], mo.hand6[5]
    for i in range(n):
        ahead[i] = -mo.error[0, de.axes[i]]
        faster[i] = -mo.error[1, de.axes[i]]
    count = constraint_directions(n, mo.rank[0], mo.mapping)
    topology_wrench(
        n, count, mo.mapping, de.packed[0], de.packed[1], ahead, faster,
        p["topology_k"][0], p["topology_b"][0], p["topology_literal"][0], wrench,
    )  # fmt: skip
    for i in range(n):
        de.topology[de.axes[i]] = wrench[i]
    if p["topology_literal"][0] == 0:
        map_torques(n, mo.rank[0], mo.mapping, ahead, faster)
        respond_to_hand(mo, de, faster)
        react_on_linkage(sc, mo, de, cl)


@kernel
def spatial_cross(v: np.ndarray, s: np.ndarray, out: np.ndarray) -> None:
    """out = v × s of spatial motions (angular, linear)."""
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        out[k] = v[a] * s[b] - v[b] * s[a]
        out[3 + k] = v[a] * s[3 + b] - v[b] * s[3 + a] + v[3 + a] * s[b] - v[3 + b] * s[a]


@kernel
def limit_turns(sc: Scene, body: int, y: np.ndarray) -> None:
    """Shorten joint displacements that turn a link by more than the linear term is good for."""
    most = 0.0
    j = sc.body_last_dof[body]
    while j >= 0:
        most = max(most, abs(y[j]) * math.sqrt(dot(sc.cdof[j], sc.cdof[j], 3)))
        j = sc.dof_parent[j]
    if most > MOST_TURN:
        for j in range(sc.nv):
            y[j] *= MOST_TURN / most


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
        push = mo.hand6[2]
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
    parent, turned = mo.spatial[0], mo.spatial[1]
    root = sc.body_root[body]
    clear_vector(parent)
    j = sc.body_last_dof[body]
    while j >= 0:  # the motion of the body, of which the chain is taken away again
        for k in range(6):
            parent[k] += sc.cdof[j, k] * mo.white[j]
        j = sc.dof_parent[j]
    rx, ry = point[0] - sc.subtree_com[root, 0], point[1] - sc.subtree_com[root, 1]
    rz = point[2] - sc.subtree_com[root, 2]
    vx = parent[3] + parent[1] * rz - parent[2] * ry
    vy = parent[4] + parent[2] * rx - parent[0] * rz
    vz = parent[5] + parent[0] * ry - parent[1] * rx
    j = sc.body_last_dof[body]
    while j >= 0:
        axis = sc.cdof[j]
        for k in range(6):
            parent[k] -= axis[k] * mo.white[j]
        spatial_cross(parent, axis, turned)
        x = turned[3] + turned[1] * rz - turned[2] * ry + axis[1] * vz - axis[2] * vy
        y = turned[4] + turned[2] * rx - turned[0] * rz + axis[2] * vx - axis[0] * vz
        z = turned[5] + turned[0] * ry - turned[1] * rx + axis[0] * vy - axis[1] * vx
        mo.reaction[j] += sign * (u[0] * x + u[1] * y + u[2] * z + dot(u[3:6], turned, 3))
        j = sc.dof_parent[j]
