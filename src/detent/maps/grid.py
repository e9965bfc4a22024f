"""The cells of a map: two parameters, each over a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detent.checks import one_of
from detent.errors import ParameterError
from detent.maps.cells import PARAMETERS, Setting

MOST_CELLS = 1_000_000  # of a map: a week on two cores
_FORM = "of the form NAME=FROM:TO:COUNT, or NAME=FROM:TO:COUNT:log"


@dataclass(frozen=True)
class Axis:
    """A parameter over a range."""

    name: str
    values: tuple[float, ...]

    @property
    def label(self) -> str:
        """For a figure."""
        unit = "µm" if self.name == "resolution" else PARAMETERS[self.name]
        return f"{self.name.replace('_', ' ')} [{unit}]"

    @property
    def factor(self) -> float:
        """From its values to those of a figure."""
        return 1e6 if self.name == "resolution" else 1.0

    @property
    def logarithmic(self) -> bool:
        """Whether its values are spaced by ratios."""
        first, second, last = self.values[0], self.values[1], self.values[-1]
        return first > 0.0 and not np.isclose(second - first, last - self.values[-2])


def parse_axis(text: str) -> Axis:
    """``"stiffness=200:5000:50"``, or ``"rate=500:8000:5:log"``."""
    name, equals, rest = text.partition("=")
    name, parts = name.strip(), rest.split(":")
    one_of("parameter of a map", name, PARAMETERS)
    try:
        low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
    except (ValueError, IndexError):
        raise ParameterError("axis", text, _FORM) from None
    if not equals or parts[3:] not in ([], ["log"]):
        raise ParameterError("axis", text, _FORM)
    logarithmic = bool(parts[3:])
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ParameterError("axis", text, "from a number to a larger one")
    if logarithmic and low <= 0.0:
        raise ParameterError("axis", text, "from above 0, to be spaced by ratios")
    if not 2 <= count <= MOST_CELLS:
        raise ParameterError("axis", text, f"of 2 to {MOST_CELLS:,} values")
    values = (np.geomspace if logarithmic else np.linspace)(low, high, count)
    if name == "delay" and np.any(values != np.round(values)):
        raise ParameterError("axis", text, "whole ticks, as delay=0:4:5")
    return Axis(name, tuple(float(value) for value in values))


@dataclass(frozen=True)
class Grid:
    """All cells, in their order: rows of the first axis, each over the second."""

    base: Setting
    first: Axis
    second: Axis

    def __post_init__(self) -> None:
        if self.first.name == self.second.name:
            raise ParameterError("axes", self.first.name, "two parameters that differ")
        cells = len(self.first.values) * len(self.second.values)
        if cells > MOST_CELLS:
            raise ParameterError("cells", cells, f"at most {MOST_CELLS:,}")

    def settings(self) -> list[Setting]:
        """Of all cells."""
        return [
            self.base.at(**{self.first.name: a, self.second.name: b}).filled()
            for a in self.first.values
            for b in self.second.values
        ]
