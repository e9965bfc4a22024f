"""How well the live servo keeps time without priority, beside a busy process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from detent.bench.baseline import baseline_lateness
from detent.bench.page import patient
from detent.bench.rounds import Numbers
from detent.bench.turns import Turn, compare_turns, watch
from detent.session import Session
from detent.world.world import World

RATE = 4000.0  # [Hz]
SETTLE = 0.5  # [s]


def bench_fair(quick: bool) -> Numbers:
    """Lateness at 4 kHz as anybody may run it, in turns with the baseline likewise."""
    settle, seconds, turns = (0.1, 0.3, 1) if quick else (SETTLE, 3.0, 8)
    session = Session(World.builtin("peg-in-hole"))
    ours, base = [], []
    for _ in range(turns):
        with patient(lambda: session.live(RATE, realtime=False)) as live, busy_process():
            time.sleep(settle)
            ours.append(watch(live, seconds))
        with busy_process():
            time.sleep(settle)
            base.append(Turn(*baseline_lateness(RATE, seconds, fifo=False)))
    return compare_turns("live_fair", ours, base) | compare_skips(ours, base)


def compare_skips(ours: list[Turn], base: list[Turn]) -> Numbers:
    """Skipped deadlines, beside how often the baseline was later than a period."""
    late = sum(turn.beyond(RATE) for turn in base)
    skips = sum(turn.skips for turn in ours)
    return {"live_fair_baseline_late": late, "live_fair_skips_over_late": skips / max(late, 1)}


@contextmanager
def busy_process() -> Iterator[None]:
    """A process that never rests, started as from another terminal; it ends with this one."""
    program = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    busy = [sys.executable, "-S", "-c", program]
    process = subprocess.Popen(busy, start_new_session=True)
    try:
        yield
    finally:
        process.kill()
        process.wait()
