"""The cells of a map: two parameters, each over a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detent.checks import one_of
from detent.errors import ParameterError
from detent.maps.cells import PARAMETERS, Setting

_FORM = "of the form NAME=FROM:TO:COUNT, or NAME=FROM:TO:COUNT:log"


@dataclass(frozen=True)
class Axis:
    """A parameter over a range."""

    name: str
    values: tuple[float, ...]

    @property
    def label(self) -> str:
        """For a figure."""
        return f"{self.name.replace('_', ' ')} [{PARAMETERS[self.name]}]"

    @property
    def logarithmic(self) -> bool:
        """Whether its values are spaced by ratios."""
        first, second, last = self.values[0], self.values[1], self.values[-1]
        return first > 0.0 and not np.isclose(second - first, last - self.values[-2])


def parse_axis(text: str) -> Axis:
    """``"stiffness=200:5000:50"``, or ``"rate=500:8000:5:log"``."""
    name, equals, rest = text.partition("=")
    parts = rest.split(":")
    one_of("parameter of a map", name.strip(), PARAMETERS)
    try:
        low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
        spaced = parts[3] if len(parts) > 3 else "even"
        if spaced not in ("even", "log") or count < 2 or not equals or not high > low:
            raise ValueError
        values = (np.geomspace if spaced == "log" else np.linspace)(low, high, count)
    except (ValueError, IndexError):
        raise ParameterError("axis", text, _FORM) from None
    if name.strip() == "delay":
        values = np.round(values)
    return Axis(name.strip(), tuple(float(value) for value in values))


@dataclass(frozen=True)
class Grid:
    """All cells, in their order: rows of the first axis, each over the second."""

    base: Setting
    first: Axis
    second: Axis

    def __post_init__(self) -> None:
        if self.first.name == self.second.name:
            raise ParameterError("axes", self.first.name, "two parameters that differ")

    def settings(self) -> list[Setting]:
        """Of all cells."""
        return [
            self.base.at(**{self.first.name: a, self.second.name: b})
            for a in self.first.values
            for b in self.second.values
        ]
