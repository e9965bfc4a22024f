"""A map, chunk by chunk: what is on disk is not computed again."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from detent.errors import ParameterError
from detent.maps.cells import WALL, Setting, compute_chunk
from detent.maps.executors import check_place, open_executor, workers
from detent.maps.grid import Grid

# Cells of a task: at least a second of work, so that handing them out costs nothing, and at most
# what may be lost by a kill; in between so many that all cores have some to the end.
LEAST_CHUNK, CHUNK = (40, 4), (400, 50)  # of the wall, which cells share, and of a world
TASKS = 4  # for each worker
POLL = 0.02  # [s]

Rows = list[dict[str, Any]]


def run_map(
    grid: Grid,
    folder: Path,
    where: str = "local",
    chunk: int | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> Rows:
    """All rows of a map, in the order of its cells; also in *folder*, as ``map.parquet``.

    A chunk is written as soon as it is there. Rows do not depend on who computed them, nor on how
    they were cut.
    """
    if chunk is not None and chunk < 1:
        raise ParameterError("chunk", chunk, "at least 1")
    check_place(where)
    parts = folder / "chunks"
    settings = grid.settings()
    known = read_chunks(parts)
    missing = list({one.key: one for one in settings if one.key not in known}.values())
    size = chunk or chunk_size(len(missing), grid.base.world == WALL, workers(where))
    tasks = [missing[i : i + size] for i in range(0, len(missing), size)]
    parts.mkdir(parents=True, exist_ok=True)
    if tasks:
        with open_executor(where, folder) as executor:
            for rows in completed(executor, tasks):
                write_rows(rows, chunk_file(parts, rows))
                known |= {row["key"]: row for row in rows}
                progress(len(known) / max(len(settings), 1))
    ordered = [known[one.key] for one in settings]
    write_rows(ordered, folder / "map.parquet", describe(grid))
    return ordered


def chunk_size(cells: int, wall: bool, workers: int) -> int:
    """How many cells a task has."""
    kind = 0 if wall else 1
    return min(max(math.ceil(cells / (TASKS * workers)), LEAST_CHUNK[kind]), CHUNK[kind])


def claim_folder(grid: Grid, folder: Path, replace: bool = False) -> None:
    """Make a folder for a map; refused where another map is, unless that may be replaced.

    The cells of the other one stay in its chunks, and a map that has them again takes them.
    """
    try:
        (folder / "chunks").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("--out", str(folder), f"a folder: {error.strerror}") from None
    there = folder / "map.parquet"
    if replace or not there.is_file():
        return
    head = read_head(there)
    if json.dumps(head) != json.dumps(describe(grid)):
        axes = " and ".join(head.get("axes", {}))
        allowed = f"the folder of this map, or an empty one: a map over {axes or 'something else'} "
        raise ParameterError("--out", str(folder), allowed + "is there (--replace)")


def read_head(path: Path) -> dict[str, Any]:
    """The configuration at the head of a map; empty if it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return dict(json.loads((pq.read_schema(path).metadata or {})[b"detent"]))
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return {}


def completed(
    executor: Any, tasks: Sequence[list[Setting]], work: Callable[..., Any] = compute_chunk
) -> Any:
    """The results of tasks, as they come."""
    running = [executor.submit(work, task) for task in tasks]
    while running:
        done = [one for one in running if one.done()]
        running = [one for one in running if one not in done]
        for one in done:
            yield one.result()
        if not done:
            time.sleep(POLL)


def describe(grid: Grid) -> dict[str, Any]:
    """The configuration, for the head of the file."""
    axes = [grid.first, grid.second]
    return {
        "base": asdict(grid.base.filled()),
        "axes": {axis.name: list(axis.values) for axis in axes},
    }


def chunk_file(folder: Path, rows: Rows) -> Path:
    """A name by content: the same chunk twice is the same file."""
    text = "".join(row["key"] for row in rows)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.parquet"


def write_rows(rows: Rows, path: Path, head: dict[str, Any] | None = None) -> None:
    """At once or not at all: a file that was cut short would look like one that is whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(rows)
    if head is not None:
        table = table.replace_schema_metadata({"detent": json.dumps(head)})
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    pq.write_table(table, beside)
    beside.replace(path)


def read_chunks(folder: Path) -> dict[str, dict[str, Any]]:
    """All rows that are there, by their keys."""
    import pyarrow.parquet as pq

    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.parquet")):
        found |= {row["key"]: row for row in pq.read_table(path).to_pylist()}
    return found
