"""What the terminal shows: one line that is kept up to date, and one at the end."""

from __future__ import annotations

import sys
import time
from typing import TextIO

import numpy as np

from detent.app.readings import Readings
from detent.servo.loop.live import Live, Status

TERMINAL_EVERY, FILE_EVERY = 0.2, 5.0  # [s]


class StatusLine:
    """Writes the status now and then: in place on a terminal, line by line elsewhere."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._in_place = self._out.isatty()
        self._every = TERMINAL_EVERY if self._in_place else FILE_EVERY
        self._due = 0.0  # [s] when to write next

    def say(self, line: str) -> None:
        """Write a line that stays."""
        clear = "\r\x1b[2K" if self._in_place else ""
        print(f"{clear}{line}", file=self._out, flush=True)

    def refresh(self, live: Live, readings: Readings) -> None:
        """Write the status, if it is time."""
        now = time.monotonic()
        if not self._due:  # the first frame
            self._due = now + self._every
        if now < self._due:
            return
        self._due = now + self._every
        current = line(live.status(), readings) + engine_text(live)
        if self._in_place:
            print(f"\r\x1b[2K{current}", end="", file=self._out, flush=True)
        else:
            self.say(current)


def first_line(world: str, url: str) -> str:
    """Where to look."""
    return f"Detent plays {world!r} at {url} (a script leads the hand until you drag; Ctrl-C stops)"


def line(status: Status, readings: Readings) -> str:
    """How it is going."""
    now = readings.moment
    force = float(np.linalg.norm(now.environment))
    contacts = f"{now.contacts} contact{'' if now.contacts == 1 else 's'}"
    bounded = f" · gains bounded in {readings.bounded} ticks" if readings.bounded else ""
    return f"{_timing(status)} · {contacts} · {force:5.1f} N{bounded}"


def engine_text(live: Live) -> str:
    """How the engine is doing, if there is one."""
    if live.engine is None:
        return ""
    engine = live.engine.status()
    restarted = f", started {engine.restarts + 1} times" if engine.restarts else ""
    return f" · engine {engine.rate:.0f} Hz{restarted}"


def last_line(status: Status, readings: Readings) -> str:
    """How it went."""
    seconds = status.ticks / max(status.rate, 1e-9)
    lost = f" · {status.lost} rows lost" if status.lost else ""
    moved = f"the tool moved {1e3 * readings.travel:.0f} mm"
    return (
        f"stopped after {seconds:.1f} s: {status.ticks} ticks · {_timing(status)}{lost}"
        f" · {moved}, largest force {readings.resting:.1f} N at rest, "
        f"{readings.peak:.1f} N with impulses of one tick"
    )


def _timing(status: Status) -> str:
    late = f"p99 {status.lateness_p99:.0f} µs late"
    return f"{status.rate:.0f} Hz · {late} · {status.skips} skipped"
