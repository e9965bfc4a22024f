"""Rows with some of their columns: what a trace keeps."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.lib.recfunctions import repack_fields


class Stretch(NamedTuple):
    """Bytes of a row that lie side by side in what is kept, too."""

    source: int
    target: int
    size: int


@cache
def _stretches(row: np.dtype, names: tuple[str, ...]) -> tuple[np.dtype, tuple[Stretch, ...]]:
    """The packed row of these columns, and which bytes it has from where."""
    packed = repack_fields(row[list(names)])
    assert row.fields is not None and packed.fields is not None
    found: list[Stretch] = []
    for name in names:
        source, (kind, target) = row.fields[name][1], packed.fields[name][:2]
        last = found[-1] if found else None
        if last is not None and source == last.source + last.size:
            found[-1] = last._replace(size=last.size + kind.itemsize)
        else:
            found.append(Stretch(source, target, kind.itemsize))
    return packed, tuple(found)


def with_columns(rows: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """A copy of these columns, in the order that they have; field by field would take long."""
    packed, stretches = _stretches(rows.dtype, names)
    out = np.empty(len(rows), packed)
    given = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), rows.itemsize)
    taken = out.view(np.uint8).reshape(len(rows), packed.itemsize)
    for source, target, size in stretches:
        taken[:, target : target + size] = given[:, source : source + size]
    return out
