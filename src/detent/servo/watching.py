"""What a user asks of passivity; `servo.passivity` is the observer and the controller."""

from __future__ import annotations

from dataclasses import dataclass

from detent.checks import not_negative, one_of, positive, vector
from detent.errors import ParameterError

#: laws by their names, in the order of `servo.parameters`
LAWS = ("off", "observe", "damper", "reference", "tank")


@dataclass(frozen=True)
class Passivity:
    """Who watches over energy that nobody put in, at the port between device and hand.

    ``"observe"`` counts it; ``"damper"`` takes it back by a bounded damper on the device,
    ``"reference"`` earlier, as soon as less was taken than ideal springs would have
    [Ryu05]; ``"tank"`` lets the force give only what a tank holds [Franken11]. A bound of ``inf``
    is the damper of the first papers, which rattles. What the device itself takes is counted by
    lower bounds of its friction: of a model its own, of a real device those that its sheet knows.

    Limitations: the controller acts one sample late, so F v T (1 + d) may have been given by then;
    what friction in the world took is not told from what it stores, and not forgotten.
    """

    law: str = "damper"  # off, observe, damper, reference or tank
    bound: float = 0.25  # [-] a_max: the share of the speed that the damper takes in a sample
    memory: float = 1.0  # [s] after a deficit, for which the device's own friction is not counted
    damping: tuple[float, float] | None = None  # [N·s/m, N·m·s/rad] of the device, at least
    friction: tuple[float, float] | None = None  # [N, N·m] of the device, at least

    def __post_init__(self) -> None:
        one_of("passivity", self.law, LAWS)
        if not self.bound > 0.0:
            raise ParameterError("passivity bound", self.bound, "positive, or infinite")
        positive("passivity memory", self.memory)
        for name in ("damping", "friction"):
            given = getattr(self, name)
            for value in () if given is None else vector(f"passivity {name}", given, (2,)):
                not_negative(f"passivity {name}", value)


OFF = Passivity("off")
