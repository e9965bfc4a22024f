"""Compiling the servo before its first use: on all cores, with progress.

Numba compiles under a lock of the process. So where several stages are missing from the
cache, helper processes take some of them: each claims the next stage that nobody has, and
what a helper compiled is loaded from the cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from detent.kernels.stages import stage_address
from detent.servo.compile import Fitted, fill_table, missing
from detent.setup.examples import all_stages
from detent.setup.prepared import Prepared
from detent.setup.progress import reporting, said, telling, told

_PATIENCE = 300.0  # [s] with a helper that still compiles when there is nothing left to claim
_TEXT = "compiling the servo, once for this version (under a minute)"
_MORE = "compiling what else this session needs"
_HELPER = "from detent.setup.warmup import help_compiling as go; import sys; go(*sys.argv[1:])"


def _claim(folder: Path, name: str) -> bool:
    try:
        os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _job(one: Fitted) -> str:
    """The name of a stage to compile: its function, and what it takes."""
    return f"{one.stage.function.__name__}:{one.stage.takes.__name__}"


def compile_unclaimed(stages: Iterable[Fitted], folder: Path) -> None:
    """Compile those that nobody who works in this folder has claimed."""
    for one in stages:
        if _claim(folder, _job(one)):
            stage_address(one.stage.function, one.struct)


def help_compiling(folder: str, *jobs: str) -> None:
    """What a helper process does: compile stages that nobody has claimed yet."""
    known = {_job(one): one for one in all_stages()}
    compile_unclaimed((known[job] for job in jobs if job in known), Path(folder))


def warm(ready: Prepared) -> None:
    """Compile or load all that ticks of this servo call, and fill its table of stages."""
    stages = ready.stages
    absent = missing(stages)
    if absent:
        text = _MORE if _TEXT in said else _TEXT
        with telling(text) as progress, nullcontext() if told else reporting(progress):
            _compile_on_all_cores(absent)
    fill_table(ready.servo, stages)


def _compile_on_all_cores(absent: list[Fitted]) -> None:
    helpers = min(len(absent), _cores()) - 1
    with tempfile.TemporaryDirectory() as folder:
        jobs = [_job(one) for one in absent]
        command = [sys.executable, "-P", "-c", _HELPER, folder, *jobs]
        quiet = subprocess.DEVNULL
        started = [
            subprocess.Popen(command, stdout=quiet, stderr=quiet) for _ in range(max(helpers, 0))
        ]
        try:
            compile_unclaimed(absent, Path(folder))
            for process in started:
                process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass  # what it did not finish is compiled here
        finally:
            for process in started:
                process.kill()
                process.wait()


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
