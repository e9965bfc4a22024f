"""An index out of bounds in a stage is found by ``NUMBA_BOUNDSCHECK=1``, and fails a test.

``make bounds`` runs the tests of tests/servo/test_every_stage.py that way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import detent
from detent.kernels.cached import toolchain

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
SRC = Path(detent.__file__).parents[1]

PLANTED = """
from __future__ import annotations
import threading
import numpy as np
from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage, run_stage, stage_address
from detent.kernels.struct import Struct


class Small(Struct):
    numbers: np.ndarray
    stages: np.ndarray


@kernel
def put(numbers: np.ndarray, i: int) -> None:
    numbers[i] = 1.0


@kernel
def spoil(s: Small) -> None:
    "Write behind the end, in another kernel."
    for i in range(s.numbers.shape[0] + 1):
        put(s.numbers, i)


@kernel
def spoil_before(s: Small) -> None:
    "Write before the beginning."
    for i in range(s.numbers.shape[0]):
        s.numbers[i - 1] = 1.0


@kernel
def loop(s: Small, ticks: int) -> None:
    for _ in range(ticks):
        call_stage(s.stages[0], s)


def make():
    memory = np.zeros(4)  # the fourth number is somebody else's
    s = Small(memory[:3], np.zeros(1, np.int64))
    s.stages[0] = stage_address(spoil, s)
    return s, memory


def test_from_python():
    s, memory = make()
    run_stage(s.stages[0], s)
    assert memory[3] == SPOILT


def test_before_the_beginning():
    memory = np.zeros(4)
    s = Small(memory[1:], np.zeros(1, np.int64))
    run_stage(stage_address(spoil_before, s), s)
    assert memory[0] == SPOILT
    assert memory[3] == 0.0  # which -1 would be, if it counted from the end


def test_in_a_loop():
    s, memory = make()
    loop(s, 5)
    assert memory[3] == SPOILT


def test_on_a_thread():
    s, memory = make()
    thread = threading.Thread(target=loop, args=(s, 5))
    thread.start()
    thread.join()
    assert memory[3] == SPOILT
"""


def run_planted(folder: Path, checked: bool) -> subprocess.CompletedProcess[str]:
    """The tests with planted writes out of bounds, under this project's own settings."""
    file = folder / "test_planted.py"
    file.write_text(PLANTED.replace("SPOILT", "0.0" if checked else "1.0"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(SRC), "DETENT_CACHE_DIR": str(folder / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    environment["NUMBA_BOUNDSCHECK"] = str(int(checked))
    options = ["-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "--rootdir", folder]
    command = [sys.executable, "-m", "pytest", *options, file]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=folder, timeout=120
    )


def test_a_planted_write_out_of_bounds_is_found(tmp_path: Path) -> None:
    """Also where the unchecked kernels are in the cache, and from the servo's thread."""
    unchecked = run_planted(tmp_path, checked=False)
    assert "4 passed" in unchecked.stdout, unchecked.stdout  # nobody notices
    checked = run_planted(tmp_path, checked=True)
    assert checked.returncode == 1
    assert "4 failed" in checked.stdout, checked.stdout
    assert "IndexError: index is out of bounds" in checked.stdout


def test_the_key_of_the_cache_knows_whether_bounds_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = set()
    for bounds in (0, 1):
        monkeypatch.setattr(numba.config, "BOUNDSCHECK", bounds)
        keys.add(toolchain.__wrapped__())
    assert len(keys) == 2
