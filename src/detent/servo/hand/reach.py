"""From torques on the tool to the wrench at the hand (TH 5.2-5.12)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.inertia import Inertia, respond_to, whiten
from detent.kernels.jit import kernel
from detent.kernels.mapping import map_torques
from detent.kernels.vectors import clear_vector, copy_vector
from detent.servo.structs import (
    FREE_BODY,
    GRAVITY,
    JOINT_DAMPING,
    NEVER_SINGULAR,
    Device,
    Motion,
    Scene,
    Servo,
)
from detent.servo.world.weight import weight_torque


@kernel
def external_torques(sc: Scene, mo: Motion) -> None:
    """T_ext on the tool: contacts, limits, passive, actuators and weight, not the hand."""
    clear_vector(mo.external)
    for j in range(sc.tool_first, sc.tool_end):
        if sc.in_tool[sc.dof_tree[j]] != 0:
            mo.external[j] = mo.penalty[j] + mo.impulsive[j] + sc.passive[j] + sc.actuator[j]
            if sc.features[GRAVITY] != 0:
                mo.external[j] += weight_torque(sc, j)


@kernel
def add_product(
    M: np.ndarray, inertia: Inertia, scale: float, x: np.ndarray, out: np.ndarray
) -> None:
    """out ← out + scale M x of a symmetric matrix with the layout of the inertia."""
    rownnz, rowadr, colind = inertia.rownnz, inertia.rowadr, inertia.colind
    for k in range(inertia.nv):
        diagonal = rowadr[k] + rownnz[k] - 1
        out[k] += scale * M[diagonal] * x[k]
        for a in range(rowadr[k], diagonal):
            out[k] += scale * M[a] * x[colind[a]]
            out[colind[a]] += scale * M[a] * x[k]


@kernel
def ease_damping(sc: Scene, mo: Motion, step: float) -> None:
    r"""Damping is felt as the step applies it: with the velocity that it leaves, not the old one.

    .. math:: -C \dot q' = -D A^{-1} C \dot q, \qquad A = D + T C, \quad T C \dot q = (A - D) \dot q

    Otherwise a joint with c ≫ m/T would strike the hand with a force that it never has.
    """
    asked, felt = mo.scratch, mo.white
    clear_vector(asked)
    add_product(mo.M, mo.inertia, 1.0 / step, sc.qvel, asked)
    add_product(sc.M, mo.inertia, -1.0 / step, sc.qvel, asked)
    copy_vector(asked, felt)
    respond_to(mo.damped, felt)
    add_product(sc.M, mo.inertia, -1.0, felt, asked)
    for j in range(sc.tool_first, sc.tool_end):
        if sc.in_tool[sc.dof_tree[j]] != 0:
            mo.external[j] += asked[j]


@kernel
def wrench_on_body(sc: Scene, mo: Motion, torque: np.ndarray, out: np.ndarray) -> None:
    r"""The same of a free body, whose Jacobian is square: :math:`F = J_h^{-T} T` (TH 5.2).

    Its torques are a force, and a moment about its origin in its own axes.
    """
    first, turn, origin = sc.tool_first, mo.jac, sc.xpos
    fx, fy, fz = torque[first], torque[first + 1], torque[first + 2]
    a, b, c = torque[first + 3], torque[first + 4], torque[first + 5]
    rx, ry = mo.point[0] - origin[sc.held_body, 0], mo.point[1] - origin[sc.held_body, 1]
    rz = mo.point[2] - origin[sc.held_body, 2]
    moment = (ry * fz - rz * fy, rz * fx - rx * fz, rx * fy - ry * fx)
    out[0], out[1], out[2] = fx, fy, fz
    for i in range(3):
        about = turn[3 + i, first + 3] * a + turn[3 + i, first + 4] * b + turn[3 + i, first + 5] * c
        out[3 + i] = about - moment[i]


@kernel
def map_to_hand(sc: Scene, mo: Motion, de: Device, torque: np.ndarray, out: np.ndarray) -> None:
    r"""The wrench at the hand that stands for torques on the tool, in the device's subspace.

    .. math:: F_{env} = J_h^{\#T} T_{ext}

    TH 5.2-5.12: the weighted inverse of `mapping`, of any rank; the dynamically consistent
    inverse where the tool is redundant.
    """
    if sc.features[NEVER_SINGULAR] == FREE_BODY:
        wrench_on_body(sc, mo, torque, out)
        return
    n, white = de.dimension[0], mo.white
    copy_vector(torque, white)
    whiten(mo.inertia, white)
    for i in range(n):
        axis, total = de.axes[i], 0.0
        for j in range(sc.tool_first, sc.tool_end):
            total += mo.jac_white[axis, j] * white[j]
        mo.pushed[i] = total
    map_torques(n, mo.rank[0], mo.mapping, mo.pushed, mo.mapped)
    clear_vector(out)
    for i in range(n):
        out[de.axes[i]] = mo.mapped[i]


@kernel
def weigh_tool(sc: Scene, mo: Motion, de: Device, torque: np.ndarray, out: np.ndarray) -> None:
    """The weight of the tool: its torques, and the wrench at the hand that stands for them."""
    for j in range(sc.nv):
        torque[j] = weight_torque(sc, j) if sc.in_tool[sc.dof_tree[j]] != 0 else 0.0
    map_to_hand(sc, mo, de, torque, out)


@kernel
def product(A: np.ndarray, x: np.ndarray, out: np.ndarray) -> float:
    """out ← A x of six numbers; xᵀ A x."""
    total = 0.0
    for i in range(6):
        out[i] = 0.0
        for k in range(6):
            out[i] += A[i, k] * x[k]
        total += x[i] * out[i]
    return total


@kernel
def match_impulse(sc: Scene, mo: Motion, de: Device) -> None:
    r"""Of an impulse P at the hand, a lighter device is told what changes it as the tool changes.

    .. math:: P_d = a M_d \Delta \dot x, \qquad \Delta \dot x = \Lambda_h^{-1} P, \qquad
              a = \min\!\left(1, \sqrt{\frac{P^T M_d^{-1} P}
              {\Delta \dot x^T M_d \, \Delta \dot x}}\right)

    The default device of a linkage is as light as the held link where it moves most easily. Where
    that is much heavier, or its joints hold it, the whole impulse would throw the device off,
    and coupling and constraints would follow with kilonewtons. It never takes more than P gives.
    Only de.felt is changed; F_env is that of TH 5.2.
    """
    clear_vector(mo.scratch)
    for j in range(sc.tool_first, sc.tool_end):
        if sc.in_tool[sc.dof_tree[j]] != 0:
            mo.scratch[j] = mo.impulsive[j]
    map_to_hand(sc, mo, de, mo.scratch, mo.part)
    most = product(de.mobility, mo.part, mo.other)
    product(mo.mobility, mo.part, mo.other)
    for i in range(6):
        mo.other[i] *= de.mask[i]
        de.felt[i] -= mo.part[i]
    taken = product(de.mass, mo.other, mo.part)
    share = math.sqrt(most / taken) if taken > most else 1.0
    for i in range(6):
        de.felt[i] += share * mo.part[i]


@kernel
def tell_device(s: Servo) -> None:
    """de.felt ← F_env, its impulse matched to the device where that is asked for."""
    copy_vector(s.device.environment, s.device.felt)
    if s.device.matched[0] != 0 and s.rows.struck[0] > 0 and s.parameters["material"][0] == 0:
        match_impulse(s.scene, s.motion, s.device)


@kernel
def reach(s: Servo) -> None:
    """Stage: the environment's wrench at the hand."""
    external_torques(s.scene, s.motion)
    if s.scene.features[JOINT_DAMPING] != 0:
        ease_damping(s.scene, s.motion, s.parameters["step"][0])
    map_to_hand(s.scene, s.motion, s.device, s.motion.external, s.device.environment)
    s.device.borne[0] = 1.0
    tell_device(s)
