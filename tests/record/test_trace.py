"""Traces: what was recorded comes back, whatever happened to the process that wrote it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import detent
from detent import Contact, Session, Trace, World
from detent.errors import TraceError, UnknownNameError
from detent.hands import Constant
from waiting import wait_for


@pytest.fixture(scope="module")
def trace() -> Trace:
    world = World.builtin("corner").placed([0.05, -0.06, 0.1])
    return Session(world, Contact(4000, 30)).run(1.0, Constant(force=(0.32, -0.4)))


def equal(a: Trace, b: Trace) -> bool:
    return all(np.array_equal(a[name], b[name]) for name in a.columns) and a.columns == b.columns


def test_a_saved_trace_comes_back_whole(trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "a.arrow")
    back = Trace.load(tmp_path / "a.arrow")
    assert equal(back, trace)
    assert back.rows.dtype == trace.rows.dtype
    assert back.state_hash() == trace.state_hash()
    assert "truncated" not in back.meta


def test_the_head_says_how_it_was_made(trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "a.arrow")
    meta = Trace.load(tmp_path / "a.arrow").meta
    assert meta["world"] == "corner"
    assert meta["rate"] == 1000.0
    assert meta["contact"]["stiffness"] == 4000
    assert meta["coupling"]["type"] == "FourChannel"
    assert meta["device"]["type"] == "Inertial"
    assert meta["hand"] == {"type": "Constant", "force": [0.32, -0.4], "torque": 0.0}
    assert meta["notes"] == []


def test_a_recorded_run_is_the_run(trace: Trace, tmp_path: Path) -> None:
    world = World.builtin("corner").placed([0.05, -0.06, 0.1])
    seen: list[float] = []
    run = Session(world, Contact(4000, 30), rate=10_000).run(
        1.0, Constant(force=(0.32, -0.4)), record=tmp_path / "r.arrow", progress=seen.append
    )
    back = Trace.load(tmp_path / "r.arrow")
    assert len(back) == 10_000
    assert equal(back, run)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    with pa.OSFile(str(tmp_path / "r.arrow")) as source:
        batches = [len(batch) for batch in pa.ipc.open_stream(source)]
    assert batches == [0, 4096, 4096, 1808, 0]  # the head, batch by batch, and the end


def test_other_tools_can_read_it(trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "a.arrow")
    with pa.OSFile(str(tmp_path / "a.arrow")) as source:
        table = pa.ipc.open_stream(source).read_all()
    assert table.num_rows == 1000
    np.testing.assert_allclose(table["depth"].to_numpy(), trace["depth"])


def test_a_truncated_file_is_read_to_its_last_batch(trace: Trace, tmp_path: Path) -> None:
    from detent.record.trace import TraceWriter

    file = tmp_path / "t.arrow"
    writer = TraceWriter(file, trace.meta, trace.rows.dtype)
    sizes = []
    for start in range(0, 1000, 250):
        writer.append(trace.rows[start : start + 250])
        sizes.append(file.stat().st_size)
    writer.close()
    whole = file.read_bytes()
    cuts = {sizes[0]: 250, sizes[1] - 1: 250, sizes[2] + 100: 750, len(whole) - 3: 1000}
    for cut, rows in cuts.items():
        file.write_bytes(whole[:cut])
        back = Trace.load(file)
        assert len(back) == rows, cut
        np.testing.assert_array_equal(back["time"], trace["time"][:rows])
    file.write_bytes(whole[: sizes[1] - 1])
    assert Trace.load(file).meta["truncated"] is True


KILLED = """
import sys, detent
from detent.hands import Constant
session = detent.Session(detent.World.builtin("corner"), rate=1000)
print("ready", flush=True)
session.run(2e3, Constant(force=(0.32, -0.4)), record=sys.argv[1])
"""


def test_a_killed_run_leaves_a_readable_trace(trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "killed.arrow"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, file],
        env={**os.environ, "PYTHONPATH": package_home()},
    )
    try:
        assert wait_for(lambda: process.poll() is not None or size(file) > 10**7, 300.0)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    back = Trace.load(file)
    assert len(back) >= 4096
    assert len(back) % 4096 == 0
    np.testing.assert_allclose(back["time"], 1e-3 * np.arange(len(back)), atol=1e-9)
    assert back.meta["world"] == "corner"


def size(file: Path) -> int:
    """[bytes] of what is written so far."""
    return file.stat().st_size if file.exists() else 0


def package_home() -> str:
    """Where this very detent comes from."""
    return str(Path(detent.__file__).parents[1])


@pytest.mark.parametrize(
    "content", [b"", b"once upon a time", b"\xff\xff\xff\xff\0\0\0\0", bytes(64)]
)
def test_what_is_no_trace_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "poem.arrow"
    file.write_bytes(content)
    with pytest.raises(TraceError, match=r"poem\.arrow is not a trace of Detent"):
        Trace.load(file)


def test_a_stream_of_somebody_else_is_no_trace(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, 3]})
    with pa.ipc.new_stream(str(tmp_path / "b.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(TraceError, match=r"b\.arrow is not a trace of Detent"):
        Trace.load(tmp_path / "b.arrow")


def test_a_missing_file_or_folder_is_named(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no trace file .*nowhere\.arrow"):
        Trace.load(tmp_path / "nowhere.arrow")
    with pytest.raises(TraceError, match="cannot be written"):
        trace.save(tmp_path / "nowhere" / "a.arrow")


def test_an_unknown_column_is_named(trace: Trace) -> None:
    with pytest.raises(UnknownNameError, match=r"'speed'; known: .*tool_twist"):
        trace["speed"]


def test_a_table_has_one_column_per_number(trace: Trace) -> None:
    table = trace.table()
    names = list(table.columns if hasattr(table, "iloc") else table.column_names)
    assert {"time", "device_position_x", "tool_quaternion_z", "device_wrench_torque_z"} <= set(
        names
    )
    width = sum(trace[name][0].size if trace[name].ndim > 1 else 1 for name in trace.columns)
    assert len(names) == width
    np.testing.assert_array_equal(
        np.asarray(table["tool_position_y"]), trace["tool_position"][:, 1]
    )


def test_a_plot_is_a_picture(trace: Trace, tmp_path: Path) -> None:
    trace.plot(tmp_path / "corner.png")
    data = (tmp_path / "corner.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(data) > 10_000
    figure = trace.plot()
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert all("[" in label for label in labels)  # units on every axis


def test_an_empty_trace_is_a_trace(trace: Trace, tmp_path: Path) -> None:
    empty = Trace(trace.rows[:0], trace.meta)
    empty.save(tmp_path / "e.arrow")
    assert len(Trace.load(tmp_path / "e.arrow")) == 0


def test_the_hash_sees_a_single_bit_but_no_timing(trace: Trace) -> None:
    other = Trace(trace.rows.copy(), trace.meta)
    other.rows["compute_ns"][:] = 7
    assert other.state_hash() == trace.state_hash()
    other.rows["tool_position"][500, 0] = np.nextafter(other.rows["tool_position"][500, 0], 1.0)
    assert other.state_hash() != trace.state_hash()


def test_the_file_of_a_run_has_the_same_head_as_the_run(tmp_path: Path) -> None:
    stiff = detent.FourChannel(stiffness=1e9, damping=1e9)
    session = Session(World.builtin("corner"), coupling=stiff)
    run = session.run(0.1, record=tmp_path / "r.arrow")
    assert run.meta["notes"]
    assert Trace.load(tmp_path / "r.arrow").meta["notes"] == run.meta["notes"]


def test_the_head_holds_everything_that_changes_the_run() -> None:
    session = Session(World.builtin("corner"), force_path=detent.ForcePath(filter_hz=30.0))
    meta = session.run(0.1).meta
    assert meta["force_path"]["filter_hz"] == 30.0


@pytest.mark.live
def test_the_head_of_a_live_trace_has_the_live_rate(tmp_path: Path) -> None:
    session = Session(World.builtin("corner"), rate=1000)
    with session.live(rate=2000, record=tmp_path / "l.arrow") as live:
        assert wait_for(lambda: live.status().ticks > 10)
    back = Trace.load(tmp_path / "l.arrow")
    assert np.diff(back["time"])[0] == pytest.approx(1 / 2000)
    assert back.meta["rate"] == 2000


# --- files that are no traces


def _stream(path: Path, columns: dict[str, list[object]], head: bytes | None) -> Path:
    import pyarrow as pa

    table = pa.table(columns).replace_schema_metadata({b"detent": head} if head else None)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda p: p.write_bytes(b""), "it is empty"),
        (lambda p: p.write_bytes(bytes(range(256)) * 9), "no Arrow stream, or was cut off"),
        (lambda p: p.write_text('{"a": 1}'), "no Arrow stream, or was cut off"),
        (lambda p: _stream(p, {"x": [1]}, None), "an Arrow stream of something else"),
        (lambda p: _stream(p, {"time": [1.0]}, b"{"), "a head that cannot be read"),
        (lambda p: _stream(p, {"time": [1.0]}, b"[1]"), "with other columns"),
        (lambda p: _stream(p, {"time": [1.0], "s": ["a"]}, b"{}"), "with other columns"),
        (lambda p: _stream(p, {"x": [1.0]}, b"{}"), "with other columns"),
    ],
)
def test_what_is_no_trace_gets_a_sentence(
    tmp_path: Path, made: Callable[[Path], object], said: str
) -> None:
    made(tmp_path / "x.arrow")
    with pytest.raises(TraceError, match=said) as raised:
        Trace.load(tmp_path / "x.arrow")
    words = str(raised.value)
    assert words.startswith("x.arrow is not a trace of Detent: ")
    assert not any(alien in words for alien in ("IPC", "metadata bytes", "b'", "char 0"))


def test_a_trace_that_says_nothing_of_itself_cannot_run_again(tmp_path: Path) -> None:
    trace = Trace.load(_stream(tmp_path / "x.arrow", {"time": [0.0]}, b"{}"))
    with pytest.raises(TraceError, match="does not say its rate"):
        trace.told("rate")
    with pytest.raises(TraceError, match="does not say its world"):
        Session.of_trace(trace, [])
