r"""Several collisions at once with Coulomb friction: sticking, sliding and reverse sliding.

The impulse at a contact has a normal part p_n and a tangential part p_t, and lies in a
circular cone (TH 2.9). As in `impact_restitution` there are two phases, and the cone holds
in each of them (TH 2.10). In *compression* both parts act at once:

.. math::
    0 \le p_n \perp J_n \dot q_c \ge 0, \qquad
    p_t = -\mu p_n \frac{v_t}{|v_t|} \text{ if } v_t = J_t \dot q_c \ne 0, \quad
    |p_t| \le \mu p_n \text{ else}

In *restitution* the normal impulses s bring :math:`J_n \dot q` to at least
:math:`-E J_n \dot q_0`. Then friction, within μ s, takes as much kinetic energy as it can,
and a last projection keeps the contacts from approaching again.

The cones and the energy do not depend on how far the iteration came. Where u is whitened:
the change Δ of compression is shortened if it would raise the energy; so is that of
restitution (which converged compression never needs, as :math:`u_c^T \Delta \le 0` makes
the proof of `impact_restitution` hold); friction in restitution is a descent of the energy;
and a projection onto a cone only shortens u. Normal impulses only grow after friction.

For one contact of a sphere, where the directions are not coupled, this is the textbook
answer, :math:`p_n = (1 + e) m |v_n|` and :math:`p_t = \min(\mu p_n, m_t |v_t|)` against the
slip. Where they are coupled (a rod that hits with its tip), Newton's restitution with
friction can create energy (Kane and Levinson 1985). Here friction may take from the speed
of separation, and e is its upper bound.

Limitations. The slip has one direction per phase, its last one: a slip that turns or
reverses within a phase is not integrated (Routh; Keller 1986). With several contacts the
compression is found by a fixed number of block Gauss-Seidel sweeps, so Coulomb's direction
holds only as far as they came. With large μ and coupled directions Coulomb's law itself has
several answers, and one of them is found. No tangential restitution, no torsional or
rolling friction.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.impact import _add_change, _whiten_problem
from detent.kernels.impact_restitution import (
    RestitutionWork,
    least_and_most,
    restitution_bounds,
    restitution_work,
)
from detent.kernels.jit import kernel
from detent.kernels.linalg import (
    LIMIT,
    ROUND_OFF,
    SOLVED,
    Floats,
    Ints,
    ltdl_whiten_rows,
    project_onto_rows,
)
from detent.kernels.struct import Struct

SWEEPS = 6  #: enough for a few contacts; see the tests
_SLIP_STEPS = 40  # far above what the slip of one contact needs: about six
_NEARLY_SINGULAR = 1e-9  # of a contact's own inertia: it cannot tell normal from tangential
_SOFTENING = 1e-6  # how much such a contact is allowed to creep, relative to its mobility


class FrictionWork(Struct):
    """Scratch of `resolve_friction`."""

    T: Floats  # [2 rows, nv] whitened tangential rows, two per contact, made orthogonal
    turn: Floats  # [rows, 2] cosine and sine of the turn that made them so
    W: Floats  # [rows, 6] nn, nt1, nt2, t1t1, t2t2 of the whitened rows, and the softening
    u: Floats  # [nv] the whitened velocity
    p: Floats  # [rows, 3] impulses of compression: normal and along the turned rows
    q: Floats  # [rows, 3] impulses of restitution
    restitution: RestitutionWork


def friction_work(rows: int, nv: int) -> FrictionWork:
    """Allocate the scratch for up to *rows* contacts of *nv* degrees of freedom."""
    return FrictionWork(
        T=np.zeros((2 * rows, nv)),
        turn=np.zeros((rows, 2)),
        W=np.zeros((rows, 6)),
        u=np.zeros(nv),
        p=np.zeros((rows, 3)),
        q=np.zeros((rows, 3)),
        restitution=restitution_work(rows, nv),
    )


@kernel
def _whiten_tangents(
    LD: Floats,
    diaginv: Floats,
    rownnz: Ints,
    rowadr: Ints,
    colind: Ints,
    Jt: Floats,
    m: int,
    nv: int,
    work: FrictionWork,
) -> None:
    """The tangential rows where the inertia is the identity, two per contact, orthogonal."""
    T, turn = work.T, work.turn
    for i in range(m):
        for k in range(nv):
            T[2 * i, k] = Jt[i, 0, k]
            T[2 * i + 1, k] = Jt[i, 1, k] if Jt.shape[1] > 1 else 0.0
    ltdl_whiten_rows(LD, diaginv, rownnz, rowadr, colind, nv, 2 * m, T)
    for i in range(m):
        aa, ab, bb = 0.0, 0.0, 0.0
        for k in range(nv):
            aa += T[2 * i, k] * T[2 * i, k]
            ab += T[2 * i, k] * T[2 * i + 1, k]
            bb += T[2 * i + 1, k] * T[2 * i + 1, k]
        angle = 0.5 * math.atan2(2.0 * ab, aa - bb) if ab != 0.0 else 0.0
        c, s = math.cos(angle), math.sin(angle)
        turn[i, 0], turn[i, 1] = c, s
        for k in range(nv):
            a, b = T[2 * i, k], T[2 * i + 1, k]
            T[2 * i, k] = c * a + s * b
            T[2 * i + 1, k] = c * b - s * a


@kernel
def _mobilities(m: int, nv: int, work: FrictionWork) -> None:
    """How a contact's own impulse moves it: ``work.W``, without what is round-off."""
    N, T, W = work.restitution.impact.N, work.T, work.W
    largest = 0.0
    for i in range(m):
        for j in range(6):
            W[i, j] = 0.0
        for k in range(nv):
            n, a, b = N[i, k], T[2 * i, k], T[2 * i + 1, k]
            W[i, 0] += n * n
            W[i, 1] += n * a
            W[i, 2] += n * b
            W[i, 3] += a * a
            W[i, 4] += b * b
        largest = max(largest, W[i, 0], W[i, 3], W[i, 4])
    negligible = ROUND_OFF * ROUND_OFF * largest
    for i in range(m):
        if W[i, 0] <= negligible:
            W[i, 0] = 0.0
        for j in range(2):
            if W[i, 3 + j] <= negligible:
                W[i, 1 + j], W[i, 3 + j] = 0.0, largest
                for k in range(nv):
                    T[2 * i + j, k] = 0.0
        alone = W[i, 0] - W[i, 1] ** 2 / W[i, 3] - W[i, 2] ** 2 / W[i, 4]
        if alone <= _NEARLY_SINGULAR * W[i, 0]:
            W[i, 5] = _SOFTENING * max(W[i, 3], W[i, 4])


@kernel
def _slipping_impulse(
    w: tuple[float, float, float, float, float],
    v: tuple[float, float, float],
    slip: float,
) -> tuple[float, float, float]:
    r"""The impulse that stops a contact, but for a slip in proportion to friction.

    .. math:: v_n + (W p)_n = 0, \qquad v_t + (W p)_t = -\lambda p_t
    """
    a, b = 1.0 / (w[3] + slip), 1.0 / (w[4] + slip)
    pn = (w[1] * a * v[1] + w[2] * b * v[2] - v[0]) / (w[0] - w[1] * w[1] * a - w[2] * w[2] * b)
    return pn, -a * (v[1] + w[1] * pn), -b * (v[2] + w[2] * pn)


@kernel
def _contact_impulse(
    w: tuple[float, float, float, float, float],
    softening: float,
    mu: float,
    v: tuple[float, float, float],
) -> tuple[float, float, float]:
    r"""The impulse of one contact that approaches with velocity v: Coulomb's law, exactly.

    Sticking if that impulse lies in the cone. Else the :math:`\lambda` of
    `_slipping_impulse` at which it does: :math:`|p_t| = \mu p_n`, by false position
    (Illinois) in :math:`y = 1 / (w + \lambda)`. For a sphere that is linear: one step.
    """
    if not mu > 0.0:
        return -v[0] / w[0], 0.0, 0.0
    p = _slipping_impulse(w, v, softening)
    outside = math.sqrt(p[1] * p[1] + p[2] * p[2]) - mu * p[0]
    if outside <= 0.0:
        return p
    most = max(w[3], w[4])
    low, high, inside, side = 0.0, 1.0 / (most + softening), mu * v[0] / w[0], 0
    for _ in range(_SLIP_STEPS):
        y = (low * outside - high * inside) / (outside - inside)
        p = _slipping_impulse(w, v, 1.0 / y - most)
        excess = math.sqrt(p[1] * p[1] + p[2] * p[2]) - mu * p[0]
        if abs(excess) <= 1e-15 * abs(p[0]):
            break
        if excess > 0.0:
            high, outside = y, excess
            inside *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            low, inside = y, excess
            outside *= 0.5 if side < 0 else 1.0
            side = -1
    pn = max(p[0], 0.0)
    size = math.sqrt(p[1] * p[1] + p[2] * p[2])
    shrink = mu * pn / size if size > mu * pn else 1.0
    return pn, shrink * p[1], shrink * p[2]


@kernel
def _replace_impulse(
    i: int, nv: int, new: tuple[float, float, float], work: FrictionWork, p: Floats
) -> float:
    """Let a contact have a new impulse; the squared change of the velocity."""
    N, T, u = work.restitution.impact.N, work.T, work.u
    dn, da, db = new[0] - p[i, 0], new[1] - p[i, 1], new[2] - p[i, 2]
    p[i, 0], p[i, 1], p[i, 2] = new
    squared = 0.0
    for k in range(nv):
        change = dn * N[i, k] + da * T[2 * i, k] + db * T[2 * i + 1, k]
        u[k] += change
        squared += change * change
    return squared


@kernel
def _sweep(m: int, nv: int, mu: Floats, compression: bool, work: FrictionWork) -> float:
    """Solve contact after contact; the largest squared change of the velocity.

    In restitution the normal impulses are given, and the tangential ones follow.
    """
    N, T, u, W = work.restitution.impact.N, work.T, work.u, work.W
    p = work.p if compression else work.q
    largest = 0.0
    for i in range(m):
        n, a, b = 0.0, 0.0, 0.0
        for k in range(nv):
            n += N[i, k] * u[k]
            a += T[2 * i, k] * u[k]
            b += T[2 * i + 1, k] * u[k]
        aa, bb = W[i, 3], W[i, 4]
        if compression:
            nn, na, nb, softening = W[i, 0], W[i, 1], W[i, 2], W[i, 5]
            n -= nn * p[i, 0] + na * p[i, 1] + nb * p[i, 2]
        else:
            nn, na, nb, softening = 1.0, 0.0, 0.0, 0.0
            n = -p[i, 0]
        a -= na * p[i, 0] + aa * p[i, 1]
        b -= nb * p[i, 0] + bb * p[i, 2]
        new = (0.0, 0.0, 0.0)
        if n < 0.0 and nn > 0.0:
            new = _contact_impulse((nn, na, nb, aa, bb), softening, mu[i], (n, a, b))
        largest = max(largest, _replace_impulse(i, nv, new, work, p))
    return largest


@kernel
def _sweep_until_settled(
    m: int, nv: int, mu: Floats, sweeps: int, compression: bool, size: float, work: FrictionWork
) -> int:
    """Sweep until nothing moves; ``LIMIT`` if something still did in the last sweep."""
    for _ in range(sweeps):
        if _sweep(m, nv, mu, compression, work) <= ROUND_OFF * ROUND_OFF * size:
            return SOLVED
    return LIMIT


@kernel
def _passive_part(nv: int, base: Floats, u0: Floats, size: float, u: Floats) -> float:
    r"""Shorten the step from ``base`` to ``u`` until u has no more energy than ``u0``.

    .. math:: \|base + \beta x\|^2 \le \|u_0\|^2, \quad x = u - base

    Returns β ≤ 1. The base itself has no more energy than ``u0``.
    """
    xx, bx, rise = 0.0, 0.0, 0.0
    for k in range(nv):
        x = u[k] - base[k]
        xx += x * x
        bx += base[k] * x
        rise += (base[k] - u0[k]) * (base[k] + u0[k])
    if rise + 2.0 * bx + xx <= ROUND_OFF * size:
        return 1.0
    rise = min(rise, 0.0)
    root = math.sqrt(bx * bx - xx * rise)
    beta = -rise / (bx + root) if bx > 0.0 else (root - bx) / xx
    for k in range(nv):
        u[k] = base[k] + beta * (u[k] - base[k])
    return beta


@kernel
def _project_normals(bound: Floats, m: int, nv: int, limit: int, work: FrictionWork) -> int:
    """Bring the normal velocities to their bounds; the impulses in ``restitution.p``."""
    impact = work.restitution.impact
    status, _ = project_onto_rows(
        impact.N, bound, m, nv, work.u, limit, impact.projection, work.u, work.restitution.p
    )
    return status


@kernel
def resolve_friction(
    LD: Floats,
    diaginv: Floats,
    rownnz: Ints,
    rowadr: Ints,
    colind: Ints,
    J: Floats,
    Jt: Floats,
    mu: Floats,
    m: int,
    nv: int,
    qd: Floats,
    restitution: Floats,
    limit: int,
    sweeps: int,
    work: FrictionWork,
    out_qd: Floats,
    out_p: Floats,
    out_pt: Floats,
) -> int:
    """TODO"""
    rest = work.restitution
    impact = rest.impact
    u, u0, p, q = work.u, impact.u0, work.p, work.q
    _whiten_problem(LD, diaginv, rownnz, rowadr, colind, J, m, nv, qd, impact)
    _whiten_tangents(LD, diaginv, rownnz, rowadr, colind, Jt, m, nv, work)
    _mobilities(m, nv, work)
    size = 0.0
    for k in range(nv):
        size += u0[k] * u0[k]
        u[k] = u0[k]
    for i in range(m):
        for j in range(3):
            p[i, j] = 0.0
            q[i, j] = 0.0
    # compression
    status = _sweep_until_settled(m, nv, mu, sweeps, True, size, work)
    alpha = _passive_part(nv, u0, u0, size, u)
    s1 = _project_normals(impact.bound, m, nv, limit, work)
    for i in range(m):
        for j in range(3):
            p[i, j] *= alpha
        p[i, 0] += rest.p[i]
    for k in range(nv):
        impact.u[k] = u[k]
    # restitution
    _, most = least_and_most(restitution, m)
    restitution_bounds(impact.N, m, nv, u0, restitution, most, rest.bound)
    s2 = _project_normals(rest.bound, m, nv, limit, work)
    beta = _passive_part(nv, impact.u, u0, size, u)
    for i in range(m):
        q[i, 0] = beta * rest.p[i]
        rest.bound[i] = min(rest.bound[i], 0.0)
    s3 = _sweep_until_settled(m, nv, mu, sweeps, False, size, work)
    s4 = _project_normals(rest.bound, m, nv, limit, work)
    for i in range(m):
        out_p[i] = p[i, 0] + q[i, 0] + rest.p[i]
        a, b = p[i, 1] + q[i, 1], p[i, 2] + q[i, 2]
        c, s = work.turn[i, 0], work.turn[i, 1]
        out_pt[i, 0] = c * a - s * b
        if Jt.shape[1] > 1:
            out_pt[i, 1] = s * a + c * b
    for k in range(nv):
        impact.u[k] = u[k] - u0[k]
    _add_change(LD, diaginv, rownnz, rowadr, colind, nv, qd, 1.0, impact, out_qd)
    return max(status, s1, s2, s3, s4)
