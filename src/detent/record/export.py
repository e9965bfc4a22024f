"""Traces in formats that other tools read."""

from __future__ import annotations

import json
import os
from pathlib import Path

from detent.errors import TraceError, UnknownNameError
from detent.record.trace import Trace

FORMATS = ("csv", "parquet", "mcap", "rerun")
SUFFIXES = {"rerun": ".rrd"}


def export_trace(trace: Trace, source: Path, kind: str, output: Path | None = None) -> Path:
    """Write *trace* in a format of `FORMATS`, beside its source unless a file is named."""
    if kind not in FORMATS:
        raise UnknownNameError("export format", kind, FORMATS)
    path = output or source.with_suffix(SUFFIXES.get(kind, f".{kind}"))
    try:
        _write(trace, kind, path)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise TraceError(f"{path} cannot be written: {why}") from error
    return path


def _write(trace: Trace, kind: str, path: Path) -> None:
    if kind == "mcap":
        from detent.record.mcap_file import write_mcap

        write_mcap(trace, path)
    elif kind == "rerun":
        from detent.record.rerun_file import write_rerun

        write_rerun(trace, path)
    elif kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(trace.flat(), path)
    else:
        write_csv(trace, path)


def write_csv(trace: Trace, path: Path) -> None:
    """A table of numbers; units and configuration, for which it has no place, go beside it."""
    from pyarrow import csv

    table = trace.flat()
    csv.write_csv(table, path)
    told = {field.name: (field.metadata or {})[b"unit"].decode() for field in table.schema}
    head = json.loads((table.schema.metadata or {})[b"detent"])
    beside = path.with_name(f"{path.name}.json")
    beside.write_text(json.dumps({"units": told, "trace": head}, indent=1, ensure_ascii=False))
