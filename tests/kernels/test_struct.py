"""Structs: what compiled code reads is what Python put in, and plain Python agrees with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import detent
from detent import Contact, Session, World
from detent.coupling.four_channel import TABLE_4_1
from detent.hands import Sinusoid
from detent.kernels.jit import JIT_ENABLED, kernel
from detent.kernels.stages import call_stage, stage_address
from detent.kernels.struct import Struct
from lab import scene

SRC = Path(detent.__file__).parents[1]  # of the very package under test


class Inner(Struct):
    """A struct within a struct."""

    gain: float
    values: np.ndarray


class Outer(Struct):
    """One field of every kind."""

    count: int
    scale: float
    inner: Inner
    matrix: np.ndarray
    flags: np.ndarray
    record: np.ndarray
    out: np.ndarray


RECORD = np.dtype([("a", "f8"), ("b", "i8", 2)])


def make() -> Outer:
    record = np.zeros(1, RECORD)
    record["a"], record["b"] = 0.25, (3, 4)
    return Outer(
        count=-7,
        scale=1.5,
        inner=Inner(gain=-0.5, values=np.array([1.0, 2.0, 4.0])),
        matrix=np.arange(12.0).reshape(3, 4).T[::2],  # neither contiguous nor of C order
        flags=np.array([1, 0, 1], np.int32),
        record=record,
        out=np.zeros(6),
    )


@kernel
def read_all(s: Outer) -> None:
    """One number per kind of field."""
    inner = s.inner
    s.out[0] = s.count
    s.out[1] = s.scale
    s.out[2] = inner.gain * inner.values[2]
    s.out[3] = s.matrix[1, 2]
    s.out[4] = s.flags[0] + s.flags[1] + s.flags[2] + s.flags.shape[0]
    s.out[5] = s.record["a"][0] * s.record["b"][0, 1]


@kernel
def through_stage(address: int, s: Outer) -> None:
    """A stage called by its address."""
    call_stage(address, s)


WANT = [-7.0, 1.5, -2.0, 10.0, 5.0, 1.0]


def test_every_kind_of_field_is_read() -> None:
    s = make()
    assert s.matrix[1, 2] == 10.0
    read_all(s)
    np.testing.assert_array_equal(s.out, WANT)


def test_arrays_are_borrowed_not_copied() -> None:
    s = make()
    s.inner.values[2] = 100.0
    s.matrix[1, 2] = -1.0
    read_all(s)
    assert s.out[2] == -50.0
    assert s.out[3] == -1.0


def test_a_stage_is_called_by_its_address() -> None:
    s = make()
    through_stage(stage_address(read_all, s), s)
    np.testing.assert_array_equal(s.out, WANT)


@pytest.mark.skipif(not JIT_ENABLED, reason="there is one compiled type only when compiling")
def test_shapes_are_data_but_layouts_are_types() -> None:
    """No recompilation for another size (design: decision 4)."""
    small, large = Inner(1.0, np.zeros(2)), Inner(2.0, np.zeros(200))
    strided = Inner(2.0, np.zeros(200)[::2])
    assert small.numba_type == large.numba_type
    assert small.numba_type != strided.numba_type


def test_a_missing_or_foreign_field_is_refused() -> None:
    with pytest.raises(TypeError, match="gain, values"):
        Inner(gain=1.0)
    with pytest.raises(TypeError, match="gain, values"):
        Inner(gain=1.0, values=np.zeros(1), colour=2.0)


def test_fields_may_be_given_in_any_order() -> None:
    s = Outer(**dict(reversed(list(vars_of(make()).items()))))
    read_all(s)
    np.testing.assert_array_equal(s.out, WANT)


def vars_of(s: Outer) -> dict[str, object]:
    """The fields of a struct."""
    return {name: getattr(s, name) for name in type(s).__annotations__}


# --- the same sources as plain Python

BALLS = scene(
    """<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>
    <body name="a" pos="0 .05 0"><joint type="slide" axis="1 0 0" damping=".3"/>
      <joint type="slide" axis="0 1 0" range="-.05 .01" limited="true"/>
      <joint type="hinge" axis="0 0 1" stiffness=".01"/>
      <geom type="box" size=".05 .05 .05" mass="1"/></body>
    <body name="b" pos=".1005 .05 0"><freejoint/><geom size=".05" mass="1"/></body>""",
    'gravity="0 -9.81 0"',
)
HAND = Sinusoid(force=(1.0, 0.5), bias_force=(0.4, -0.6), frequency=3.0)


def runs() -> dict[str, np.ndarray]:
    """Short runs through impulses, penalty, rigid steps, joint limits, springs and balls."""
    corner = World.builtin("corner").placed([0.0589, -0.0694, 0.001])
    out = {}
    for mode, ticks in (("impulse", 60), ("penalty", 40), ("rigid", 40)):
        session = Session(corner, Contact(mode=mode), coupling=TABLE_4_1, rate=512)
        out[f"corner {mode}"] = session.run(ticks / 512, HAND).rows
    balls = World.from_string(BALLS, tool="a")
    for rows in ("relative", "split"):
        contact = Contact(restitution=0.5, self_collision=rows)
        out[f"balls {rows}"] = Session(balls, contact).run(0.02, HAND).rows
    return out


@pytest.mark.slow
def test_plain_python_gives_the_same_rows_as_compiled(tmp_path: Path) -> None:
    """NUMBA_DISABLE_JIT=1: one implementation, readable and debuggable (design: decision 2)."""
    script = (
        "import numpy as np, sys\n"
        f"sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]\n"
        "from test_struct import runs\n"
        "np.savez(sys.argv[1], **runs())\n"
    )
    file = tmp_path / "plain.npz"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(SRC)}
    subprocess.run([sys.executable, "-c", script, file], env=environment, check=True, timeout=600)
    plain = np.load(file)
    for name, rows in runs().items():
        assert rows["environment_wrench"].any(), name
        for column in rows.dtype.names:
            np.testing.assert_allclose(
                plain[name][column],
                rows[column],
                rtol=1e-12,
                atol=1e-12,
                err_msg=f"{name}: {column}",
            )
    assert (plain["corner impulse"]["state"] == 1).any()


@pytest.mark.slow
@pytest.mark.skipif(not JIT_ENABLED, reason="this is the run without a compiler")
def test_the_struct_itself_works_without_a_compiler() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(SRC)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-k",
        "not plain",
        __file__,
    ]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=SRC.parent, timeout=600
    )
    assert done.returncode == 0, done.stdout
