"""The normal force of a contact at rest."""

from __future__ import annotations

from dataclasses import dataclass

from detent.checks import not_negative, one_of
from detent.errors import ParameterError
from detent.kernels.constants import MOST_BLOCKS
from detent.kernels.walls import WALLS

YIELDS = 7.5e-3  # [m] of depth at which a hysteretic wall yields, unless its breakaway is given


@dataclass(frozen=True)
class Wall:
    """Which wall a contact is: S4 section 5, `detent.kernels.walls`.

    ``"zoh"`` is the plain penalty; ``"seh"`` (sample-estimate-hold), ``"pi"`` (with an
    integral), ``"pulse"`` (a braking pulse at first contact) and ``"hysteretic"`` (springs on
    sliding blocks) remember the contact. S4 compares them with ``Contact(mode="penalty")``. With
    impulses they are the law of the rest that follows, and leave the braking pulse little to
    brake; rigid contact has no penalty force, and refuses them.
    """

    law: str = "zoh"
    integral: float = 20_000.0  # [N/(m·s)] of the PI wall
    blocks: int = 5  # of the hysteretic wall
    breakaway: float | None = None  # [N] of its strongest block; None: what suits the stiffness

    def __post_init__(self) -> None:
        one_of("wall", self.law, WALLS)
        not_negative("wall integral", self.integral)
        if self.breakaway is not None:
            not_negative("wall breakaway", self.breakaway)
        if self.blocks not in range(1, MOST_BLOCKS + 1):
            raise ParameterError("blocks", self.blocks, f"a whole number from 1 to {MOST_BLOCKS}")

    def strongest(self, stiffness: float, cap: float) -> float:
        """[N] of the strongest block: the wall yields where it is deep, or the device weak.

        All blocks slide at F_b (n + 1)/2, which is K times 7.5 mm, or the device's cap.
        """
        if self.breakaway is not None:
            return self.breakaway
        return 2.0 * min(YIELDS * stiffness, cap) / (self.blocks + 1)


PLAIN_WALL = Wall()
