"""A first look at scene files from outside, in a process of its own.

A malformed mesh can crash MuJoCo's loader, and a large one can exhaust the machine. So a
child process (reading.py) loads such a file first, and is watched: it may take so much memory
and processor time. Its own start does not count, nor does what others take of the machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from detent.world.reading import LOADED, MOST_MEMORY, SPACE, TOO_LONG, Refused, space

CHILD = Path(__file__).with_name("reading.py")
PATIENCE = 3.0  # [s] of the processor, for the scene alone: with the start, five at most
WALL_PATIENCE = 120.0  # [s] on the clock, start and all: something else is wrong
_LOOK = 0.005  # [s] between two looks at its memory
_MARGIN = 1 << 27  # [bytes] that it may touch in between
_TRUST = "trusted=True (--trusted) lifts the limit"
_RISKY = re.compile(
    r"<(include|mesh|hfield|texture|skin|flex|model|replicate|composite|attach|extension|size"
    r"|sensor)|\bnsample\b",
    re.IGNORECASE,
)


def is_risky(text: str) -> bool:
    """Whether MJCF or URDF text refers to files, or makes more than it says."""
    return _RISKY.search(text) is not None


def screen(source: str, is_text: bool, outside: bool, root: str = "") -> None:
    """Load in a child process; `Refused` if that fails, crashes, or takes too much."""
    command = [
        sys.executable, "-P", str(CHILD), "text" if is_text else source, str(int(outside)),
        root, str(max(PATIENCE, 1e-6)),
    ]  # fmt: skip
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(source.encode() if is_text else b"")
        given.seek(0)
        child = subprocess.Popen(
            command, stdin=given, stdout=said, stderr=subprocess.STDOUT, env=environment
        )
        try:
            _watch(child)
        finally:
            child.kill()
            child.wait()
        said.seek(0)
        _judge(child.returncode, said.read().decode(errors="replace"))


def _watch(child: subprocess.Popen[bytes]) -> None:
    """Wait for the child, but not for ever, nor whatever it takes."""
    end = time.monotonic() + WALL_PATIENCE
    while True:
        try:
            child.wait(_LOOK)
            return
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                most = f"{WALL_PATIENCE:g} s on the clock"
                raise Refused(f"it takes longer than {most} to load; {_TRUST}") from None
        if _resident(child.pid) > MOST_MEMORY - _MARGIN:
            raise Refused(f"it needs more than {MOST_MEMORY >> 30} GiB of memory to load; {_TRUST}")


def _resident(pid: int) -> int:
    """[bytes] of memory that a process really uses; 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGESIZE")


def _judge(code: int, said: str) -> None:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if code == 0 and lines[-1:] == [LOADED]:
        return
    if code == -TOO_LONG:
        most = f"{PATIENCE:g} s of the processor"
        raise Refused(f"it takes longer than {most} to load; {_TRUST}")
    if code < 0:
        raise Refused(f"it crashes MuJoCo's loader (signal {-code})")
    why = lines[-1] if lines else f"MuJoCo's loader ends with {code}"
    if "allocate" in why:
        most = f"{MOST_MEMORY >> 30} GiB of memory"
        if space() < min(SPACE, MOST_MEMORY):
            most = f"{space() >> 20} MiB of addresses, by the limit of this shell: ulimit -v"
        why += f": it asks for more than a scene may take ({most}); {_TRUST}"
    raise Refused(why)
