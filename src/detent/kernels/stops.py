r"""Unilateral stops of a mechanism, :math:`s(q) \ge 0`, that switch without a gain of energy.

A stop that would be passed within the step takes velocity away (`strike`), by a projection in
the metric of the inertia, as collisions do; one that lies at rest is held by a force that only
pushes (`hold`), found by the same projection of the acceleration. Which stops hold is decided
at the start of a step and stays for its four stages. Letting go costs nothing: the force is
zero then.
"""

from __future__ import annotations

from detent.kernels.constants import STOP_ITERATIONS
from detent.kernels.constrained import (
    accelerate,
    evaluate,
    follow_velocity,
    restrict,
)
from detent.kernels.inertia import unwhiten, whiten, whiten_velocity
from detent.kernels.jit import kernel
from detent.kernels.mechanics import Mechanics
from detent.kernels.projection import project_onto_rows
from detent.kernels.vectors import copy_vector, dot


@kernel
def _whiten_stops(me: Mechanics) -> None:
    for i in range(me.stop.shape[0]):
        copy_vector(me.G[i], me.stop_row[i])
        whiten(me.inertia, me.stop_row[i])


@kernel
def strike(me: Mechanics) -> None:
    r"""Stops that would be passed in this step: u loses what leads into them.

    .. math:: G u^+ \ge \max(-s / T, \; -e \, G u) \quad \text{if} \quad s + T G u < 0

    With p the impulses, the kinetic energy changes by :math:`\tfrac12 p^T (b + G u)`, where b
    is the bound that acts: rows that recede get :math:`b \le -G u`, so it never rises. It acts
    up to a step early, and never lets a bouncing mechanism in.
    """
    nv, stops, step = me.u.shape[0], me.stop.shape[0], me.step[0]
    before = me.energy[0]
    me.struck[0] = 0.0
    hits = 0
    for i in range(stops):
        s, rate = max(me.stop[i], 0.0), dot(me.G[i], me.u, nv)
        bound = -s / step
        if rate < bound:
            hits += 1
            if me.restitution[0] > 0.0:
                bound = -me.restitution[0] * rate
        elif rate > 0.0:
            bound = min(bound, -rate)
        me.stop_bound[i] = bound
    if hits == 0:
        return
    _whiten_stops(me)
    copy_vector(me.u, me.white[0])
    whiten_velocity(me.inertia, me.white[0])
    project_onto_rows(
        me.stop_row, me.stop_bound, stops, nv, me.white[0], STOP_ITERATIONS, me.pushed,
        me.white[1], me.stop_push,
    )  # fmt: skip
    after = 0.5 * dot(me.white[1], me.white[1], nv)
    unwhiten(me.inertia, me.white[1])
    copy_vector(me.white[1], me.u)
    follow_velocity(me)
    me.struck[0] = before - after
    me.energy[0] = after
    evaluate(me)  # C u, dampers and drifts are those of the new velocity
    restrict(me, False, False)


@kernel
def hold(me: Mechanics) -> None:
    r"""Which stops hold in this step, and with what acceleration; u̇ with them.

    .. math:: \ddot s \ge -2 (s + T \dot s) / T^2

    arrives at s = 0 and not beyond; over the step the force moves its stop by −s, so it takes
    energy. `accelerate` must have been called without stops.
    """
    nv, stops, step = me.u.shape[0], me.stop.shape[0], me.step[0]
    wanted = 0
    for i in range(stops):
        me.active[i] = 0
        s, rate = max(me.stop[i], 0.0), dot(me.G[i], me.u, nv)
        me.held[i] = -2.0 * (s + step * rate) / (step * step)
        me.stop_bound[i] = me.held[i] - me.stop_drift[i] - dot(me.G[i], me.rate, nv)
        if me.stop_bound[i] > 0.0:
            wanted += 1
    if wanted == 0:
        return
    _whiten_stops(me)
    copy_vector(me.rate, me.white[0])
    whiten_velocity(me.inertia, me.white[0])
    for i in range(stops):
        me.stop_bound[i] += dot(me.stop_row[i], me.white[0], nv)
    project_onto_rows(
        me.stop_row, me.stop_bound, stops, nv, me.white[0], STOP_ITERATIONS, me.pushed,
        me.white[1], me.stop_push,
    )  # fmt: skip
    for i in range(stops):
        me.active[i] = 1 if me.stop_push[i] > 0.0 else 0
    restrict(me, True, False)
    accelerate(me)
