"""Rows and vectors over some of the degrees of freedom only.

A contact moves one tree or two. Its row has columns for the dofs of these alone: *spans*
(first dof, how many), side by side in ascending order. Inertia couples no two spans, as a span is
a whole tree, or all trees that loops tie together: so everything here costs what the spans hold,
however much else there is. A world of one tree has one span, which is all of it.
"""

from __future__ import annotations

from detent.kernels.inertia import Inertia, whiten_block_rows
from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats, Indices


@kernel
def spans_size(spans: Indices, count: int) -> int:
    """How many columns the first *count* spans have."""
    total = 0
    for b in range(count):
        total += spans[b, 1]
    return total


@kernel
def spans_dot(spans: Indices, count: int, row: Floats, x: Floats) -> float:
    """A row over spans times a vector over all dofs."""
    total, column = 0.0, 0
    for b in range(count):
        shift = spans[b, 0] - column
        for c in range(column, column + spans[b, 1]):
            total += row[c] * x[c + shift]
        column += spans[b, 1]
    return total


@kernel
def add_spans(spans: Indices, count: int, row: Floats, factor: float, out: Floats) -> None:
    """out += factor · a row over spans; ``out`` is over all dofs."""
    column = 0
    for b in range(count):
        shift = spans[b, 0] - column
        for c in range(column, column + spans[b, 1]):
            out[c + shift] += row[c] * factor
        column += spans[b, 1]


@kernel
def take_spans(spans: Indices, count: int, x: Floats, out: Floats) -> None:
    """The columns of a vector over all dofs that lie in the spans."""
    column = 0
    for b in range(count):
        shift = spans[b, 0] - column
        for c in range(column, column + spans[b, 1]):
            out[c] = x[c + shift]
        column += spans[b, 1]


@kernel
def gather_spans(spans: Indices, count: int, x: Floats, factor: float, out: Floats) -> None:
    """out += factor · what `take_spans` takes; ``out`` is over spans."""
    column = 0
    for b in range(count):
        shift = spans[b, 0] - column
        for c in range(column, column + spans[b, 1]):
            out[c] += factor * x[c + shift]
        column += spans[b, 1]


@kernel
def put_spans(spans: Indices, count: int, x: Floats, out: Floats) -> None:
    """The reverse: into a vector over all dofs, which keeps what lies outside."""
    column = 0
    for b in range(count):
        shift = spans[b, 0] - column
        for c in range(column, column + spans[b, 1]):
            out[c + shift] = x[c]
        column += spans[b, 1]


@kernel
def whiten_open_spans(
    inertia: Inertia, spans: Indices, count: int, start: int, end: int, N: Floats
) -> None:
    """`whiten_open` of the rows *start* to *end* of ``N``, which all have the same spans."""
    column = 0
    for b in range(count):
        first, size = spans[b, 0], spans[b, 1]
        whiten_block_rows(inertia, start, end, first, first + size, first - column, N)
        column += size


@kernel
def project_spans(inertia: Inertia, spans: Indices, count: int, x: Floats) -> float:
    """`project_on_closures` of a whitened row over spans; how much was taken."""
    taken = 0.0
    for i in range(inertia.closed[0]):
        s = spans_dot(spans, count, x, inertia.Q[i])
        gather_spans(spans, count, inertia.Q[i], -s, x)
        taken += s * s
    return taken


@kernel
def whiten_spans(inertia: Inertia, spans: Indices, count: int, m: int, N: Floats) -> None:
    """`whiten` of the first m rows of ``N``, which all have the same spans."""
    whiten_open_spans(inertia, spans, count, 0, m, N)
    if inertia.closed[0] > 0:
        for i in range(m):
            project_spans(inertia, spans, count, N[i])


@kernel
def whiten_velocity_spans(inertia: Inertia, spans: Indices, count: int, x: Floats) -> None:
    """`whiten_velocity` of a vector over spans."""
    rownnz, rowadr, colind, LD = inertia.rownnz, inertia.rowadr, inertia.colind, inertia.LD
    column = 0
    for b in range(count):
        first, size = spans[b, 0], spans[b, 1]
        shift = first - column
        for k in range(first + size - 1, first - 1, -1):
            s = x[k - shift]
            for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
                s += LD[a] * x[colind[a] - shift]
            x[k - shift] = s / inertia.root[k]
        column += size


@kernel
def unwhiten_spans(inertia: Inertia, spans: Indices, count: int, x: Floats) -> None:
    """`unwhiten` of a vector over spans."""
    rownnz, rowadr, colind, LD = inertia.rownnz, inertia.rowadr, inertia.colind, inertia.LD
    column = 0
    for b in range(count):
        first, size = spans[b, 0], spans[b, 1]
        shift = first - column
        for k in range(first, first + size):
            x[k - shift] *= inertia.root[k]
        for k in range(first, first + size):
            s = x[k - shift]
            for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
                s -= LD[a] * x[colind[a] - shift]
            x[k - shift] = s
        column += size


@kernel
def whiten_force_spans(inertia: Inertia, spans: Indices, count: int, x: Floats) -> None:
    """`whiten` of a force over spans."""
    rownnz, rowadr, colind, LD = inertia.rownnz, inertia.rowadr, inertia.colind, inertia.LD
    column = 0
    for b in range(count):
        first, size = spans[b, 0], spans[b, 1]
        shift = first - column
        for k in range(first + size - 1, first - 1, -1):
            for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
                x[colind[a] - shift] -= LD[a] * x[k - shift]
        for k in range(first, first + size):
            x[k - shift] *= inertia.root[k]
        column += size
    if inertia.closed[0] > 0:
        project_spans(inertia, spans, count, x)


@kernel
def momentum_spans(
    M: Floats, inertia: Inertia, spans: Indices, count: int, qd: Floats, out: Floats
) -> None:
    """``out`` over spans ← D q̇ of what lies in them."""
    rownnz, rowadr, colind = inertia.rownnz, inertia.rowadr, inertia.colind
    column = 0
    for b in range(count):
        first, size = spans[b, 0], spans[b, 1]
        shift = first - column
        for k in range(first, first + size):
            diagonal = rowadr[k] + rownnz[k] - 1
            s = M[diagonal] * qd[k]
            for a in range(rowadr[k], diagonal):
                s += M[a] * qd[colind[a]]
                out[colind[a] - shift] += M[a] * qd[k]
            out[k - shift] = s
        column += size
