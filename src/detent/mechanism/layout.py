"""Which entries of a symmetric matrix its factor needs, from the zeros of its expressions."""

from __future__ import annotations

from typing import Any


def factor_columns(matrix: Any) -> list[list[int]]:
    r"""The columns of each row, ascending, the diagonal last, that :math:`L^T \Delta L` fills.

    As `kernels.inertia` wants them: those of a row are what it hangs from in the tree by which
    unknowns are eliminated, last to first [Liu90]. Coordinates whose inertias are not coupled
    hang from nothing of each other, so a tick spends nothing on them.
    """
    n = matrix.rows
    filled = [{j for j in range(i) if matrix[i, j] != 0} for i in range(n)]
    for row in reversed(filled):  # to eliminate an unknown couples all that it was coupled to
        if row:
            filled[max(row)] |= row - {max(row)}
    columns: list[list[int]] = []
    for i, row in enumerate(filled):
        columns.append([*(columns[max(row)] if row else ()), i])
    return columns


def places(columns: list[list[int]]) -> list[tuple[int, int]]:
    """Row and column of each entry, in the order in which they are stored."""
    return [(i, j) for i, row in enumerate(columns) for j in row]
