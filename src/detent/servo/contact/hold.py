r"""Springs that a step cannot hold, at the end of the step.

A spring on a light body, or many on one, must be softened for a step that is given its force at
the beginning (`servo.contact.gains`), so that a button of ten grams under 20 N sank by 15 mm into a
wall that should give way by one. But the smooth torques of a tick are known when contacts react.
So all contacts of a group in which something was softened to less than a third get the force that
their springs and dampers, as asked for, have when the step ends:

.. math::
    f_i = \max(0, -K_i (s_i + T v_i^+) - B_i v_i^+), \qquad
    v^+ = v + T J A^{-1} (\tau + J^T f), \quad A = D + T C

one after the other in sweeps (Gauss-Seidel), which converge, since the matrix is positive definite.
That is the implicit step of Euler for these springs: stable at every stiffness, it takes energy
and gives none, and where it rests the depth is f/K.

Limitations: friction of the same tick is not known yet, and forces of other groups are those of
the beginning. After `HOLD_SWEEPS` a residue is left, which the next tick finds as velocity.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import SWEPT
from detent.kernels.jit import kernel
from detent.kernels.spans import take_spans, whiten_spans, whiten_velocity_spans
from detent.kernels.vectors import clear_vector, dot
from detent.servo.constants import HOLD_BELOW, HOLD_SWEEPS, SETTLED
from detent.servo.contact.columns import pack_row, pack_spans, unpack_spans
from detent.servo.contact.gains import SOFTENED
from detent.servo.contact.groups import row_group
from detent.servo.contact.identity import NO_ROW
from detent.servo.contact.press import add_row_torque
from detent.servo.parameters import PULLED
from detent.servo.structs import COLLIDING, Rows, Servo
from detent.servo.world.move import accelerate


@kernel
def can_hold(rows: Rows, p: np.ndarray, local: bool) -> bool:
    """Whether something was softened, in a tick that forces move, by springs without a history."""
    plain = p["wall"][0] == 0 and p["clamp"][0] != 0 and p["rezero"][0] == 0
    return rows.bounded[0] > 0 and plain and not local and p["tool"][0] == PULLED


@kernel
def asked_gains(rows: Rows, r: int) -> tuple[float, float]:
    """Stiffness and damping of a contact before they were bounded; those of limits stay bounded."""
    if rows.gain[r, 3] != SOFTENED or rows.geom[r, 0] < 0:
        return rows.stiffness[r], rows.damping[r]
    return rows.stiffness[r] / rows.gain[r, 1], rows.damping[r] / rows.gain[r, 2]


@kernel
def find_held(rows: Rows, room: int) -> bool:
    """rows.group_load ← 1 for groups with a row that was softened much; whether there is one."""
    load, found = rows.group_load, False
    clear_vector(load)
    for r in range(rows.count[0]):
        soft = rows.gain[r, 3] == SOFTENED and rows.gain[r, 1] < HOLD_BELOW
        if rows.separation[r] <= 0.0 and soft and rows.geom[r, 0] >= 0:
            load[row_group(rows, r)] = 1.0
    for root in range(rows.parent.shape[0]):
        if load[root] == 0.0:
            continue
        count, r = 0, rows.group_row[root]
        while r != NO_ROW:
            count += 1
            r = rows.next_row[r]
        if rows.group_state[root] == COLLIDING or count > room:
            load[root] = 0.0
        found = found or load[root] != 0.0
    return found


@kernel
def look_ahead(s: Servo) -> None:
    """rows.braked ← the velocity at the end of this step without the forces of held groups."""
    sc, mo, rows, step = s.scene, s.motion, s.rows, s.parameters["step"][0]
    ahead = rows.braked
    for j in range(sc.nv):
        ahead[j] = mo.torque[j] + mo.penalty[j]
    for r in range(rows.count[0]):
        if rows.force[r] != 0.0 and rows.group_load[row_group(rows, r)] != 0.0:
            add_row_torque(rows, r, -rows.force[r], ahead)
            add_row_torque(rows, r, -rows.force[r], mo.penalty)
    accelerate(sc, mo, s.closures, ahead)
    for j in range(sc.nv):
        ahead[j] = mo.velocity[j] + step * ahead[j]


@kernel
def whiten_held(s: Servo, root: int) -> tuple[int, int]:
    """The rows of a group where the inertia is the identity, and the velocity; their sizes."""
    mo, rows, work = s.motion, s.rows, s.work
    N, m, r = work.restitution.impact.N, 0, rows.group_row[root]
    while r != NO_ROW:
        rows.hit_row[m] = r
        m += 1
        r = rows.next_row[r]
    n = pack_spans(rows, 0, m)
    for i in range(m):
        pack_row(rows, rows.hit_row[i], rows.jac[rows.hit_row[i]], n, N[i])
    whiten_spans(mo.damped, rows.packed, rows.packs[0], m, N)
    take_spans(rows.packed, rows.packs[0], rows.braked, work.u)
    whiten_velocity_spans(mo.damped, rows.packed, rows.packs[0], work.u)
    unpack_spans(rows)
    return m, n


@kernel
def sweep_springs(s: Servo, m: int, n: int) -> float:
    """Each spring once; the largest squared change of the velocity."""
    rows, step, largest = s.rows, s.parameters["step"][0], 0.0
    N, u = s.work.restitution.impact.N, s.work.u
    for i in range(m):
        r = rows.hit_row[i]
        stiffness, damping = asked_gains(rows, r)
        resists = step * stiffness + damping
        mobility = dot(N[i], N[i], n)
        without = dot(N[i], u, n) - step * mobility * rows.force[r]
        force = -(stiffness * rows.pressed[r] + resists * without) / (
            1.0 + step * mobility * resists
        )
        change = step * (max(force, 0.0) - rows.force[r])
        rows.force[r] = max(force, 0.0)
        for k in range(n):
            u[k] += change * N[i, k]
        largest = max(largest, change * change * mobility)
    return largest


@kernel
def hold(s: Servo) -> None:
    """Forces of the groups in which a spring was softened, into rows.force and mo.penalty.

    The sweeps begin with the forces of the softened springs. What moves nothing keeps its own.
    """
    rows, work, step = s.rows, s.work, s.parameters["step"][0]
    if not find_held(rows, work.W.shape[0]):
        return
    look_ahead(s)
    for root in range(rows.parent.shape[0]):
        if rows.parent[root] != root or rows.group_load[root] == 0.0:
            continue
        m, n = whiten_held(s, root)
        N, u, most = work.restitution.impact.N, work.u, 0.0
        for i in range(m):
            most = max(most, dot(N[i], N[i], n))
            for k in range(n):
                u[k] += step * rows.force[rows.hit_row[i]] * N[i, k]
        negligible = SWEPT * SWEPT * dot(u, u, n)
        if most > 0.0:  # of a body at rest that would be round-off
            negligible = max(negligible, SETTLED * SETTLED / most)
        for _ in range(HOLD_SWEEPS):
            if sweep_springs(s, m, n) <= negligible:
                break
        for i in range(m):
            r = rows.hit_row[i]
            rows.force[r] *= rows.trust[0]
            add_row_torque(rows, r, rows.force[r], s.motion.penalty)
