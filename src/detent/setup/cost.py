"""What ticks cost here, before a live run promises a rate."""

from __future__ import annotations

import copy
from typing import Any

from detent.devices.stand_in import StandIn
from detent.hands import Hand
from detent.servo.loop.loop import time_ticks
from detent.servo.loop.status import percentile
from detent.setup.asked import Asked
from detent.setup.constants import PREFLIGHT_TICKS
from detent.setup.prepared import Prepared
from detent.setup.subject import Subject
from detent.setup.warmup import warm


def tick_cost(subject: Subject, asked: Asked, hand: Hand | None, rate: float) -> float:
    """The 99 % cost of a tick at the start, with a collision of 16 contacts in it [ns].

    Limitations: a real device is neither opened, read nor written here; a simulated one stands in
    for it, so that the time that its driver takes is not counted.
    """
    servo = rehearsed(subject, asked, hand, rate).servo
    time_ticks(servo, 10)
    slow = min(slow_tick(servo) for _ in range(3))  # other jobs may be in the way
    return slow + subject.blow(servo)


def rehearsed(subject: Subject, asked: Asked, hand: Hand | None, rate: float) -> Prepared:
    """A servo that may tick although no session has begun."""
    ready = subject.allocate(asked, hand, rate, 1, None)
    if ready.adapter.begin is not None:  # a real device
        asked = copy.copy(asked)
        asked.device = StandIn(asked.device)
        ready = subject.allocate(asked, hand, rate, 1, None)
    warm(ready)
    return ready


def slow_tick(servo: Any) -> float:
    """The 99 % cost of a few ticks [ns]."""
    servo.clock.compute[:] = 0
    time_ticks(servo, PREFLIGHT_TICKS)
    return 1e3 * percentile(servo.clock.compute, 0.99)
