"""What ticks leave behind in memory: nothing."""

from __future__ import annotations

import os

from detent.bench.rounds import Numbers
from detent.bench.scenes import corner_at_rest
from detent.servo.loop import run_lockstep

WARM_UP = 10_000  # [ticks]


def bench_memory(quick: bool) -> Numbers:
    """Allocations and growth of the process over a million ticks."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    ticks = 100_000 if quick else 1_000_000
    ready = corner_at_rest()
    run_lockstep(ready.servo, WARM_UP)
    before, resident = rtsys.get_allocation_stats(), resident_bytes()
    run_lockstep(ready.servo, ticks)
    after = rtsys.get_allocation_stats()
    return {
        "memory_ticks": ticks,
        "allocations": after.alloc - before.alloc,
        "resident_growth_kib": (resident_bytes() - resident) / 1024,
    }


def resident_bytes() -> int:
    """How much of this process is in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
