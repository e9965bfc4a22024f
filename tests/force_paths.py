"""A force path by itself: a device, a clock, limits, and what the device was told last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detent.devices.safety import Safety
from detent.servo.arrays import make_clock, make_device
from detent.servo.force_path import ForcePath
from detent.servo.guard import force_path
from detent.servo.parameters import PARAMETERS
from detent.servo.structs import Clock, Device


class Path(NamedTuple):
    device: Device
    clock: Clock
    p: np.ndarray
    wrench: np.ndarray  # (6,) what the device was told last


def path(
    cap: float | np.ndarray = np.inf,
    safety: Safety | None = None,
    asked: ForcePath | None = None,
    step: float = 1e-3,
) -> Path:
    safety = safety or Safety()
    p = np.zeros(1, PARAMETERS)
    p["step"], p["cap"] = step, cap
    lengths = np.asarray(safety.length)
    p["ball"] = np.where(np.isfinite(lengths), lengths, 0.0)
    p["continuous"] = safety.continuous
    (asked or ForcePath()).fill(p, safety)
    device = make_device()
    device.guard.actuated[:] = safety.actuated
    return Path(device, make_clock(), p, np.zeros(6))


def send(to: Path, command: object) -> np.ndarray:
    to.device.raw[:] = command
    force_path(to.device, to.wrench, to.clock, to.p)
    return to.wrench.copy()
