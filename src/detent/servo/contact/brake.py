r"""What holds a contact that sticks: Coulomb's law at the end of the step.

A bond must stretch before it holds, and what it lets start it must then stop: with critical
damping a load that comes within a tick is met by 1.135 times itself, so that it slips from 0.88
of μ_s f_n on. But the smooth torques of a tick are known when contacts react, and so are normal
forces of resting contacts. So contacts that stick get the impulses with which they do not slide,
as far as their cones allow, one after the other in a few sweeps that begin with the forces of
the last tick:

.. math::
    p_t = -\mu_s f_n T \frac{v_t - v_b}{|v_t - v_b|} \text{ if } v_t \ne v_b, \quad
    |p_t| \le \mu_s f_n T \text{ if } v_t = v_b, \qquad v_b = -\frac{\kappa}{T} z

The strain z of the bond is what sweeps left over. It is taken back by the velocity v_b, so that
nothing creeps; at z₀ it breaks, as in `reset_integrator`.
"""

from __future__ import annotations

import math

from detent.kernels.constants import MEMORY_FRICTION, MEMORY_GRIP, MEMORY_SETTLED, SWEPT
from detent.kernels.friction import Vector
from detent.kernels.impact_friction import RESTITUTION, sweep_contacts
from detent.kernels.jit import kernel
from detent.kernels.sliding import (
    FrictionWork,
    contact_mobilities,
    turn_back,
    turn_tangents,
    turned,
)
from detent.kernels.spans import spans_dot, take_spans, whiten_velocity_spans
from detent.kernels.vectors import clear_vector, dot
from detent.servo.constants import BACK_TO_BOND, HELD_SWEEPS, SETTLED
from detent.servo.contact.columns import pack_spans, unpack_spans
from detent.servo.contact.identity import NO_ROW
from detent.servo.contact.impulses import describe_hit, tangent, whiten_hit_tangents
from detent.servo.contact.rows import lose_row, write_relative_row
from detent.servo.contact.torques import add_forces
from detent.servo.structs import Rows, Scene, Servo
from detent.servo.world.move import accelerate


@kernel
def sticks(rows: Rows, r: int) -> bool:
    """Whether the contact of row r is pressed, has friction and does not slip."""
    slips = rows.memory[r, MEMORY_FRICTION + 3] != 0.0
    return rows.force[r] > 0.0 and rows.friction[r] > 0.0 and not slips


@kernel
def hold_as_before(rows: Rows, count: int) -> None:
    """rows.rub of contacts that stick ← their force of the last tick, as far as it may be."""
    for i in range(count):
        r = rows.rubbing[i]
        if not sticks(rows, r):
            continue
        out, n, most = rows.rub[r], rows.normal[r], rows.memory[r, MEMORY_FRICTION + 4]
        for k in range(3):
            out[k] = rows.memory[r, MEMORY_GRIP + k]
        along = dot(out, n, 3)
        for k in range(3):
            out[k] -= along * n[k]
        size = math.sqrt(dot(out, out, 3))
        for k in range(3 if size > most else 0):
            out[k] *= most / size


@kernel
def look_ahead(s: Servo, count: int) -> None:
    """rows.braked ← the velocity at the end of this step with those forces."""
    sc, mo, rows, step = s.scene, s.motion, s.rows, s.parameters["step"][0]
    ahead = rows.braked
    for j in range(sc.nv):
        ahead[j] = mo.torque[j] + mo.penalty[j]
    for side in range(2):
        add_forces(sc, rows, count, side, rows.rub, ahead)
    accelerate(sc, mo, s.closures, ahead)
    for j in range(sc.nv):
        ahead[j] = mo.velocity[j] + step * ahead[j]


@kernel
def gather_held(sc: Scene, rows: Rows, root: int, room: int) -> int:
    """The contacts of a group that stick become hits, with their tangents; how many.

    What finds no room is not held.
    """
    m, r = 0, rows.group_row[root]
    while r != NO_ROW:
        if sticks(rows, r) and m == room:
            clear_vector(rows.rub[r])
            lose_row(rows)
        elif sticks(rows, r):
            describe_hit(rows, r, m)
            for k in range(2):
                write_relative_row(sc, rows, r, tangent(rows.normal[r], k), rows.hit_tangent[m], k)
            m += 1
        r = rows.next_row[r]
    return m


@kernel
def describe_held(rows: Rows, m: int, step: float, back: float, work: FrictionWork) -> None:
    """Impulses of the hits, their cones, and the velocity that takes strain back."""
    for i in range(m):
        r = rows.hit_row[i]
        work.p[i, 0] = rows.force[r] * step
        rows.hit_friction[i] = rows.memory[r, MEMORY_FRICTION + 4] / rows.force[r]
        for k in range(2):
            t = tangent(rows.normal[r], k)
            work.p[i, 1 + k] = 0.0
            for c in range(3):
                work.p[i, 1 + k] += step * t[c] * rows.rub[r, c]
            work.drift[i, k] = wanted_slip(rows, r, t, back)
        work.p[i, 1], work.p[i, 2] = turned(work.turn, i, work.p[i, 1], work.p[i, 2])
        work.drift[i, 0], work.drift[i, 1] = turned(
            work.turn, i, work.drift[i, 0], work.drift[i, 1]
        )
        work.W[i, 0], work.W[i, 1], work.W[i, 2] = 1.0, 0.0, 0.0


@kernel
def slowest_squared(m: int, work: FrictionWork) -> float:
    """[kg·m²/s²] the squared whitened velocity that moves no contact faster than `SETTLED`.

    Less than that would be round-off of a body at rest, and swept for ever.
    """
    most = 0.0
    for i in range(m):
        most = max(most, work.W[i, 3], work.W[i, 4])
    return SETTLED * SETTLED / most if most > 0.0 else 0.0


@kernel
def wanted_slip(rows: Rows, r: int, t: Vector, back: float) -> float:
    """−v_b along a tangent: what takes strain back, and what carries the contact away."""
    memory, carry, m = rows.memory, rows.carry, MEMORY_FRICTION
    x = back * memory[r, m] - carry[r, 0]
    y = back * memory[r, m + 1] - carry[r, 1]
    z = back * memory[r, m + 2] - carry[r, 2]
    return t[0] * x + t[1] * y + t[2] * z


@kernel
def holds_already(rows: Rows, m: int, back: float) -> bool:
    """Whether the forces of the last tick hold the hits as well as forces can: then those stay.

    They do if nothing slides otherwise than it should, or as it did when sweeps changed nothing any
    more: what strain wants may be out of reach, as where many contacts hold one body.
    """
    memory, at = rows.memory, MEMORY_SETTLED
    for i in range(m):
        r = rows.hit_row[i]
        settled = memory[r, at] != 0.0
        for k in range(2):
            slip = spans_dot(rows.span[r], 2, rows.hit_tangent[i, k], rows.braked)
            slip += wanted_slip(rows, r, tangent(rows.normal[r], k), back)
            if abs(slip - (memory[r, at + 1 + k] if settled else 0.0)) > SETTLED:
                return False
    return True


@kernel
def note_settled(rows: Rows, m: int, back: float, settled: bool) -> None:
    """Remember how the hits slide, if sweeps change nothing any more."""
    memory, at = rows.memory, MEMORY_SETTLED
    for i in range(m):
        r = rows.hit_row[i]
        memory[r, at] = 1.0 if settled else 0.0
        for k in range(2 if settled else 0):
            slip = spans_dot(rows.span[r], 2, rows.hit_tangent[i, k], rows.braked)
            memory[r, at + 1 + k] = slip + wanted_slip(rows, r, tangent(rows.normal[r], k), back)


@kernel
def hold_group(s: Servo, m: int, back: float) -> None:
    """Sweep over the hits of a group; rows.rub has their forces then."""
    mo, rows, work, step = s.motion, s.rows, s.work, s.parameters["step"][0]
    n = pack_spans(rows, 0, m)
    whiten_hit_tangents(mo.damped, rows, 0, m, n, work.T)
    take_spans(rows.packed, rows.packs[0], rows.braked, work.u)
    whiten_velocity_spans(mo.damped, rows.packed, rows.packs[0], work.u)
    unpack_spans(rows)
    turn_tangents(m, n, work.T, work.turn)
    for i in range(m):  # normal impulses are given
        for k in range(n):
            work.restitution.impact.N[i, k] = 0.0
    contact_mobilities(m, n, work)
    describe_held(rows, m, step, back, work)
    negligible = max(SWEPT * SWEPT * dot(work.u, work.u, n), slowest_squared(m, work))
    sweeps = 0
    while sweeps < HELD_SWEEPS:
        sweeps += 1
        change = sweep_contacts(RESTITUTION, m, n, rows.hit_friction, negligible, work, work.p)
        if change <= negligible:
            break
    note_settled(rows, m, back, sweeps == 1)
    for i in range(m):
        r = rows.hit_row[i]
        along, across = turn_back(work.turn, i, work.p[i, 1], work.p[i, 2])
        a, b = tangent(rows.normal[r], 0), tangent(rows.normal[r], 1)
        for k in range(3):
            rows.rub[r, k] = (along * a[k] + across * b[k]) / step


@kernel
def brake(s: Servo, count: int) -> None:
    """Hold contacts that stick: rows.rub has the forces of those that slip, and then all."""
    rows, p = s.rows, s.parameters
    hold_as_before(rows, count)
    look_ahead(s, count)
    back = BACK_TO_BOND * p["friction_breakaway"][0] / p["step"][0]
    for root in range(rows.parent.shape[0]):
        if rows.parent[root] == root:
            m = gather_held(s.scene, rows, root, s.work.W.shape[0])
            if m > 0 and not holds_already(rows, m, back):
                hold_group(s, m, back)
    for i in range(count):
        r = rows.rubbing[i]
        for k in range(3):
            rows.memory[r, MEMORY_GRIP + k] = rows.rub[r, k]
