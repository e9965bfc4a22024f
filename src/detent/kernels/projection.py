"""The projection of a velocity onto linear inequalities, in a bounded time."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import ONE_BODY, ROUND_OFF
from detent.kernels.jit import inlined, kernel
from detent.kernels.linalg import Floats, Indices
from detent.kernels.struct import Struct

#: what `project_onto_rows` reports
SOLVED, LIMIT, INFEASIBLE = 0, 1, 2


_FREE, _ACTIVE, _SKIPPED = 0, 1, 2

# Dual active set of Goldfarb and Idnani (1983) with the Hessian whitened to the identity.
# The q active rows, scaled to unit length, are kept as N_A^T = Q R, Q with orthonormal columns.
# The point and the multipliers are read off that factor whenever they are needed, so that
# nothing accumulates round-off: with h = Q^T u0 and R^T y = b_A,
#
#     u = u0 + Q (y - h),    p_A = R^-1 (y - h).
#
# The Gram matrix N N^T is never formed: it would square the condition number, and it is
# singular as soon as a contact is reported twice.
#
# The rows of unit length are stored as columns, so that one instruction serves several.
# What turns the rows of Q^T also turns h, d = Q^T n of a new row, y and R, so they are the
# columns of one array F = [Q^T, h, d, y, R], at 0, nv, nv + 1, nv + 2 and nv + 3.


class ProjectionWork(Struct):
    """Scratch of `project_onto_rows`."""

    F: Floats  # [nv, 2 nv + 3] the factor of the active rows
    p: Floats  # [nv] multipliers of the active rows
    r: Floats  # [nv] how they shrink per unit of the multiplier of a new row
    outside: Floats  # [nv] what of the new row is outside the span of the active ones
    origin: Floats  # [nv] the velocity from which it begins; the result may go where that was
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
        p=np.zeros(nv),
        r=np.zeros(nv),
        outside=np.zeros(nv),
        origin=np.zeros(nv),
        active=np.zeros(nv, np.int64),
        state=np.zeros(rows, np.int64),
        scale=np.zeros(rows),
        unit=np.zeros((nv, rows)),
        bound=np.zeros(rows),
        slack=np.zeros(rows),
    )


@inlined
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


@inlined
def _take_out(q: int, nv: int, F: Floats, w: Floats) -> float:
    """w leaves the span of the q active rows, ``d`` has what it had there; its squared length."""
    for j in range(q):
        s = 0.0
        for k in range(nv):
            s += F[j, k] * w[k]
        F[j, nv + 1] += s
        for k in range(nv):
            w[k] -= s * F[j, k]
    s = 0.0
    for k in range(nv):
        s += w[k] * w[k]
    return s


@inlined
def split_row(unit: Floats, row: int, q: int, nv: int, work: ProjectionWork) -> float:
    """A row within the span of the q active ones, ``d``, and outside it; the latter squared.

    Gram and Schmidt, twice where much is taken away: then twice is enough [Daniel76]. What is
    exactly zero in all rows stays exactly zero: what an impulse does not touch keeps its
    velocity to the last bit.
    """
    F, w = work.F, work.outside
    for k in range(nv):
        w[k] = unit[k, row]
    for j in range(q):
        F[j, nv + 1] = 0.0
    squared = _take_out(q, nv, F, w)
    return _take_out(q, nv, F, w) if squared < 0.5 else squared


@inlined
def append_row(b: float, squared: float, q: int, nv: int, u0: Floats, work: ProjectionWork) -> None:
    """Make the row that was split the active row number q."""
    F, w = work.F, work.outside
    d, y, R = nv + 1, nv + 2, nv + 3
    norm = math.sqrt(squared)
    along, over = 0.0, 1.0 / norm
    for k in range(nv):
        F[q, k] = over * w[k]
        along += F[q, k] * u0[k]
    for j in range(q):
        F[j, R + q] = F[j, d]
        b -= F[j, d] * F[j, y]
    F[q, nv], F[q, y], F[q, R + q] = along, over * b, norm


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


@inlined
def _read_multipliers(q: int, nv: int, F: Floats, p: Floats) -> None:
    """The multipliers of the active rows, scaled to unit length."""
    R = nv + 3
    for j in range(q - 1, -1, -1):
        s = F[j, nv + 2] - F[j, nv]
        for k in range(j + 1, q):
            s -= F[j, R + k] * p[k]
        p[j] = s / F[j, R + j]


@inlined
def _read_rates(q: int, nv: int, F: Floats, r: Floats) -> None:
    """How fast the multipliers shrink as the one of the row in ``d`` grows: R⁻¹ d1."""
    R = nv + 3
    for j in range(q - 1, -1, -1):
        s = F[j, nv + 1]
        for k in range(j + 1, q):
            s -= F[j, R + k] * r[k]
        r[j] = s / F[j, R + j]


@inlined
def _read_point(q: int, nv: int, u0: Floats, F: Floats, u: Floats) -> None:
    """The point nearest to ``u0`` at which the active rows are equalities."""
    whole = q == nv  # then nothing of u0 is left, not even its round-off
    for k in range(nv):
        u[k] = 0.0 if whole else u0[k]
    for j in range(q):
        s = F[j, nv + 2] if whole else F[j, nv + 2] - F[j, nv]
        for k in range(nv):
            u[k] += s * F[j, k]


@inlined
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


@inlined
def _full_step(
    b: float, squared: float, q: int, nv: int, u0: Floats, work: ProjectionWork
) -> float:
    """The multiplier at which the new row is satisfied; infinite if it is dependent."""
    F, w = work.F, work.outside
    if not squared > ROUND_OFF * ROUND_OFF:
        return math.inf
    for j in range(q):
        b -= F[j, nv + 1] * F[j, nv + 2]
    for k in range(nv):
        b -= w[k] * u0[k]
    return b / squared


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


@inlined
def _add_or_drop(row: int, q: int, nv: int, u0: Floats, work: ProjectionWork) -> int:
    """One iteration towards making a row active; how many are active then."""
    F, p, r, b = work.F, work.p, work.r, work.bound[row]
    squared = split_row(work.unit, row, q, nv, work)
    _read_multipliers(q, nv, F, p)
    _read_rates(q, nv, F, r)
    position, when = _first_to_vanish(q, p, r)
    full = _full_step(b, squared, q, nv, u0, work)
    if position >= 0 and when < full:
        _drop_row(position, q - 1, nv, F)
        _release(position, q - 1, work.active, work.state)
        return q - 1
    if full < math.inf:
        append_row(b, squared, q, nv, u0, work)
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
        work.origin[k] = u0[k]
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


@inlined
def _project(
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
    tolerance = _start(N, b, m, nv, u0, work)
    origin, q, status, iteration = work.origin, 0, SOLVED, 0
    while status == SOLVED:
        _read_point(q, nv, origin, work.F, u)
        row = _most_violated(m, nv, u, tolerance, work)
        if row < 0:
            break
        while work.state[row] == _FREE and iteration < limit:
            q = _add_or_drop(row, q, nv, origin, work)
            iteration += 1
        if work.state[row] == _FREE:
            status = LIMIT
            q = _restore_signs(q, nv, work)
            _read_point(q, nv, origin, work.F, u)
    if not _finish(m, q, nv, work, p) and status == SOLVED:
        status = INFEASIBLE
    return status, iteration


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
    if nv == ONE_BODY:
        return _project(N, b, m, ONE_BODY, u0, limit, work, u, p)
    return _project(N, b, m, nv, u0, limit, work, u, p)
