"""Compile all that tests run, once and on all cores, before workers start.

Each of them would compile the same again: Numba caches what is compiled, but nobody waits for
another who compiles it just now. Where nothing has changed since the last time, this looks at
one file and is done.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from detent.cli.warm import compile_servo
from detent.kernels.cached import compiled_cache
from detent.kernels.jit import JIT_ENABLED
from detent.servo.compile import missing
from detent.setup.examples import all_stages
from detent.setup.warmup import compile_unclaimed

DONE = compiled_cache() / "tests"


def take_part(folder: Path) -> None:
    """Compile what nobody who works in this folder has begun to compile."""
    from detent import Session
    from detent.mechanism.library import MECHANISMS, builtin

    compile_unclaimed(missing(list(all_stages())), folder)
    for name in MECHANISMS:
        try:
            (folder / name).mkdir()
        except FileExistsError:
            continue
        Session(builtin(name)).run(0.01)


def cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def main() -> None:
    """Start the helpers and wait for them; what one of them left undone, a test compiles."""
    if not JIT_ENABLED or DONE.exists():
        return
    print("compiling what the tests run, once for these sources", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, folder]
        helpers = [subprocess.Popen(command) for _ in range(cores())]
        if any([helper.wait() for helper in helpers]):
            sys.exit("it could not be compiled: see above")
    compile_servo(lambda done: None)
    DONE.touch()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take_part(Path(sys.argv[1]))
    else:
        main()
