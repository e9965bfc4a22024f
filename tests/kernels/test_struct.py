"""Structs: what compiled code reads is what Python put in, and plain Python agrees with it."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import detent
from detent import AT_ONCE, Contact, Session, World
from detent.coupling.four_channel import TABLE_4_1
from detent.errors import DetentError, StageError, StructError
from detent.hands import Sinusoid
from detent.kernels.jit import JIT_ENABLED, kernel
from detent.kernels.stages import call_stage, empty_table, put_stage, run_stage, stage_address
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


def test_shapes_are_data() -> None:
    """No recompilation for another size (design: decision 4)."""
    small, large = Inner(1.0, np.zeros(2)), Inner(2.0, np.zeros(200))
    assert small.numba_type is large.numba_type


@pytest.mark.parametrize(
    "fields",
    [
        ((), {"gain": 1.0}),
        ((), {"gain": 1.0, "values": np.zeros(1), "colour": 2.0}),
        ((1.0, np.zeros(1), 2.0), {}),
        ((1.0, np.zeros(1)), {"gain": 2.0}),
        ((1.0,), {"gain": 2.0}),
    ],
)
def test_missing_foreign_and_double_fields_are_refused(fields: Any) -> None:
    values, named = fields
    with pytest.raises(StructError, match="Inner has the fields gain, values"):
        Inner(*values, **named)


def test_fields_may_be_given_in_any_order() -> None:
    s = Outer(**dict(reversed(list(vars_of(make()).items()))))
    read_all(s)
    np.testing.assert_array_equal(s.out, WANT)


def vars_of(s: Outer) -> dict[str, Any]:
    """The fields of a struct."""
    return {name: getattr(s, name) for name in type(s).__annotations__}


# --- a struct is frozen

ALL_NAMES = [*Outer.__annotations__, "address", "numba_type", "_table", "of_my_own"]


@pytest.mark.parametrize("name", ALL_NAMES)
def test_nothing_can_be_assigned_or_deleted(name: str) -> None:
    s = make()
    held = getattr(s, name, None)
    with pytest.raises(StructError, match=f"Outer.{name} cannot be assigned"):
        setattr(s, name, held)
    with pytest.raises(StructError, match=f"Outer.{name} cannot be deleted"):
        delattr(s, name)
    assert getattr(s, name, None) is held
    read_all(s)
    np.testing.assert_array_equal(s.out, WANT)


def test_the_error_says_how_to_write_into_an_array() -> None:
    s = make()
    with pytest.raises(StructError, match=r"write into the array: \.out\[:\] = ") as caught:
        s.out = np.ones(6)  # type: ignore[misc]
    assert isinstance(caught.value, DetentError) and isinstance(caught.value, TypeError)
    assert (caught.value.struct, caught.value.field) == ("Outer", "out")
    with pytest.raises(StructError, match="make a new struct"):
        s.count = 3  # type: ignore[misc]
    with pytest.raises(StructError):
        s.out += 1.0  # type: ignore[misc]  # an assignment, too: compiled code has none


def test_the_table_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        make()._table[0] = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_addresses_are_not_copied(copier: Any) -> None:
    with pytest.raises(StructError, match="cannot be copied or pickled"):
        copier(make())


# --- what fields may hold


class Other(Struct):
    """What `Inner` is not."""

    gain: float
    values: np.ndarray


class Thin(Struct):
    """Elements that must be declared."""

    thin: NDArray[np.float32]
    yes: NDArray[np.bool_]
    out: NDArray[np.float64]


def turned(dtype: str) -> np.ndarray:
    """An array of the byte order that this machine has not."""
    return np.zeros(3, np.dtype(dtype).newbyteorder())


def locked() -> np.ndarray:
    """An array that must not be written."""
    array = np.zeros(6)
    array.flags.writeable = False
    return array


def crooked() -> np.ndarray:
    """An array whose numbers lie between the places of numbers."""
    return np.zeros(49, np.uint8)[1:].view(np.float64)


REFUSED = [
    ("count", 1.0, "an int"),
    ("count", np.float64(1.0), "an int"),
    ("count", True, "an int"),
    ("count", np.bool_(True), "an int"),
    ("count", np.zeros(1, np.int64), "an int"),
    ("count", None, "an int"),
    ("count", 2**63, "within 64 bits"),
    ("count", np.uint64(2**63), "within 64 bits"),
    ("count", -(2**63) - 1, "within 64 bits"),
    ("scale", np.float32(0.5), r"a float, np.float64 or int: convert it with float\(...\)"),
    ("scale", np.float16(0.5), "a float"),
    ("scale", np.longdouble(0.5), "a float"),
    ("scale", True, "a float"),
    ("scale", 1j, "a float"),
    ("scale", "1.5", "a float"),
    ("scale", np.zeros(1), "a float"),
    ("scale", 2**53 + 1, "53 bits"),
    ("inner", Other(1.0, np.zeros(3)), "an instance of Inner"),
    ("inner", None, "an instance of Inner"),
    ("inner", np.zeros(3), "an instance of Inner"),
    ("out", [0.0] * 6, "a plain np.ndarray"),
    ("out", 1.0, "a plain np.ndarray"),
    ("out", make, "a plain np.ndarray"),
    ("out", np.ma.zeros(6), "a plain np.ndarray"),
    ("out", np.zeros(6).view(np.recarray), "a plain np.ndarray"),
    ("out", np.zeros(6, np.float32), "of float64, int64, int32, uint8 in native byte order"),
    ("out", np.zeros(6, np.float16), "of float64"),
    ("out", np.zeros(6, complex), "of float64"),
    ("out", np.zeros(6, object), "of float64"),
    ("out", np.zeros(6, bool), "of float64"),
    ("out", np.zeros(6, "U3"), "of float64"),
    ("out", np.zeros(6, "M8[s]"), "of float64"),
    ("out", turned("f8"), "native byte order"),
    ("flags", turned("i4"), "native byte order"),
    ("record", np.zeros(1, [("a", "f4"), ("b", "i8", 2)]), "records of them"),
    ("record", np.zeros(1, RECORD.newbyteorder()), "native byte order"),
    ("record", np.zeros(1, [("a", "f8"), ("b", [("c", "O")])]), "records of them"),
    ("out", crooked(), "aligned in memory"),
    ("out", locked(), "writeable"),
    ("out", np.broadcast_to(np.zeros(1), 6), "writeable"),
    ("out", np.zeros(6, np.int64), "like that of the first instance, 1-D, of float64, contiguous"),
    ("out", np.zeros((6, 1)), "like that of the first instance"),
    ("out", np.zeros(12)[::2], "like that of the first instance"),
    ("record", np.zeros(1, [("a", "f8"), ("b", "i8", 3)]), "like that of the first instance"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), REFUSED)
def test_what_compiled_code_would_misread_is_refused(name: str, value: Any, allowed: str) -> None:
    fields = vars_of(make())  # fixes the layout, too
    with pytest.raises(StructError, match=rf"Outer\.{name} = .* is not allowed: .*{allowed}") as e:
        Outer(**fields | {name: value})
    assert e.value.field == name
    assert len(str(e.value)) < 300


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("count", np.int32(-7)),
        ("count", np.uint8(7)),
        ("scale", np.float64(1.5)),
        ("scale", 2),
        ("scale", np.int64(2)),
        ("out", np.zeros(600)),
        ("out", np.zeros((7, 6))[2]),
        ("matrix", np.ones((3, 4))),  # what had gaps at first may be anything
        ("matrix", np.ones((30, 40))[::-2, ::3]),
        ("flags", np.ones((3, 1), np.int32)[:, 0]),
    ],
)
def test_what_is_read_rightly_is_taken(name: str, value: Any) -> None:
    s = Outer(**vars_of(make()) | {name: value})
    assert s.numba_type is make().numba_type
    read_all(s)
    held = getattr(s, name)
    assert held is value or type(held) in (int, float)
    column = list(Outer.__annotations__).index(name)
    if column < 2:
        assert s.out[column] == value
    elif name == "matrix":
        assert s.out[3] == 1.0


def test_a_refused_first_instance_fixes_nothing() -> None:
    class Late(Struct):
        a: np.ndarray
        b: float

    with pytest.raises(StructError):
        Late(np.zeros(3, np.int64), "no")  # type: ignore[arg-type]
    Late(np.zeros((3, 3)), 1.0)


@kernel
def read_thin(s: Thin) -> None:
    """Elements that are narrow."""
    s.out[0] = s.thin[1]
    s.out[1] = s.yes[1]


def test_other_elements_are_declared() -> None:
    s = Thin(np.array([1, 2.5], np.float32), np.array([False, True]), np.zeros(2))
    read_thin(s)
    assert s.out.tolist() == [2.5, 1.0]
    with pytest.raises(
        StructError, match="must be of float32 in native byte order, as it is declared"
    ):
        Thin(np.zeros(2), s.yes, s.out)
    with pytest.raises(StructError, match="must be of float64"):
        Thin(s.thin, s.yes, np.zeros(2, [("a", "f8")]))


def test_a_struct_that_is_imported_for_type_checkers_only_is_known_by_its_name() -> None:
    class Holder(Struct):
        inner: Somewhere  # type: ignore[name-defined]

    class Somewhere(Struct):
        x: float

    class Elsewhere(Struct):
        x: float

    Holder(Somewhere(1.0))
    with pytest.raises(StructError, match="an instance of Somewhere"):
        Holder(Elsewhere(1.0))


def test_what_no_field_can_be_is_refused_with_the_class_or_its_first_instance() -> None:
    with pytest.raises(StructError, match="must derive from Struct, and from nothing else"):
        type("More", (Inner,), {})
    with pytest.raises(StructError, match=r"Named.address is a name that every struct uses"):
        type("Named", (Struct,), {"__annotations__": {"address": int}})
    for annotation in (str, bool, np.float32, list[float], NDArray[np.float16], NDArray[Any]):
        kind = type("Odd", (Struct,), {"__annotations__": {"x": annotation}})
        with pytest.raises(StructError, match=r"Odd\.x is annotated .*it must be int, float"):
            kind(x=1)


# --- what compiled code reads is what Python put in


class Numbers(Struct):
    """One of each, and where they come out again."""

    count: int
    scale: float
    whole: np.ndarray
    real: np.ndarray


@kernel
def echo(s: Numbers) -> None:
    """The numbers, as compiled code sees them."""
    s.whole[0] = s.count
    s.real[0] = s.scale


QUICK = settings(derandomize=True, database=None, deadline=None, max_examples=100)


@QUICK
@given(st.integers(-(2**63), 2**63 - 1), st.floats())
def test_numbers_arrive_to_the_bit(count: int, scale: float) -> None:
    s = Numbers(count, scale, np.zeros(1, np.int64), np.zeros(1))
    echo(s)
    assert s.whole[0] == count
    assert s.real.tobytes() == np.float64(scale).tobytes()


SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
ARRAYS = st.tuples(
    st.sampled_from(["f8", "i8", "i4", "u1"]),
    SHAPES,
    st.sampled_from(["C", "F", "gaps", "backwards"]),
)
FIELDS = st.lists(st.one_of(st.just(int), st.just(float), ARRAYS), min_size=1, max_size=7)


def filled(field: Any, rng: np.random.Generator) -> Any:
    """A value for a field."""
    if field is int:
        return int(rng.integers(-(2**40), 2**40))
    if field is float:
        return float(rng.normal())
    dtype, shape, order = field
    if order in ("C", "F"):
        out = np.zeros(shape, dtype, order=order)
    else:
        step = 2 if order == "gaps" else -1
        out = np.zeros([2 * n for n in shape], dtype)[
            ..., *[slice(None, None, step) for _ in shape]
        ]
        out = out[..., *map(slice, shape)]
    out[...] = rng.integers(0, 200, shape)
    return out


def reader_of(fields: list[Any]) -> Any:
    """A compiled function that writes all elements of all fields one after the other."""
    lines = ["def read(s, out):", " k = 0"]
    for i, field in enumerate(fields):
        if field in (int, float):
            lines += [f" out[k] = s.f{i}", " k += 1"]
        else:
            lines += [f" for _, v in np.ndenumerate(s.f{i}):", "  out[k] = v", "  k += 1"]
    names: dict[str, Any] = {"np": np}
    exec("\n".join([*lines, " return k"]), names)
    return numba.njit(names["read"])


@settings(QUICK, max_examples=6, phases=[Phase.generate])  # each is compiled
@given(FIELDS, st.integers(0, 2**32))
def test_fields_of_any_order_and_shape_are_read(fields: list[Any], seed: int) -> None:
    annotations = {f"f{i}": f if f in (int, float) else np.ndarray for i, f in enumerate(fields)}
    kind = type("Any", (Struct,), {"__annotations__": annotations})
    rng = np.random.default_rng(seed)
    read, out = reader_of(fields), np.zeros(500)
    for _ in range(3):  # compiled once
        values = [filled(field, rng) for field in fields]
        count = read(kind(*values), out)
        want = np.concatenate([np.ravel(value) for value in values])
        np.testing.assert_array_equal(out[:count], want)


def test_a_stage_refuses_a_struct_that_it_was_not_compiled_for() -> None:
    s = make()
    address = stage_address(read_all, s)
    run_stage(address, s)
    np.testing.assert_array_equal(s.out, WANT)
    with pytest.raises(StructError, match=r"Inner cannot be given to the stage .* another struct"):
        run_stage(address, s.inner)
    with pytest.raises(StageError, match="there is no stage at the address 0"):
        run_stage(0, s)


@kernel
def call_all(table: np.ndarray, s: Outer) -> None:
    for place in range(table.shape[0]):
        call_stage(table[place], s)


def test_a_table_begins_idle_and_takes_only_what_fits() -> None:
    s, table = make(), empty_table(3)
    call_all(table, s)  # what is idle is passed over
    assert not s.out.any()
    put_stage(table, 1, read_all, s, type(s))
    call_all(table, s)
    np.testing.assert_array_equal(s.out, WANT)
    with pytest.raises(StageError, match="no place 3 in a table of 3"):
        put_stage(table, 3, read_all, s, type(s))
    with pytest.raises(StageError, match="read_all takes a Outer, not a Inner"):
        put_stage(table, 2, read_all, s.inner, type(s))
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0


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
        session = Session(corner, Contact(mode=mode), TABLE_4_1, force_path=AT_ONCE, rate=512)
        out[f"corner {mode}"] = session.run(ticks / 512, HAND).rows
    balls = World.from_string(BALLS, tool="a")
    for rows in ("relative", "split"):
        contact = Contact(restitution=0.5, self_collision=rows)
        out[f"balls {rows}"] = Session(balls, contact, force_path=AT_ONCE).run(0.02, HAND).rows
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
