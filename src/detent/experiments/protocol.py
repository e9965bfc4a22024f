"""What an experiment is: parameters, a run, metrics, claims, a figure."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from detent.errors import ExperimentError, ParameterError, UnknownNameError
from detent.experiments.verdicts import measured as verdict_of
from detent.experiments.verdicts import recorded
from detent.record.trace import Trace

Metrics = dict[str, float]

#: what a parameter can be, in words
KINDS = {float: "a number", int: "a whole number", str: "a word"}


@dataclass(frozen=True)
class Range:
    """What a number may be; stands beside the type of a parameter, in ``Annotated``."""

    least: float = -math.inf
    most: float = math.inf
    above: bool = False  # the least value itself is not allowed

    def __contains__(self, value: float) -> bool:
        enough = value > self.least if self.above else value >= self.least
        return enough and value <= self.most

    def __str__(self) -> str:
        low = "" if self.least == -math.inf else f"{'above' if self.above else 'at least'} "
        low += f"{self.least:g}" if low else ""
        high = "" if self.most == math.inf else f"at most {self.most:g}"
        return " and ".join(filter(None, (low, high)))


Positive = Annotated[float, Range(0.0, above=True)]
NotNegative = Annotated[float, Range(0.0)]
Count = Annotated[int, Range(1)]


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a document, with the number and the verdict measured here.

    It passes if the verdict is the one on record (verdicts.py): a claim that was refuted passes
    as long as it is.
    """

    id: str
    source: str  # where the document says it
    text: str
    measured: float
    required: str  # in words, with the number
    verdict: str  # confirmed, refuted, or confirmed after correction
    recorded: str  # the verdict on record
    passed: bool  # whether they agree
    least: float | None = None  # what the number must be, where that is an interval
    most: float | None = None


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

    @property
    def ranges(self) -> dict[str, Range]:
        """What those may be that cannot be any number."""
        hints = get_type_hints(self.run, include_extras=True)
        found = {n: getattr(hint, "__metadata__", ()) for n, hint in hints.items()}
        return {n: one for n, extra in found.items() for one in extra if isinstance(one, Range)}

    def __call__(self, **given: Any) -> Result:
        """Run with the given parameters; unknown names and wrong types are refused."""
        return self.attempt(self.complete(given))

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters: the given ones in the type of their default, and the defaults."""
        values, ranges = self.parameters, self.ranges
        for name, value in given.items():
            if name not in values:
                raise UnknownNameError(f"parameter of {self.name}", name, values)
            values[name] = _like(name, value, values[name])
            if name in ranges and values[name] not in ranges[name]:
                raise ParameterError(f"{name} of {self.name}", values[name], str(ranges[name]))
        return values

    def attempt(self, parameters: Mapping[str, Any]) -> Result:
        """Run with complete parameters; with others than the defaults it may make no sense."""
        defaults = self.parameters
        changed = {n: v for n, v in parameters.items() if v != defaults[n]}
        try:
            return self.run(**parameters)
        except (ArithmeticError, LookupError, ValueError) as error:
            if not changed:
                raise
            raise ExperimentError(self.name, changed, error) from error

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
        raise ParameterError(name, value, KINDS.get(kind, kind.__name__)) from None
    if kind is float and not (-1e12 < out < 1e12):
        raise ParameterError(name, value, "finite")
    return out


def at_most(
    id: str, source: str, text: str, measured: float, limit: float, unit: str = ""
) -> Claim:
    """A claim that a number is at most a limit."""
    required = f"≤ {limit:.4g} {unit}".strip()
    return holds(id, source, text, measured, required, measured <= limit, (None, limit))


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
    wide = tolerance * abs(target)
    true = abs(measured - target) <= wide
    required = f"{target:.4g} {unit}".strip() + f" ± {100 * tolerance:.3g} %"
    interval = (target - wide, target + wide)
    return holds(id, source, text, measured, required, true, interval)


Interval = tuple[float | None, float | None]
NOWHERE: Interval = (None, None)

#: "< 1", "> 2 times as far": the number that the measured one is compared with
_STATED = re.compile(r"^(?:each ratio )?([<>≤≥]) ?(−?[\d.]+(?:e-?\d+)?)(?![\d.]| \d| [×/])")


_SUBSCRIPT = re.compile(r"\$_\{?(\w+)\}?\$")


def stated(required: str, measured: float, true: bool) -> Interval:
    """The interval that *required* begins with, unless what was measured contradicts it."""
    found = _STATED.match(required)
    if found is None:
        return NOWHERE
    bound = float(found[2].replace("−", "-"))
    below = found[1] in "<≤"
    if true and not (measured <= bound if below else measured >= bound):
        return NOWHERE  # the number speaks of something else
    return (None, bound) if below else (bound, None)


def holds(
    id: str,
    source: str,
    text: str,
    measured: float,
    required: str,
    true: bool,
    interval: Interval | None = None,
) -> Claim:
    """Any other claim, and whether it came true."""
    # labels that figures typeset
    text, required = (_SUBSCRIPT.sub(r"_\1", words) for words in (text, required))
    verdict, known, number = verdict_of(id, bool(true)), recorded(id), float(measured)
    least, most = stated(required, number, bool(true)) if interval is None else interval
    passed = verdict == known
    return Claim(id, source, text, number, required, verdict, known, passed, least, most)
