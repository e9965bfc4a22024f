"""What the terminal shows: one line that is kept up to date, and one at the end."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TextIO

import numpy as np

from detent.app.readings import Readings
from detent.servo.constants import HISTOGRAM_BINS, HOLDS
from detent.servo.loop.live import Live
from detent.servo.loop.status import Status

TERMINAL_EVERY, FILE_EVERY = 0.2, 5.0  # [s]
RED, PLAIN = "\x1b[31m", "\x1b[0m"
MARGIN = 0.8  # of the rate that was reached, for the one to try


class StatusLine:
    """Writes the status now and then: in place on a terminal, line by line elsewhere."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._in_place = self._out.isatty()
        self._every = TERMINAL_EVERY if self._in_place else FILE_EVERY
        self._coloured = self._in_place and not os.environ.get("NO_COLOR")
        self._due = 0.0  # [s] when to write next
        self._said: set[str] = set()

    def say(self, line: str) -> None:
        """Write a line that stays."""
        clear = "\r\x1b[2K" if self._in_place else ""
        print(f"{clear}{line}", file=self._out, flush=True)

    def say_once(self, kind: str, line: str) -> None:
        """Write a line that stays, the first of its kind only; none if it is empty."""
        if line and kind not in self._said:
            self._said.add(kind)
            self.say(line)

    def painted(self, line: str, rate: str) -> str:
        """The line, with a rate that is not held in red where there are colours."""
        if not self._coloured or " of " not in rate:
            return line
        return line.replace(rate, f"{RED}{rate}{PLAIN}", 1)

    def end(self, status: Status, readings: Readings) -> None:
        """Write how it went."""
        rate = rate_text(status.rate, status.wanted)
        self.say(self.painted(last_line(status, readings), rate))

    def refresh(self, live: Live, readings: Readings) -> None:
        """Write the status, if it is time."""
        now = time.monotonic()
        if not self._due:  # the first frame
            self._due = now + self._every
        if now < self._due:
            return
        self._due = now + self._every
        status = live.status()
        self.say_once("advice", advice(live, status))
        current = line(status, readings) + engine_text(live)
        current = self.painted(current, rate_text(status.recent, status.wanted))
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
    force = float(np.linalg.norm(now.felt))
    contacts = f"{now.contacts} contact{'' if now.contacts == 1 else 's'}"
    bounded = f" · gains bounded in {readings.bounded} ticks" if readings.bounded else ""
    kept = ""
    if readings.energy != 0.0:
        kept = f" · W {1e3 * readings.energy:.1f}, E {1e3 * readings.left:.1f} mJ"
    kept += f" · kept passive in {readings.passive} ticks" if readings.passive else ""
    return f"{_timing(status, status.recent)} · {contacts} · {force:5.1f} N{bounded}{kept}"


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
    timing = _timing(status, status.rate)
    moved = f"the tool moved {1e3 * readings.travel:.0f} mm"
    return (
        f"stopped after {seconds:.1f} s: {status.ticks} ticks · {timing}{lost}"
        f" · {moved}, largest force on the hand {readings.felt:.1f} N, "
        f"largest impulse {readings.impulse:.3g} N·s"
    )


def rate_text(rate: float, wanted: float) -> str:
    """A rate, beside the wanted one where it is not held."""
    return f"{rate:.0f} Hz" if rate >= HOLDS * wanted else f"{rate:.0f} of {wanted:.0f} Hz"


def late_text(lateness: float) -> str:
    """A lateness [µs]; beyond the histogram nobody knows it."""
    return f"> {HISTOGRAM_BINS // 1000} ms" if math.isinf(lateness) else f"{lateness:.0f} µs"


def advice(live: Live, status: Status) -> str:
    """What helps a servo that does not hold its rate; empty if it does."""
    if status.holds:
        return ""
    ways = [f"a lower rate (--rate {lower_rate(status.recent):g})"]
    if live.engine is None and live.settings.contact is not None:
        ways.append("a local model (--local)")
    if live.promises.refused:
        ways.append("real-time priority (detent doctor)")
    reached = rate_text(status.recent, status.wanted)
    return f"the servo does not hold its rate, {reached}; what may help: {', '.join(ways)}"


def lower_rate(reached: float) -> float:
    """A round rate [Hz] that a servo which reached this one should hold: 1, 2, 5, 10, …"""
    most = max(MARGIN * reached, 1.0)
    power = 10.0 ** math.floor(math.log10(most))
    return max(digit * power for digit in (1.0, 2.0, 5.0) if digit * power <= most)


def _timing(status: Status, rate: float) -> str:
    late = f"p99 {late_text(status.lateness_p99)} late"
    return f"{rate_text(rate, status.wanted)} · {late} · {status.skips} skipped"
