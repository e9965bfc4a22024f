"""Loops over vectors, spelled out: they compile faster than slices and never allocate.

Where a few numbers are worked on again and again, a `Triple` stays in registers: an array
that is written by element and read in pairs makes the processor wait.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel

Triple = tuple[float, float, float]


@kernel
def copy_vector(source: np.ndarray, out: np.ndarray) -> None:
    """out = source."""
    for i in range(out.shape[0]):
        out[i] = source[i]


@kernel
def copy_first(n: int, source: np.ndarray, out: np.ndarray) -> None:
    """The first n elements of out = those of source."""
    for i in range(n):
        out[i] = source[i]


@kernel
def clear_vector(out: np.ndarray) -> None:
    """out = 0."""
    for i in range(out.shape[0]):
        out[i] = 0.0


@kernel
def clear_matrix(out: np.ndarray) -> None:
    """out = 0."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0


@kernel
def dot(a: np.ndarray, b: np.ndarray, n: int) -> float:
    """The sum of products of the first n elements."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@kernel
def largest(x: np.ndarray) -> float:
    """The largest magnitude of its elements, 0 of none."""
    most = 0.0
    for i in range(x.shape[0]):
        most = max(most, abs(x[i]))
    return most


@kernel
def plus(a: Triple, factor: float, b: Triple) -> Triple:
    """a + factor · b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@kernel
def inner(a: Triple, b: Triple) -> float:
    """a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Triple, b: Triple) -> Triple:
    """a × b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )
