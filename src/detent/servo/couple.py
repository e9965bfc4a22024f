"""The hand's side of a tick: hand model, coupling, force path and simulated device."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.inertia import unwhiten, whiten, whiten_rows
from detent.kernels.jit import kernel
from detent.kernels.limits import all_finite, slew_scale, uniform_scale
from detent.kernels.mapping import map_torques
from detent.kernels.so3 import integrate_quaternion, rotate, rotation_error
from detent.kernels.vectors import clear_vector, copy_vector, dot
from detent.servo.records import (
    ALTERED,
    DIRECT,
    FAULT,
    FOUR_CHANNEL,
    HELD,
    IMPEDANCE_HAND,
    NO_FAULT,
    PLAYBACK_HAND,
    SINUSOID_HAND,
    TICKS,
    UNILATERAL,
    VIRTUAL,
    WRENCH_NOT_FINITE,
    Clock,
    Device,
    Motion,
    Scene,
)
from detent.world.bridge import mj_jac


@kernel
def pose_error(
    pa: np.ndarray, qa: np.ndarray, pb: np.ndarray, qb: np.ndarray, out: np.ndarray
) -> None:
    """out = pose a − pose b: difference of positions, rotation vector of R_a R_bᵀ."""
    for i in range(3):
        out[i] = pa[i] - pb[i]
    rotation_error(qa, qb, out[3:6])


@kernel
def hand_wrench(
    de: Device, target: np.ndarray, script: np.ndarray, p: np.ndarray, tick: int, out: np.ndarray
) -> None:
    """F_h: what the hand applies to the device."""
    kind, time = p["hand"][0], tick * p["step"][0]
    for i in range(6):
        out[i] = 0.0
    if kind == SINUSOID_HAND:
        wave = math.sin(p["hand_omega"][0] * time + p["hand_phase"][0])
        for i in range(6):
            out[i] = p["hand_bias"][0, i] + p["hand_amplitude"][0, i] * wave
    elif kind == IMPEDANCE_HAND:
        pose_error(target[0:3], target[3:7], de.position, de.quaternion, out)
        for i in range(6):
            out[i] = p["hand_k"][0, i] * out[i] - p["hand_b"][0, i] * de.twist[i]
    elif kind == PLAYBACK_HAND and tick < script.shape[0]:
        copy_vector(script[tick], out)
    for i in range(6):
        out[i] *= de.mask[i]


@kernel
def update_hand_point(sc: Scene, mo: Motion) -> None:
    """The hand point in the world, its Jacobian, and Λ_h⁻¹ = J_h D⁻¹ J_hᵀ (TH 5.16, S3 9)."""
    rotate(sc.xquat[sc.held_body], sc.hand_point, mo.point)
    for k in range(3):
        mo.point[k] += sc.xpos[sc.held_body, k]
    mj_jac(
        sc.model,
        sc.data,
        mo.jac.ctypes.data,
        mo.jac[3].ctypes.data,
        mo.point.ctypes.data,
        sc.held_body,
    )
    for i in range(6):
        twist = 0.0
        for j in range(sc.tool_first, sc.tool_end):
            mo.jac_white[i, j] = mo.jac[i, j]
            twist += mo.jac[i, j] * sc.qvel[j]
        mo.twist[i] = twist
    whiten_rows(mo.inertia, 6, mo.jac_white)
    for i in range(6):
        for k in range(i + 1):
            total = 0.0
            for j in range(sc.tool_first, sc.tool_end):
                total += mo.jac_white[i, j] * mo.jac_white[k, j]
            mo.mobility[i, k] = total
            mo.mobility[k, i] = total


@kernel
def add_hand_torque(mo: Motion, wrench: np.ndarray, nv: int, out: np.ndarray) -> None:
    """out += J_hᵀ wrench."""
    for i in range(6):
        if wrench[i] != 0.0:
            for j in range(nv):
                out[j] += mo.jac[i, j] * wrench[i]


@kernel
def coordinate(sc: Scene, mo: Motion, de: Device, p: np.ndarray) -> None:
    r"""The position channels: a spring-damper between device and tool (TH 4.1, D.6).

    mo.hand6[0] is the wrench on the tool, mo.hand6[1] that on the device. Outside the device's
    subspace the tool is held at its start, and the device feels nothing of it. While an impulse
    rings (`resonate`), ẋ_device is the twist that the device has when all of it has come.

    .. math:: F = K (x_{device} - x_{tool}) + B (\dot x_{device} - \dot x_{tool})
    """
    error, held = mo.error[0], mo.hand6[3]
    pose_error(de.seen, de.quaternion, mo.point, sc.xquat[sc.held_body], error)
    pose_error(mo.start[0:3], mo.start[3:7], mo.point, sc.xquat[sc.held_body], held)
    strength = 0.0
    for i in range(3):
        strength += de.environment[i] ** 2
    adaptive = p["adaptive_damping"][0] * math.sqrt(strength)  # errata B2: |f_env|
    adaptive = min(adaptive, p["adaptive_most"][0])
    for i in range(6):
        inside = de.mask[i]
        difference = de.twist[i] + de.lag[i] - mo.twist[i]
        mo.error[1, i] = difference
        spring = p["coupling_k"][0, i] * error[i]
        pull = spring + p["coupling_b"][0, i] * difference
        extra = adaptive * difference if i < 3 else 0.0
        hold = p["hold_k"][0, i] * held[i] - p["hold_b"][0, i] * mo.twist[i]
        mo.hand6[0, i] = inside * (pull + extra) + (1.0 - inside) * hold
        mo.hand6[1, i] = -inside * pull


@kernel
def respond_to_hand(mo: Motion, de: Device, wrench: np.ndarray) -> None:
    """mo.white ← D⁻¹ J_hᵀ of a wrench in the device's subspace."""
    for j in range(mo.inertia.nv):
        total = 0.0
        for i in range(de.dimension[0]):
            total += mo.jac_white[de.axes[i], j] * wrench[i]
        mo.white[j] = total
    unwhiten(mo.inertia, mo.white)


@kernel
def follow_device(sc: Scene, mo: Motion, de: Device, step: float) -> None:
    r"""Direct coupling: the held link arrives where the device is at the end of the step.

    .. math:: \dot q \leftarrow \dot q + \bar J_h ((x_{device} - x_{tool}) / T - J_h \dot q)
    """
    way, want, push = mo.hand6[2], mo.hand6[3], mo.hand6[4]
    pose_error(de.seen, de.quaternion, mo.point, sc.xquat[sc.held_body], way)
    n = de.dimension[0]
    for i in range(n):
        a = de.axes[i]
        want[i] = way[a] / step - dot(mo.jac[a], sc.qvel, sc.nv)
    map_torques(n, mo.rank[0], mo.mapping, want, push)
    respond_to_hand(mo, de, push)
    for j in range(sc.nv):
        sc.qvel[j] += mo.white[j]


@kernel
def map_to_hand(mo: Motion, de: Device, torque: np.ndarray, out: np.ndarray) -> None:
    r"""The wrench at the hand that stands for torques on the tool, in the device's subspace.

    .. math:: F_{env} = J_h^{\#T} T_{ext}

    TH 5.2-5.12: the weighted inverse of `mapping`, of any rank; the dynamically consistent
    inverse where the tool is redundant.
    """
    pushed, wrench = mo.hand6[2], mo.hand6[4]
    n = de.dimension[0]
    copy_vector(torque, mo.white)
    whiten(mo.inertia, mo.white)
    for i in range(n):
        pushed[i] = dot(mo.jac_white[de.axes[i]], mo.white, mo.inertia.nv)
    map_torques(n, mo.rank[0], mo.mapping, pushed, wrench)
    clear_vector(out)
    for i in range(n):
        out[de.axes[i]] = wrench[i]


@kernel
def device_command(mo: Motion, de: Device, constrained: bool, p: np.ndarray) -> None:
    """What the coupling asks of the device: F_env as it is felt, the position channel, or both."""
    kind = p["coupling"][0]
    force = kind in (FOUR_CHANNEL, DIRECT)
    position = kind in (FOUR_CHANNEL, VIRTUAL) or (kind == UNILATERAL and constrained)
    for i in range(6):
        de.raw[i] = 0.0
        if force:
            de.raw[i] += de.mask[i] * de.felt[i]
        if position:
            de.raw[i] += mo.hand6[1, i]
        de.raw[i] += de.topology[i]


@kernel
def force_path(de: Device, ck: Clock, p: np.ndarray) -> bool:
    """The last guard: filter, slew, uniform cap, finite check; whether it changed anything.

    Nothing bypasses it.
    """
    blend = p["filter_blend"][0]
    for i in range(6):
        de.filtered[i] += blend * (de.raw[i] - de.filtered[i])
        if blend == 1.0:
            de.filtered[i] = de.raw[i]
    scale = slew_scale(de.filtered, de.wrench, p["slew"][0])
    altered = scale < 1.0 or blend < 1.0
    for i in range(6):
        step = de.filtered[i] - de.wrench[i]
        de.wrench[i] = de.filtered[i] if scale == 1.0 else de.wrench[i] + scale * step
    scale = uniform_scale(de.wrench, p["cap"][0])
    if scale < 1.0:
        altered = True
        for i in range(6):  # and not above the cap by round-off either
            most = p["cap"][0, i]
            de.wrench[i] = min(max(de.wrench[i] * scale, -most), most)
    if ck.counts[FAULT] == NO_FAULT and not (all_finite(de.raw) and all_finite(de.wrench)):
        ck.counts[FAULT] = WRENCH_NOT_FINITE
    if ck.counts[FAULT] != NO_FAULT:
        altered = True
        for i in range(6):
            de.wrench[i] = 0.0
            de.filtered[i] = 0.0
    if altered:
        ck.counts[ALTERED] += 1
    return altered


@kernel
def slow_down(velocity: np.ndarray, mobility: float, friction: float, step: float) -> None:
    """Coulomb friction of a device, implicit: it stops what it can stop within the step."""
    speed = math.sqrt(dot(velocity, velocity, 3))
    taken = friction * mobility * step
    keep = 0.0 if speed <= taken else 1.0 - taken / speed
    for i in range(3):
        velocity[i] *= keep


@kernel
def integrate_device(de: Device, ck: Clock, p: np.ndarray) -> None:
    """A mass with friction, velocity first, under the wrench of delay_ticks before.

    With the held integrator it moves as a real mass does under a force that is held for the
    step: x⁺ = x + T (v + v⁺)/2.
    """
    step = p["step"][0]
    size = de.delayed.shape[0]
    now = ck.counts[TICKS]
    for i in range(6):
        de.delayed[now % size, i] = de.wrench[i]
    old = now - p["delay_ticks"][0]
    share = 0.5 if p["integrator"][0] == HELD else 0.0  # of the old velocity
    for i in range(6):
        total = 0.0
        for k in range(6):
            felt = de.delayed[old % size, k] if old >= 0 else 0.0
            drag = p["device_damping"][0, k // 3] * de.twist[k]
            total += de.mobility[i, k] * (felt + de.hand[k] - drag)
        de.acceleration[i] = total
    for i in range(6):
        de.mean[i] = share * de.twist[i]
        de.twist[i] += step * de.acceleration[i]
    slow_down(de.twist[0:3], de.mobility[0, 0], p["device_friction"][0, 0], step)
    slow_down(de.twist[3:6], de.mobility[5, 5], p["device_friction"][0, 1], step)
    for i in range(6):
        de.mean[i] += (1.0 - share) * de.twist[i]
    for i in range(3):
        de.position[i] += step * de.mean[i]
    integrate_quaternion(de.quaternion, de.mean[3:6], step)


@kernel
def read_encoders(de: Device, resolution: float) -> None:
    """The position as it is measured: rounded to the resolution."""
    for i in range(3):
        de.seen[i] = de.position[i]
        if resolution > 0.0:
            de.seen[i] = resolution * math.floor(de.position[i] / resolution + 0.5)
