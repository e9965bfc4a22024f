"""Rows with some of their columns are those that NumPy would make, field by field."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.recfunctions import repack_fields

from detent.servo.columns import ROW
from detent.setup.kept_rows import with_columns

SMALL = np.dtype([("a", "f8"), ("b", "i4", (3,)), ("c", "u1"), ("d", "f8", (2, 2))])


@pytest.mark.parametrize("row", [ROW, SMALL, np.dtype(SMALL.descr, align=True)])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_columns_are_kept_as_they_are(row: np.dtype, count: int) -> None:
    rng = np.random.default_rng(count)
    memory = rng.integers(0, 256, count * row.itemsize, np.uint8)
    rows, names = memory.view(row), row.names or ()
    for kept in (names, names[1:], names[::2], names[:1] + names[-1:]):
        wanted = repack_fields(rows[list(kept)])
        out = with_columns(rows, tuple(kept))
        assert out.dtype == wanted.dtype
        assert out.tobytes() == wanted.tobytes()
        assert not np.shares_memory(out, rows)
    assert with_columns(rows[::2], names).tobytes() == repack_fields(rows[::2]).tobytes()
