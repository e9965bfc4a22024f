"""What a user asks of the force path; `servo.guard` is the path itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detent.checks import positive


@dataclass(frozen=True)
class ForcePath:
    """The last guard before the device. Filter and slew are off unless asked for."""

    filter_hz: float | None = None  # [Hz] cut-off of a first-order low pass
    slew_force: float | None = None  # [N/s]
    slew_torque: float | None = None  # [N·m/s]

    def __post_init__(self) -> None:
        for name in ("filter_hz", "slew_force", "slew_torque"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))

    def fill(self, p: np.ndarray) -> None:
        """Into a parameter record whose step is set."""
        step = float(p["step"][0])
        corner = np.inf if self.filter_hz is None else 2.0 * np.pi * self.filter_hz
        p["filter_blend"] = 1.0 - np.exp(-corner * step)
        slews = (self.slew_force, self.slew_torque)
        p["slew"] = [np.inf if one is None else one * step for one in slews]
