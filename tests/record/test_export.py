"""Traces in other formats: what is read there is what was recorded, with names and units."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet

from detent import Contact, Session, Trace, World
from detent.errors import TraceError, UnknownNameError
from detent.hands import Constant
from detent.mechanism.library import builtin
from detent.record.export import export_trace
from detent.record.units import ENDINGS, elements, units


@pytest.fixture(scope="module")
def trace() -> Trace:
    world = World.builtin("corner").placed([0.05, -0.06, 0.1])
    return Session(world, Contact(4000, 30)).run(0.5, Constant(force=(0.32, -0.4)))


def test_every_column_has_a_unit_and_its_axes_have_names(trace: Trace) -> None:
    mechanism = Session(builtin("rolling-disk")).run(0.01)
    for run in (trace, mechanism):
        for name in run.columns:
            size = None if run[name].ndim == 1 else run[name].shape[1]
            assert len(elements(name, size)) == len(units(name, size)) == (size or 1)
    flat = trace.flat().column_names
    assert not [name for name in flat if name[-1].isdigit()]
    assert {"device_wrench_torque_z", "tool_twist_linear_x", "tool_quaternion_w"} <= set(flat)
    assert units("device_wrench", 6) == ["N"] * 3 + ["N·m"] * 3
    assert units("contacts", None) == ["1"] and units("coordinates", 5) == [""] * 5
    assert all(len(names) in (0, len(of)) for names, of in ENDINGS.values())


def test_parquet_keeps_numbers_units_and_configuration(trace: Trace, tmp_path: Path) -> None:
    file = export_trace(trace, tmp_path / "a.arrow", "parquet")
    table = parquet.read_table(file)
    assert table.schema.field("tool_twist_angular_z").metadata == {b"unit": b"rad/s"}
    assert json.loads(table.schema.metadata[b"detent"])["contact"]["stiffness"] == 4000
    np.testing.assert_array_equal(table["device_position_y"], trace["device_position"][:, 1])


def test_csv_has_units_beside_it(trace: Trace, tmp_path: Path) -> None:
    file = export_trace(trace, tmp_path / "a.arrow", "csv", tmp_path / "b.csv")
    np.testing.assert_allclose(csv.read_csv(file)["depth"], trace["depth"], rtol=1e-12)
    beside = json.loads((tmp_path / "b.csv.json").read_text())
    assert beside["units"]["depth"] == "m" and beside["trace"]["rate"] == 1000.0


def test_mcap_has_every_row_and_poses(trace: Trace, tmp_path: Path) -> None:
    reader = pytest.importorskip("mcap.reader")
    file = export_trace(trace, tmp_path / "a.arrow", "mcap")
    seen: dict[str, list[dict[str, float]]] = {}
    with open(file, "rb") as source:
        for schema, channel, message in reader.make_reader(source).iter_messages():
            seen.setdefault(channel.topic, []).append(json.loads(message.data))
            if channel.topic == "/tool/pose":
                assert schema.name == "foxglove.PoseInFrame"
    depths = [message["value"] for message in seen["/depth"]]
    np.testing.assert_array_equal(depths, trace["depth"])
    assert seen["/device_wrench"][-1]["force_y"] == trace["device_wrench"][-1, 1]
    assert len(seen["/tool/pose"]) == 50
    assert seen["/tool/pose"][7]["pose"]["position"]["x"] == trace["tool_position"][70, 0]  # type: ignore[index]


def test_rerun_reads_its_file(trace: Trace, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    file = export_trace(trace, tmp_path / "a.arrow", "rerun")
    assert file.suffix == ".rrd" and file.read_bytes()[:3] == b"RRF"


def test_what_cannot_be_exported_is_said(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="'hdf5'; known: csv, mcap, parquet, rerun"):
        export_trace(trace, tmp_path / "a.arrow", "hdf5")
    for kind in ("csv", "mcap"):
        with pytest.raises(TraceError, match="cannot be written: No such file"):
            export_trace(trace, tmp_path / "nowhere" / "a.arrow", kind)
