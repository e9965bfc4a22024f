"""How well the live servo keeps time with priority, beside a page and a busy Python thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from detent.bench.baseline import baseline_lateness
from detent.bench.page import Page, browser_at, serve_page
from detent.bench.rounds import Numbers, Progress
from detent.bench.turns import Turn, compare_turns, watch
from detent.servo.loop.rights import Promises
from detent.session import Session
from detent.world.world import World

RATES = (1000.0, 4000.0, 8000.0)  # [Hz]
SHOW_RATE = 200.0  # [Hz] keeps the page moving beside the baseline, and next to no core busy
SETTLE = 1.0  # [s] until a page has drawn a new session


def bench_live(quick: bool, progress: Progress) -> Numbers:
    """Lateness with real-time priority against the baseline, in turns, under the same load."""
    if refusal := fifo_refusal():
        return {"live_fifo": f"not measured: {refusal}"}
    settle, seconds, turns = (0.1, 0.2, 1) if quick else (SETTLE, 5.0, 6)
    ours: dict[float, list[Turn]] = {rate: [] for rate in RATES}
    base: dict[float, list[Turn]] = {rate: [] for rate in RATES}
    with serve_page(Session(World.builtin("peg-in-hole"))) as page, ExitStack() as opened:
        browser = "none"  # in a quick run, which has one for the page alone
        if not quick:
            with page.playing(SHOW_RATE, realtime=False):  # the camera is where it opens first
                browser = opened.enter_context(browser_at(page))
        for turn in range(turns):
            for rate in RATES:
                ours[rate].append(live_turn(page, rate, settle, seconds))
                base[rate].append(baseline_turn(page, rate, settle, seconds))
            progress((turn + 1) / turns)
    all_turns = [turn for turns in (*ours.values(), *base.values()) for turn in turns]
    numbers: Numbers = {
        "live_fifo": "allowed",
        "live_seconds": turns * seconds,
        "live_page": browser if all(turn.watched for turn in all_turns) else "none",
    }
    for rate in RATES:
        numbers |= compare_turns(f"live_{rate / 1000:g}khz", ours[rate], base[rate])
    return numbers


def fifo_refusal() -> str:
    """Why real-time priority cannot be measured; empty if it can."""
    promises = Promises()
    promises.take(realtime=True)
    promises.release()
    return promises.advice


def live_turn(page: Page, rate: float, settle: float, seconds: float) -> Turn:
    """The servo for a while, after the page has settled."""
    with page.playing(rate, realtime=True) as live, busy_thread():
        time.sleep(settle)
        return watch(live, seconds)._replace(watched=page.open)


def baseline_turn(page: Page, rate: float, settle: float, seconds: float) -> Turn:
    """The baseline for a while, beside a page that moves as before."""
    with page.playing(SHOW_RATE, realtime=False), busy_thread():
        time.sleep(settle)
        return Turn(*baseline_lateness(rate, seconds, fifo=True), watched=page.open)


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
