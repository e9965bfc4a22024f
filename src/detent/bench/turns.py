"""Stretches of the live servo and of the baseline that take turns, and how they compare."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from detent.bench.baseline import BINS
from detent.bench.rounds import Numbers, median_ratio
from detent.servo.loop.live import Live
from detent.servo.loop.status import percentile

LOOKS, BETWEEN_LOOKS = 50, 0.0013  # [-], [s] at the schedule; out of step with the ticks


class Turn(NamedTuple):
    """One stretch of the live servo, or of the baseline."""

    name: str
    lateness: np.ndarray  # histogram [µs]
    watched: bool = True  # whether the page was open until the end
    skips: int = 0
    drift: float = 0.0  # [periods]

    def late(self, fraction: float) -> float:
        """A percentile of the lateness [µs], at most what all histograms reach."""
        return min(percentile(self.lateness, fraction), BINS)

    def beyond(self, rate: float) -> int:
        """How often it was later than a period."""
        return int(self.lateness[round(1e6 / rate) :].sum())


def watch(live: Live, seconds: float) -> Turn:
    """How the servo keeps time for a while."""
    lateness, skips = live.histogram(), live.status().skips
    time.sleep(seconds)
    lateness, skips = live.histogram() - lateness, live.status().skips - skips
    return Turn("live", lateness, True, skips, schedule_drift(live))


def compare_turns(name: str, ours: Sequence[Turn], base: Sequence[Turn]) -> Numbers:
    """Medians over the turns, the skips of all and the worst drift."""
    numbers: Numbers = {f"{name}_baseline": base[0].name}
    for which, turns in ((name, ours), (f"{name}_baseline", base)):
        for percent in (50, 99):
            late = statistics.median(turn.late(percent / 100) for turn in turns)
            numbers[f"{which}_lateness_p{percent}_us"] = late
    p99 = [[turn.late(0.99) for turn in turns] for turns in (ours, base)]
    return numbers | {
        f"{name}_over_baseline_p99": median_ratio(*p99),
        f"{name}_skips": sum(turn.skips for turn in ours),
        f"{name}_drift_periods": max(abs(turn.drift) for turn in ours),
    }


def schedule_drift(live: Live) -> float:
    """Wall time since the first deadline, less the time of all ticks and skips [periods].

    A look falls half a period after the last deadline on average. Of many looks the median
    counts, because any one may be interrupted halfway.
    """
    drifts = []
    for _ in range(LOOKS):
        status = live.status()
        ran = status.ticks / status.rate
        drifts.append(ran * live.rate - (status.ticks + status.skips - 0.5))
        time.sleep(BETWEEN_LOOKS)
    return statistics.median(drifts)
