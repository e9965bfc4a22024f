"""Things that are compared take turns, so that a slow moment of the machine hits all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Numbers = dict[str, float | int | str]
Progress = Callable[[float], None]


class Job(NamedTuple):
    """A call that does a number of ticks."""

    run: Callable[[], object]
    ticks: int


def rounds(quick: bool) -> int:
    """How often each job has its turn."""
    return 1 if quick else 15


def shorter(ticks: int, quick: bool) -> int:
    """How many ticks a turn has: enough to measure, or to see that it can be measured."""
    return max(1, ticks // 20) if quick else ticks


def alternate(jobs: Mapping[str, Job], turns: int) -> dict[str, list[float]]:
    """Microseconds per tick of each job, turn by turn."""
    costs: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(turns):
        for name, job in jobs.items():
            began = time.perf_counter()
            job.run()
            costs[name].append(1e6 * (time.perf_counter() - began) / job.ticks)
    return costs


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios within each turn."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
