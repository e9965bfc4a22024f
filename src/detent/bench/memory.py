"""What ticks leave behind in memory: nothing."""

from __future__ import annotations

import os

from detent.bench.local import MERGES, settled, studded_corner, tick_singly
from detent.bench.rounds import Numbers, shorter
from detent.bench.scenes import corner_at_rest
from detent.local.model import LocalModel
from detent.servo.loop.loop import run_lockstep

WARM_UP = 10_000  # [ticks]


def bench_memory(quick: bool) -> Numbers:
    """Allocations and growth of the process over a million ticks."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    ticks = shorter(1_000_000, quick)
    ready, local = corner_at_rest(), settled(studded_corner(), LocalModel(age_limit=1e9), quick)
    run_lockstep(ready.servo, WARM_UP)
    merges = shorter(MERGES, quick)
    tick_singly(local.servo, True, 1, merges)
    before, resident = rtsys.get_allocation_stats(), resident_bytes()
    run_lockstep(ready.servo, ticks)
    after = rtsys.get_allocation_stats()
    grown = resident_bytes() - resident
    tick_singly(local.servo, True, 0, merges)  # the engine's side of it, which may allocate
    published = rtsys.get_allocation_stats()
    tick_singly(local.servo, True, 1, merges)
    merged = rtsys.get_allocation_stats()
    return {
        "memory_ticks": ticks,
        "allocations": after.alloc - before.alloc,
        "merge_allocations": merged.alloc - 2 * published.alloc + after.alloc,
        "resident_growth_kib": grown / 1024,
    }


def resident_bytes() -> int:
    """How much of this process is in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
