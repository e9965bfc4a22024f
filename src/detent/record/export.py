"""Traces in formats that other tools read."""

from __future__ import annotations

from pathlib import Path

from detent.errors import UnknownNameError
from detent.record.trace import Trace

FORMATS = ("csv", "parquet")


def export_trace(trace: Trace, source: Path, kind: str, output: Path | None = None) -> Path:
    """Write *trace* as csv or parquet, beside its source unless a file is named."""
    if kind not in FORMATS:
        raise UnknownNameError("export format", kind, FORMATS)
    path = output or source.with_suffix(f".{kind}")
    table = trace.flat()
    if kind == "csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    else:
        from pyarrow import parquet

        parquet.write_table(table, path)
    return path
