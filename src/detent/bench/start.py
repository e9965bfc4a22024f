"""How long it takes until the first tick, beside what Numba and MuJoCo take by themselves."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import cache

from detent.bench.rounds import Numbers, rounds
from detent.servo.loop.loop import run_lockstep
from detent.session import Session
from detent.setup.again import lent
from detent.world.contact import Contact
from detent.world.world import World

#: prints the seconds to import Detent, and to its first tick
FIRST_TICK = """
import json, time
began = time.perf_counter()
import detent
imported = time.perf_counter()
detent.Session(detent.World.builtin("corner")).run(0.001, detent.hands.Constant())
print(json.dumps([imported - began, time.perf_counter() - began]))
"""

#: prints the seconds to import what Detent stands on, and then to compile something that is small
PLAIN = """
import json, time
began = time.perf_counter()
import numba, mujoco
imported = time.perf_counter()
import numpy as np

def factor(a, out):
    for j in range(a.shape[0]):
        for i in range(j, a.shape[0]):
            total = a[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            out[i, j] = np.sqrt(total) if i == j else total / out[j, j]

for order in "CF":
    given = np.asarray(np.eye(4), order=order)
    numba.njit(factor)(given, given.copy())
print(json.dumps([imported - began, time.perf_counter() - imported]))
"""

TICKS = 1000  # within whose time a session is prepared again
STIFFNESS = 4000.0  # [N/m] at first


def bench_start(quick: bool) -> Numbers:
    """Warm first tick, the same session again and (unless quick) cold compile."""
    plain, warm = [], []
    for _ in range(1 if quick else 3):
        plain.append(plain_times(quick))
        warm.append(in_a_process(FIRST_TICK, {}))
    imports, small = (statistics.median(times) for times in zip(*plain, strict=True))
    imported, first = (statistics.median(times) for times in zip(*warm, strict=True))
    numbers: Numbers = {
        "numba_and_mujoco_import_s": imports,
        "small_compile_s": small,
        "import_over_theirs": imported / imports,
        "warm_first_tick_s": first,
        "warm_beyond_imports_s": first - imports,
    }
    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            cold = in_a_process(FIRST_TICK, {"DETENT_CACHE_DIR": folder})[1]
        numbers |= {"cold_first_tick_s": cold, "cold_over_small_compile": cold / small}
    return numbers | again(quick)


def plain_times(quick: bool) -> tuple[float, float]:
    """What Numba and MuJoCo take by themselves; the parts of a quick run share one look at it."""
    return _plain_once() if quick else in_a_process(PLAIN, {})


@cache
def _plain_once() -> tuple[float, float]:
    return in_a_process(PLAIN, {})


def in_a_process(program: str, environment: dict[str, str]) -> tuple[float, float]:
    """The two durations [s] that a program prints, in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = json.loads(done.stdout)
    return first, second


def again(quick: bool) -> Numbers:
    """Preparing the same world with other gains, as `Session.run` does, in ticks of the session."""
    world = World.builtin("corner")
    ready = Session(world, Contact(STIFFNESS, 30.0)).prepare(None, 1000.0, TICKS)
    run_lockstep(ready.servo, TICKS)
    ratios = []
    for turn in range(2 + 4 * rounds(quick)):
        began = time.perf_counter()
        session = Session(world, Contact(STIFFNESS + turn, 30.0))
        with lent(session.subject, session, None, 1000.0, TICKS):
            prepared = time.perf_counter()
        run_lockstep(ready.servo, TICKS)
        ticked = time.perf_counter()
        with lent(session.subject, session, None, 1000.0, TICKS) as used:
            run_lockstep(used.servo, TICKS)  # so that there is something to put back
        ratios.append((prepared - began) / (ticked - prepared))
    return {"prepared_again_over_1000_ticks": statistics.median(ratios[2:])}
