r"""Rigid contacts with Coulomb friction within one step of time, on velocities.

The velocity at the end of the step does not let contacts pass their bounds, and friction is
Coulomb's at that velocity [ST96], with a circular cone:

.. math::
    D (\dot q^+ - \dot q_{free}) = J^T p + J_t^T p_t, \qquad
    0 \le p \perp J \dot q^+ - b \ge 0, \qquad
    p_t = -\mu p \frac{v_t}{|v_t|} \text{ if } v_t = J_t \dot q^+ \ne 0, \quad
    |p_t| \le \mu p \text{ if } v_t = 0

Contacts are solved one after the other, each exactly, as in `impact_friction`. They begin with
the impulses of the last step (*warm*): what rests or slides evenly is then solved to round-off
after some steps, and what sticks does not creep.

**What holds however far the sweeps came.** The normal velocities are brought to their bounds at
the end. From the step without friction to that one there is a straight line, and every point on
it keeps the bounds and the cones. If at its end the impulses did more work than none, and than
they do without friction, the last point at which they do not is taken. A step that starts with
:math:`\dot q` and moves with :math:`\dot q^+` then changes the energy by

.. math::
    \Delta E = -\tfrac12 \|\dot q^+ - \dot q\|_D^2 + p^T J \dot q^+ + p_t^T J_t \dot q^+
    \le \max(0, p_{frictionless}^T b)

so that it never rises but where b > 0: contacts that bounce, or that had penetrated.

**Which contacts carry the load.** Where contacts are redundant, a box on its four corners, many
normal impulses have the same effect; but each limits the friction at its own place. A step
begins with the least of them, :math:`\min |p|`, which is how equal springs would share it.

Limitations. Those of `impact_friction`: one direction of slip per step, one of several answers
where μ is large and directions are coupled, neither torsional nor rolling friction.
"""

from __future__ import annotations

import math

from detent.kernels.constants import ATTEMPTS, ROUND_OFF, SHARED, SHARING, SWEPT
from detent.kernels.impact import add_change, whiten_problem
from detent.kernels.impact_friction import COMPRESSION, project_normals, sweep_contacts
from detent.kernels.inertia import Inertia
from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats
from detent.kernels.projection import project_onto_rows
from detent.kernels.sliding import (
    FrictionWork,
    contact_mobilities,
    turn_back,
    turn_tangents,
    turned,
    whiten_tangents,
)
from detent.kernels.vectors import clear_vector, copy_vector, dot


@kernel
def _share_evenly(m: int, nv: int, work: FrictionWork) -> bool:
    r"""The least impulses ``q[:, 2]`` of the contacts marked in ``s`` with the effect of ``p``.

    .. math:: \min \tfrac12 |p'|^2 \quad \text{s.t.} \quad N^T p' = N^T p

    By conjugate gradients (Craig's method). False if they did not arrive.
    """
    N, p, q, marked = work.restitution.impact.N, work.p, work.q, work.s
    left, change = work.v, work.u
    clear_vector(left)
    for i in range(m):
        q[i, 1], q[i, 2] = 0.0, 0.0
        if marked[i] > 0.0:
            for k in range(nv):
                left[k] += p[i, 0] * N[i, k]
    size = dot(left, left, nv)
    now, before = size, 0.0
    for _ in range(SHARING):
        if now <= SHARED * size:
            break
        squared = 0.0
        for i in range(m):
            if marked[i] > 0.0:
                q[i, 1] = dot(N[i], left, nv) + (now / before * q[i, 1] if before > 0.0 else 0.0)
                squared += q[i, 1] * q[i, 1]
        if not squared > 0.0:
            break
        clear_vector(change)
        for i in range(m):
            if marked[i] > 0.0:
                q[i, 2] += now / squared * q[i, 1]
                for k in range(nv):
                    change[k] += q[i, 1] * N[i, k]
        before = now
        for k in range(nv):
            left[k] -= now / squared * change[k]
        now = dot(left, left, nv)
    return now <= SHARED * size


@kernel
def _share_load(m: int, nv: int, mu: Floats, negligible: float, work: FrictionWork) -> None:
    """Let contacts that touch share their normal impulses, as far as none has to pull."""
    impact, p, q, W, marked = work.restitution.impact, work.p, work.q, work.W, work.s
    count = 0
    for i in range(m):
        slack = dot(impact.N[i], impact.u, nv) - work.restitution.bound[i]
        touches = p[i, 0] > 0.0 or slack * slack <= negligible * W[i, 0]
        marked[i] = 1.0 if touches and mu[i] > 0.0 else 0.0
        count += int(marked[i])
    for _ in range(ATTEMPTS if count > 1 else 0):
        if not _share_evenly(m, nv, work):
            return
        pulls = False
        for i in range(m):
            if q[i, 2] < 0.0:
                pulls = True
                marked[i] = 1.0 if p[i, 0] > 0.0 else 0.0
        if not pulls:
            break
    part = 1.0
    for i in range(m):
        if marked[i] > 0.0 and q[i, 2] < 0.0:
            part = min(part, p[i, 0] / (p[i, 0] - q[i, 2]))
    for i in range(m if count > 1 else 0):
        if marked[i] > 0.0:
            p[i, 0] = max(p[i, 0] + part * (q[i, 2] - p[i, 0]), 0.0)


@kernel
def _begin(
    m: int, nv: int, mu: Floats, p: Floats, pt: Floats, negligible: float, work: FrictionWork
) -> None:
    """Impulses of the last step, as far as the cones allow; for new ones those without friction."""
    N, T, u, turn = work.restitution.impact.N, work.T, work.u, work.turn
    for i in range(m):
        work.p[i, 0] = p[i] if p[i] >= 0.0 else work.q[i, 0]
    _share_load(m, nv, mu, negligible, work)
    copy_vector(work.restitution.impact.u0, u)
    for i in range(m):
        n, a, b = work.p[i, 0], 0.0, 0.0
        if p[i] >= 0.0:
            a, b = turned(turn, i, pt[i, 0], pt[i, 1])
            size = math.sqrt(a * a + b * b)
            if size > mu[i] * n:
                a, b = a * mu[i] * n / size, b * mu[i] * n / size
        work.p[i, 1], work.p[i, 2] = a, b
        if n > 0.0:
            for k in range(nv):
                u[k] += n * N[i, k] + a * T[2 * i, k] + b * T[2 * i + 1, k]


@kernel
def _make_passive(m: int, nv: int, work: FrictionWork) -> None:
    r"""Go back towards the step without friction until the impulses do no work.

    .. math:: (u_\beta - u_0)^T u_\beta \le \max(0, (u_b - u_0)^T u_b), \quad
              u_\beta = u_b + \beta (u - u_b), \; \beta \le 1
    """
    base, u0, u = work.restitution.impact.u, work.restitution.impact.u0, work.u
    smooth, linear, square = 0.0, 0.0, 0.0  # of the work, in β
    for k in range(nv):
        x = u[k] - base[k]
        smooth += (base[k] - u0[k]) * base[k]
        linear += (2.0 * base[k] - u0[k]) * x
        square += x * x
    room = max(-smooth, 0.0)
    if linear + square <= room + ROUND_OFF * dot(u0, u0, nv):
        return
    root = math.sqrt(linear * linear + 4.0 * square * room)
    part = 2.0 * room / (linear + root) if linear > 0.0 else 0.5 * (root - linear) / square
    for k in range(nv):
        u[k] = base[k] + part * (u[k] - base[k])
    for i in range(m):
        work.p[i, 0] = work.q[i, 0] + part * (work.p[i, 0] - work.q[i, 0])
        work.p[i, 1] *= part
        work.p[i, 2] *= part


@kernel
def _turn_back(m: int, turn: Floats, work: FrictionWork, p: Floats, pt: Floats) -> None:
    """Impulses along the tangents that were given, from those along the turned ones."""
    for i in range(m):
        p[i] = work.p[i, 0]
        pt[i, 0], pt[i, 1] = turn_back(turn, i, work.p[i, 1], work.p[i, 2])


@kernel
def step_with_friction(
    inertia: Inertia,
    J: Floats,
    Jt: Floats,
    mu: Floats,
    bound: Floats,
    m: int,
    qd: Floats,
    limit: int,
    sweeps: int,
    work: FrictionWork,
    out_qd: Floats,
    p: Floats,
    pt: Floats,
) -> int:
    r"""One step of rigid contacts with friction; how many sweeps it took.

    .. math::
        J \dot q^+ \ge b, \quad p \ge 0, \quad |p_t| \le \mu p, \quad
        p^T J \dot q^+ + p_t^T J_t \dot q^+ \le \max(0, p_{frictionless}^T b)

    Catalogue M16, [ST96]; the law is that of the module. ``J`` [m, nv] are the normal rows,
    ``Jt`` [m, 2, nv] two perpendicular tangential ones, ``bound`` is b. ``p`` [m] and ``pt``
    [m, 2] hold the impulses of the last step, or -1 in ``p`` for a contact that was not in
    play, and then those of this one; ``work.q`` those without friction. ``out_qd`` may be
    ``qd``.
    """
    impact = work.restitution.impact
    whiten_problem(inertia, J, m, qd, impact)
    if not step_smoothly(m, inertia.nv, bound, limit, work, p, pt):
        copy_vector(qd, out_qd)
        return 0
    whiten_tangents(inertia, Jt, m, work.T)
    done = step_roughly(m, inertia.nv, mu, limit, sweeps, work, p, pt)
    add_change(inertia, qd, 1.0, impact, out_qd)
    return done


@kernel
def step_smoothly(
    m: int, nv: int, bound: Floats, limit: int, work: FrictionWork, p: Floats, pt: Floats
) -> bool:
    """The step without friction, where the inertia is the identity; whether anything touched.

    Rows and velocity are in ``work``. If nothing touches, the impulses are zero.
    """
    impact = work.restitution.impact
    for i in range(m):
        work.restitution.bound[i] = bound[i]
    project_onto_rows(impact.N, bound, m, nv, impact.u0, limit, impact.projection, impact.u, work.s)
    touched = False
    for i in range(m):
        work.q[i, 0] = work.s[i]
        touched = touched or work.s[i] > 0.0
    if not touched:
        for i in range(m):
            p[i], pt[i, 0], pt[i, 1] = 0.0, 0.0, 0.0
    return touched


@kernel
def step_roughly(
    m: int, nv: int, mu: Floats, limit: int, sweeps: int, work: FrictionWork, p: Floats, pt: Floats
) -> int:
    """From there, with the whitened tangents in ``work.T``, to the step with friction; sweeps.

    The change of the velocity is then in ``work.restitution.impact.u``.
    """
    impact, turn = work.restitution.impact, work.turn
    turn_tangents(m, nv, work.T, turn)
    contact_mobilities(m, nv, work)
    negligible = SWEPT * SWEPT * dot(impact.u0, impact.u0, nv)
    _begin(m, nv, mu, p, pt, negligible, work)
    done = 0
    while done < sweeps:
        done += 1
        if sweep_contacts(COMPRESSION, m, nv, mu, negligible, work, work.p) <= negligible:
            break
    project_normals(m, nv, limit, work, work.p)
    _make_passive(m, nv, work)
    _turn_back(m, turn, work, p, pt)
    for k in range(nv):
        impact.u[k] = work.u[k] - impact.u0[k]
    return done
