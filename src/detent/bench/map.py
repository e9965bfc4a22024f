"""How well two workers share the cells of a map, by processor time."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from detent.bench.rounds import Numbers
from detent.maps import Grid, Setting, parse_axis
from detent.maps import run as running
from detent.maps.cells import compute_chunk
from detent.maps.executors import open_executor

WORKERS = 2
SIDE = 100  # cells along each axis


@dataclass
class Share:
    """What one task cost, by the clock of its worker [s of processor time]."""

    worker: int
    begun: float  # what the worker had used before: its start, and tasks before
    used: float


def timed_chunk(settings: list[Setting]) -> tuple[list[dict[str, Any]], Share]:
    """The rows of a task, and what they cost."""
    begun = time.process_time()
    rows = compute_chunk(settings)
    return rows, Share(os.getpid(), begun, time.process_time() - begun)


def makespan(starts: Sequence[float], costs: Sequence[float]) -> float:
    """[s] until all tasks are done, if each goes to the worker that is free first."""
    busy = list(starts)
    for cost in costs:
        first = busy.index(min(busy))
        busy[first] += cost
    return max(busy)


def shares(workers: int, side: int = SIDE) -> tuple[float, list[Share]]:
    """Processor time of this process while a map is computed, and that of each task."""
    found = list[Share]()
    axes = (f"stiffness=200:5000:{side}", f"damping=0:2:{side}")
    grid = Grid(Setting(seconds=0.1), *(parse_axis(axis) for axis in axes))
    settings = grid.settings()
    size = running.chunk_size(len(settings), True, 2)
    tasks = [settings[i : i + size] for i in range(0, len(settings), size)]
    begun = time.process_time()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_executor(f"local:{workers}", Path(folder)) as executor,
    ):
        for rows, share in running.completed(executor, tasks, timed_chunk):
            running.write_rows(rows, running.chunk_file(Path(folder), rows))
            found.append(share)
    return time.process_time() - begun, found


def efficiency(alone: tuple[float, list[Share]], both: tuple[float, list[Share]]) -> float:
    """What two cores gain over one, halved: with their starts, the last task, and this process.

    By processor time, so that others on the machine do not count; this process's own is added to
    either, as if nobody worked meanwhile.
    """
    spans = []
    for (own, tasks), count in ((alone, 1), (both, WORKERS)):
        first: dict[int, float] = {}
        for one in tasks:
            first[one.worker] = min(one.begun, first.get(one.worker, one.begun))
        starts = list(first.values()) + [min(first.values())] * (count - len(first))
        spans.append(own + makespan(starts, [one.used for one in tasks]))
    return spans[0] / (WORKERS * spans[1])


def bench_map(quick: bool) -> Numbers:
    """A map of 10⁴ cells on one core, and on two; not in a quick run, it takes minutes."""
    if quick:
        return {}
    alone, both = shares(1), shares(WORKERS)
    return {
        "map_cell_ms": 1e3 * sum(one.used for one in alone[1]) / SIDE**2,
        "map_efficiency": efficiency(alone, both),
    }
