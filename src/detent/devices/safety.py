"""What the force path and the watch must keep for a device: its limits beside the peak wrench."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from detent.checks import flag, not_negative, positives, vector
from detent.errors import ParameterError

Pair = tuple[float, float]


@dataclass(frozen=True)
class Safety:
    """Limits of a device; those of an ideal one limit nothing. Pairs are (force, torque).

    ``length`` bounds force and torque as vectors, beside the peak of each axis (`Device.cap`).
    ``continuous`` is the share of the peak that can be held for ever, and ``heating`` how long
    more than that is allowed (`servo.guard.heat_up`). An axis that is not ``actuated`` gets no
    wrench. Of ``reach`` and ``speed`` see `servo.watch`; 0 is none.
    """

    binding: bool = False  # the peak holds with every strategy, also with "full"
    length: Pair = (math.inf, math.inf)  # [N, N·m]
    continuous: Pair = (1.0, 1.0)  # [-] of the peak
    heating: float = 1.0  # [s] time constant
    slew: Pair = (math.inf, math.inf)  # [N/s, N·m/s]
    ramp: float = 0.0  # [s] in which force comes in when the device is engaged
    actuated: tuple[float, ...] = (1.0,) * 6  # 1 = the axis takes a wrench
    reach: float = 0.0  # [m] from where it is at the start
    speed: Pair = (0.0, 0.0)  # [m/s, rad/s]
    silence: float = 0.0  # [s] without a new reading, after which the device is lost
    jumps: bool = False  # a reading that no hand could cause is a fault
    bearable: float = math.inf  # [N] more than that only in the tick of an impulse
    stretch: float = 1.0  # [-] how far it moves in the world for a metre of its own

    def __post_init__(self) -> None:
        if not self.bearable > 0.0:
            raise ParameterError("safety bearable", self.bearable, "positive")
        for name in ("length", "slew"):
            positives(f"safety {name}", getattr(self, name), (2,), "two positive numbers")
        for value in vector("safety continuous", self.continuous, (2,)):
            if not 0.0 < value <= 1.0:
                raise ParameterError("safety continuous", self.continuous, "above 0, at most 1")
        if not np.isin(vector("safety actuated", self.actuated, (6,)), (0.0, 1.0)).all():
            raise ParameterError("safety actuated", self.actuated, "six numbers, 0 or 1")
        for value in vector("safety speed", self.speed, (2,)):
            not_negative("safety speed", value)
        for name in ("ramp", "reach", "silence"):
            not_negative(f"safety {name}", getattr(self, name))
        if not_negative("safety heating", self.heating) == 0.0:
            raise ParameterError("safety heating", self.heating, "positive")
        if not not_negative("safety stretch", self.stretch) > 0.0:
            raise ParameterError("safety stretch", self.stretch, "positive")
        flag("safety binding", self.binding)
        flag("safety jumps", self.jumps)


#: of a device that has no limits of its own
NO_LIMITS = Safety()
