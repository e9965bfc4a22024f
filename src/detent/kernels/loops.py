r"""Kinematic loops: what the cut joints forbid, and the accelerations that keep them closed.

A loop is cut at one joint, whose closure :math:`h(q) = 0` is imposed by Lagrange multipliers
on the accelerations, with Baumgarte's terms against drift (S3 eq. 2-4; errata E14):

.. math:: D \ddot q + W^T \lambda = \tau, \qquad
          W \ddot q = -(\dot W \dot q + 2 \alpha \beta W \dot q + \alpha^2 h)

Whitened, the closures are rows of :math:`W L^{-1} \Delta^{-1/2} = R Q` with orthonormal Q.
Then :math:`\lambda` need not be known: the acceleration is that of the open mechanism
without its part along Q, plus the one along Q that the closures ask for.

Rows that depend on others are left out (B13: the third row of a planar pin, the surplus rows
of a Sarrus linkage). Off the manifold by a drift of ‖h‖, surplus rows are dependent only to
‖h‖ over the size of the mechanism: so the tolerance is far above round-off.
"""

from __future__ import annotations

import math

from detent.kernels.constants import DEPENDENT
from detent.kernels.inertia import Inertia, unwhiten, whiten_open, whiten_open_rows
from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats


@kernel
def _take_along(inertia: Inertia, i: int, row: Floats) -> float:
    """Take from a row its part along one of Q; how long that was."""
    s = 0.0
    for k in range(inertia.nv):
        s += inertia.Q[i, k] * row[k]
    for k in range(inertia.nv):
        row[k] -= s * inertia.Q[i, k]
    return s


@kernel
def _squared(inertia: Inertia, row: Floats) -> float:
    """The squared length of a whitened row."""
    s = 0.0
    for k in range(inertia.nv):
        s += row[k] * row[k]
    return s


@kernel
def _length_left(inertia: Inertia, rank: int, whole: float, row: Floats, R: Floats) -> float:
    """The length that is left of a row when its parts R along Q are taken; *whole* was its square.

    By Pythagoras. If less than half is left they are taken a second time, for round-off, and
    the rest is measured.
    """
    taken = 0.0
    for j in range(rank):
        taken += R[j] * R[j]
    if whole - taken > taken:
        return math.sqrt(whole - taken)
    for j in range(rank):
        R[j] += _take_along(inertia, j, row)
    return math.sqrt(_squared(inertia, row))


@kernel
def _join(inertia: Inertia, rank: int, closure: int, length: float, row: Floats) -> None:
    """The next row of Q: what is left of that of a closure."""
    inertia.kept[rank] = closure
    inertia.R[closure, rank] = length
    inverse = 1.0 / length
    for k in range(inertia.nv):
        inertia.Q[rank, k] = row[k] * inverse


@kernel
def _least_covered(covered: Floats, m: int) -> int:
    """The row of which most is left."""
    best = 0
    for i in range(1, m):
        if covered[i] < covered[best]:
            best = i
    return best


@kernel
def _make_unit(inertia: Inertia, N: Floats, m: int, covered: Floats) -> None:
    """Scale the whitened rows to unit length; rows of round-off count as covered."""
    longest = 0.0
    for i in range(m):
        covered[i] = _squared(inertia, N[i])
        longest = max(longest, covered[i])
    for i in range(m):
        moves = covered[i] > DEPENDENT**4 * longest
        inertia.scale[i] = 1.0 / math.sqrt(covered[i]) if moves else 0.0
        covered[i] = 0.0 if moves else math.inf
        for k in range(inertia.nv):
            N[i, k] *= inertia.scale[i]


@kernel
def close_loops(inertia: Inertia, m: int, N: Floats, covered: Floats) -> int:
    r"""Find Q, R and the closures kept from m rows W in ``N`` (overwritten); their number.

    .. math:: S_k W L^{-1} \Delta^{-1/2} = R Q, \quad Q Q^T = 1

    Each time the row least covered by Q so far joins it, and is taken from the others, until
    what is left of every row is below `DEPENDENT` of its length. ``covered`` is scratch.
    """
    whiten_open_rows(inertia, m, N)
    _make_unit(inertia, N, m, covered)
    rank = 0
    for _ in range(m):
        if rank == inertia.nv:
            break
        best = _least_covered(covered, m)
        if not covered[best] < 1.0 - DEPENDENT * DEPENDENT:
            break
        covered[best] = math.inf
        length = _length_left(inertia, rank, 1.0, N[best], inertia.R[best])
        if length < DEPENDENT:
            continue
        _join(inertia, rank, best, length, N[best])
        for i in range(m):
            if covered[i] < math.inf:
                inertia.R[i, rank] = _take_along(inertia, rank, N[i])
                covered[i] += inertia.R[i, rank] * inertia.R[i, rank]
        rank += 1
    inertia.closed[0] = rank
    return rank


@kernel
def close_alike(inertia: Inertia, m: int, N: Floats, whole: Floats) -> None:
    """Q and R of m rows W in ``N`` (overwritten) near a state where `close_loops` has been.

    The same closures are kept, in the same order: no search, so that their rows need no unit
    length, and half the time. ``whole`` is scratch.
    """
    whiten_open_rows(inertia, m, N)
    rank = inertia.closed[0]
    for i in range(m):
        inertia.scale[i] = 1.0
        whole[i] = _squared(inertia, N[i])
    for i in range(rank):
        row = inertia.kept[i]
        length = _length_left(inertia, i, whole[row], N[row], inertia.R[row])
        _join(inertia, i, row, length, N[row])
        for j in range(i + 1, rank):  # these do not wait for each other
            later = inertia.kept[j]
            inertia.R[later, i] = _take_along(inertia, i, N[later])


@kernel
def closed_acceleration(inertia: Inertia, wanted: Floats, rates: Floats, x: Floats) -> None:
    r"""A torque becomes the acceleration of the closed mechanism, in place (S3 eq. 4).

    ``wanted`` are the accelerations :math:`W \ddot q` of all closures: minus Baumgarte's
    terms. ``rates`` is scratch. It solves :math:`R y = S_k \, wanted` forwards, and

    .. math:: \ddot q = L^{-1} \Delta^{-1/2}
              (x + Q^T (y - Q x)), \qquad x = \Delta^{-1/2} L^{-T} \tau
    """
    whiten_open(inertia, x)
    rank = inertia.closed[0]
    for i in range(rank):
        row = inertia.kept[i]
        s = wanted[row] * inertia.scale[row]
        for j in range(i):
            s -= inertia.R[row, j] * rates[j]
        rates[i] = s / inertia.R[row, i]
    for i in range(rank):  # what is lacking along each row of Q; none waits for another
        s = rates[i]
        for k in range(inertia.nv):
            s -= inertia.Q[i, k] * x[k]
        rates[i] = s
    for k in range(inertia.nv):
        s = x[k]
        for i in range(rank):
            s += rates[i] * inertia.Q[i, k]
        x[k] = s
    unwhiten(inertia, x)


@kernel
def closure_multipliers(inertia: Inertia, x: Floats, rates: Floats, out: Floats) -> None:
    r"""The forces of the closures that make up a torque ``x``, which is overwritten.

    .. math:: R^T \nu = Q \Delta^{-1/2} L^{-T} \tau, \qquad \lambda = S_k^T \nu

    Then :math:`W^T \lambda = \tau`, as far as closures can. Those that are left out of Q
    get none. ``rates`` is scratch.
    """
    rank = inertia.closed[0]
    whiten_open(inertia, x)
    for i in range(out.shape[0]):
        out[i] = 0.0
    for i in range(rank - 1, -1, -1):
        s = 0.0
        for k in range(inertia.nv):
            s += inertia.Q[i, k] * x[k]
        for j in range(i + 1, rank):
            s -= inertia.R[inertia.kept[j], i] * rates[j]
        row = inertia.kept[i]
        rates[i] = s / inertia.R[row, i]
        out[row] = rates[i] * inertia.scale[row]
