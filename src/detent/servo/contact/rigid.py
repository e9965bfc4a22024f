"""Rigid contact: time stepping on velocities, without penetration (M16)."""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import MEMORY_FRICTION, STEP_SWEEPS
from detent.kernels.contact import group_root, join_groups
from detent.kernels.impact import ImpactWork
from detent.kernels.inertia import Inertia
from detent.kernels.jit import kernel
from detent.kernels.projection import iteration_limit, project_onto_rows
from detent.kernels.spans import (
    add_spans,
    put_spans,
    take_spans,
    unwhiten_spans,
    whiten_spans,
    whiten_velocity_spans,
)
from detent.kernels.stages import call_stage
from detent.kernels.step_friction import step_roughly, step_smoothly
from detent.servo import places
from detent.servo.contact.columns import pack_row, pack_spans, unpack_spans
from detent.servo.contact.identity import NO_ROW
from detent.servo.contact.impulses import (
    describe_hit,
    describe_sliding,
    tangent,
    whiten_hit_tangents,
)
from detent.servo.contact.press import add_row_torque
from detent.servo.contact.rows import lose_row
from detent.servo.parameters import GOD_OBJECT
from detent.servo.structs import Rows, Scene, Servo
from detent.servo.world.move import accelerate


@kernel
def bound_velocity(rows: Rows, r: int, p: np.ndarray) -> float:
    """How fast a contact must separate: −s/T, or −e v_n where it closes and bounces."""
    step = p["step"][0]
    follows = p["tool"][0] == GOD_OBJECT  # which does not bounce
    gap, v, e = rows.separation[r], rows.velocity[r], rows.restitution[r]
    bounces = e > 0.0 and v < 0.0 and gap + step * v < 0.0 and not follows
    return -e * v if bounces else -gap / step


@kernel
def list_near(sc: Scene, rows: Rows) -> None:
    """Groups of all rows, touching or near, as lists: what one velocity depends on."""
    near = rows.near
    for t in range(near.shape[0]):
        near[t] = t
        rows.group_row[t] = NO_ROW
    for i in range(sc.equality_trees.shape[0]):
        join_groups(near, sc.equality_trees[i, 0], sc.equality_trees[i, 1])
    for r in range(rows.count[0]):
        join_groups(near, rows.tree[r, 0], rows.tree[r, 1])
    for i in range(rows.count[0]):
        r = rows.count[0] - 1 - i
        root = group_root(near, rows.tree[r, 0] if rows.tree[r, 0] >= 0 else rows.tree[r, 1])
        rows.next_row[r] = rows.group_row[root]
        rows.group_row[root] = r


@kernel
def take_group(rows: Rows, root: int, start: int, p: np.ndarray, room: int) -> int:
    """The rows of a group become hits from *start* on; where they end."""
    h, r = start, rows.group_row[root]
    while r != NO_ROW:
        if h - start == room:
            lose_row(rows)
        else:
            describe_hit(rows, r, h)
            rows.hit_bound[h] = bound_velocity(rows, r, p)
            h += 1
        r = rows.next_row[r]
    return h


@kernel
def whiten_group(
    inertia: Inertia, rows: Rows, start: int, end: int, qd: np.ndarray, work: ImpactWork
) -> int:
    """The rows of the hits from start to end, and the velocity; how many dofs they move."""
    n = pack_spans(rows, start, end)
    for h in range(start, end):
        r = rows.hit_row[h]
        pack_row(rows, r, rows.jac[r], n, work.N[h - start])
    whiten_spans(inertia, rows.packed, rows.packs[0], end - start, work.N)
    take_spans(rows.packed, rows.packs[0], qd, work.u0)
    whiten_velocity_spans(inertia, rows.packed, rows.packs[0], work.u0)
    return n


@kernel
def project_rigid(s: Servo) -> None:
    r"""Stage: the velocity nearest to mo.after that does not penetrate (M16).

    .. math:: \min \tfrac12 \|\dot q^+ - \dot q_{free}\|^2_D \quad
              \text{s.t.} \quad J \dot q^+ \ge -s/T

    A contact that would close within the step and has e > 0 leaves with −e v_n instead.
    Writes mo.after, and the impulses of the rows in hit_row into hit_impulse.
    """
    sc, mo, rows, work = s.scene, s.motion, s.rows, s.work.restitution.impact
    list_near(sc, rows)
    end = 0
    for root in range(rows.near.shape[0]):
        start, end = end, take_group(rows, root, end, s.parameters, s.work.W.shape[0])
        m = end - start
        if m == 0:
            continue
        n = whiten_group(mo.damped, rows, start, end, mo.after, work)
        project_onto_rows(
            work.N, rows.hit_bound[start:], m, n, work.u0,
            iteration_limit(m, n), work.projection, work.u, rows.hit_impulse[start:],
        )  # fmt: skip
        unwhiten_spans(mo.damped, rows.packed, rows.packs[0], work.u)
        put_spans(rows.packed, rows.packs[0], work.u, mo.after)
        unpack_spans(rows)
    rows.hits[0] = end


@kernel
def grip(sc: Scene, rows: Rows, h: int, p: np.ndarray) -> None:
    """The sliding of the row of hit h, and the impulses that it had in the last step, or -1."""
    r = rows.hit_row[h]
    rows.hit_impulse[h], rows.hit_slide[h, 0], rows.hit_slide[h, 1] = -1.0, 0.0, 0.0
    describe_sliding(sc, rows, r, h, p)
    if rows.hit_friction[h] <= 0.0:
        return
    memory = rows.memory[r, MEMORY_FRICTION : MEMORY_FRICTION + 5]
    if memory[4] == 0.0:
        return
    rows.hit_impulse[h] = memory[3]
    for k in range(2):
        t = tangent(rows.normal[r], k)
        rows.hit_slide[h, k] = t[0] * memory[0] + t[1] * memory[1] + t[2] * memory[2]


@kernel
def keep_grip(rows: Rows, h: int, smooth: float, step: float) -> None:
    """Remember the impulses of hit h, if it had or would without friction have had any.

    Along the world's axes, since tangents turn.
    """
    r = rows.hit_row[h]
    memory = rows.memory[r, MEMORY_FRICTION : MEMORY_FRICTION + 5]
    a, b = tangent(rows.normal[r], 0), tangent(rows.normal[r], 1)
    for k in range(3):
        memory[k] = rows.hit_slide[h, 0] * a[k] + rows.hit_slide[h, 1] * b[k]
        rows.rub[r, k] = memory[k] / step
    memory[3] = rows.hit_impulse[h]
    memory[4] = 1.0 if memory[3] > 0.0 or smooth > 0.0 else 0.0


@kernel
def project_rubbing(s: Servo) -> None:
    """Stage: the same with Coulomb friction, impulses along the tangents into hit_slide (M16)."""
    sc, mo, rows, p, work = s.scene, s.motion, s.rows, s.parameters, s.work
    impact = work.restitution.impact
    list_near(sc, rows)
    end = 0
    for root in range(rows.near.shape[0]):
        start, end = end, take_group(rows, root, end, p, work.W.shape[0])
        m = end - start
        if m == 0:
            continue
        for h in range(start, end):
            grip(sc, rows, h, p)
        pushed, slid = rows.hit_impulse[start:], rows.hit_slide[start:]
        n = whiten_group(mo.damped, rows, start, end, mo.after, impact)
        limit = iteration_limit(m, n)
        if step_smoothly(m, n, rows.hit_bound[start:], limit, work, pushed, slid):
            whiten_hit_tangents(mo.damped, rows, start, end, n, work.T)
            mu = rows.hit_friction[start:]
            step_roughly(m, n, mu, limit, STEP_SWEEPS, work, pushed, slid)
            unwhiten_spans(mo.damped, rows.packed, rows.packs[0], impact.u)
            add_spans(rows.packed, rows.packs[0], impact.u, 1.0, mo.after)
        unpack_spans(rows)
        for h in range(start, end):
            keep_grip(rows, h, work.q[h - start, 0], p["step"][0])
    rows.hits[0] = end


@kernel
def press_as_before(rows: Rows, step: float) -> None:
    """rows.force ← the normal forces of the last step, as far as contacts are the same."""
    for r in range(rows.count[0]):
        memory = rows.memory[r, MEMORY_FRICTION : MEMORY_FRICTION + 5]
        rows.force[r] = memory[3] / step if memory[4] != 0.0 else 0.0


@kernel
def step_rigid(s: Servo) -> None:
    """Stage: rigid contact, complementarity time stepping on velocities (M16)."""
    sc, mo, rows = s.scene, s.motion, s.rows
    step = s.parameters["step"][0]
    press_as_before(rows, step)
    call_stage(s.stages[places.TURN], s)
    for j in range(sc.nv):
        mo.after[j] = mo.torque[j] + mo.penalty[j]
    accelerate(sc, mo, s.closures, mo.after)
    for j in range(sc.nv):
        mo.after[j] = mo.velocity[j] + step * mo.after[j]
    call_stage(s.stages[places.PROJECT], s)
    for h in range(rows.hits[0]):
        r = rows.hit_row[h]
        rows.force[r] = rows.hit_impulse[h] / step
        add_row_torque(rows, r, rows.force[r], mo.penalty)
        for k in range(2 if s.parameters["friction"][0] != 0 else 0):
            force = rows.hit_slide[h, k] / step
            add_spans(rows.span[r], 2, rows.hit_tangent[h, k], force, mo.penalty)
