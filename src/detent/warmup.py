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
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from detent.kernels.jit import JIT_ENABLED, KERNELS, compiled_cache
from detent.servo.admit import AdmitServo
from detent.servo.admit_compile import ADMIT_ALL, compile_one, fill_stages, missing
from detent.servo.compile import ALL, compile_stage, compile_stages, missing_stages
from detent.servo.records import Servo

_MARK = "complete"
_PATIENCE = 300.0  # [s] with a helper that still compiles when there is nothing left to claim
_TEXT = "compiling the servo, once for this version (under a minute)"
_MORE = "compiling what else this session needs"
_HELPER = "from detent.warmup import {0}; import sys; {0}(*sys.argv[1:])"

Progress = Callable[[float], None]
_told: list[Progress] = []  # who is being told
_said: set[str] = set()  # what was told already


def is_compiled() -> bool:
    """Whether the default configuration, of exactly these sources, is on disk as machine code."""
    return not JIT_ENABLED or (compiled_cache() / _MARK).exists()


def _claim(folder: Path, name: str) -> bool:
    try:
        os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


Compiler = Callable[[Any], object]  # of one stage


def _compile_unclaimed(stages: Sequence[Any], compiler: Compiler, folder: Path) -> None:
    for function in stages:
        if _claim(folder, function.__name__):
            compiler(function)


def help_compiling(folder: str, *names: str) -> None:
    """What a helper process does: compile stages that nobody has claimed yet."""
    from detent.session import Session
    from detent.world.world import World

    servo = Session(World.builtin("corner")).allocate(None, 1000.0, ring=1).servo
    stages = [f for f in ALL if f.__name__ in names]
    _compile_unclaimed(stages, lambda f: compile_stage(f, servo), Path(folder))


def help_admitting(folder: str, *names: str) -> None:
    """The same for the stages of admittance sessions."""
    from detent.admission import blank_servo

    servo = blank_servo()
    stages = [f for f in ADMIT_ALL if f.__name__ in names]
    _compile_unclaimed(stages, lambda f: compile_one(f, servo), Path(folder))


def warm(servo: Servo | AdmitServo) -> None:
    """Compile or load all that ticks of this servo call, and fill its table of stages."""
    if isinstance(servo, AdmitServo):
        _warm(missing(servo), partial(compile_one, servo=servo), "help_admitting")
        fill_stages(servo)
    else:
        _warm(missing_stages(servo), partial(compile_stage, servo=servo), "help_compiling")
        compile_stages(servo)


def _warm(stages: list[Any], compiler: Compiler, helper: str) -> None:
    if stages:
        text = _MORE if _TEXT in _said else _TEXT
        with telling(text) as progress, nullcontext() if _told else reporting(progress):
            _compile_on_all_cores(stages, compiler, helper)


def _compile_on_all_cores(missing: list[Any], compiler: Compiler, helper: str) -> None:
    helpers = min(len(missing), _cores()) - 1
    with tempfile.TemporaryDirectory() as folder:
        names = [function.__name__ for function in missing]
        command = [sys.executable, "-P", "-c", _HELPER.format(helper), folder, *names]
        quiet = subprocess.DEVNULL
        started = [
            subprocess.Popen(command, stdout=quiet, stderr=quiet) for _ in range(max(helpers, 0))
        ]
        try:
            _compile_unclaimed(missing, compiler, Path(folder))
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


@contextmanager
def telling(text: str) -> Iterator[Progress]:
    """Say that something is compiled: a bar on a terminal, else a line; unless a caller does."""
    new = text not in _said
    _said.add(text)
    if _told:
        yield _told[-1]
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(text, total=1.0)
            yield lambda done: bar.update(task, completed=done)
    else:
        if new:
            print(f"detent: {text}", file=sys.stderr, flush=True)
        yield lambda done: None


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
