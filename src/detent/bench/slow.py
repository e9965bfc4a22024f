"""The live servo at 2 kHz while an engine saturates the other core (M27)."""

from __future__ import annotations

import time

from detent.bench.baseline import baseline_lateness
from detent.bench.rounds import Numbers, shorter
from detent.bench.turns import Turn, compare_turns, watch
from detent.engines.host import Host
from detent.local.model import LocalModel
from detent.local.pace import Pace
from detent.session import Session
from detent.world.clutter import cluttered
from detent.world.contact import Contact

RATE = 2000.0  # [Hz]
BODIES = 160
FRAME = 0.001  # [s] the engine is asked for more than it can do
SETTLE = 1.0  # [s]


def bench_slow_engine(quick: bool) -> Numbers:
    """Lateness beside a busy engine, in turns with the baseline beside the same engine."""
    settle, seconds, turns = (0.2, 0.3, 1) if quick else (SETTLE, 5.0, 4)
    local = LocalModel(epsilon=0.01, age_limit=2.0)
    session = Session(
        cluttered(shorter(BODIES, quick)), Contact(2000.0, 20.0), local=local, pace=Pace(FRAME)
    )
    ours, base, rates = [], [], []
    for _ in range(turns):
        with session.live(RATE, realtime=True) as live:
            time.sleep(settle)
            ours.append(watch(live, seconds))
            assert isinstance(live.engine, Host)
            rates.append(live.engine.status().rate)
            fifo = live.promises.fifo
        base.append(baseline_beside(session, settle, seconds, fifo))
    numbers = compare_turns("slow_engine", ours, base)
    return {"slow_engine_hz": sum(rates) / len(rates), "slow_engine_servo_hz": RATE, **numbers}


def baseline_beside(session: Session, settle: float, seconds: float, fifo: bool) -> Turn:
    """The baseline, while the engine simulates for nobody."""
    host = session.host_engine()
    try:
        host.start()
        time.sleep(settle)
        return Turn(*baseline_lateness(RATE, seconds, fifo))
    finally:
        host.stop()
