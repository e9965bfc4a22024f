r"""Several collisions at once, each contact with its own coefficient of restitution.

The law is that of `resolve_complementarity` with a diagonal matrix E instead of e:

.. math::
    \min_{\dot q^+} \tfrac12 \|\dot q^+ - \dot q_0\|_D^2 \quad \text{s.t.} \quad
    J \dot q^+ \ge E a, \qquad
    0 \le p \perp J \dot q^+ - E a \ge 0, \qquad a = -J \dot q_0

A contact with an impulse separates with e_i times its approach speed, others faster. The
velocity is unique: neither the order of the rows, nor a row that is reported twice, nor which
of several dependent rows carries the load matters.

It is passive. Complementarity gives :math:`p^T G p = p^T (1 + E) a`, hence

.. math:: KE^+ - KE_0 = -\tfrac12 p^T (1 - E) a \le -\tfrac12 \frac{1 - e}{1 + e} p^T G p

with the largest e. The inequality needs a ≥ 0, as in a collision (M4). For a row that recedes
already (a < 0) the largest e is taken, and then it holds as well. Only the *equality*
:math:`J \dot q^+ = E a`, whose impulses may pull, raises the energy.

This is Newton's hypothesis. Poisson's (catalogue M39, S4 section 4), impulses
:math:`(1 + e_i) p_i` of a plastic collision, is the same with one e for all contacts:
`resolve_complementarity` if they only push, `resolve_equality` for the least-squares impulses
of S4. With different e_i it raises the energy in some collisions, pushing or not, and depends
on how dependent rows share the load. So there is no kernel for it.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.impact import ImpactWork, add_change, impact_work, whiten_problem
from detent.kernels.inertia import Inertia
from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats
from detent.kernels.projection import project_onto_rows
from detent.kernels.struct import Struct


class RestitutionWork(Struct):
    """Scratch of `resolve_restitutions`."""

    bound: Floats  # [rows] what the projection must reach
    impact: ImpactWork


def restitution_work(rows: int, nv: int) -> RestitutionWork:
    """Allocate the scratch for up to *rows* contacts of *nv* degrees of freedom."""
    return RestitutionWork(bound=np.zeros(rows), impact=impact_work(rows, nv))


@kernel
def least_and_most(restitution: Floats, m: int) -> tuple[float, float]:
    """The smallest and the largest restitution of m contacts."""
    least, most = 1.0, 0.0
    for i in range(m):
        least, most = min(least, restitution[i]), max(most, restitution[i])
    return least, most


@kernel
def restitution_bounds(
    N: Floats, m: int, nv: int, u0: Floats, restitution: Floats, e: float, out: Floats
) -> None:
    r"""How fast the contacts must separate in a collision that is then scaled by 1 + e.

    .. math::
        w = \frac{u^+ + e u_0}{1 + e} \quad \Rightarrow \quad
        N w \ge \frac{E - e}{1 + e} a, \quad u^+ = u_0 + (1 + e) (w - u_0)

    With equal e_i and their value for e that is a plastic collision. With e = 0 it is E a.
    """
    _, most = least_and_most(restitution, m)
    for i in range(m):
        approach = 0.0
        for k in range(nv):
            approach -= N[i, k] * u0[k]
        own = restitution[i] if approach > 0.0 else most
        out[i] = approach * (own - e) / (1.0 + e)


@kernel
def resolve_restitutions(
    inertia: Inertia,
    J: Floats,
    m: int,
    qd: Floats,
    restitution: Floats,
    limit: int,
    work: RestitutionWork,
    out_qd: Floats,
    out_p: Floats,
) -> int:
    r"""Resolve collisions with a restitution per contact; the solver's status.

    .. math:: 0 \le p \perp J \dot q^+ + E J \dot q_0 \ge 0

    Catalogue B1. Never raises the kinetic energy (see the module), also when the ``limit`` of
    iterations is met. With equal e_i it is `resolve_complementarity`, to the bit.
    ``out_qd`` may be ``qd``.
    """
    whiten_problem(inertia, J, m, qd, work.impact)
    status, factor = change_by_restitutions(m, inertia.nv, restitution, limit, work, out_p)
    add_change(inertia, qd, factor, work.impact, out_qd)
    return status


@kernel
def change_by_restitutions(
    m: int, nv: int, restitution: Floats, limit: int, work: RestitutionWork, out_p: Floats
) -> tuple[int, float]:
    """`resolve_restitutions` where the inertia is the identity; status, factor of the change.

    Rows and velocity are in ``work.impact``, and so is the change of the velocity then.
    """
    impact, bound = work.impact, work.bound
    N, u, u0 = impact.N, impact.u, impact.u0
    least, most = least_and_most(restitution, m)
    if least == most:  # a plastic collision, scaled
        for i in range(m):
            bound[i] = 0.0
    else:
        restitution_bounds(N, m, nv, u0, restitution, least, bound)
    status, _ = project_onto_rows(N, bound, m, nv, u0, limit, impact.projection, u, out_p)
    for k in range(nv):
        u[k] -= u0[k]
    for i in range(m):
        out_p[i] *= 1.0 + least
    return status, 1.0 + least
