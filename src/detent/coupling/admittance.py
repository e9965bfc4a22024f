"""Admittance: the hand's force moves the tool, and the device follows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from detent.checks import one_of
from detent.coupling.base import Channels, Coupling, Following
from detent.coupling.gains import six

SPACES = ("task", "joint")
MECHANISM_INTEGRATORS = ("taylor", "runge-kutta")


@dataclass(frozen=True)
class Admittance(Coupling):
    r"""Feedforward of the reference's acceleration, and feedback of the display's error.

    .. math:: \ddot x = \ddot x_{ff} + K_p e + K_i \int e \, dt + K_d \dot e

    S2 eq. 17-18. Gains are per unit of the device's inertia, one number or six (x, y, z and
    rotations); S2 gives none (X21). In ``"joint"`` space they are those of the display's
    joints, S2 footnote 4. ``integrator="taylor"`` is S2 Alg. 1, line 11, to the letter.

    An impedance device has no force sensor: the same feedback is its wrench, and pulls the
    mechanism the other way.
    """

    channels: ClassVar = Channels(hand_on_tool=True, leads=True)

    stiffness: float | Sequence[float] = 1e4  # [1/s²] K_p
    damping: float | Sequence[float] = 200.0  # [1/s] K_d
    integral: float | Sequence[float] = 0.0  # [1/s³] K_i
    space: str = "task"
    integrator: str = "runge-kutta"
    compensate: bool = True  # weight and inertia of what lies beyond the force sensor

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "integral"):
            six(f"admittance {name}", getattr(self, name))
        one_of("space", self.space, SPACES)
        one_of("integrator", self.integrator, MECHANISM_INTEGRATORS)

    def following(self) -> Following:
        """Its gains."""
        return Following(
            six("stiffness", self.stiffness),
            six("integral", self.integral),
            six("damping", self.damping),
            self.space == "joint",
            self.compensate,
            MECHANISM_INTEGRATORS.index(self.integrator),
        )
