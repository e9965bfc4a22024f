"""What the coupling asks of the device."""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel
from detent.servo.parameters import ALWAYS, CONSTRAINED
from detent.servo.structs import Device, Motion, Servo


@kernel
def device_command(mo: Motion, de: Device, constrained: bool, p: np.ndarray) -> None:
    """de.raw ← F_env as it is felt, the position channel, or both, and what joints resist."""
    when = p["device_position"][0]
    position = when == ALWAYS or (when == CONSTRAINED and constrained)
    for i in range(6):
        de.raw[i] = 0.0
        if p["device_force"][0] != 0:
            de.raw[i] += de.mask[i] * de.felt[i]
        if position:
            de.raw[i] += mo.on_device[i]
        de.raw[i] += de.topology[i]


@kernel
def command_wrench(s: Servo) -> None:
    """Stage: the wrench of the coupling's channels (TH 4.1, D.6)."""
    device_command(s.motion, s.device, s.rows.constrained[0] != 0, s.parameters)
