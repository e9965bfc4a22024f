"""Traces: what was recorded, tick by tick, in memory and on disk.

On disk a trace is an Arrow IPC stream, written batch by batch: a file that a killed run left
behind can be read up to its last whole batch. Its head holds the configuration and the units,
its last batch, which is empty, the state hash and what was to be said at the end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from detent.errors import TraceError, UnknownNameError
from detent.record.units import elements, units

if TYPE_CHECKING:
    import pyarrow as pa

TIMING_FIELDS = ("lateness_ns", "compute_ns")
_META, _END = b"detent", b"detent.end"
_UNIT = b"unit"
_OF_A_FILE = ("state_hash", "truncated")  # in `meta` of what was read from one


class Digest:
    """The state hash of rows that come batch by batch: however they are cut, it is the same."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._columns = {name: hashlib.sha256() for name in names if name not in TIMING_FIELDS}

    def add(self, rows: np.ndarray) -> None:
        """Take a batch."""
        for name, digest in self._columns.items():
            digest.update(np.ascontiguousarray(rows[name]).tobytes())

    def value(self) -> str:
        """Of all columns so far."""
        whole = hashlib.sha256()
        for digest in self._columns.values():
            whole.update(digest.digest())
        return whole.hexdigest()


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

    @property
    def felt(self) -> np.ndarray:
        """(n, 6) [N, N·m] the wrench on the hand, by `felt_in`."""
        return felt_in(self.rows, bool(self.meta.get("display")))

    def state_hash(self) -> str:
        """A digest of everything but the timing: equal runs have equal hashes."""
        digest = Digest(self.columns)
        digest.add(self.rows)
        return digest.value()

    def save(self, path: str | Path) -> None:
        """Write the trace as an Arrow IPC stream."""
        head = {name: value for name, value in self.meta.items() if name not in _OF_A_FILE}
        writer = TraceWriter(path, head, self.rows.dtype)
        writer.append(self.rows)
        writer.close()

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace, up to the last whole batch if its writer was killed."""
        import pyarrow as pa

        path = Path(path)
        if not path.is_file():
            raise TraceError(f"there is no trace file {path}")
        if path.stat().st_size == 0:
            raise TraceError(f"{path.name} is not a trace of Detent: it is empty")
        try:
            with pa.OSFile(str(path)) as source:
                stream = pa.ipc.open_stream(source)
                meta = _head(path, stream.schema)
                batches, end = _read_batches(stream)
        except (pa.ArrowInvalid, OSError) as error:
            why = "it is no Arrow stream, or was cut off before its head was written"
            raise TraceError(f"{path.name} is not a trace of Detent: {why}") from error
        trace = cls(_to_rows(stream.schema, batches), meta | end)
        if not end:
            meta["truncated"] = trace.meta["truncated"] = True
        elif trace.state_hash() != end["state_hash"]:
            raise TraceError(f"{path.name} is damaged: its rows are not those that were recorded")
        return trace

    def told(self, name: str) -> Any:
        """What the configuration says of a thing; a recording of a session says everything."""
        if name not in self.meta:
            raise TraceError(f"the trace does not say its {name}: it was not recorded by a session")
        return self.meta[name]

    def flat(self) -> pa.Table:
        """A pyarrow Table with one column per number: ``device_position_x`` …

        The unit of a column is in the metadata of its field, the configuration in those of the
        table.
        """
        import pyarrow as pa

        arrays, fields = [], []
        for name in self.columns:
            values = self.rows[name]
            size = None if values.ndim == 1 else values.shape[1]
            parts = [values] if size is None else [values[:, i].copy() for i in range(size)]
            for part, title, unit in zip(
                parts, elements(name, size), units(name, size), strict=True
            ):
                arrays.append(pa.array(part))
                fields.append(pa.field(title, arrays[-1].type, metadata={_UNIT: unit.encode()}))
        head = {_META: json.dumps(self.meta, default=_plain).encode()}
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields, head))

    def table(self) -> Any:
        """A pandas DataFrame if pandas is installed, otherwise a pyarrow Table."""
        table = self.flat()
        return table.to_pandas() if find_spec("pandas") else table

    def plot(self, path: str | Path | None = None) -> Any:
        """Trajectory, forces and energies; written to *path* if given. Returns the figure."""
        from detent.record.plots import plot_trace

        return plot_trace(self, path)


def felt_in(rows: np.ndarray | np.void, display: bool) -> np.ndarray:
    """(n, 6) [N, N·m] the wrench on the hand in some rows: what the device gives.

    A *display*, which is told a motion, gives whatever the motion takes, and the hand feels what it
    presses against.
    """
    return np.array(-rows["hand_wrench"] if display else rows["device_wrench"])


class TraceWriter:
    """Streams rows into a file, batch by batch."""

    def __init__(self, path: str | Path, meta: dict[str, Any], dtype: np.dtype) -> None:
        import pyarrow as pa

        self.path = Path(path)
        self._meta = meta
        self._empty = _to_batch(np.zeros(0, dtype), meta)
        self._digest = Digest(dtype.names or ())
        try:
            self._file = open(self.path, "wb")  # noqa: SIM115  (closed in close)
        except OSError as error:
            raise TraceError(f"the trace {self.path} cannot be written: {error}") from error
        self._writer = pa.ipc.new_stream(self._file, self._empty.schema)
        # Arrow writes the head with the first batch: who is killed before one has a file that opens
        with suppress(OSError):  # a full disk: `append` says so
            self._writer.write_batch(self._empty)
            self._file.flush()

    def append(self, rows: np.ndarray) -> None:
        """Write a batch and hand it to the operating system."""
        self._writer.write_batch(_to_batch(rows, self._meta))
        self._file.flush()
        self._digest.add(rows)

    def close(self, said: dict[str, Any] | None = None) -> None:
        """Finish the stream, with the state hash and what there is to say at the end."""
        end = {"state_hash": self._digest.value()} | (said or {})
        try:
            words = {_END: json.dumps(end, default=_plain).encode()}
            self._writer.write_batch(self._empty, custom_metadata=words)
            self._writer.close()
        except OSError:  # a full disk: `append` has said so, and what is there can be read
            pass
        finally:
            with suppress(OSError):
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
        size = None if values.ndim == 1 else values.shape[1]
        unit = ", ".join(dict.fromkeys(units(name, size)))
        fields.append(pa.field(name, array.type, metadata={_UNIT: unit.encode()}))
    head = {_META: json.dumps(meta, default=_plain).encode()}
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, head))


def _read_batches(stream: Any) -> tuple[list[Any], dict[str, Any]]:
    """The whole batches of a stream, and what its writer said at the end: nothing if killed."""
    import pyarrow as pa

    batches: list[Any] = []
    while True:
        try:
            batch, said = stream.read_next_batch_with_custom_metadata()
        except (StopIteration, pa.ArrowInvalid, OSError):
            return batches, {}
        if said is not None and _END in said:
            return batches, json.loads(said[_END])
        batches.append(batch)


def _head(path: Path, schema: Any) -> dict[str, Any]:
    """The configuration in the head of a stream, whose columns can be a trace's."""
    import pyarrow as pa

    foreign = f"{path.name} is not a trace of Detent: it is an Arrow stream"
    if _META not in (schema.metadata or {}):
        raise TraceError(f"{foreign} of something else")
    try:
        meta = json.loads(schema.metadata[_META])
    except ValueError as error:
        raise TraceError(f"{foreign} with a head that cannot be read") from error
    kinds = [getattr(field.type, "value_type", field.type) for field in schema]
    numbers = all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds)
    if not isinstance(meta, dict) or not numbers or "time" not in schema.names:
        raise TraceError(f"{foreign} with other columns")
    return meta


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
