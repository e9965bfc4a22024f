"""How the bodies of a world meet."""

from __future__ import annotations

from dataclasses import dataclass

from detent.checks import fraction, not_negative, one_of

MODES = ("impulse", "penalty", "rigid")
METHODS = ("complementarity", "equality")
SELF_COLLISIONS = ("relative", "split")


@dataclass(frozen=True)
class Contact:
    """Contact properties of the whole world; geoms can override them (see `World`).

    Stiffness and damping act at every contact point, so a face with four contact points is
    four times as stiff.

    ``mode`` is ``"impulse"`` (impulses on collision, penalty at rest: TH 4.2),
    ``"penalty"`` (never an impulse) or ``"rigid"`` (complementarity time stepping without
    penetration). ``method``, ``self_collision`` and ``clamp`` are right by default;
    ``"equality"``, ``"split"`` and ``False`` are the documents to the letter (errata E3, E4).
    """

    stiffness: float = 4_000.0  # [N/m]
    damping: float = 30.0  # [N·s/m]
    restitution: float = 0.0  # [-]
    mode: str = "impulse"
    method: str = "complementarity"
    self_collision: str = "relative"
    clamp: bool = True  # a contact never pulls

    def __post_init__(self) -> None:
        not_negative("stiffness", self.stiffness)
        not_negative("damping", self.damping)
        fraction("restitution", self.restitution)
        one_of("contact mode", self.mode, MODES)
        one_of("collision method", self.method, METHODS)
        one_of("self-collision row", self.self_collision, SELF_COLLISIONS)
