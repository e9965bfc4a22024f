"""What an experiment is: parameters, a run, metrics, claims, a figure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from detent.errors import ParameterError, UnknownNameError
from detent.record.trace import Trace

Metrics = dict[str, float]


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a document, with the number measured here."""

    id: str
    source: str  # where the document says it
    text: str
    measured: float
    required: str  # in words, with the number
    passed: bool


@dataclass
class Result:
    """What came out of an experiment."""

    metrics: Metrics
    claims: list[Claim]
    traces: Mapping[str, Trace] = field(default_factory=dict)
    figure: Callable[[Path], Any] | None = None


@dataclass(frozen=True)
class Experiment:
    """A named experiment; its parameters are the keyword arguments of ``run``."""

    name: str
    row: str  # of the catalogue
    title: str
    run: Callable[..., Result]

    @property
    def parameters(self) -> dict[str, Any]:
        """Names and defaults."""
        return {n: p.default for n, p in inspect.signature(self.run).parameters.items()}

    def __call__(self, **given: Any) -> Result:
        """Run with the given parameters; unknown names and wrong types are refused."""
        return self.run(**self.complete(given))

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters: the given ones in the type of their default, and the defaults."""
        values = self.parameters
        for name, value in given.items():
            if name not in values:
                raise UnknownNameError(f"parameter of {self.name}", name, values)
            values[name] = _like(name, value, values[name])
        return values

    def report(
        self, parameters: Mapping[str, Any], result: Result, seed: int = 0
    ) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return {
            "experiment": self.name,
            "seed": seed,
            "parameters": dict(parameters),
            "metrics": result.metrics,
            "claims": [vars(claim) for claim in result.claims],
        }


def _like(name: str, value: Any, default: Any) -> Any:
    kind = type(default)
    try:
        if kind is int and float(value) != int(float(value)):
            raise ValueError
        out = kind(float(value)) if kind is int else kind(value)
    except (TypeError, ValueError):
        raise ParameterError(name, value, f"of the kind {kind.__name__}") from None
    if kind is float and not (-1e12 < out < 1e12):
        raise ParameterError(name, value, "finite")
    return out


def at_most(
    id: str, source: str, text: str, measured: float, limit: float, unit: str = ""
) -> Claim:
    """A claim that a number is at most a limit."""
    return Claim(
        id, source, text, float(measured), f"≤ {limit:.4g} {unit}".strip(), bool(measured <= limit)
    )


def within(
    id: str,
    source: str,
    text: str,
    measured: float,
    target: float,
    tolerance: float,
    unit: str = "",
) -> Claim:
    """A claim that a number is within a relative tolerance of a target."""
    passed = abs(measured - target) <= tolerance * abs(target)
    required = f"{target:.4g} {unit}".strip() + f" ± {100 * tolerance:.3g} %"
    return Claim(id, source, text, float(measured), required, bool(passed))


def holds(id: str, source: str, text: str, measured: float, required: str, passed: bool) -> Claim:
    """Any other claim."""
    return Claim(id, source, text, float(measured), required, bool(passed))
