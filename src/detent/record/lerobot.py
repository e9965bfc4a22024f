"""Traces as a LeRobot data set, version 3.0, with pyarrow alone.

A trace is an episode, a frame the state of the last tick before its time: ``observation.state``
is the pose of the tool, ``action`` that of the device, which leads it, so that a policy that was
trained on it says where the device should be. Forces are given at the rate of the frames (the
mean over the ticks of a frame), and tick by tick in a table beside it, ``servo/``, which the
reader of LeRobot does not look at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from detent.errors import ParameterError, TraceError
from detent.record.trace import Trace
from detent.record.units import PLACE, TURN, TWIST, WRENCH

VERSION = "v3.0"
FPS = 50
TASK = "move the tool by hand"
_FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_ONLY = _FILE.format(chunk_index=0, file_index=0)
FELT = "felt"  # no column of a trace: `Trace.felt`
POSE = (*PLACE, *(f"q{part}" for part in TURN))

#: feature: the columns of a trace that it is made of, whether their mean is taken, and names
FEATURES: dict[str, tuple[tuple[str, ...], bool, tuple[str, ...]]] = {
    "observation.state": (("tool_position", "tool_quaternion"), False, POSE),
    "observation.velocity": (("tool_twist",), False, TWIST),
    "observation.wrench": ((FELT,), True, WRENCH),
    "observation.hand_wrench": (("hand_wrench",), True, WRENCH),
    "action": (("device_position", "device_quaternion"), False, POSE),
}
#: columns at servo rate, in the table beside it
SERVO = ("device_wrench", "hand_wrench", "environment_wrench")
COUNTERS = ("timestamp", "frame_index", "episode_index", "index", "task_index")
QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99)

Frames = dict[str, np.ndarray]


def write_lerobot(
    traces: Sequence[Trace], folder: str | Path, *, fps: int = FPS, task: str = TASK
) -> Path:
    """Write *traces* as the episodes of a data set in a new *folder*.

    Args:
        traces: recordings of one world at one rate.
        folder: must not exist, or be empty.
        fps: [1/s] frames, at most as many as ticks.
        task: what was to be done, in words.
    """
    folder = Path(folder)
    rates = {float(trace.told("rate")) for trace in traces}
    worlds = {str(trace.told("world")) for trace in traces}
    if len(rates) != 1 or len(worlds) != 1:
        found = f"{len(traces)} of rates {sorted(rates)} and worlds {sorted(worlds)}"
        raise ParameterError("traces", found, "one or more, of one world at one rate")
    rate = rates.pop()
    if not (isinstance(fps, int) and 0 < fps <= rate):
        raise ParameterError("fps", fps, f"a whole number from 1 to {rate:g}, the servo's rate")
    if not task.strip():
        raise ParameterError("task", task, "some words")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TraceError(f"{folder} exists already: a data set needs a folder of its own")
    episodes = [frames_of(trace, fps) for trace in traces]
    starts = np.cumsum([0, *(len(one["timestamp"]) for one in episodes)])
    for number, one in enumerate(episodes):
        one["episode_index"] += number
        one["index"] += starts[number]
    _write_frames(episodes, folder)
    _write_episodes(episodes, starts, task, folder)
    _write_tasks(task, folder)
    _write_servo(traces, fps, folder)
    _write_info(episodes, fps, worlds.pop(), traces[0].meta, folder)
    return folder


def frames_of(trace: Trace, fps: int) -> Frames:
    """The numbers of an episode, frame by frame; a frame needs all of its ticks."""
    rate = float(trace.told("rate"))
    whole = int(len(trace) * fps / rate + 1e-9)
    ends = np.searchsorted(frame_numbers(trace, fps), np.arange(1, whole + 1))
    if whole == 0:
        raise TraceError(f"a trace of {len(trace)} ticks has no whole frame at {fps} per second")
    begins = np.concatenate([[0], ends[:-1]])
    frames: Frames = {}
    for name, (columns, mean, _) in FEATURES.items():
        parts = [trace.felt if column == FELT else trace[column] for column in columns]
        values = np.concatenate(parts, axis=1)
        if mean:
            sums = np.add.reduceat(values[: ends[-1]], begins, axis=0)
            frames[name] = (sums / (ends - begins)[:, None]).astype(np.float32)
        else:
            frames[name] = values[ends - 1].astype(np.float32)
    count = np.arange(len(ends))
    frames["timestamp"] = (count / fps).astype(np.float32)
    frames |= {"frame_index": count, "index": count.copy()}
    return frames | {name: np.zeros_like(count) for name in ("episode_index", "task_index")}


def frame_numbers(trace: Trace, fps: int) -> np.ndarray:
    """The frame of each tick."""
    ticks = np.arange(len(trace))
    return np.floor(ticks * fps / float(trace.told("rate")) + 1e-9).astype(int)


def statistics(values: np.ndarray) -> dict[str, list[float]]:
    """What LeRobot normalizes with, of the rows of *values*."""
    rows = values.reshape(len(values), -1).astype(float)
    found = {
        "min": rows.min(axis=0),
        "max": rows.max(axis=0),
        "mean": rows.mean(axis=0),
        "std": rows.std(axis=0),
    }
    found |= {f"q{round(100 * q):02d}": np.quantile(rows, q, axis=0) for q in QUANTILES}
    return {name: part.tolist() for name, part in found.items()} | {"count": [len(rows)]}


def _write_frames(episodes: list[Frames], folder: Path) -> None:
    """``data/``: one row group per episode."""
    from pyarrow import parquet

    path = folder / "data" / _ONLY
    path.parent.mkdir(parents=True)
    tables = [_frame_table(one) for one in episodes]
    with parquet.ParquetWriter(path, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)


def _frame_table(frames: Frames) -> Any:
    import pyarrow as pa

    arrays = {}
    for name, values in frames.items():
        flat = pa.array(np.ascontiguousarray(values).reshape(-1))
        vector = values.ndim == 2
        arrays[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1]) if vector else flat
    return pa.table(arrays)


def _write_episodes(episodes: list[Frames], starts: np.ndarray, task: str, folder: Path) -> None:
    """``meta/episodes/`` and ``meta/stats.json``: where each episode is, and its statistics."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = []
    for number, one in enumerate(episodes):
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": [task],
            "length": len(one["timestamp"]),
            "dataset_from_index": int(starts[number]),
            "dataset_to_index": int(starts[number + 1]),
        }
        for place in ("data", "meta/episodes"):
            row |= {f"{place}/chunk_index": 0, f"{place}/file_index": 0}
        for name, values in one.items():
            row |= {f"stats/{name}/{kind}": got for kind, got in statistics(values).items()}
        rows.append(row)
    path = folder / "meta" / "episodes" / _ONLY
    path.parent.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist(rows), path)
    whole = {name: statistics(np.concatenate([e[name] for e in episodes])) for name in episodes[0]}
    (folder / "meta" / "stats.json").write_text(json.dumps(whole, indent=1))


def _write_tasks(task: str, folder: Path) -> None:
    """``meta/tasks.parquet``: its reader takes the task for pandas' index, which is said here."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy,
         "metadata": None}
        for name, kind, numpy in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]  # fmt: skip
    told = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": columns,
        "pandas_version": "2.0.0",
    }
    table = pa.table({"task_index": pa.array([0], pa.int64()), "task": [task]})
    table = table.replace_schema_metadata({b"pandas": json.dumps(told).encode()})
    parquet.write_table(table, folder / "meta" / "tasks.parquet")


def _write_servo(traces: Sequence[Trace], fps: int, folder: Path) -> None:
    """``servo/``: forces of every tick, and which frame of which episode it belongs to."""
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / "servo" / _ONLY
    path.parent.mkdir(parents=True)
    tables = []
    for number, trace in enumerate(traces):
        flat = Trace(trace.rows[["time", *SERVO]], trace.meta).flat()
        table = flat.append_column("episode_index", pa.array(np.full(len(trace), number)))
        tables.append(table.append_column("frame_index", pa.array(frame_numbers(trace, fps))))
    with parquet.ParquetWriter(path, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)


def _write_info(
    episodes: list[Frames], fps: int, world: str, meta: dict[str, Any], folder: Path
) -> None:
    """``meta/info.json``: what there is, in which files."""
    features: dict[str, dict[str, Any]] = {
        name: {"dtype": "float32", "shape": [len(names)], "names": list(names)}
        for name, (_, _, names) in FEATURES.items()
    }
    for name in COUNTERS:
        kind = "float32" if name == "timestamp" else "int64"
        features[name] = {"dtype": kind, "shape": [1], "names": None}
    info = {
        "codebase_version": VERSION,
        "robot_type": f"detent:{world}",
        "total_episodes": len(episodes),
        "total_frames": sum(len(one["timestamp"]) for one in episodes),
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": fps,
        "splits": {"train": f"0:{len(episodes)}"},
        "data_path": f"data/{_FILE}",
        "video_path": None,
        "features": features,
    }
    (folder / "meta" / "info.json").write_text(json.dumps(info, indent=1))
    beside = {"servo_path": f"servo/{_FILE}", "servo_rate": meta["rate"], "trace": meta}
    (folder / "meta" / "detent.json").write_text(json.dumps(beside, indent=1, default=str))
