"""The last guard before the device: nothing bypasses it."""

from __future__ import annotations

from typing import Any

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.limits import all_finite, slew_scale, uniform_scale
from detent.servo.structs import (
    ALTERED,
    FAULT,
    NO_FAULT,
    WORLD_NOT_FINITE,
    WRENCH_NOT_FINITE,
    Clock,
    Device,
    MechanismServo,
    Servo,
)


@kernel
def stop_if_unsound(ck: Clock, a: np.ndarray, b: np.ndarray) -> None:
    """What has blown up stops the servo before its next wrench."""
    if ck.counts[FAULT] == NO_FAULT and not (all_finite(a) and all_finite(b)):
        ck.counts[FAULT] = WORLD_NOT_FINITE


@kernel
def force_path(de: Device, wrench: np.ndarray, ck: Clock, p: np.ndarray) -> None:
    """de.raw → wrench: filter, slew, uniform cap, finite check."""
    blend = p["filter_blend"][0]
    for i in range(6):
        de.filtered[i] += blend * (de.raw[i] - de.filtered[i])
        if blend == 1.0:
            de.filtered[i] = de.raw[i]
    scale = slew_scale(de.filtered, wrench, p["slew"][0])
    altered = scale < 1.0 or blend < 1.0
    for i in range(6):
        step = de.filtered[i] - wrench[i]
        wrench[i] = de.filtered[i] if scale == 1.0 else wrench[i] + scale * step
    scale = uniform_scale(wrench, p["cap"][0])
    if scale < 1.0:
        altered = True
        for i in range(6):  # and not above the cap by round-off either
            most = p["cap"][0, i]
            wrench[i] = min(max(wrench[i] * scale, -most), most)
    if ck.counts[FAULT] == NO_FAULT and not (all_finite(de.raw) and all_finite(wrench)):
        ck.counts[FAULT] = WRENCH_NOT_FINITE
    if ck.counts[FAULT] != NO_FAULT:
        altered = True
        for i in range(6):
            wrench[i] = 0.0
            de.filtered[i] = 0.0
    de.altered[0] = int(altered)
    if altered:
        ck.counts[ALTERED] += 1


@kernel
def guard_device(s: Any) -> None:
    """The force path from the coupling's wrench to the port's command."""
    force_path(s.device, s.port.command.wrench, s.clock, s.parameters)


@kernel
def guard(s: Servo) -> None:
    """Stage: a sound world, and the force path."""
    stop_if_unsound(s.clock, s.motion.torque, s.motion.velocity)
    guard_device(s)


@kernel
def guard_mechanism(s: MechanismServo) -> None:
    """Stage: a sound mechanism, and the force path."""
    stop_if_unsound(s.clock, s.mechanics.q, s.mechanics.rate)
    guard_device(s)
