r"""Several collisions at once, each contact with its own coefficient of restitution.

With different e_i the law of `resolve_complementarity`, which asks for the least change of
velocity, can raise the kinetic energy. Here the collision has two phases, each the least
change from the phase before:

.. math::
    \text{compression} \quad & \min \tfrac12 \|\dot q_c - \dot q_0\|_D^2
        \quad \text{s.t.} \quad J \dot q_c \ge 0 \\
    \text{restitution} \quad & \min \tfrac12 \|\dot q^+ - \dot q_c\|_D^2
        \quad \text{s.t.} \quad J \dot q^+ \ge -E J \dot q_0

So a contact leaves with at least e_i times its approach speed, and exactly with that if it
needs a restitution impulse. The velocity is unique: neither the order of the rows, nor one
that is reported twice, nor which of several dependent rows carries the load matters.

Why it is passive. In whitened velocities let d be the change in compression and
:math:`x = N^T s` that in restitution, and e the largest of the e_i. Complementarity,
:math:`u_c \perp d` and :math:`s^T E a \le e s^T a` (a ≥ 0 are the approach speeds) give

.. math::
    \|x\|^2 + (1 + e) u_c^T x \le e \, x^T d, \quad u_c^T x \ge 0
    \quad \Rightarrow \quad
    KE^+ \le KE_0 - \tfrac12 \left(1 - \frac{2 e^2}{1 + e}\right) \|d\|^2

This is Newton's hypothesis, not Poisson's (catalogue M39, S4 section 4). With one e for all
contacts the two agree: (1 + e) times the plastic impulse, which is `resolve_complementarity`
with impulses that only push, and `resolve_equality` with the least-squares impulses of S4.
With different e_i Poisson's impulses (1 + e_i) p_i are not passive, and depend on how
dependent rows share the load.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.impact import ImpactWork, _add_change, _whiten_problem, impact_work
from detent.kernels.jit import kernel
from detent.kernels.linalg import SOLVED, Floats, Ints, project_onto_rows
from detent.kernels.struct import Struct


class RestitutionWork(Struct):
    """Scratch of `resolve_restitutions`."""

    bound: Floats  # [rows] what the rows must reach in restitution
    p: Floats  # [rows] impulses of restitution
    impact: ImpactWork


def restitution_work(rows: int, nv: int) -> RestitutionWork:
    """Allocate the scratch for up to *rows* contacts of *nv* degrees of freedom."""
    return RestitutionWork(bound=np.zeros(rows), p=np.zeros(rows), impact=impact_work(rows, nv))


@kernel
def least_and_most(values: Floats, m: int) -> tuple[float, float]:
    """The smallest and the largest of the first m values; zeros if there are none."""
    least = most = values[0] if m > 0 else 0.0
    for i in range(1, m):
        least, most = min(least, values[i]), max(most, values[i])
    return least, most


@kernel
def restitution_bounds(
    N: Floats, m: int, nv: int, u0: Floats, restitution: Floats, most: float, out: Floats
) -> None:
    r"""How fast each contact must separate after the collision.

    .. math:: b_i = -e_i N_i u_0

    A row that recedes already is no contact of a collision (M4). If one is given all the
    same, the ``most`` restitution holds for it: the bounds are then always feasible.
    """
    for i in range(m):
        s = 0.0
        for k in range(nv):
            s -= N[i, k] * u0[k]
        out[i] = s * (restitution[i] if s > 0.0 else most)


@kernel
def resolve_restitutions(
    LD: Floats,
    diaginv: Floats,
    rownnz: Ints,
    rowadr: Ints,
    colind: Ints,
    J: Floats,
    m: int,
    nv: int,
    qd: Floats,
    restitution: Floats,
    limit: int,
    work: RestitutionWork,
    out_qd: Floats,
    out_p: Floats,
) -> int:
    r"""Resolve collisions with a restitution per contact; the solver's status.

    .. math::
        0 \le p_c \perp J \dot q_c \ge 0, \qquad
        0 \le p_r \perp J \dot q^+ + E J \dot q_0 \ge 0, \qquad p = p_c + p_r

    Catalogue B1. Never raises the kinetic energy (see the module). If all ``restitution``
    are equal it is `resolve_complementarity`, to the bit; so it is, with the smallest of
    them, if the compression does not end within ``limit`` iterations.
    ``out_qd`` may be ``qd``.
    """
    impact = work.impact
    u, u0, N = impact.u, impact.u0, impact.N
    _whiten_problem(LD, diaginv, rownnz, rowadr, colind, J, m, nv, qd, impact)
    status, _ = project_onto_rows(N, impact.bound, m, nv, u0, limit, impact.projection, u, out_p)
    least, most = least_and_most(restitution, m)
    factor = 1.0 + least
    if status == SOLVED and least < most:
        factor = 1.0
        restitution_bounds(N, m, nv, u0, restitution, most, work.bound)
        status, _ = project_onto_rows(N, work.bound, m, nv, u, limit, impact.projection, u, work.p)
    for k in range(nv):
        u[k] -= u0[k]
    for i in range(m):
        out_p[i] = out_p[i] + work.p[i] if factor == 1.0 and least < most else factor * out_p[i]
    _add_change(LD, diaginv, rownnz, rowadr, colind, nv, qd, factor, impact, out_qd)
    return status
