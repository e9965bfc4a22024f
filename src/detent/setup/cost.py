"""What ticks cost here, before a live run promises a rate."""

from __future__ import annotations

from typing import Any

from detent.servo.loop.loop import time_ticks
from detent.servo.loop.status import percentile
from detent.setup.constants import PREFLIGHT_TICKS
from detent.setup.subject import Subject


def tick_cost(subject: Subject, servo: Any) -> float:
    """The 99 % cost of a tick at the start, with a collision of 16 contacts in it [ns]."""
    time_ticks(servo, 10)
    slow = min(slow_tick(servo) for _ in range(3))  # other jobs may be in the way
    return slow + subject.blow(servo)


def slow_tick(servo: Any) -> float:
    """The 99 % cost of a few ticks [ns]."""
    servo.clock.compute[:] = 0
    time_ticks(servo, PREFLIGHT_TICKS)
    return 1e3 * percentile(servo.clock.compute, 0.99)
