"""The normal force of a contact at rest."""

from __future__ import annotations

from dataclasses import dataclass

from detent.checks import not_negative, one_of
from detent.errors import ParameterError
from detent.kernels.constants import MOST_BLOCKS
from detent.kernels.walls import WALLS


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
    breakaway: float = 0.5  # [N] of its strongest block

    def __post_init__(self) -> None:
        one_of("wall", self.law, WALLS)
        not_negative("wall integral", self.integral)
        not_negative("wall breakaway", self.breakaway)
        if self.blocks not in range(1, MOST_BLOCKS + 1):
            raise ParameterError("blocks", self.blocks, f"a whole number from 1 to {MOST_BLOCKS}")


PLAIN_WALL = Wall()
