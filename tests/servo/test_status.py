"""The statistics of the loop: which rate it holds, and what lies beyond a histogram."""

from __future__ import annotations

import math

import numpy as np
import pytest

from detent.servo.loop.status import Meter, Status, open_percentile, percentile

SECOND = 1_000_000_000  # [ns]


def test_the_rate_is_that_of_the_last_second() -> None:
    meter, ticks = Meter(4000.0), 0
    for tenth in range(1, 41):
        ticks += 400 if tenth <= 20 else 73
        meter.mark(tenth * SECOND // 10, ticks)
        if tenth in (3, 20):
            assert meter.rate == pytest.approx(4000.0)
    assert meter.rate == pytest.approx(730.0)


def test_after_a_pause_the_rate_recovers_within_a_second() -> None:
    meter, ticks = Meter(1000.0), 0
    times = [*range(10), *range(100, 112)]  # [0.1 s]: paused for nine seconds
    rates = []
    for tenth in times:
        ticks += 100
        meter.mark(tenth * SECOND // 10, ticks)
        rates.append(meter.rate)
    assert rates[10] < 200.0
    assert rates[-1] == pytest.approx(1000.0)


def test_what_lies_beyond_the_histogram_has_no_number() -> None:
    late = np.zeros(100, np.int64)
    late[[10, 99]] = 98, 2
    assert open_percentile(late, 0.5) == percentile(late, 0.5) == 11.0
    assert open_percentile(late, 0.99) == math.inf
    assert percentile(late, 0.99) == 100.0
    assert open_percentile(np.zeros(100, np.int64), 0.99) == 0.0


@pytest.mark.parametrize(("recent", "holds"), [(4000.0, True), (3930.0, True), (3900.0, False)])
def test_a_servo_holds_its_rate_or_not(recent: float, holds: bool) -> None:
    status = Status(0, 0, 0, 4000.0, 4000.0, recent, 0.0, 0.0, 0.0, 0.0, "")
    assert status.holds is holds
