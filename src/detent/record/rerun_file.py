"""Traces as Rerun recordings (.rrd)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from detent.errors import MissingExtraError
from detent.record.trace import Trace
from detent.record.units import elements

POSES_HZ = 100.0  # a viewer shows no more


def write_rerun(trace: Trace, path: Path) -> None:
    """Every column as scalars over the trace's own time; device and tool as moving frames."""
    try:
        import rerun as rr
    except ImportError:
        raise MissingExtraError("export to rerun", "rerun") from None
    with rr.RecordingStream("detent", recording_id=trace.state_hash()[:32]) as stream:
        stream.save(path)
        words = json.dumps(trace.meta, default=str, indent=1)
        stream.log("configuration", rr.TextDocument(words), static=True)
        time = rr.TimeColumn("time", duration=trace["time"])
        for name in trace.columns:
            values = trace[name]
            size = None if values.ndim == 1 else values.shape[1]
            names = [name] if size is None else elements(name, size)
            for title, numbers in zip(names, values.reshape(len(values), -1).T, strict=True):
                one = rr.Scalars.columns(scalars=np.asarray(numbers, float))
                stream.send_columns(f"{name}/{title}", indexes=[time], columns=one)
        every = max(1, round(float(trace.meta.get("rate", POSES_HZ)) / POSES_HZ))
        some = rr.TimeColumn("time", duration=trace["time"][::every])
        for what in ("device", "tool"):
            turns = trace[f"{what}_quaternion"][::every][:, [1, 2, 3, 0]]  # x, y, z, w
            moved = rr.Transform3D.columns(
                translation=trace[f"{what}_position"][::every], quaternion=turns
            )
            stream.send_columns(f"world/{what}", indexes=[some], columns=moved)
