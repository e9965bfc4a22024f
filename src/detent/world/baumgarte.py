"""How fast the drift of closed loops is taken back."""

from __future__ import annotations

from dataclasses import dataclass

from detent.checks import flag, not_negative


@dataclass(frozen=True)
class Baumgarte:
    r"""Stabilisation of the closures h of kinematic loops (S3 eq. 3, errata E14).

    .. math:: \ddot h + 2 \alpha \beta \dot h + \alpha^2 h = 0

    By default positions are projected on the closures in every tick instead, which then stay
    closed to a micrometre at the speed of a hand; ``projected=False`` is S3 to the letter.
    """

    frequency: float = 20.0  # [1/s] α
    ratio: float = 1.0  # [-] β
    projected: bool = True

    def __post_init__(self) -> None:
        not_negative("Baumgarte frequency", self.frequency)
        not_negative("Baumgarte ratio", self.ratio)
        flag("Baumgarte projected", self.projected)
