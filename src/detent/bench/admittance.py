"""The tick of mechanisms on an admittance display, and how long a new mechanism takes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from typing import Any

from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds, shorter
from detent.bench.scenes import corner_at_rest
from detent.bench.start import plain_times
from detent.hands import Sinusoid
from detent.mechanism import Mechanism
from detent.mechanism.library import builtin
from detent.servo.loop.loop import run_lockstep, time_ticks
from detent.servo.loop.status import percentile
from detent.session import Session

NAMES = ("rolling-disk", "disk-on-sphere", "two-link-circle")
TICKS, TIMED = 10_000, 4000
HAND = Sinusoid(force=(2.0, 1.0, -3.0), torque=(0.01, 0.0, 0.02), frequency=0.5)

#: prints the seconds to prepare a mechanism that is in the cache, after the imports
CACHED = """
import json, sys, time
import detent, sympy
from detent.bench.admittance import known
from detent.session import Session
mechanism = known(*map(float, sys.argv[1:]))
began = time.perf_counter()
session = Session(mechanism)
session.subject.allocate(session, None, 1000.0, 1, None)
print(json.dumps(time.perf_counter() - began))
"""


def bench_admittance(quick: bool) -> Numbers:
    """Ticks of the document's three mechanisms against that of the box in the corner."""
    from numba.core.runtime import _nrt_python, rtsys

    ready = {n: Session(builtin(n)).prepare(HAND, 1000.0, 4096) for n in NAMES}
    box = corner_at_rest()
    ticks = shorter(TICKS, quick)
    jobs = {n: Job(partial(run_lockstep, one.servo, ticks), ticks) for n, one in ready.items()}
    jobs["box"] = Job(partial(run_lockstep, box.servo, ticks), ticks)
    costs = alternate(jobs, rounds(quick))
    numbers: Numbers = {}
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats().alloc
    for name, one in ready.items():
        key = name.replace("-", "_")
        numbers[f"{key}_us"] = statistics.median(costs[name])
        tails = [(p99(one.servo), p99(box.servo)) for _ in range(rounds(quick))]
        numbers[f"{key}_p99_us"] = statistics.median(ours for ours, _ in tails)
        numbers[f"{key}_over_box"] = median_ratio(costs[name], costs["box"])
        numbers[f"{key}_over_box_p99"] = median_ratio(*zip(*tails, strict=True))
    numbers["mechanism_allocations"] = rtsys.get_allocation_stats().alloc - before
    return numbers


def p99(servo: Any) -> float:
    """The 99 % cost of some ticks [µs]."""
    servo.clock.compute[:] = 0
    time_ticks(servo, TIMED)
    return percentile(servo.clock.compute, 0.99)


def known(*stiffness: float) -> Mechanism:
    """A rolling disk as it is, or on a spring."""
    import sympy as sp

    disk = builtin("rolling-disk")
    if not stiffness:
        return disk
    return replace(disk, springs=(sp.Float(stiffness[0], 17) * disk.q[0] ** 2,))


def bench_mechanism(quick: bool) -> Numbers:
    """Deriving and compiling a new mechanism, and taking it from the cache, beside plain Numba.

    A quick run takes one that was there before: to derive and compile another takes long.
    """
    springs, numbers = list[str](), Numbers()
    if not quick:
        stiffness = 1.0 + time.time() % 1000.0  # in no cache
        began = time.perf_counter()
        Session(known(stiffness))
        numbers["mechanism_new_s"] = time.perf_counter() - began
        springs = [repr(stiffness)]
    command, times = [sys.executable, "-c", CACHED, *springs], []
    for _ in range(1 if quick else 3):
        done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=True)
        times.append(float(json.loads(done.stdout)))
    imports, small = plain_times(quick)
    if not quick:
        numbers["mechanism_new_over_small_compile"] = float(numbers["mechanism_new_s"]) / small
    cached = statistics.median(times)
    return numbers | {
        "mechanism_cached_s": cached,
        "mechanism_cached_over_imports": cached / imports,
    }
