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

from detent.kernels.inertia import Inertia, unwhiten, whiten, whiten_open, whiten_open_rows
from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats

#: sine of the angle, whitened, below which a closure follows from the others
DEPENDENT = 1e-3


@kernel
def _reduce(inertia: Inertia, rank: int, row: Floats, out: Floats) -> float:
    """Take from a unit row its part along Q; what is left of its length.

    A second time if less than half is left, for round-off.
    """
    squared = 0.0
    for j in range(rank):
        out[j] = 0.0
    for _ in range(2):
        for j in range(rank):
            s = 0.0
            for k in range(inertia.nv):
                s += inertia.Q[j, k] * row[k]
            out[j] += s
            for k in range(inertia.nv):
                row[k] -= s * inertia.Q[j, k]
        squared = 0.0
        for k in range(inertia.nv):
            squared += row[k] * row[k]
        if squared > 0.5:
            break
    return math.sqrt(squared)


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
        squared = 0.0
        for k in range(inertia.nv):
            squared += N[i, k] * N[i, k]
        covered[i] = squared
        longest = max(longest, squared)
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

    Each time the row least covered by Q so far joins it, until what is left of every row is
    below `DEPENDENT` of its length. ``covered`` is scratch.
    """
    whiten_open_rows(inertia, m, N)
    _make_unit(inertia, N, m, covered)
    rank = 0
    for _ in range(m):
        if rank == inertia.nv:
            break
        row = _least_covered(covered, m)
        if not covered[row] < 1.0 - DEPENDENT * DEPENDENT:
            break
        length = _reduce(inertia, rank, N[row], inertia.R[rank])
        covered[row] = math.inf
        if length < DEPENDENT:
            continue
        inertia.R[rank, rank] = length
        inertia.kept[rank] = row
        for k in range(inertia.nv):
            inertia.Q[rank, k] = N[row, k] / length
        rank += 1
        for i in range(m):
            if covered[i] < math.inf:
                s = 0.0
                for k in range(inertia.nv):
                    s += inertia.Q[rank - 1, k] * N[i, k]
                covered[i] += s * s
    inertia.closed[0] = rank
    return rank


@kernel
def close_alike(inertia: Inertia, m: int, N: Floats) -> None:
    """Q and R of m rows W in ``N`` (overwritten) near a state where `close_loops` has been.

    The same closures are kept, in the same order: no search, and half the time.
    """
    whiten_open_rows(inertia, m, N)
    for i in range(inertia.closed[0]):
        row = inertia.kept[i]
        squared = 0.0
        for k in range(inertia.nv):
            squared += N[row, k] * N[row, k]
        inertia.scale[row] = 1.0 / math.sqrt(squared)
        for k in range(inertia.nv):
            N[row, k] *= inertia.scale[row]
        length = _reduce(inertia, i, N[row], inertia.R[i])
        inertia.R[i, i] = length
        for k in range(inertia.nv):
            inertia.Q[i, k] = N[row, k] / length


@kernel
def closed_acceleration(inertia: Inertia, wanted: Floats, rates: Floats, x: Floats) -> None:
    r"""A torque becomes the acceleration of the closed mechanism, in place (S3 eq. 4).

    ``wanted`` are the accelerations :math:`W \ddot q` of all closures: minus Baumgarte's
    terms. ``rates`` is scratch. It solves :math:`R y = S_k \, wanted` forwards, and

    .. math:: \ddot q = L^{-1} \Delta^{-1/2}
              ((1 - Q^T Q) \Delta^{-1/2} L^{-T} \tau + Q^T y)
    """
    whiten(inertia, x)
    for i in range(inertia.closed[0]):
        row = inertia.kept[i]
        s = wanted[row] * inertia.scale[row]
        for j in range(i):
            s -= inertia.R[i, j] * rates[j]
        rates[i] = s / inertia.R[i, i]
        for k in range(inertia.nv):
            x[k] += rates[i] * inertia.Q[i, k]
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
            s -= inertia.R[j, i] * rates[j]
        rates[i] = s / inertia.R[i, i]
        out[inertia.kept[i]] = rates[i] * inertia.scale[inertia.kept[i]]
