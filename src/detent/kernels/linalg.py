"""Small linear algebra for the tick: no allocation, no LAPACK, a bounded time.

Dense symmetric matrices. Dimensions are passed beside the buffers, which may be larger;
outputs come last.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from detent.kernels.constants import QL_STEPS
from detent.kernels.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Indices = NDArray[np.int64]


@kernel
def cholesky_factor(A: Floats, n: int, L: Floats) -> int:
    r"""Factor a symmetric positive definite matrix; how many columns: n unless it is not.

    .. math:: A = L L^T

    Only the lower triangles are read and written; ``L`` may be ``A``.
    """
    for j in range(n):
        inverse = 0.0
        for i in range(j, n):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = s * inverse
            elif s > 0.0:
                L[j, j] = math.sqrt(s)
                inverse = 1.0 / L[j, j]
            else:
                return j
    return n


@kernel
def cholesky_solve(L: Floats, n: int, b: Floats, x: Floats) -> None:
    r"""Solve with the factor of `cholesky_factor`; ``x`` may be ``b``.

    .. math:: x = L^{-T} L^{-1} b

    Each unknown waits for the one before, but not for a division: that of 1 can be done early.
    """
    for i in range(n):
        inverse = 1.0 / L[i, i]
        s = b[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s * inverse
    for i in range(n - 1, -1, -1):
        inverse = 1.0 / L[i, i]
        s = x[i]
        for k in range(n - 1, i, -1):  # the newest last
            s -= L[k, i] * x[k]
        x[i] = s * inverse


@kernel
def psd_factor(A: Floats, n: int, tol: float, d: Floats, L: Floats) -> int:
    r"""Factor a positive semi-definite matrix with diagonal pivots; the rank.

    .. math:: A \approx L L^T, \quad L \in R^{n \times r}

    The rows of ``L`` stay in the order of ``A``, so no permutation is needed to use
    it. Stops when no remaining pivot exceeds ``tol`` times the largest diagonal.
    """
    for i in range(n):
        d[i] = A[i, i]
    threshold = 0.0
    for r in range(n):
        pivot = 0
        for i in range(1, n):
            if d[i] > d[pivot]:
                pivot = i
        if r == 0:
            threshold = tol * d[pivot]
        if not d[pivot] > threshold:
            return r
        inverse = 1.0 / math.sqrt(d[pivot])
        for i in range(n):
            s = A[i, pivot]
            for k in range(r):
                s -= L[i, k] * L[pivot, k]
            # the row of an earlier pivot is used up: what is left of it is round-off
            L[i, r] = s * inverse if d[i] > -math.inf else 0.0
            d[i] -= L[i, r] * L[i, r]
        d[pivot] = -math.inf
    return n


@kernel
def psd_pinv_solve(
    A: Floats, n: int, b: Floats, tol: float, L: Floats, S: Floats, d: Floats, x: Floats
) -> int:
    r"""Apply the pseudo-inverse of a positive semi-definite matrix; its rank.

    .. math:: x = A^\dagger b = L (L^T L)^{-1} (L^T L)^{-1} L^T b, \quad A = L L^T

    ``L``, ``S`` (n × n) and ``d`` (n) are workspace.
    """
    rank = psd_factor(A, n, tol, d, L)
    for i in range(rank):
        for j in range(i + 1):
            s = 0.0
            for k in range(n):
                s += L[k, i] * L[k, j]
            S[i, j] = s
        s = 0.0
        for k in range(n):
            s += L[k, i] * b[k]
        d[i] = s
    rank = cholesky_factor(S, rank, S)  # fewer only if tol is below round-off
    cholesky_solve(S, rank, d, d)
    cholesky_solve(S, rank, d, d)
    for i in range(n):
        s = 0.0
        for k in range(rank):
            s += L[i, k] * d[k]
        x[i] = s
    return rank


@kernel
def _reflect(i: int, e: Floats, V: Floats) -> float:
    r"""Clear row i of a symmetric matrix but for the entry beside the diagonal; the factor h.

    .. math:: V \leftarrow P V P, \quad P = I - u u^T / h

    The entry goes to ``e[i]``, and u stays in the row. No reflection is needed if h is 0.
    """
    s, f = 0.0, V[i, i - 1]
    for k in range(i - 1):
        s += V[i, k] * V[i, k]
    e[i] = f
    if s == 0.0:
        return 0.0
    e[i] = -math.copysign(math.sqrt(s + f * f), f)
    h = s + f * f - f * e[i]
    V[i, i - 1] = f - e[i]
    half = 0.0
    for j in range(i):  # P V P = V - u p^T - p u^T, with p in e
        s = 0.0
        for k in range(i):
            s += V[j, k] * V[i, k]
        e[j] = s / h
        half += e[j] * V[i, j]
    half *= 0.5 / h
    for j in range(i):
        e[j] -= half * V[i, j]
    for j in range(i):
        for k in range(i):
            V[j, k] -= V[i, j] * e[k] + e[j] * V[i, k]
    return h


@kernel
def _tridiagonalise(A: Floats, n: int, w: Floats, e: Floats, V: Floats) -> None:
    """Householder: the diagonal to ``w``, beside it ``e`` from 0, the rotation to rows of V."""
    for i in range(n):
        for j in range(i + 1):
            V[i, j] = A[i, j]
            V[j, i] = A[i, j]
    for i in range(n - 1, 0, -1):
        w[i] = _reflect(i, e, V)
    for i in range(n):
        h = w[i] if i > 0 else 0.0
        w[i] = V[i, i]
        if h > 0.0:
            for j in range(i):
                s = 0.0
                for k in range(i):
                    s += V[j, k] * V[i, k]
                s /= h
                for k in range(i):
                    V[j, k] -= s * V[i, k]
        for k in range(i):
            V[i, k], V[k, i] = 0.0, 0.0
        V[i, i] = 1.0
    for i in range(1, n):
        e[i - 1] = e[i]
    e[n - 1] = 0.0


@kernel
def _ql_step(l: int, m: int, n: int, w: Floats, e: Floats, V: Floats) -> None:
    """One implicit step, with Wilkinson's shift, of the block from l to m."""
    g = 0.5 * (w[l + 1] - w[l])
    g = w[m] - w[l] + e[l] * e[l] / (g + math.copysign(math.sqrt(g * g + e[l] * e[l]), g))
    s, c, p = 1.0, 1.0, 0.0
    for i in range(m - 1, l - 1, -1):
        f, b = s * e[i], c * e[i]
        r = math.sqrt(f * f + g * g)
        e[i + 1] = r
        if r == 0.0:  # by underflow: let the block fall apart here
            w[i + 1] -= p
            e[m] = 0.0
            return
        s, c = f / r, g / r
        g = w[i + 1] - p
        r = (w[i] - g) * s + 2.0 * c * b
        p = s * r
        w[i + 1] = g + p
        g = c * r - b
        for k in range(n):
            f, b = V[i, k], V[i + 1, k]
            V[i, k] = c * f - s * b
            V[i + 1, k] = s * f + c * b
    w[l] -= p
    e[l] = g
    e[m] = 0.0


@kernel
def eigh_small(A: Floats, n: int, e: Floats, w: Floats, V: Floats) -> int:
    r"""Eigenvalues (ascending) and eigenvectors of a symmetric matrix; the steps taken.

    .. math:: A = V \, \mathrm{diag}(w) \, V^T

    Householder's tridiagonal form, then implicit QL [Dubrulle68], until what is left beside
    the diagonal is round-off of the largest entry. That is to be above 1e-140, for its square
    to be a number. Only the lower triangle of ``A`` is read; ``e`` (n) is workspace.
    """
    if n == 0:
        return 0
    _tridiagonalise(A, n, w, e, V)
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(w[i]), abs(e[i]))
    steps = 0
    for l in range(n):
        limit = steps + QL_STEPS
        while steps < limit:
            m = l
            while m < n - 1 and abs(e[m]) > 1e-16 * largest:
                m += 1
            if m == l:
                break
            _ql_step(l, m, n, w, e, V)
            steps += 1
    _sort_rows(n, w, V)
    for i in range(n):
        for j in range(i):
            V[i, j], V[j, i] = V[j, i], V[i, j]
    return steps


@kernel
def _sort_rows(n: int, w: Floats, V: Floats) -> None:
    """Order the eigenvalues, and their rows with them."""
    for i in range(1, n):
        j = i
        while j > 0 and w[j - 1] > w[j]:
            w[j - 1], w[j] = w[j], w[j - 1]
            for k in range(n):
                V[j - 1, k], V[j, k] = V[j, k], V[j - 1, k]
            j -= 1
