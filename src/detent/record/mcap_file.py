"""Traces as MCAP, which Foxglove opens: poses for its 3-D panel, all numbers for its plots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from detent.errors import MissingExtraError
from detent.record.trace import Trace
from detent.record.units import elements

POSES_HZ = 100.0  # a 3-D panel shows no more
FRAME = "world"

_VECTOR = {"type": "object", "properties": {axis: {"type": "number"} for axis in "xyz"}}
_TIME = {"type": "object", "properties": {part: {"type": "integer"} for part in ("sec", "nsec")}}
_POSE = {
    "type": "object",
    "title": "foxglove.PoseInFrame",
    "properties": {
        "timestamp": _TIME,
        "frame_id": {"type": "string"},
        "pose": {
            "type": "object",
            "properties": {
                "position": _VECTOR,
                "orientation": {
                    "type": "object",
                    "properties": {axis: {"type": "number"} for axis in "xyzw"},
                },
            },
        },
    },
}


def write_mcap(trace: Trace, path: Path) -> None:
    """One channel of JSON messages per column, and two of poses, as Foxglove names them."""
    try:
        from mcap.writer import Writer
    except ImportError:
        raise MissingExtraError("export to mcap", "mcap") from None
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start(profile="", library="detent")
        writer.add_metadata("detent", {"configuration": json.dumps(trace.meta, default=str)})
        for name in trace.columns:
            _write_column(writer, trace, name)
        pose = writer.register_schema(
            name="foxglove.PoseInFrame", encoding="jsonschema", data=json.dumps(_POSE).encode()
        )
        for what in ("device", "tool"):
            _write_poses(writer, trace, what, pose)
        writer.finish()


def _write_column(writer: Any, trace: Trace, name: str) -> None:
    values = trace[name]
    size = None if values.ndim == 1 else values.shape[1]
    keys = ["value"] if size is None else [e[len(name) + 1 :] for e in elements(name, size)]
    kinds = {key: {"type": "number"} for key in keys}
    schema = writer.register_schema(
        name=f"detent.{name}",
        encoding="jsonschema",
        data=json.dumps({"type": "object", "properties": kinds}).encode(),
    )
    channel = writer.register_channel(f"/{name}", "json", schema)
    table = values.reshape(len(values), -1).tolist()
    for stamp, numbers in zip(_stamps(trace), table, strict=True):
        _add(writer, channel, stamp, dict(zip(keys, numbers, strict=True)))


def _write_poses(writer: Any, trace: Trace, what: str, schema: int) -> None:
    channel = writer.register_channel(f"/{what}/pose", "json", schema)
    every = max(1, round(float(trace.meta.get("rate", POSES_HZ)) / POSES_HZ))
    places, turns = trace[f"{what}_position"], trace[f"{what}_quaternion"]
    stamps = _stamps(trace)
    for tick in range(0, len(trace), every):
        stamp = stamps[tick]
        w, x, y, z = turns[tick].tolist()
        pose = {
            "position": dict(zip("xyz", places[tick].tolist(), strict=True)),
            "orientation": {"x": x, "y": y, "z": z, "w": w},
        }
        when = {"sec": stamp // 10**9, "nsec": stamp % 10**9}
        _add(writer, channel, stamp, {"timestamp": when, "frame_id": FRAME, "pose": pose})


def _stamps(trace: Trace) -> list[int]:
    """[ns] of each row."""
    stamps: list[int] = np.round(1e9 * trace["time"]).astype(np.int64).tolist()
    return stamps


def _add(writer: Any, channel: int, stamp: int, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode()
    writer.add_message(channel, log_time=stamp, publish_time=stamp, data=data)
