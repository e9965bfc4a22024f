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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from detent.kernels.jit import JIT_ENABLED, KERNELS, compiled_cache
from detent.servo.compile import ALL, compile_stage, compile_stages, missing_stages
from detent.servo.records import Servo

_MARK = "complete"
_PATIENCE = 300.0  # [s] with a helper that still compiles when there is nothing left to claim
_TEXT = "compiling the servo, once for this version (under a minute)"
_HELPER = "from detent.warmup import help_compiling; import sys; help_compiling(*sys.argv[1:])"

Progress = Callable[[float], None]
_told: list[Progress] = []  # who is being told


def is_compiled() -> bool:
    """Whether the default configuration, of exactly these sources, is on disk as machine code."""
    return not JIT_ENABLED or (compiled_cache() / _MARK).exists()


def _claim(folder: Path, name: str) -> bool:
    try:
        os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _compile_unclaimed(stages: Sequence[Any], servo: Servo, folder: Path) -> None:
    for function in stages:
        if _claim(folder, function.__name__):
            compile_stage(function, servo)


def help_compiling(folder: str, *names: str) -> None:
    """What a helper process does: compile stages that nobody has claimed yet."""
    from detent.session import Session
    from detent.world.world import World

    servo = Session(World.builtin("corner")).allocate(None, 1000.0, ring=1).servo
    _compile_unclaimed([f for f in ALL if f.__name__ in names], servo, Path(folder))


def warm(servo: Servo) -> None:
    """Compile or load all that ticks of this servo call, and fill its table of stages."""
    missing = missing_stages(servo)
    if missing:
        with _telling():
            _compile_on_all_cores(missing, servo)
    compile_stages(servo)


def _compile_on_all_cores(missing: list[Any], servo: Servo) -> None:
    helpers = min(len(missing), _cores()) - 1
    with tempfile.TemporaryDirectory() as folder:
        names = [function.__name__ for function in missing]
        command = [sys.executable, "-P", "-c", _HELPER, folder, *names]
        quiet = subprocess.DEVNULL
        started = [
            subprocess.Popen(command, stdout=quiet, stderr=quiet) for _ in range(max(helpers, 0))
        ]
        try:
            _compile_unclaimed(missing, servo, Path(folder))
            for helper in started:
                helper.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass  # what it did not finish is compiled here
        finally:
            for helper in started:
                helper.kill()
                helper.wait()


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _telling() -> Iterator[None]:
    """Say that something is compiled: a bar on a terminal, else a line; unless a caller does."""
    if _told:
        yield
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(_TEXT, total=1.0)
            with reporting(lambda done: bar.update(task, completed=done)):
                yield
    else:
        print(f"detent: {_TEXT}", file=sys.stderr, flush=True)
        yield


@contextmanager
def reporting(progress: Progress) -> Iterator[None]:
    """Call *progress* with the fraction of all kernels that are compiled or loaded so far."""
    from numba.core import event

    done: set[str] = set()

    class Counter(event.Listener):  # type: ignore[misc]
        def on_start(self, happening: Any) -> None:
            pass

        def on_end(self, happening: Any) -> None:
            done.add(str(happening.data["dispatcher"].__name__))
            progress(min(len(done) / max(len(KERNELS), 1), 1.0))

    listener = Counter()
    event.register("numba:compile", listener)
    _told.append(progress)
    try:
        yield
    finally:
        _told.pop()
        event.unregister("numba:compile", listener)


def compile_servo(progress: Progress) -> None:
    """Compile what a session with the defaults calls, and leave a mark that it is done."""
    from detent.hands import Impedance
    from detent.session import Session
    from detent.world.world import World

    session = Session(World.builtin("corner"))
    with reporting(progress):
        session.run(0.01, Impedance())
        with session.live(rate=500.0, hand=Impedance()) as live:
            live.view()
            live.pull((0.0, 0.0, 0.0))
    compiled_cache().mkdir(parents=True, exist_ok=True)
    (compiled_cache() / _MARK).touch()
