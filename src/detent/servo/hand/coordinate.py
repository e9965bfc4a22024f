"""The position channels of a coupling: a spring-damper between device and tool."""

from __future__ import annotations

import math

import numpy as np

from detent.devices.port import State
from detent.kernels.jit import kernel
from detent.kernels.so3 import pose_error
from detent.servo.hand.constants import FAR_TURNED
from detent.servo.structs import (
    Device,
    Motion,
    Scene,
)


@kernel
def ease_turn(error: np.ndarray) -> None:
    r"""Beyond a right angle the spring of a turn gives way, and is slack at half a turn.

    .. math:: \theta \leftarrow \pi - \theta

    There the shortest way changes sides: a link that spins past its device would be struck by a
    spring that turns from π to −π within a tick.
    """
    angle = math.sqrt(error[3] * error[3] + error[4] * error[4] + error[5] * error[5])
    for i in range(3, 6):
        error[i] *= max(math.pi - angle, 0.0) / angle


@kernel
def coordinate(sc: Scene, mo: Motion, st: State, de: Device, p: np.ndarray) -> None:
    r"""The position channels: a spring-damper between device and tool (TH 4.1, D.6).

    mo.on_tool is the wrench on the tool, mo.on_device that on the device. Outside the device's
    subspace the tool is held at its start, and the device feels nothing of it. While an impulse
    rings (`ring`), ẋ_device is the twist that the device has when all of it has come.

    .. math:: F = K (x_{device} - x_{tool}) + B (\dot x_{device} - \dot x_{tool})
    """
    error, held = mo.error[0], mo.part
    pose_error(st.position, st.quaternion, mo.point, sc.xquat[sc.held_body], error)
    if error[3] * error[3] + error[4] * error[4] + error[5] * error[5] > FAR_TURNED * FAR_TURNED:
        ease_turn(error)
    pose_error(mo.start[0:3], mo.start[3:7], mo.point, sc.xquat[sc.held_body], held)
    strength = 0.0
    for i in range(3):
        strength += de.environment[i] ** 2
    adaptive = p["adaptive_damping"][0] * math.sqrt(strength)  # errata B2: |f_env|
    adaptive = min(adaptive, p["adaptive_most"][0])
    for i in range(6):
        inside = de.mask[i]
        difference = st.twist[i] + de.lag[i] - mo.twist[i]
        mo.error[1, i] = difference
        spring = p["coupling_k"][0, i] * error[i]
        pull = spring + p["coupling_b"][0, i] * difference
        extra = adaptive * difference if i < 3 else 0.0
        hold = p["hold_k"][0, i] * held[i] - p["hold_b"][0, i] * mo.twist[i]
        mo.on_tool[i] = inside * (pull + extra) + (1.0 - inside) * hold
        mo.on_device[i] = -inside * pull
