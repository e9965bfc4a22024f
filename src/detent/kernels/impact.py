r"""Several collisions at once, resolved by one impulse.

Rows of J map the velocity to the approach speeds of the contacts (negative: approaching),
and e is the coefficient of restitution, one for all of them (TH 4.14-4.37):

.. math:: D (\dot q^+ - \dot q_0) = J^T p, \qquad J \dot q^+ \ge -e J \dot q_0

Everything happens where the inertia is the identity, with u the whitened velocity and N the
whitened rows (see `inertia`; there closed loops take their share of the impulse). The metric
is J D^-1 J^T (errata E2), but it is never formed.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import ROUND_OFF
from detent.kernels.inertia import Inertia, unwhiten, whiten_rows, whiten_velocity
from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats
from detent.kernels.projection import (
    ProjectionWork,
    append_row,
    index_of_smallest,
    project_onto_rows,
    projection_work,
    scale_rows,
    split_row,
)
from detent.kernels.struct import Struct


class ImpactWork(Struct):
    """Scratch of the two collision laws."""

    N: Floats  # [rows, nv] the whitened rows
    bound: Floats  # [rows] what the projection must reach: zero, see below
    u0: Floats  # [nv] the whitened velocity before
    u: Floats  # [nv] and after, or its change
    covered: Floats  # [rows] squared length of a unit row within the basis so far; inf: done
    Ct: Floats  # [nv, rows] the rows along the basis, then an orthonormal basis of that
    T: Floats  # [nv, nv] and its triangular factor
    projection: ProjectionWork


def impact_work(rows: int, nv: int) -> ImpactWork:
    """Allocate the scratch for up to *rows* contacts of *nv* degrees of freedom."""
    return ImpactWork(
        N=np.zeros((rows, nv)),
        bound=np.zeros(rows),
        u0=np.zeros(nv),
        u=np.zeros(nv),
        covered=np.zeros(rows),
        Ct=np.zeros((nv, rows)),
        T=np.zeros((nv, nv)),
        projection=projection_work(rows, nv),
    )


@kernel
def whiten_problem(
    inertia: Inertia,
    J: Floats,
    m: int,
    qd: Floats,
    work: ImpactWork,
) -> None:
    """The rows and the velocity where the inertia is the identity."""
    N, u0, nv = work.N, work.u0, inertia.nv
    for i in range(m):
        for k in range(nv):
            N[i, k] = J[i, k]
    whiten_rows(inertia, m, N)
    for k in range(nv):
        u0[k] = qd[k]
    whiten_velocity(inertia, u0)


@kernel
def resolve_complementarity(
    inertia: Inertia,
    J: Floats,
    m: int,
    qd: Floats,
    restitution: float,
    limit: int,
    work: ImpactWork,
    out_qd: Floats,
    out_p: Floats,
) -> int:
    r"""Resolve collisions with impulses that only push (errata E4); the solver's status.

    .. math::
        \min_{\dot q^+} \tfrac12 \|\dot q^+ - \dot q_0\|_D^2 \quad \text{s.t.} \quad
        J \dot q^+ \ge -e J \dot q_0, \qquad
        0 \le p \perp J \dot q^+ + e J \dot q_0 \ge 0

    With :math:`w = (\dot q^+ + e \dot q_0) / (1 + e)` this is the projection of
    :math:`\dot q_0` onto the cone :math:`J w \ge 0`, whatever e is: so restitution only
    scales the impulse of the plastic collision, and cannot disturb its active set.

    Passive even when the ``limit`` of iterations (`iteration_limit` is ample) is met: the
    solver then stops at some :math:`p \ge 0` whose rows are equalities, for which
    :math:`KE^+ - KE_0 = -\tfrac12 \tfrac{1-e}{1+e} p^T J D^{-1} J^T p`.
    ``out_qd`` may be ``qd``.
    """
    nv = inertia.nv
    whiten_problem(inertia, J, m, qd, work)
    status, _ = project_onto_rows(
        work.N, work.bound, m, nv, work.u0, limit, work.projection, work.u, out_p
    )
    for k in range(nv):
        work.u[k] -= work.u0[k]
    for i in range(m):
        out_p[i] *= 1.0 + restitution
    add_change(inertia, qd, 1.0 + restitution, work, out_qd)
    return status


@kernel
def add_change(
    inertia: Inertia,
    qd: Floats,
    factor: float,
    work: ImpactWork,
    out_qd: Floats,
) -> None:
    """Add the change in ``work.u``, so that dofs without an impulse keep their velocity."""
    unwhiten(inertia, work.u)
    for k in range(inertia.nv):
        out_qd[k] = qd[k] + factor * work.u[k]


@kernel
def _span_rows(m: int, nv: int, work: ImpactWork) -> int:
    """Orthonormal basis of the rows of ``work.N``, longest remainder first; the rank."""
    projection, covered = work.projection, work.covered
    scale_rows(work.N, m, nv, projection)
    rank = 0
    for i in range(m):
        covered[i] = 0.0 if projection.scale[i] > 0.0 else math.inf
    for _ in range(m):
        row = index_of_smallest(covered, m)
        if covered[row] == math.inf:
            break
        covered[row] = math.inf
        if rank == nv:
            break
        outside = split_row(projection.unit, row, rank, nv, projection)
        if outside > ROUND_OFF * ROUND_OFF:
            append_row(0.0, outside, rank, nv, work.u0, projection)
            _cover(m, nv, rank, work)
            rank += 1
    return rank


@kernel
def _cover(m: int, nv: int, j: int, work: ImpactWork) -> None:
    """The rows along direction j of the basis, and how much of each is covered now."""
    N, Ct, F = work.N, work.Ct, work.projection.F
    covered, scale = work.covered, work.projection.scale
    for i in range(m):
        s = 0.0
        for k in range(nv):
            s += F[j, k] * N[i, k]
        Ct[j, i] = s
        covered[i] += s * s * scale[i] * scale[i]


@kernel
def _orthonormal_rows(Ct: Floats, m: int, rank: int, T: Floats) -> None:
    """Factor Ct = T (orthonormal rows, in place), by Gram-Schmidt done twice."""
    for j in range(rank):
        for k in range(rank):
            T[j, k] = 0.0
        for _ in range(2):
            for k in range(j):
                s = 0.0
                for i in range(m):
                    s += Ct[k, i] * Ct[j, i]
                T[j, k] += s
                for i in range(m):
                    Ct[j, i] -= s * Ct[k, i]
        s = 0.0
        for i in range(m):
            s += Ct[j, i] * Ct[j, i]
        T[j, j] = math.sqrt(s)
        for i in range(m):
            Ct[j, i] /= T[j, j]


@kernel
def _minimum_norm_impulse(
    m: int, nv: int, rank: int, factor: float, work: ImpactWork, out_p: Floats
) -> None:
    r"""The smallest of the impulses that cause the change of velocity.

    .. math:: p = -(1 + e) (N^T)^\dagger u_0 = -(1 + e) \, U^T T^{-1} Q_1^T u_0, \quad
              (N Q_1)^T = T U
    """
    Ct, T, F, y = work.Ct, work.T, work.projection.F, work.projection.p
    _orthonormal_rows(Ct, m, rank, T)
    for i in range(m):
        out_p[i] = 0.0
    for j in range(rank):
        s = -factor * F[j, nv]
        for k in range(j):
            s -= T[j, k] * y[k]
        y[j] = s / T[j, j]
        for i in range(m):
            out_p[i] += y[j] * Ct[j, i]


@kernel
def resolve_equality(
    inertia: Inertia,
    J: Floats,
    m: int,
    qd: Floats,
    restitution: float,
    work: ImpactWork,
    out_qd: Floats,
    out_p: Floats,
) -> int:
    r"""Resolve collisions as the thesis does, with impulses that may pull; the rank.

    .. math:: p = -(1 + e) (J D^{-1} J^T)^\dagger J \dot q_0, \qquad
              J \dot q^+ = -e J \dot q_0

    TH 4.36. Since :math:`(N N^T)^\dagger N = (N^T)^\dagger`, the velocity follows from an
    orthonormal basis of the rows, :math:`u^+ = u_0 - (1 + e) Q_1 Q_1^T u_0`, and does not
    suffer from the squared condition number of the matrix in the formula. Hence also
    :math:`KE^+ = KE_0 - \tfrac12 (1 - e^2) \|Q_1^T u_0\|^2`, never more than before
    (TH 4.33 with the ½ of errata E5), though impulses may pull (errata E4).
    ``out_qd`` may be ``qd``.
    """
    whiten_problem(inertia, J, m, qd, work)
    rank = change_by_equality(m, inertia.nv, restitution, work, out_p)
    add_change(inertia, qd, 1.0 + restitution, work, out_qd)
    return rank


@kernel
def change_by_equality(m: int, nv: int, restitution: float, work: ImpactWork, out_p: Floats) -> int:
    """`resolve_equality` where the inertia is the identity; the rank.

    Rows and velocity are in ``work``, and so is the change of the velocity then, but for 1 + e.
    """
    rank = _span_rows(m, nv, work)
    _minimum_norm_impulse(m, nv, rank, 1.0 + restitution, work, out_p)
    F, u = work.projection.F, work.u
    for k in range(nv):
        u[k] = 0.0
    for j in range(rank):
        for k in range(nv):
            u[k] -= F[j, nv] * F[j, k]
    return rank
