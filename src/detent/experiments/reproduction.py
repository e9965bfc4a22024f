"""Many experiments at once: one process per core, each writes its own figures."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from detent.experiments import find
from detent.experiments.documents import in_order
from detent.experiments.report import write_outputs

#: those that take longest begin first, so that none is waited for at the end
LONGEST = (
    *("stiff-hole", "update-sweep", "slow-engine", "arm-any-link", "limit-sweep", "incline"),
    *("rolling-disk", "disk-on-sphere", "friction-models", "linkage-async"),
)

Reports = dict[str, dict[str, Any]]


def reproduce_one(name: str, folder: Path) -> dict[str, Any]:
    """Run an experiment with its defaults and write its figure; its report, with the time.

    That of the processor: what others compute meanwhile does not count.
    """
    began = time.process_time()
    experiment = find(name)
    result = experiment()
    write_outputs(name, result, folder, traces=False)
    report = experiment.report(experiment.parameters, result)
    return report | {"seconds": time.process_time() - began}


def reproduce_all(
    names: list[str], folder: Path, jobs: int, progress: Callable[[str, int], None]
) -> list[dict[str, Any]]:
    """Reports in the order of the documents; *progress* gets each name, and how many are done."""
    found: Reports = {}
    for name, report in _run(names, folder, min(jobs, len(names))):
        found[name] = report
        progress(name, len(found))
    return [found[name] for name in in_order(names)]


def _run(names: list[str], folder: Path, jobs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if jobs <= 1:
        for name in names:
            yield name, reproduce_one(name, folder)
        return
    waiting = sorted(names, key=lambda n: LONGEST.index(n) if n in LONGEST else len(LONGEST))
    # spawned, not forked: compiled code and MuJoCo have threads
    with ProcessPoolExecutor(jobs, get_context("spawn"), _obey) as pool:
        tasks = {pool.submit(reproduce_one, name, folder): name for name in waiting}
        try:
            for task in as_completed(tasks):
                yield tasks[task], task.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _obey() -> None:
    """In a worker: stop on Ctrl-C without a word, and when the command is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def cores() -> int:
    """How many processes this one may use at a time."""
    return len(os.sched_getaffinity(0))
