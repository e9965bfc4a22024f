"""What a user asks of the force path; `servo.guard` is the path itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detent.checks import not_negative, positive
from detent.devices.safety import Safety

RAMP_IN = 0.2  # [s] in which a session begins


@dataclass(frozen=True)
class ForcePath:
    """The last guard before the device. What is left out is the device's own, or off.

    A slew limit can be stricter than the device's, never looser. Without a ``ramp`` force comes
    in within that of the device, or `RAMP_IN`: at the start what acts on the tool does, too, and
    whenever a device is engaged again what acts on it.
    """

    filter_hz: float | None = None  # [Hz] cut-off of a first-order low pass
    slew_force: float | None = None  # [N/s]
    slew_torque: float | None = None  # [N·m/s]
    ramp: float | None = None  # [s] in which force comes in at the start; 0 = at once

    def __post_init__(self) -> None:
        for name in ("filter_hz", "slew_force", "slew_torque"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.ramp is not None:
            not_negative("ramp", self.ramp)

    def fill(self, p: np.ndarray, safety: Safety) -> None:
        """Into a parameter record whose step is set."""
        step = float(p["step"][0])
        p["filter_blend"] = 1.0
        if self.filter_hz is not None:
            p["filter_blend"] = 1.0 - np.exp(-2.0 * np.pi * self.filter_hz * step)
        asked = (self.slew_force, self.slew_torque)
        slews = zip(asked, safety.slew, strict=True)
        p["slew"] = [own * step if one is None else min(one, own) * step for one, own in slews]
        ramp = (safety.ramp or RAMP_IN) if self.ramp is None else self.ramp
        if p["leads"][0] != 0:  # a display is told where to go, also at the start
            ramp = safety.ramp if self.ramp is None else self.ramp
        p["bearable"] = safety.bearable if ramp > 0.0 else np.inf
        p["ramp"] = min(1.0, step / ramp) if ramp > 0.0 else 1.0
        p["fade"] = p["ramp"]
        heats = min(safety.continuous) < 1.0
        p["heat_blend"] = 1.0 - np.exp(-step / safety.heating) if heats else 0.0


#: nothing is ramped in: the documents' experiments
AT_ONCE = ForcePath(ramp=0.0)
