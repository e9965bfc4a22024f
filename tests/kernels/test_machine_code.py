"""Stages are kept as machine code, and loaded without waking the compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detent import kernels
from detent.kernels.jit import JIT_ENABLED, kernel
from detent.kernels.machine_code import find_code, kept_at
from detent.kernels.stages import run_entry, run_stage, stage_address
from detent.kernels.struct import Struct

SRC = Path(kernels.__file__).parents[2]
PROGRAM = """
import json, math, sys
import numpy as np
from detent.kernels.jit import kernel
from detent.kernels.stages import run_entry, run_stage, stage_address
from detent.kernels.struct import Struct

class Pair(Struct):
    angle: np.ndarray
    out: np.ndarray

@kernel
def inner(x: float) -> float:
    return math.atan2(math.sin(x), math.cos(x))

@kernel
def turn(s: Pair) -> None:
    for i in range(s.angle.shape[0]):
        s.out[i] = inner(s.angle[i])

@kernel
def count(s: Pair, times: int) -> int:
    return times * s.angle.shape[0]

pair = Pair(np.array([0.5, 7.0]), np.zeros(2))
run_stage(stage_address(turn, pair), pair)
woken = [name for name in ("scipy.linalg", "numba.np.arraymath") if name in sys.modules]
print(json.dumps([pair.out.tolist(), run_entry(count, pair, 21), woken]))
"""


def run(program: Path, cache: Path) -> Any:
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(SRC), "DETENT_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(not JIT_ENABLED, reason="there is no machine code")
def test_the_second_process_loads_what_the_first_compiled(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    first, second = (run(program, tmp_path / "cache") for _ in range(2))
    assert first[:2] == second[:2] == [[0.5, pytest.approx(7.0 - 2.0 * np.pi)], 42]
    assert first[2] == ["scipy.linalg", "numba.np.arraymath"]
    assert second[2] == []
    (kept,) = (tmp_path / "cache").rglob("turn-*.code")
    kept.write_bytes(kept.read_bytes()[:100])  # a disk that was full
    assert run(program, tmp_path / "cache")[:2] == first[:2]


class Number(Struct):
    value: np.ndarray


def adding(what: float) -> Any:
    @kernel
    def add(s: Number) -> None:
        s.value[0] += what

    return add


def test_what_a_closure_holds_is_not_taken_for_another() -> None:
    number = Number(np.zeros(1))
    for what in (1.0, 10.0):
        run_stage(stage_address(adding(what), number), number)
    assert number.value[0] == 11.0


@pytest.mark.skipif(not JIT_ENABLED, reason="there is no machine code")
def test_kernels_of_one_name_are_kept_apart() -> None:
    kinds = (Number(np.zeros(1)).numba_type,)

    @kernel
    def double(s: Number) -> None:
        s.value[0] *= 2.0

    first = double

    @kernel
    def double(s: Number) -> None:  # type: ignore[no-redef]
        s.value[0] *= 3.0

    assert kept_at(first, kinds) != kept_at(double, kinds)
    assert find_code(first, kinds) != find_code(double, kinds)


def test_an_entry_takes_integers_of_any_kind() -> None:
    @kernel
    def times(s: Number, n: int) -> int:
        return n * int(s.value[0])

    assert run_entry(times, Number(np.array([6.0])), np.int64(7)) == 42
