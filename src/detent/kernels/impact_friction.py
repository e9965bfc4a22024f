r"""Several collisions at once with Coulomb friction: sticking, sliding and reverse sliding.

The impulse of a contact has a normal part p and a tangential part p_t, within a circular
cone (TH 2.9). A collision has two phases, and the cone holds in each of them (TH 2.10).
*Compression* stops the contacts, with Coulomb's law at its end:

.. math::
    0 \le p \perp J \dot q_c \ge 0, \qquad
    p_t = -\mu p \frac{v_t}{|v_t|} \text{ if } v_t = J_t \dot q_c \ne 0, \quad
    |p_t| \le \mu p \text{ if } v_t = 0

*Restitution* adds e p (Poisson, TH 2.8) with the least e of all contacts, and then the least
impulses with which the others reach their own e_i. Friction within μ times that takes what
energy it can, which is again Coulomb's law at the end of the phase. A last projection, normal
only, keeps contacts from approaching.

**Passive** however far the iterations came: if a phase raised the energy above that before
the collision, its step is shortened, normal and tangential impulses alike. Then the cones
hold too. The last projection shortens the velocity and adds to normal impulses only.

**Closed forms.** At one contact of a sphere, where normal and tangential directions are not
coupled, :math:`p = (1 + e) m |v_n|` and :math:`p_t = \min(\mu p, m_t |v_t|)` against the
slip. Where they are coupled (a rod that lands on its tip) the result is that of Routh's
integration with Poisson's restitution, unless the slip reverses within a phase. Newton's
restitution, which with friction can create energy [KL85], does not hold
there: friction also slows or speeds the separation.

Limitations:

- The slip has one direction per phase, its final one. A slip that turns or reverses on the
  way would take Routh's integration [Keller86].
- With several contacts a phase takes a fixed number of Gauss-Seidel sweeps. Cone and energy
  are exact; the direction of friction is as good as the sweeps.
- With large μ and coupled directions Coulomb's law has several answers; one is found.
- No tangential restitution, no torsional and no rolling friction.
"""

from __future__ import annotations

import math

from detent.kernels.constants import ON_THE_CONE, ONE_BODY, ROUND_OFF, SLIP_STEPS, SWEPT
from detent.kernels.impact import add_change, whiten_problem
from detent.kernels.impact_restitution import (
    least_and_most,
    restitution_bounds,
)
from detent.kernels.inertia import Inertia
from detent.kernels.jit import inlined, kernel
from detent.kernels.linalg import Floats
from detent.kernels.projection import LIMIT, SOLVED, project_onto_rows
from detent.kernels.sliding import FrictionWork, contact_mobilities, turn_tangents, whiten_tangents
from detent.kernels.vectors import copy_first, dot

COMPRESSION, RESTITUTION, _CLEARANCE = 0, 1, 2


@kernel
def _slipping_impulse(
    W: Floats, i: int, n: float, a: float, b: float, y: float
) -> tuple[float, float, float, float]:
    r"""The impulse that stops a contact, but for a slip in proportion to its friction.

    .. math:: v_n + (W p)_n = 0, \qquad v_t + (W p)_t = -\lambda p_t, \quad
              \lambda = \frac1y - \bar w

    It comes without divisions, as the numerators of p and their common denominator.
    """
    mean = 0.5 * (W[i, 3] + W[i, 4])
    aa, bb = 1.0 + y * (W[i, 3] - mean), 1.0 + y * (W[i, 4] - mean)
    na, nb = W[i, 1] * bb, W[i, 2] * aa
    held = aa * bb * W[i, 0] - y * (na * W[i, 1] + nb * W[i, 2])
    pn = y * (na * a + nb * b) - aa * bb * n
    pa, pb = -y * bb * (a * held + W[i, 1] * pn), -y * aa * (b * held + W[i, 2] * pn)
    return aa * bb * pn, pa, pb, aa * bb * held


@kernel
def _contact_impulse(
    W: Floats, i: int, mu: float, n: float, a: float, b: float
) -> tuple[float, float, float]:
    r"""The impulse of one contact with velocity (n, a, b), n < 0: Coulomb's law, exactly.

    Sticking, if that impulse lies in the cone. Else the one of `_slipping_impulse` on the
    cone, :math:`|p_t| = \mu p_n`: by false position in y [AB73], from
    y = 0, where there is no friction. For a sphere that is linear, so one step.
    """
    if not mu > 0.0:
        return -n / W[i, 0], 0.0, 0.0
    sticking = 1.0 / (0.5 * (W[i, 3] + W[i, 4]) + W[i, 5])
    low, inside, high, outside, last = 0.0, mu * n, sticking, 0.0, 0
    y = sticking
    pn, pa, pb, scale, size = 0.0, 0.0, 0.0, 1.0, 0.0
    for _ in range(SLIP_STEPS):
        pn, pa, pb, scale = _slipping_impulse(W, i, n, a, b, y)
        size = math.sqrt(pa * pa + pb * pb)
        excess = size - mu * pn
        if abs(excess) <= ON_THE_CONE * mu * pn or (excess < 0.0 and y == sticking):
            break
        if excess > 0.0:
            if last > 0:
                inside *= 1.0 - excess / outside if excess < outside else 0.5
            high, outside, last = y, excess, 1
        else:
            if last < 0:
                outside *= 1.0 - excess / inside if excess > inside else 0.5
            low, inside, last = y, excess, -1
        y = (low * outside - high * inside) / (outside - inside)
    pn = max(pn, 0.0)
    shrink = mu * pn / size if size > mu * pn else 1.0  # so that the cone holds exactly
    return pn / scale, shrink * pa / scale, shrink * pb / scale


@inlined
def _replace_impulse(
    i: int, nv: int, new: tuple[float, float, float], work: FrictionWork, p: Floats
) -> float:
    """Give a contact a new impulse; the squared change of the velocity."""
    N, T, u = work.restitution.impact.N, work.T, work.u
    n, a, b = new[0] - p[i, 0], new[1] - p[i, 1], new[2] - p[i, 2]
    p[i, 0], p[i, 1], p[i, 2] = new
    squared = 0.0
    for k in range(nv):
        change = n * N[i, k] + a * T[2 * i, k] + b * T[2 * i + 1, k]
        u[k] += change
        squared += change * change
    return squared


@inlined
def _sweep(
    phase: int, m: int, nv: int, mu: Floats, negligible: float, work: FrictionWork, p: Floats
) -> float:
    N, T, u, W = work.restitution.impact.N, work.T, work.u, work.W
    bound, largest = work.restitution.bound, 0.0
    for i in range(m):
        n, a, b = 0.0, 0.0, 0.0
        if phase == COMPRESSION:
            n = -bound[i]
            for k in range(nv):
                n += N[i, k] * u[k]
        approaching = n < 0.0 and n * n > negligible * W[i, 0] > 0.0
        if W[i, 0] == 0.0 or (p[i, 0] == 0.0 and not approaching):
            continue  # it moves nothing, or nothing meets it
        for k in range(nv):
            a += T[2 * i, k] * u[k]
            b += T[2 * i + 1, k] * u[k]
        a, b = a + work.drift[i, 0], b + work.drift[i, 1]
        # the velocity that the contact would have without its own impulse
        n -= W[i, 0] * p[i, 0] + W[i, 1] * p[i, 1] + W[i, 2] * p[i, 2]
        a -= W[i, 1] * p[i, 0] + W[i, 3] * p[i, 1]
        b -= W[i, 2] * p[i, 0] + W[i, 4] * p[i, 2]
        if phase == RESTITUTION:
            n = -W[i, 0] * p[i, 0]
        new = (0.0, 0.0, 0.0)
        if n < 0.0:
            new = _contact_impulse(W, i, mu[i], n, a, b)
        largest = max(largest, _replace_impulse(i, nv, new, work, p))
    return largest


@kernel
def sweep_contacts(
    phase: int, m: int, nv: int, mu: Floats, negligible: float, work: FrictionWork, p: Floats
) -> float:
    """Solve one contact after the other; the largest squared change of the velocity.

    In compression the normal velocities reach ``bound``. In restitution the normal impulses
    are given, and only the tangential ones follow. What sticks slides with minus ``drift``.
    """
    if nv == ONE_BODY:
        return _sweep(phase, m, ONE_BODY, mu, negligible, work, p)
    return _sweep(phase, m, nv, mu, negligible, work, p)


@kernel
def _shorten_if_active(nv: int, base: Floats, u0: Floats, u: Floats) -> float:
    r"""Shorten the step from ``base`` to ``u`` until u has no more energy than ``u0``.

    .. math:: \|base + \beta (u - base)\| \le \|u_0\|, \quad \beta \le 1

    The base has no more energy than ``u0``. Returns β, for the impulses.
    """
    xx, bx, rise = 0.0, 0.0, 0.0
    for k in range(nv):
        x = u[k] - base[k]
        xx += x * x
        bx += base[k] * x
        rise += (base[k] - u0[k]) * (base[k] + u0[k])
    if rise + 2.0 * bx + xx <= ROUND_OFF * dot(u0, u0, nv):
        return 1.0
    rise = min(rise, 0.0)
    root = math.sqrt(bx * bx - xx * rise)
    beta = -rise / (bx + root) if bx > 0.0 else (root - bx) / xx
    for k in range(nv):
        u[k] = base[k] + beta * (u[k] - base[k])
    return beta


@kernel
def _rub(
    phase: int, m: int, nv: int, mu: Floats, sweeps: int, work: FrictionWork, p: Floats
) -> int:
    """Add friction to a phase, and make it passive; ``LIMIT`` if it still moved at the end."""
    impact, status, sweep = work.restitution.impact, LIMIT, 0
    negligible = SWEPT * SWEPT * dot(impact.u0, impact.u0, nv)
    while status == LIMIT and sweep < sweeps:
        if sweep_contacts(phase, m, nv, mu, negligible, work, p) <= negligible:
            status = SOLVED
        sweep += 1
    part = _shorten_if_active(nv, impact.u, impact.u0, work.u)
    for i in range(m):
        for j in range(3):
            p[i, j] *= part
    return status


@kernel
def _give_back(m: int, nv: int, restitution: Floats, work: FrictionWork) -> None:
    r"""Give back the least e times the normal impulses; bounds for contacts that have more.

    The bounds are measured against the velocity that those impulses met,
    :math:`v = u_c - N^T p`.
    """
    N, bound = work.restitution.impact.N, work.restitution.bound
    p, q, u, v, W = work.p, work.q, work.u, work.v, work.W
    least, most = least_and_most(restitution, m)
    copy_first(nv, u, v)
    for i in range(m):
        q[i, 0] = least * p[i, 0]
        W[i, 0], W[i, 1], W[i, 2] = 1.0, 0.0, 0.0  # friction will not change the normal part
        for k in range(nv):
            v[k] -= p[i, 0] * N[i, k]
    restitution_bounds(N, m, nv, v, restitution, 0.0, bound)
    for i in range(m):
        bound[i] = bound[i] if least < most else -math.inf
    for k in range(nv):
        u[k] += least * (u[k] - v[k])


@kernel
def _yield(m: int, nv: int, share: float, work: FrictionWork) -> None:
    """Of a plastic collision with what gives way (e < 0), a share of all impulses is left."""
    if share == 1.0:
        return
    for i in range(m):
        for j in range(3):
            work.p[i, j] *= share
    for k in range(nv):
        u0 = work.restitution.impact.u0[k]
        work.u[k] = u0 + share * (work.u[k] - u0)


@kernel
def _aim(phase: int, m: int, nv: int, restitution: Floats, work: FrictionWork) -> None:
    """Set the bounds of the normal velocities for a phase; remember where it starts."""
    impact, bound = work.restitution.impact, work.restitution.bound
    if phase == COMPRESSION:
        for i in range(m):
            bound[i] = 0.0
            for j in range(3):
                work.p[i, j], work.q[i, j] = 0.0, 0.0
        copy_first(nv, impact.u0, work.u)
    copy_first(nv, work.u, impact.u)
    if phase == RESTITUTION:
        _give_back(m, nv, restitution, work)
    elif phase == _CLEARANCE:
        # bounds that are not above zero: reaching them can only shorten the velocity
        restitution_bounds(impact.N, m, nv, impact.u0, restitution, 0.0, bound)
        for i in range(m):
            bound[i] = min(bound[i], 0.0)


@kernel
def project_normals(m: int, nv: int, limit: int, work: FrictionWork, p: Floats) -> int:
    """Bring the normal velocities to their bounds, by more of the normal impulses ``p``."""
    impact, bound, u, s = work.restitution.impact, work.restitution.bound, work.u, work.s
    N, violated = impact.N, False
    for i in range(m):
        excess = -bound[i]
        for k in range(nv):
            excess += N[i, k] * u[k]
        violated = violated or excess < 0.0
    if not violated:
        return SOLVED
    status, _ = project_onto_rows(N, bound, m, nv, u, limit, impact.projection, u, s)
    for i in range(m):
        p[i, 0] += s[i]
    return status


@kernel
def resolve_friction(
    inertia: Inertia,
    J: Floats,
    Jt: Floats,
    mu: Floats,
    m: int,
    qd: Floats,
    restitution: Floats,
    limit: int,
    sweeps: int,
    work: FrictionWork,
    out_qd: Floats,
    out_p: Floats,
    out_pt: Floats,
) -> int:
    r"""Resolve collisions with Coulomb friction; the worst status of the solvers.

    .. math::
        D (\dot q^+ - \dot q_0) = J^T p + J_t^T p_t, \qquad
        p \ge 0, \quad |p_t| \le \mu p, \quad KE^+ \le KE_0

    Catalogue B3, B14; the law is that of the module. ``J`` [m, nv] are the normal rows and
    ``Jt`` [m, t, nv] the tangential ones: t = 2 perpendicular directions, or 1 in the plane.
    ``mu`` and ``restitution`` are per contact. With μ = 0 and equal e_i the law is that of
    `resolve_complementarity`.

    One contact is solved exactly. With several, each phase takes at most ``sweeps``
    (`SWEEPS`); ``LIMIT`` says that the velocity still moved in the last one. Cone and energy
    hold all the same. ``out_qd`` may be ``qd``.
    """
    impact = work.restitution.impact
    whiten_problem(inertia, J, m, qd, impact)
    whiten_tangents(inertia, Jt, m, work.T)
    status = change_by_friction(m, inertia.nv, mu, restitution, limit, sweeps, work, out_p, out_pt)
    add_change(inertia, qd, 1.0, impact, out_qd)
    return status


@kernel
def change_by_friction(
    m: int,
    nv: int,
    mu: Floats,
    restitution: Floats,
    limit: int,
    sweeps: int,
    work: FrictionWork,
    out_p: Floats,
    out_pt: Floats,
) -> int:
    """`resolve_friction` where the inertia is the identity; the worst status of the solvers.

    Rows, tangents and velocity are in ``work``, and so is the change of the velocity then.
    """
    impact, p, q, turn = work.restitution.impact, work.p, work.q, work.turn
    turn_tangents(m, nv, work.T, turn)
    contact_mobilities(m, nv, work)
    for i in range(m):
        work.drift[i, 0], work.drift[i, 1] = 0.0, 0.0
    status = SOLVED
    least, most = least_and_most(restitution, m)
    for phase in range(3):
        if phase == RESTITUTION and most <= 0.0:
            _yield(m, nv, 1.0 + least, work)
            continue  # a plastic collision gives nothing back
        _aim(phase, m, nv, restitution, work)
        now = p if phase == COMPRESSION else q
        status = max(status, project_normals(m, nv, limit, work, now))
        if phase != _CLEARANCE:
            status = max(status, _rub(phase, m, nv, mu, sweeps, work, now))
    for i in range(m):
        out_p[i] = p[i, 0] + q[i, 0]
        a, b = p[i, 1] + q[i, 1], p[i, 2] + q[i, 2]
        out_pt[i, 0] = turn[i, 0] * a - turn[i, 1] * b
        for j in range(1, out_pt.shape[1]):
            out_pt[i, j] = turn[i, 1] * a + turn[i, 0] * b
    for k in range(nv):
        impact.u[k] = work.u[k] - impact.u0[k]
    return status
