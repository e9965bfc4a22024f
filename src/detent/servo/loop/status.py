"""How the loop is doing: its rate, its lateness, what it skipped."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from detent.servo.constants import HOLDS, RATE_SECONDS


class Status(NamedTuple):
    """How the loop is doing. Percentiles beyond their histogram are infinite."""

    ticks: int
    skips: int
    lost: int  # rows overwritten before they were drained
    wanted: float  # [Hz]
    rate: float  # [Hz] measured since the start
    recent: float  # [Hz] measured over the last second
    lateness_p50: float  # [µs]
    lateness_p99: float  # [µs]
    compute_p50: float  # [µs]
    compute_p99: float  # [µs]
    promises: str

    @property
    def holds(self) -> bool:
        """Whether the servo holds its rate now."""
        return self.recent >= HOLDS * self.wanted


class Meter:
    """The rate over the last second; the wanted one until there was half of one."""

    def __init__(self, wanted: float) -> None:
        self.rate = wanted  # [Hz]
        self._marks: deque[tuple[int, int]] = deque()

    def mark(self, now: int, ticks: int) -> None:
        """Take the count of ticks at a time [ns]."""
        self._marks.append((now, ticks))
        while len(self._marks) > 2 and now - self._marks[1][0] >= 1e9 * RATE_SECONDS:
            self._marks.popleft()
        began, before = self._marks[0]
        seconds = 1e-9 * (now - began)
        if seconds >= 0.5 * RATE_SECONDS:
            self.rate = (ticks - before) / seconds


def percentile(histogram: np.ndarray, fraction: float) -> float:
    """The upper edge of the bin [µs] below which this fraction of the samples lies."""
    total = histogram.sum()
    if total == 0:
        return 0.0
    return float(np.searchsorted(np.cumsum(histogram), fraction * total) + 1)


def open_percentile(histogram: np.ndarray, fraction: float) -> float:
    """The same, infinite in the last bin: that has no upper edge."""
    edge = percentile(histogram, fraction)
    return edge if edge < len(histogram) else math.inf
