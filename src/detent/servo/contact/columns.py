"""The columns of a row: the dofs of the one or two trees that it moves (`kernels.spans`)."""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel
from detent.servo.structs import Rows, Scene


@kernel
def columns(rows: Rows, r: int) -> int:
    """How many columns row r has."""
    return rows.span[r, 0, 1] + rows.span[r, 1, 1]


@kernel
def begin_columns(sc: Scene, rows: Rows, r: int) -> None:
    """The columns of row r from its trees, all zero."""
    set_columns(sc, rows, r)
    clear_row(rows.jac, r, columns(rows, r))


@kernel
def set_columns(sc: Scene, rows: Rows, r: int) -> None:
    """The columns of row r from its trees: spans in ascending order, each once."""
    span = rows.span
    span[r, 0, 0], span[r, 0, 1], span[r, 1, 0], span[r, 1, 1] = 0, 0, 0, 0
    for side in range(2):
        tree = rows.tree[r, side]
        if tree < 0:
            continue
        first, size = sc.tree_span[tree, 0], sc.tree_span[tree, 1]
        if span[r, 0, 1] == 0:
            span[r, 0, 0], span[r, 0, 1] = first, size
        elif first > span[r, 0, 0]:
            span[r, 1, 0], span[r, 1, 1] = first, size
        elif first < span[r, 0, 0]:
            span[r, 1, 0], span[r, 1, 1] = span[r, 0, 0], span[r, 0, 1]
            span[r, 0, 0], span[r, 0, 1] = first, size


@kernel
def column_shift(sc: Scene, rows: Rows, r: int, tree: int) -> int:
    """By how much the columns of a tree in row r are less than its dofs."""
    first = sc.tree_span[tree, 0]
    return first if first == rows.span[r, 0, 0] else first - rows.span[r, 0, 1]


@kernel
def row_product(rows: Rows, A: np.ndarray, i: int, j: int) -> float:
    """The product of rows i and j of A over the dofs that both have."""
    total, at, span = 0.0, 0, rows.span
    for a in range(2):
        start = 0
        for b in range(2):
            if span[i, a, 1] > 0 and span[j, b, 1] > 0 and span[i, a, 0] == span[j, b, 0]:
                for c in range(span[i, a, 1]):
                    total += A[i, at + c] * A[j, start + c]
            start += span[j, b, 1]
        at += span[i, a, 1]
    return total


@kernel
def same_columns(rows: Rows, i: int, j: int) -> bool:
    """Whether two rows move the same."""
    span = rows.span
    for part in range(2):
        if span[i, part, 0] != span[j, part, 0] or span[i, part, 1] != span[j, part, 1]:
            return False
    return True


@kernel
def clear_row(A: np.ndarray, r: int, n: int) -> None:
    """The first n columns of a row become zero."""
    for c in range(n):
        A[r, c] = 0.0


@kernel
def pack_spans(rows: Rows, start: int, end: int) -> int:
    """rows.packed ← the spans of the hits from start to end, each once; how many columns.

    In ascending order, so that sums over them are those over all dofs. `unpack_spans` ends it.
    """
    count, packed, place = 0, rows.packed, rows.place
    for h in range(start, end):
        r = rows.hit_row[h]
        for part in range(2):
            first, size = rows.span[r, part, 0], rows.span[r, part, 1]
            if size == 0 or place[first] >= 0:
                continue
            place[first] = 0
            i = count
            while i > 0 and packed[i - 1, 0] > first:
                packed[i, 0], packed[i, 1] = packed[i - 1, 0], packed[i - 1, 1]
                i -= 1
            packed[i, 0], packed[i, 1] = first, size
            count += 1
    rows.packs[0] = count
    column = 0
    for b in range(count):
        place[packed[b, 0]] = column
        column += packed[b, 1]
    return column


@kernel
def unpack_spans(rows: Rows) -> None:
    """The collision is resolved; which spans it had is still known."""
    for b in range(rows.packs[0]):
        rows.place[rows.packed[b, 0]] = -1


@kernel
def pack_row(rows: Rows, r: int, row: np.ndarray, n: int, out: np.ndarray) -> None:
    """out ← a row in the columns of row r, spread over those of the collision."""
    if columns(rows, r) == n:  # all of them
        for c in range(n):
            out[c] = row[c]
        return
    for c in range(n):
        out[c] = 0.0
    column = 0
    for part in range(2):
        size = rows.span[r, part, 1]
        if size > 0:
            place = rows.place[rows.span[r, part, 0]]
            for c in range(size):
                out[place + c] = row[column + c]
        column += size
