"""How well the live servo keeps time, beside a page in a browser and a busy Python thread."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import numpy as np

from detent.bench.baseline import baseline_lateness
from detent.bench.page import Page, browser_at, serve_page
from detent.bench.rounds import Numbers, Progress, median_ratio
from detent.servo.loop.live import Live, percentile
from detent.session import Session
from detent.world.world import World

RATE = 4000.0  # [Hz]
PERIOD = 1e6 / RATE  # [µs]
SHOW_RATE = 200.0  # [Hz] keeps the page moving beside the baseline, and next to no core busy
SETTLE = 1.0  # [s] until a page has drawn a new session
LOOKS, BETWEEN_LOOKS = 50, 0.0013  # [-], [s] at the schedule; out of step with the ticks


class Turn(NamedTuple):
    """One stretch of the live servo, or of the baseline."""

    name: str
    lateness: np.ndarray  # histogram [µs]
    watched: bool  # whether the page was open until the end
    skips: int = 0
    drift: float = 0.0  # [µs]

    def late(self, fraction: float) -> float:
        """A percentile of the lateness [µs]."""
        return percentile(self.lateness, fraction)


def bench_live(quick: bool, progress: Progress) -> Numbers:
    """Lateness at 4 kHz against the baseline, in turns, under the same load."""
    seconds, turns = (2.0, 2) if quick else (10.0, 6)
    ours, base = [], []
    with serve_page(Session(World.builtin("peg-in-hole"))) as page, ExitStack() as opened:
        with page.playing(SHOW_RATE, realtime=False):  # the camera is where the first page opens
            browser = opened.enter_context(browser_at(page))
        for turn in range(turns):
            ours.append(live_turn(page, seconds))
            base.append(baseline_turn(page, seconds))
            progress((turn + 1) / turns)
    watched = all(turn.watched for turn in (*ours, *base))
    return {
        "live_rate_hz": RATE,
        "live_seconds": turns * seconds,
        "live_page": browser if watched else "none",
        **compare_turns(ours, base),
    }


def compare_turns(ours: Sequence[Turn], base: Sequence[Turn]) -> Numbers:
    """Medians over the turns, the skips of all and the worst drift."""
    numbers: Numbers = {"baseline": base[0].name}
    for name, turns in (("live", ours), ("baseline", base)):
        for percent in (50, 99):
            late = statistics.median(turn.late(percent / 100) for turn in turns)
            numbers[f"{name}_lateness_p{percent}_us"] = late
    p99 = [[turn.late(0.99) for turn in turns] for turns in (ours, base)]
    return numbers | {
        "live_over_baseline_p99": median_ratio(*p99),
        "live_skips": sum(turn.skips for turn in ours),
        "live_drift_us": max(abs(turn.drift) for turn in ours),
    }


def live_turn(page: Page, seconds: float) -> Turn:
    """The servo for a while, after the page has settled."""
    with page.playing(RATE, realtime=True) as live, busy_thread():
        time.sleep(SETTLE)
        lateness, skips = live.histogram(), live.status().skips
        time.sleep(seconds)
        lateness, skips = live.histogram() - lateness, live.status().skips - skips
        return Turn("live", lateness, page.open, skips, schedule_drift(live))


def baseline_turn(page: Page, seconds: float) -> Turn:
    """The baseline for a while, beside a page that moves as before."""
    with page.playing(SHOW_RATE, realtime=False), busy_thread():
        time.sleep(SETTLE)
        name, lateness = baseline_lateness(RATE, seconds)
        return Turn(name, lateness, page.open)


def schedule_drift(live: Live) -> float:
    """Wall time since the first deadline, less the time of all ticks and skips [µs].

    A look falls half a period after the last deadline on average. Of many looks the median
    counts, because any one may be interrupted halfway.
    """
    drifts = []
    for _ in range(LOOKS):
        status = live.status()
        ran = status.ticks / status.rate
        drifts.append(1e6 * (ran - (status.ticks + status.skips - 0.5) / live.rate))
        time.sleep(BETWEEN_LOOKS)
    return statistics.median(drifts)


@contextmanager
def busy_thread() -> Iterator[None]:
    """A Python thread that never rests."""
    stop = threading.Event()
    thread = threading.Thread(target=_keep_busy, args=(stop,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _keep_busy(stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        number = (number * 31 + 7) % 1_000_003
