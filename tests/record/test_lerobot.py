"""LeRobot data sets: the layout that its reader asks for, and numbers that are the trace's."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from detent import Session, Trace, World
from detent.errors import ParameterError, TraceError
from detent.hands import Constant
from detent.record.lerobot import COUNTERS, FEATURES, frame_numbers, write_lerobot

ROOT = Path(__file__).resolve().parents[2]
FILE = "chunk-000/file-000.parquet"


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    world = World.builtin("corner").placed([0.05, -0.06, 0.1])
    session = Session(world)
    return [session.run(seconds, Constant(force=(0.32, -0.4))) for seconds in (0.55, 0.31)]


@pytest.fixture(scope="module")
def folder(traces: list[Trace], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lerobot(traces, tmp_path_factory.mktemp("set") / "x", fps=30, task="push")


def test_frames_are_the_ticks_before_their_end(traces: list[Trace], folder: Path) -> None:
    table = parquet.read_table(folder / "data" / FILE)
    assert set(table.column_names) == {*FEATURES, *COUNTERS}
    assert table["index"].to_pylist() == list(range(16 + 9))
    assert table["episode_index"].to_pylist() == [0] * 16 + [1] * 9
    np.testing.assert_allclose(table["timestamp"].to_numpy()[:16], np.arange(16) / 30, rtol=1e-6)
    frame = frame_numbers(traces[0], 30)
    last = np.flatnonzero(frame == 4)[-1]
    assert last == 166  # 5/30 s are 166.7 ticks
    where = [*traces[0]["device_position"][last], *traces[0]["device_quaternion"][last]]
    np.testing.assert_allclose(table["action"][4].as_py(), where, rtol=1e-6)
    felt = traces[0]["device_wrench"][frame == 4].mean(axis=0)
    np.testing.assert_allclose(table["observation.wrench"][4].as_py(), felt, rtol=1e-5, atol=1e-9)


def test_forces_are_there_at_servo_rate(traces: list[Trace], folder: Path) -> None:
    table = parquet.read_table(folder / "servo" / FILE)
    assert len(table) == sum(map(len, traces))
    second = table["episode_index"].to_numpy() == 1
    got = table["device_wrench_force_y"].to_numpy()[second]
    np.testing.assert_array_equal(got, traces[1]["device_wrench"][:, 1])
    assert table.schema.field("hand_wrench_torque_z").metadata == {b"unit": b"N\xc2\xb7m"}
    assert not list((folder / "data").glob("*/*servo*"))


def test_what_its_reader_looks_up(folder: Path) -> None:
    info = json.loads((folder / "meta" / "info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["total_frames"]) == ("v3.0", 30, 25)
    assert info["splits"] == {"train": "0:2"} and info["video_path"] is None
    stored = parquet.read_schema(folder / "data" / FILE)
    for name, feature in info["features"].items():
        kind = stored.field(name).type
        size = getattr(kind, "list_size", 1)
        assert [size] == feature["shape"]
        assert str(getattr(kind, "value_type", kind)) in (feature["dtype"], "float")
    episodes = parquet.read_table(folder / "meta" / "episodes" / FILE).to_pylist()
    assert [(e["dataset_from_index"], e["dataset_to_index"]) for e in episodes] == [
        (0, 16),
        (16, 25),
    ]
    assert episodes[1]["tasks"] == ["push"] and episodes[1]["length"] == 9
    assert len(episodes[0]["stats/action/q99"]) == 7
    stats = json.loads((folder / "meta" / "stats.json").read_text())
    assert stats["observation.wrench"]["count"] == [25]
    assert {*stats} == {*info["features"]}
    pandas = json.loads(parquet.read_schema(folder / "meta" / "tasks.parquet").metadata[b"pandas"])
    assert pandas["index_columns"] == ["task"]


def test_what_cannot_be_a_data_set_is_refused(traces: list[Trace], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("")
    with pytest.raises(TraceError, match="folder of its own"):
        write_lerobot(traces, tmp_path / "full")
    with pytest.raises(ParameterError, match="one world at one rate"):
        write_lerobot([], tmp_path / "x")
    with pytest.raises(ParameterError, match="from 1 to 1000"):
        write_lerobot(traces, tmp_path / "x", fps=2_000)
    with pytest.raises(ParameterError, match="some words"):
        write_lerobot(traces, tmp_path / "x", task=" ")
    short = Trace(traces[0].rows[:10], traces[0].meta)
    with pytest.raises(TraceError, match="no whole frame"):
        write_lerobot([short], tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_the_example_lifts_the_box(tmp_path: Path) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "demonstrate.py"))
    example["main"](tmp_path / "set")
    table = parquet.read_table(tmp_path / "set" / "data" / FILE)
    state = np.array(table["observation.state"].to_pylist())
    force = np.array(table["observation.wrench"].to_pylist())[:, 2]
    lifted = state[:, 2] > state[0, 2] + 0.05
    assert lifted.sum() > 60
    weight = 0.05 * 9.81
    np.testing.assert_allclose(np.median(force[lifted]), -weight, rtol=0.1)
