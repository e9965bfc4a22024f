"""A number of a data sheet with its source, or an assumption with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from detent.checks import not_negative
from detent.errors import ParameterError


@dataclass(frozen=True)
class Fact:
    """A value, and where it comes from: a source, or, if it is assumed, a reason.

    What was measured may be off by ``within`` (95 %).
    """

    value: float
    source: str
    assumed: bool = False
    within: float = 0.0

    def __post_init__(self) -> None:
        not_negative("value of a fact", self.value)
        not_negative("within of a fact", self.within)
        if not isinstance(self.source, str) or not self.source.strip():
            raise ParameterError("source", self.source, "who says so, in words")

    def __str__(self) -> str:
        kind = "assumed: " if self.assumed else ""
        off = f" ± {self.within:.2g}" if self.within > 0.0 else ""
        return f"{self.value:g}{off} ({kind}{self.source})"

    @property
    def least(self) -> float:
        """The lower bound of its confidence."""
        return max(self.value - self.within, 0.0)


def known(value: float, source: str) -> Fact:
    """A value that somebody has published, or that was measured."""
    return Fact(value, source)


def assumed(value: float, reason: str) -> Fact:
    """A value that nobody has published; it is printed as what it is."""
    return Fact(value, reason, assumed=True)


def smallest(*facts: Fact) -> Fact:
    """Of sources that disagree, the smaller one: for caps."""
    first, *others = sorted(facts, key=lambda fact: fact.value)
    more = "".join(f"; {other.source} says {other.value:g}" for other in others)
    return Fact(first.value, first.source + more, first.assumed)
