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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from detent.kernels.jit import JIT_ENABLED, KERNELS, compiled_cache
from detent.servo.compile import ALL, compile_stage, compile_stages, missing_stages
from detent.servo.records import Servo

_MARK = "complete"
_HELPER = "from detent.warmup import help_compiling; import sys; help_compiling(*sys.argv[1:])"


def is_compiled() -> bool:
    """Whether the machine code of exactly these sources is on disk."""
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
    helpers = min(len(missing), os.cpu_count() or 1) - 1
    if helpers > 0:
        names = [f.__name__ for f in missing]
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", _HELPER, folder, *names]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            started = [subprocess.Popen(command, **quiet) for _ in range(helpers)]  # type: ignore[call-overload]
            try:
                _compile_unclaimed(missing, servo, Path(folder))
                for helper in started:
                    helper.wait()
            finally:
                for helper in started:
                    helper.kill()
    compile_stages(servo)


def compile_servo(progress: Callable[[float], None] | None = None) -> None:
    """Compile everything that a session calls, and leave a mark that it is done."""
    from numba.core import event

    from detent.hands import Impedance
    from detent.session import Session
    from detent.world.world import World

    session = Session(World.builtin("corner"))
    done: set[str] = set()

    class Counter(event.Listener):  # type: ignore[misc]
        def on_start(self, happening: Any) -> None:
            pass

        def on_end(self, happening: Any) -> None:
            done.add(str(happening.data["dispatcher"].__name__))
            if progress is not None:
                progress(min(len(done) / max(len(KERNELS), 1), 1.0))

    listener = Counter()
    event.register("numba:compile", listener)
    try:
        session.run(0.01, Impedance())
        with session.live(rate=500.0, hand=Impedance()) as live:
            live.view()
            live.pull((0.0, 0.0, 0.0))
    finally:
        event.unregister("numba:compile", listener)
    compiled_cache().mkdir(parents=True, exist_ok=True)
    (compiled_cache() / _MARK).touch()
