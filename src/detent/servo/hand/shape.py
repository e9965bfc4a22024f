"""Impedance control: the device moves with the inertia of the linkage at the hand (M19)."""

from __future__ import annotations

from detent.kernels.jit import kernel
from detent.kernels.loops import closed_acceleration
from detent.kernels.vectors import clear_vector, dot
from detent.servo.structs import (
    GRAVITY,
    Servo,
)
from detent.servo.world.weight import weight_torque
from detent.world.bridge import mj_jacDot


@kernel
def find_bias(s: Servo) -> None:
    r"""What the hand point's acceleration is without any torque or wrench.

    .. math:: b = \dot J_h \dot q - J_h D^{-1} B, \quad B = C(q, \dot q) \dot q

    The documents leave it out, and blame the drift on numerics (errata E10). With loops the
    accelerations that keep them closed belong to it.
    """
    sc, mo, cl = s.scene, s.motion, s.closures
    for j in range(sc.nv):
        mo.white[j] = -sc.bias[j]
        if (
            sc.features[GRAVITY] != 0
        ):  # MuJoCo's bias holds the weight as well, F_env has it already
            mo.white[j] -= weight_torque(sc, j)
    closed_acceleration(mo.inertia, cl.wanted, cl.rates, mo.white)
    mj_jacDot(
        sc.model, sc.data, mo.jac_rate.ctypes.data, mo.jac_rate[3].ctypes.data,
        mo.point.ctypes.data, sc.held_body,
    )  # fmt: skip
    for i in range(6):
        mo.bias[i] = dot(mo.jac[i], mo.white, sc.nv) + dot(mo.jac_rate[i], sc.qvel, sc.nv)


@kernel
def shape(s: Servo) -> None:
    r"""Stage: the wrench that makes the device accelerate as the linkage does at the hand.

    .. math:: u = M_d (\Lambda_h^{-1} (F_h + F_{env} + F_{pc} - b_d \dot x) + b) - F_h + F_{tc}

    TH 5.15-5.23, S3 section III. There is no stiffness k_d: it would pull to the origin.
    """
    mo, st, de, p = s.motion, s.port.state, s.device, s.parameters
    clear_vector(mo.bias)
    if p["shaping_bias"][0] != 0:
        find_bias(s)
    n = de.dimension[0]
    push, acceleration = mo.pushed, mo.mapped
    clear_vector(push)
    for i in range(n):
        a = de.axes[i]
        damped = p["shaping_damping"][0, a] * st.twist[a]
        push[a] = st.wrench[a] + de.felt[a] + mo.on_device[a] - damped
    for i in range(n):
        acceleration[i] = mo.bias[de.axes[i]] + dot(mo.mobility[de.axes[i]], push, 6)
    clear_vector(de.raw)
    for i in range(n):
        a = de.axes[i]
        de.raw[a] = dot(de.packed[0, i], acceleration, n) - st.wrench[a] + de.topology[a]
