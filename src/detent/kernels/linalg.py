"""Small linear algebra for the tick: no allocation, no LAPACK, a bounded time.

Dimensions are passed beside the buffers, which may be larger. Outputs come last.
Three subjects: dense symmetric matrices, the sparse inertia in MuJoCo's layout,
and the projection of a velocity onto linear inequalities.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from detent.kernels.jit import kernel
from detent.kernels.struct import Struct

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Indices = NDArray[np.int64]

#: what `project_onto_rows` reports
SOLVED, LIMIT, INFEASIBLE = 0, 1, 2

#: What is round-off, for a row scaled to unit length: its part outside the span of other
#: rows (then it depends on them), its violation relative to the size of the velocities,
#: and its length before scaling relative to the longest. One number for all three: a
#: dependent row must not count as violated, or two such rows would take turns for ever.
#: Whitening leaves less than 1e-13 even where the inertia has a condition of 1e12.
ROUND_OFF = 1e-12

_FREE, _ACTIVE, _SKIPPED = 0, 1, 2
_JACOBI_SWEEPS = 30


# ---------------------------------------------------------------- dense symmetric matrices


@kernel
def cholesky_factor(A: Floats, n: int, L: Floats) -> int:
    r"""Factor a symmetric positive definite matrix; how many columns: n unless it is not.

    .. math:: A = L L^T

    Only the lower triangles are read and written; ``L`` may be ``A``.
    """
    for j in range(n):
        for i in range(j, n):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = s / L[j, j]
            elif s > 0.0:
                L[j, j] = math.sqrt(s)
            else:
                return j
    return n


@kernel
def cholesky_solve(L: Floats, n: int, b: Floats, x: Floats) -> None:
    r"""Solve with the factor of `cholesky_factor`; ``x`` may be ``b``.

    .. math:: x = L^{-T} L^{-1} b
    """
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s / L[i, i]
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= L[k, i] * x[k]
        x[i] = s / L[i, i]


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
def _rotate_symmetric(A: Floats, n: int, p: int, q: int, c: float, s: float, V: Floats) -> None:
    """One Jacobi rotation of the upper triangle of ``A`` and of the columns of ``V``."""
    for k in range(n):
        if k != p and k != q:
            kp0, kp1 = min(k, p), max(k, p)
            kq0, kq1 = min(k, q), max(k, q)
            a, b = A[kp0, kp1], A[kq0, kq1]
            A[kp0, kp1] = c * a - s * b
            A[kq0, kq1] = s * a + c * b
        a, b = V[k, p], V[k, q]
        V[k, p] = c * a - s * b
        V[k, q] = s * a + c * b


@kernel
def _jacobi_sweep(A: Floats, n: int, w: Floats, V: Floats) -> bool:
    """Rotate away every off-diagonal entry once; False if there was none left."""
    rotated = False
    for p in range(n - 1):
        for q in range(p + 1, n):
            off = A[p, q]
            if abs(off) <= 1e-17 * (abs(w[p]) + abs(w[q])):
                continue
            rotated = True
            theta = 0.5 * (w[q] - w[p]) / off
            t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
            c = 1.0 / math.sqrt(t * t + 1.0)
            w[p] -= t * off
            w[q] += t * off
            A[p, q] = 0.0
            _rotate_symmetric(A, n, p, q, c, t * c, V)
    return rotated


@kernel
def eigh_small(A: Floats, n: int, w: Floats, V: Floats) -> int:
    r"""Eigenvalues (ascending) and eigenvectors of a symmetric matrix; the sweeps taken.

    .. math:: A = V \, \mathrm{diag}(w) \, V^T

    Cyclic Jacobi. The part of ``A`` above the diagonal is scratch, and is restored
    from the part below before returning.
    """
    for i in range(n):
        w[i] = A[i, i]
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    sweeps = 0
    while sweeps < _JACOBI_SWEEPS and _jacobi_sweep(A, n, w, V):
        sweeps += 1
    for i in range(n):
        for j in range(i):
            A[j, i] = A[i, j]
    _sort_columns(n, w, V)
    return sweeps


@kernel
def _sort_columns(n: int, w: Floats, V: Floats) -> None:
    """Order the eigenvalues, and their columns with them."""
    for i in range(1, n):
        j = i
        while j > 0 and w[j - 1] > w[j]:
            w[j - 1], w[j] = w[j], w[j - 1]
            for k in range(n):
                V[k, j - 1], V[k, j] = V[k, j], V[k, j - 1]
            j -= 1


# ---------------------------------------------------------- the inertia in MuJoCo's layout
#
# The lower triangle of M as rows of a flat array. The columns of a row are the dofs it
# hangs from, ascending, and itself last; so the row of an ancestor is a prefix of it.


@kernel
def ltdl_factor(
    M: Floats,
    rownnz: Ints,
    rowadr: Ints,
    colind: Ints,
    nv: int,
    out_LD: Floats,
    out_diaginv: Floats,
) -> bool:
    r"""Factor the inertia without fill-in; False if it is not positive definite.

    .. math:: M = L^T D L

    ``L`` is unit lower triangular. The same numbers as MuJoCo's ``mj_factorM``.
    """
    if nv == 0:
        return True
    for a in range(rowadr[nv - 1] + rownnz[nv - 1]):
        out_LD[a] = M[a]
    for k in range(nv - 1, -1, -1):
        start = rowadr[k]
        diagonal = start + rownnz[k] - 1
        if not out_LD[diagonal] > 0.0:
            return False
        inverse = 1.0 / out_LD[diagonal]
        out_diaginv[k] = inverse
        for a in range(diagonal - 1, start - 1, -1):
            i = colind[a]
            factor = out_LD[a] * inverse
            for j in range(rownnz[i]):
                out_LD[rowadr[i] + j] -= factor * out_LD[start + j]
        for a in range(start, diagonal):
            out_LD[a] *= inverse
    return True


@kernel
def _solve_transposed(
    LD: Floats, rownnz: Ints, rowadr: Ints, colind: Ints, nv: int, x: Floats
) -> None:
    """``x`` becomes L⁻ᵀ x."""
    for k in range(nv - 1, -1, -1):
        for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
            x[colind[a]] -= LD[a] * x[k]


@kernel
def _solve_unit_lower(
    LD: Floats, rownnz: Ints, rowadr: Ints, colind: Ints, nv: int, x: Floats
) -> None:
    """``x`` becomes L⁻¹ x."""
    for k in range(nv):
        for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
            x[k] -= LD[a] * x[colind[a]]


@kernel
def ltdl_solve(
    LD: Floats, diaginv: Floats, rownnz: Ints, rowadr: Ints, colind: Ints, nv: int, x: Floats
) -> None:
    r"""Solve with the inertia, in place.

    .. math:: x \leftarrow M^{-1} x = L^{-1} D^{-1} L^{-T} x
    """
    _solve_transposed(LD, rownnz, rowadr, colind, nv, x)
    for k in range(nv):
        x[k] *= diaginv[k]
    _solve_unit_lower(LD, rownnz, rowadr, colind, nv, x)


@kernel
def ltdl_whiten(
    LD: Floats, diaginv: Floats, rownnz: Ints, rowadr: Ints, colind: Ints, nv: int, x: Floats
) -> None:
    r"""Take a row of a Jacobian (or a force) to where the inertia is the identity.

    .. math:: x \leftarrow D^{-1/2} L^{-T} x, \quad x_a^T x_b = j_a M^{-1} j_b^T
    """
    _solve_transposed(LD, rownnz, rowadr, colind, nv, x)
    for k in range(nv):
        x[k] *= math.sqrt(diaginv[k])


@kernel
def ltdl_whiten_rows(
    LD: Floats,
    diaginv: Floats,
    rownnz: Ints,
    rowadr: Ints,
    colind: Ints,
    nv: int,
    m: int,
    N: Floats,
) -> None:
    """`ltdl_whiten` of the first m rows of ``N`` together, several times as fast."""
    for k in range(nv - 1, -1, -1):
        for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
            j, factor = colind[a], LD[a]
            for i in range(m):
                N[i, j] -= factor * N[i, k]
        factor = math.sqrt(diaginv[k])
        for i in range(m):
            N[i, k] *= factor


@kernel
def ltdl_unwhiten(
    LD: Floats, diaginv: Floats, rownnz: Ints, rowadr: Ints, colind: Ints, nv: int, x: Floats
) -> None:
    r"""Take a velocity back from where the inertia is the identity.

    .. math:: x \leftarrow L^{-1} D^{-1/2} x

    After `ltdl_whiten` of a row j it gives :math:`M^{-1} j^T`.
    """
    for k in range(nv):
        x[k] *= math.sqrt(diaginv[k])
    _solve_unit_lower(LD, rownnz, rowadr, colind, nv, x)


@kernel
def ltdl_whiten_velocity(
    LD: Floats, diaginv: Floats, rownnz: Ints, rowadr: Ints, colind: Ints, nv: int, x: Floats
) -> None:
    r"""Take a velocity to where the inertia is the identity: undoes `ltdl_unwhiten`.

    .. math:: x \leftarrow D^{1/2} L x, \quad x^T x = \dot q^T M \dot q
    """
    for k in range(nv - 1, -1, -1):
        s = x[k]
        for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
            s += LD[a] * x[colind[a]]
        x[k] = s / math.sqrt(diaginv[k])


# ------------------------------------------------- projection onto linear inequalities
#
# Dual active set of Goldfarb and Idnani (1983) with the Hessian whitened to the identity.
# The q active rows, scaled to unit length, are kept as N_A^T = Q1 R with Q = [Q1 Q2]
# orthogonal. The point and the multipliers are read off that factor whenever they are
# needed, so that nothing accumulates round-off: with h = Q^T u0 and R^T y = b_A,
#
#     u = Q1 y + Q2 h2,    p_A = R^-1 (y - h1).
#
# The Gram matrix N N^T is never formed: it would square the condition number, and it is
# singular as soon as a contact is reported twice.
#
# The rows of unit length are stored as columns, so that one instruction serves several.
# What turns the rows of Q^T also turns h, y, R and the new row d = Q^T n, so they are the
# columns of one array F = [Q^T, h, d, y, R], at 0, nv, nv + 1, nv + 2 and nv + 3.


class ProjectionWork(Struct):
    """Scratch of `project_onto_rows`."""

    F: Floats  # [nv, 2 nv + 3] the factor of the active rows
    p: Floats  # [nv + 1] multipliers of the active rows
    r: Floats  # [nv + 1] how they shrink per unit of the multiplier of a new row
    active: Indices  # [nv] which rows are active
    state: Indices  # [rows] free, active or skipped
    scale: Floats  # [rows] one over the norm of the row, or 0 for a row of round-off
    unit: Floats  # [nv, rows] columns: the rows, scaled to unit length
    bound: Floats  # [rows] and their bounds, scaled likewise
    slack: Floats  # [rows] by how much they exceed them


def projection_work(rows: int, nv: int) -> ProjectionWork:
    """Allocate the scratch for up to *rows* inequalities in *nv* dimensions."""
    return ProjectionWork(
        F=np.zeros((nv, 2 * nv + 3)),
        p=np.zeros(nv + 1),
        r=np.zeros(nv + 1),
        active=np.zeros(nv, np.int64),
        state=np.zeros(rows, np.int64),
        scale=np.zeros(rows),
        unit=np.zeros((nv, rows)),
        bound=np.zeros(rows),
        slack=np.zeros(rows),
    )


@kernel
def scale_rows(N: Floats, m: int, nv: int, work: ProjectionWork) -> None:
    """The rows at unit length into ``work.unit``, with zeros for a row of round-off."""
    scale, unit = work.scale, work.unit
    for i in range(m):
        scale[i] = 0.0
    for k in range(nv):
        for i in range(m):
            unit[k, i] = N[i, k]
            scale[i] += N[i, k] * N[i, k]
    largest = 0.0
    for i in range(m):
        largest = max(largest, scale[i])
    for i in range(m):
        negligible = scale[i] <= ROUND_OFF * ROUND_OFF * largest
        scale[i] = 0.0 if negligible else 1.0 / math.sqrt(scale[i])
    for k in range(nv):
        for i in range(m):
            unit[k, i] *= scale[i]


@kernel
def start_factor(u0: Floats, nv: int, F: Floats) -> int:
    """Start with Q as the identity; the number of active rows: none."""
    for j in range(nv):
        for k in range(nv):
            F[j, k] = 0.0
        F[j, j] = 1.0
        F[j, nv] = u0[j]
    return 0


@kernel
def rotate_row(unit: Floats, row: int, nv: int, scratch: Floats, F: Floats) -> None:
    """``d`` becomes Qᵀ n of a row."""
    for k in range(nv):
        scratch[k] = unit[k, row]
    for j in range(nv):
        s = 0.0
        for k in range(nv):
            s += F[j, k] * scratch[k]
        F[j, nv + 1] = s


@kernel
def outside_squared(q: int, nv: int, F: Floats) -> float:
    """The squared length of the row in ``d`` outside the span of the q active rows."""
    s = 0.0
    for j in range(q, nv):
        s += F[j, nv + 1] * F[j, nv + 1]
    return s


@kernel
def _bring_forward(q: int, nv: int, F: Floats) -> None:
    """Swap the direction of Q2 that is nearest to the row in ``d`` to place q.

    Directions in which the row is exactly zero then stay exactly as they are: what an
    impulse does not touch keeps its velocity to the last bit.
    """
    d, nearest = nv + 1, q
    for j in range(q + 1, nv):
        if abs(F[j, d]) > abs(F[nearest, d]):
            nearest = j
    if nearest != q:
        for k in range(nv + 2):  # Q^T, h and d; y and R have no entries there yet
            F[q, k], F[nearest, k] = F[nearest, k], F[q, k]


@kernel
def append_row(b: float, outside: float, q: int, nv: int, scratch: Floats, F: Floats) -> None:
    """Make the row in ``d`` the active row number q, by one Householder reflection."""
    _bring_forward(q, nv, F)
    d, y, R = nv + 1, nv + 2, nv + 3
    norm = math.copysign(math.sqrt(outside), F[q, d])
    for j in range(q):
        F[j, R + q] = F[j, d]
        b -= F[j, d] * F[j, y]
    F[q, R + q] = -norm
    F[q, y] = -b / norm
    F[q, d] += norm  # d2 is now the vector of the reflection, which sends d2 to -norm e1
    beta = 1.0 / (norm * F[q, d])
    for k in range(nv + 1):
        scratch[k] = 0.0
    for j in range(q, nv):
        factor = F[j, d]
        for k in range(nv + 1):  # Q^T, and h with it
            scratch[k] += factor * F[j, k]
    for j in range(q, nv):
        factor = beta * F[j, d]
        if factor != 0.0:
            for k in range(nv + 1):
                F[j, k] -= factor * scratch[k]


@kernel
def _drop_row(position: int, q: int, nv: int, F: Floats) -> None:
    """Take an active row out of the factor by Givens rotations, so that q remain."""
    R = nv + 3
    for j in range(q + 1):
        for k in range(max(position, j - 1), q):
            F[j, R + k] = F[j, R + k + 1]
    for i in range(position, q):
        norm = math.sqrt(F[i, R + i] ** 2 + F[i + 1, R + i] ** 2)
        c, s = F[i, R + i] / norm, F[i + 1, R + i] / norm
        for k in range(R + q):
            upper, lower = F[i, k], F[i + 1, k]
            F[i, k] = c * upper + s * lower
            F[i + 1, k] = c * lower - s * upper


@kernel
def _read_multipliers(q: int, nv: int, F: Floats, p: Floats) -> None:
    """The multipliers of the active rows, scaled to unit length."""
    R = nv + 3
    for j in range(q - 1, -1, -1):
        s = F[j, nv + 2] - F[j, nv]
        for k in range(j + 1, q):
            s -= F[j, R + k] * p[k]
        p[j] = s / F[j, R + j]


@kernel
def _read_rates(q: int, nv: int, F: Floats, r: Floats) -> None:
    """How fast the multipliers shrink as the one of the row in ``d`` grows: R⁻¹ d1."""
    R = nv + 3
    for j in range(q - 1, -1, -1):
        s = F[j, nv + 1]
        for k in range(j + 1, q):
            s -= F[j, R + k] * r[k]
        r[j] = s / F[j, R + j]


@kernel
def _read_point(q: int, nv: int, F: Floats, u: Floats) -> None:
    """The point nearest to ``u0`` at which the active rows are equalities."""
    for k in range(nv):
        u[k] = 0.0
    for j in range(nv):
        s = F[j, nv + 2] if j < q else F[j, nv]
        if s != 0.0:
            for k in range(nv):
                u[k] += s * F[j, k]


@kernel
def _most_violated(m: int, nv: int, u: Floats, tolerance: float, work: ProjectionWork) -> int:
    """The row of unit length that is violated most; -1 if none is."""
    unit, bound, slack, state = work.unit, work.bound, work.slack, work.state
    for i in range(m):
        slack[i] = -bound[i]
    for k in range(nv):
        for i in range(m):
            slack[i] += unit[k, i] * u[k]
    worst, found = -tolerance, -1
    for i in range(m):
        if slack[i] < worst and state[i] == _FREE:
            worst, found = slack[i], i
    return found


@kernel
def _first_to_vanish(q: int, p: Floats, r: Floats) -> tuple[int, float]:
    """Which multiplier reaches zero first as that of the new row grows, and when."""
    largest = 0.0
    for j in range(q):
        largest = max(largest, abs(r[j]))
    position, when = -1, math.inf
    for j in range(q):
        if r[j] > ROUND_OFF * largest and p[j] < when * r[j]:
            position, when = j, p[j] / r[j]
    return position, when


@kernel
def _full_step(b: float, outside: float, q: int, nv: int, F: Floats) -> float:
    """The multiplier at which the new row is satisfied; infinite if it is dependent."""
    if not outside > ROUND_OFF * ROUND_OFF:
        return math.inf
    for j in range(q):
        b -= F[j, nv + 1] * F[j, nv + 2]
    for j in range(q, nv):
        b -= F[j, nv + 1] * F[j, nv]
    return b / outside


@kernel
def _release(position: int, q: int, active: Indices, state: Indices) -> None:
    """Strike a row off the list of active ones, so that q remain."""
    state[active[position]] = _FREE
    for j in range(position, q):
        active[j] = active[j + 1]


@kernel
def index_of_smallest(x: Floats, n: int) -> int:
    """Where the smallest of the first n entries is; -1 if there is none."""
    found = -1
    for i in range(n):
        if found < 0 or x[i] < x[found]:
            found = i
    return found


@kernel
def _restore_signs(q: int, nv: int, work: ProjectionWork) -> int:
    """Drop rows until no multiplier is negative; how many remain."""
    while q > 0:
        _read_multipliers(q, nv, work.F, work.p)
        worst = index_of_smallest(work.p, q)
        if not work.p[worst] < 0.0:
            break
        q -= 1
        _drop_row(worst, q, nv, work.F)
        _release(worst, q, work.active, work.state)
    return q


@kernel
def _add_or_drop(row: int, q: int, nv: int, work: ProjectionWork) -> int:
    """One iteration towards making a row active; how many are active then."""
    F, p, r, b = work.F, work.p, work.r, work.bound[row]
    outside = outside_squared(q, nv, F)
    _read_multipliers(q, nv, F, p)
    _read_rates(q, nv, F, r)
    position, when = _first_to_vanish(q, p, r)
    full = _full_step(b, outside, q, nv, F)
    if position >= 0 and when < full:
        _drop_row(position, q - 1, nv, F)
        _release(position, q - 1, work.active, work.state)
        return q - 1
    if full < math.inf:
        append_row(b, outside, q, nv, r, F)
        work.active[q] = row
        work.state[row] = _ACTIVE
        return q + 1
    # it contradicts the active rows, which only round-off or the caller can cause
    work.state[row] = _SKIPPED
    return _restore_signs(q, nv, work)


@kernel
def _start(N: Floats, b: Floats, m: int, nv: int, u0: Floats, work: ProjectionWork) -> float:
    """Scale the rows and free them; the violation of a unit row that counts as round-off."""
    bound, scale, state = work.bound, work.scale, work.state
    scale_rows(N, m, nv, work)
    s = 0.0
    for k in range(nv):
        s += u0[k] * u0[k]
    size = math.sqrt(s)
    for i in range(m):
        state[i] = _FREE
        bound[i] = b[i] * scale[i]
        size = max(size, bound[i])
    return ROUND_OFF * size


@kernel
def _finish(m: int, q: int, nv: int, work: ProjectionWork, p: Floats) -> bool:
    """The multipliers of the rows as they were given; whether no row was skipped."""
    active, scale, state, of_active = work.active, work.scale, work.state, work.p
    feasible = True
    for i in range(m):
        p[i] = 0.0
        feasible = feasible and state[i] != _SKIPPED
    _read_multipliers(q, nv, work.F, of_active)
    for j in range(q):
        i = active[j]
        p[i] = max(of_active[j], 0.0) * scale[i]
    return feasible


@kernel
def iteration_limit(m: int, nv: int) -> int:
    """Far above what is ever needed: about one iteration per row that becomes active."""
    return 4 * (m + nv) + 20


@kernel
def project_onto_rows(
    N: Floats,
    b: Floats,
    m: int,
    nv: int,
    u0: Floats,
    limit: int,
    work: ProjectionWork,
    u: Floats,
    p: Floats,
) -> tuple[int, int]:
    r"""Move a whitened velocity as little as inequalities ask for; status and iterations.

    .. math::
        \min_u \tfrac12 \|u - u_0\|^2 \quad \text{s.t.} \quad N u \ge b, \qquad
        u = u_0 + N^T p, \quad 0 \le p \perp N u - b \ge 0

    Dual active set (Goldfarb and Idnani 1983). Rows may be duplicated, dependent or
    zero. The status is ``SOLVED``; ``INFEASIBLE`` if rows that contradict others were
    left out; or ``LIMIT`` when the iterations are used up (`iteration_limit` is ample).
    In every case ``p`` is not negative, and the active rows are equalities.
    """
    tolerance = _start(N, b, m, nv, u0, work)
    q, status, iteration = start_factor(u0, nv, work.F), SOLVED, 0
    while status == SOLVED:
        _read_point(q, nv, work.F, u)
        row = _most_violated(m, nv, u, tolerance, work)
        if row < 0:
            break
        rotate_row(work.unit, row, nv, work.r, work.F)
        while work.state[row] == _FREE and iteration < limit:
            q = _add_or_drop(row, q, nv, work)
            iteration += 1
        if work.state[row] == _FREE:
            status = LIMIT
            q = _restore_signs(q, nv, work)
            _read_point(q, nv, work.F, u)
    if not _finish(m, q, nv, work, p) and status == SOLVED:
        status = INFEASIBLE
    return status, iteration
