"""Traces: what was recorded, tick by tick, in memory and on disk.

On disk a trace is an Arrow IPC stream, written batch by batch: a file that a killed run left
behind can be read up to its last whole batch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from detent.errors import TraceError, UnknownNameError

if TYPE_CHECKING:
    import pyarrow as pa

TIMING_FIELDS = ("lateness_ns", "compute_ns")
_META = b"detent"


class Trace:
    """Rows of a run and the configuration that made them."""

    def __init__(self, rows: np.ndarray, meta: dict[str, Any]) -> None:
        self.rows, self.meta = rows, meta

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: str) -> np.ndarray:
        if column not in (self.rows.dtype.names or ()):
            raise UnknownNameError("column", column, self.rows.dtype.names or ())
        return self.rows[column]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.rows.dtype.names or ())

    def state_hash(self) -> str:
        """A digest of everything but the timing: equal runs have equal hashes."""
        digest = hashlib.sha256()
        for name in self.columns:
            if name not in TIMING_FIELDS:
                digest.update(np.ascontiguousarray(self.rows[name]).tobytes())
        return digest.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the trace as an Arrow IPC stream."""
        writer = TraceWriter(path, self.meta, self.rows.dtype)
        writer.append(self.rows)
        writer.close()

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace, up to the last whole batch if its writer was killed."""
        import pyarrow as pa

        path = Path(path)
        if not path.is_file():
            raise TraceError(f"there is no trace file {path}")
        batches = []
        meta: dict[str, Any] = {}
        try:
            with pa.OSFile(str(path)) as source:
                stream = pa.ipc.open_stream(source)
                meta = json.loads((stream.schema.metadata or {})[_META])
                try:
                    for batch in stream:
                        batches.append(batch)
                except (pa.ArrowInvalid, OSError):
                    meta["truncated"] = True
        except (pa.ArrowInvalid, OSError, KeyError, ValueError) as error:
            raise TraceError(f"{path.name} is not a trace of Detent: {error}") from error
        return cls(_to_rows(stream.schema, batches), meta)

    def flat(self) -> pa.Table:
        """A pyarrow Table; vectors become one column per element: ``device_position_0`` …"""
        import pyarrow as pa

        columns = {}
        for name in self.columns:
            values = self.rows[name]
            if values.ndim == 1:
                columns[name] = values
            else:
                columns |= {f"{name}_{i}": values[:, i].copy() for i in range(values.shape[1])}
        return pa.table(columns)

    def table(self) -> Any:
        """A pandas DataFrame if pandas is installed, otherwise a pyarrow Table."""
        table = self.flat()
        return table.to_pandas() if find_spec("pandas") else table

    def plot(self, path: str | Path | None = None) -> Any:
        """Trajectory, forces and energies; written to *path* if given. Returns the figure."""
        from detent.record.plots import plot_trace

        return plot_trace(self, path)


class TraceWriter:
    """Streams rows into a file, batch by batch."""

    def __init__(self, path: str | Path, meta: dict[str, Any], dtype: np.dtype) -> None:
        import pyarrow as pa

        self.path = Path(path)
        self._meta = meta
        try:
            self._file = open(self.path, "wb")  # noqa: SIM115  (closed in close)
        except OSError as error:
            raise TraceError(f"the trace {self.path} cannot be written: {error}") from error
        schema = _to_batch(np.zeros(0, dtype), meta).schema
        self._writer = pa.ipc.new_stream(self._file, schema)
        self._file.flush()

    def append(self, rows: np.ndarray) -> None:
        """Write a batch and hand it to the operating system."""
        self._writer.write_batch(_to_batch(rows, self._meta))
        self._file.flush()

    def close(self) -> None:
        """Finish the stream."""
        self._writer.close()
        self._file.close()


class KeptWriter(TraceWriter):
    """Writes rows as a trace keeps them."""

    def __init__(
        self,
        path: str | Path,
        meta: dict[str, Any],
        dtype: np.dtype,
        keep: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        super().__init__(path, meta, dtype)
        self._keep = keep

    def append(self, rows: np.ndarray) -> None:
        """Write a batch of raw rows."""
        super().append(self._keep(rows))


def _to_batch(rows: np.ndarray, meta: dict[str, Any]) -> pa.RecordBatch:
    import pyarrow as pa

    arrays, fields = [], []
    for name in rows.dtype.names or ():
        values = np.ascontiguousarray(rows[name])
        array = pa.array(values.reshape(-1))
        if values.ndim == 2:
            array = pa.FixedSizeListArray.from_arrays(array, values.shape[1])
        arrays.append(array)
        fields.append(pa.field(name, array.type))
    head = {_META: json.dumps(meta, default=_plain).encode()}
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, head))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


def _to_rows(schema: Any, batches: list[Any]) -> np.ndarray:
    import pyarrow as pa

    fields: list[Any] = []
    for field in schema:
        size = field.type.list_size if pa.types.is_fixed_size_list(field.type) else None
        kind = field.type.value_type if size else field.type
        fields.append((field.name, kind.to_pandas_dtype(), *([size] if size else [])))
    rows = np.zeros(sum(len(batch) for batch in batches), np.dtype(fields))
    start = 0
    for batch in batches:
        end = start + len(batch)
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if pa.types.is_fixed_size_list(column.type):
                flat = column.flatten().to_numpy(zero_copy_only=False)
                rows[name][start:end] = flat.reshape(len(batch), column.type.list_size)
            else:
                rows[name][start:end] = column.to_numpy(zero_copy_only=False)
        start = end
    return rows
