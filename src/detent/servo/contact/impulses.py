"""Impulses of colliding groups (TH 4.14-4.45, errata E4; B1, B3)."""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import SWEEPS
from detent.kernels.impact import ImpactWork, change_by_equality
from detent.kernels.impact_friction import change_by_friction
from detent.kernels.impact_restitution import change_by_restitutions
from detent.kernels.inertia import Inertia
from detent.kernels.jit import kernel
from detent.kernels.projection import iteration_limit
from detent.kernels.spans import (
    add_spans,
    momentum_spans,
    spans_dot,
    take_spans,
    unwhiten_spans,
    whiten_force_spans,
    whiten_spans,
    whiten_velocity_spans,
)
from detent.kernels.stages import call_stage
from detent.kernels.vectors import copy_vector
from detent.servo import places
from detent.servo.constants import APPROACH, NO_IMPULSE, REACTIVATIONS
from detent.servo.contact.columns import clear_row, columns, pack_row, pack_spans, unpack_spans
from detent.servo.contact.identity import NO_ROW
from detent.servo.contact.rows import add_normal_row, lose_row, write_relative_row
from detent.servo.structs import COLLIDING, JOINT_DAMPING, Motion, Rows, Scene, Servo


@kernel
def add_hit(sc: Scene, rows: Rows, r: int, hits: int, p: np.ndarray) -> int:
    """Row r joins the collision; a split self-collision as one row per body (TH 4.22-4.23)."""
    moving = rows.tree[r, 0] >= 0 and rows.tree[r, 1] >= 0 and rows.geom[r, 0] >= 0
    n = columns(rows, r)
    if p["self_collision"][0] == 0 or not moving:
        for c in range(n):
            rows.hit_jac[hits, c] = rows.jac[r, c]
        describe_hit(rows, r, hits)
        if p["friction_impacts"][0] != 0:
            describe_sliding(sc, rows, r, hits, p)
        return hits + 1
    for side in range(2):
        clear_row(rows.hit_jac, hits, n)
        add_normal_row(sc, rows, r, side, 1.0 if side == 1 else -1.0, rows.hit_jac[hits])
        describe_hit(rows, r, hits)
        hits += 1
    return hits


@kernel
def tangent(normal: np.ndarray, which: int) -> tuple[float, float, float]:
    """One of two unit tangents of a contact, without a singular direction."""
    x, y, z = normal[0], normal[1], normal[2]
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    if which == 0:
        return 1.0 + sign * x * x * a, sign * b, -sign * x
    return b, sign + y * y * a, -y


@kernel
def describe_hit(rows: Rows, r: int, hit: int) -> None:
    """What the collision needs of row r besides its normal row."""
    rows.hit_row[hit] = r
    rows.hit_restitution[hit] = rows.restitution[r]
    rows.hit_friction[hit] = 0.0


@kernel
def describe_sliding(sc: Scene, rows: Rows, r: int, hit: int, p: np.ndarray) -> None:
    """Its rows along the tangents, and the coefficient of friction.

    What slides faster than the dead band has the kinetic coefficient [Karnopp85].
    """
    squared = 0.0
    for k in range(2):
        write_relative_row(sc, rows, r, tangent(rows.normal[r], k), rows.hit_tangent[hit], k)
        squared += spans_dot(rows.span[r], 2, rows.hit_tangent[hit, k], sc.qvel) ** 2
    rows.hit_friction[hit] = rows.friction[r]
    static, slow = p["friction_static"][0], p["friction_dead_band"][0]
    if squared > slow * slow and static > 0.0:
        rows.hit_friction[hit] *= p["friction_kinetic"][0] / static


@kernel
def add_rub(rows: Rows, r: int, which: int, force: float) -> None:
    """The friction of a collision, as a force on the second body."""
    direction = tangent(rows.normal[r], which)
    for k in range(3):
        rows.rub[r, k] += force * direction[k]


@kernel
def normal_velocity(rows: Rows, r: int, velocity: np.ndarray) -> float:
    """J q̇ of a row."""
    return spans_dot(rows.span[r], 2, rows.jac[r], velocity)


@kernel
def collect_hits(sc: Scene, rows: Rows, root: int, p: np.ndarray, room: int) -> int:
    """All touching contacts of the group that do not recede, before or after (TH 4.24)."""
    hits, r = 0, rows.group_row[root]
    while r != NO_ROW:
        strikes = rows.restitution[r] > NO_IMPULSE
        if strikes and (rows.velocity[r] <= 0.0 or rows.joined[r] != 0):
            if hits + 2 > room:
                lose_row(rows)
            else:
                hits = add_hit(sc, rows, r, hits, p)
        r = rows.next_row[r]
    return hits


@kernel
def more_join(rows: Rows, root: int, after: np.ndarray) -> bool:
    """Whether contacts that were left out approach after the collision; they join it."""
    found, r = False, rows.group_row[root]
    while r != NO_ROW:
        out = rows.velocity[r] > 0.0 and rows.joined[r] == 0 and rows.restitution[r] > NO_IMPULSE
        if out and normal_velocity(rows, r, after) < -APPROACH:
            rows.joined[r] = 1
            found = True
        r = rows.next_row[r]
    return found


@kernel
def resolve_hits(s: Servo) -> None:
    """Stage: resolve the collision of the rows in hit_jac (TH 4.36, errata E4; B1).

    Reads mo.velocity and the restitutions, writes mo.after and hit_impulse.
    """
    mo, rows, work = s.motion, s.rows, s.work
    hits = rows.hits[0]
    n = whiten_hits(s, hits)
    if s.parameters["restitution_law"][0] == 0:
        _, factor = change_by_restitutions(
            hits, n, rows.hit_restitution, iteration_limit(hits, n), work.restitution,
            rows.hit_impulse,
        )  # fmt: skip
    else:
        factor = 1.0 + rows.impact[1]
        change_by_equality(hits, n, rows.impact[1], work.restitution.impact, rows.hit_impulse)
    change_velocity(mo, rows, factor, n, work.restitution.impact)


@kernel
def resolve_sliding_hits(s: Servo) -> None:
    """Stage: the same with Coulomb friction (B3)."""
    mo, rows, work = s.motion, s.rows, s.work
    hits = rows.hits[0]
    n = whiten_hits(s, hits)
    whiten_hit_tangents(mo.damped, rows, 0, hits, n, work.T)
    change_by_friction(
        hits, n, rows.hit_friction, rows.hit_restitution, iteration_limit(hits, n), SWEEPS, work,
        rows.hit_impulse, rows.hit_slide,
    )  # fmt: skip
    change_velocity(mo, rows, 1.0, n, work.restitution.impact)


@kernel
def whiten_hits(s: Servo, hits: int) -> int:
    r"""The collision where the inertia is the identity, in the dofs that it moves; their number.

    The inertia of a step is A = D + T C. The velocity that the impulses meet is the one which
    damping leaves in that step, so that they cannot raise the energy:

    .. math:: \dot q' = A^{-1} D \dot q, \qquad
              \tfrac12 \|\dot q'\|_A^2 \le \tfrac12 \|\dot q\|_D^2
    """
    sc, mo, rows, work = s.scene, s.motion, s.rows, s.work.restitution.impact
    n, undamped = pack_spans(rows, 0, hits), sc.features[JOINT_DAMPING] == 0
    packed, packs = rows.packed, rows.packs[0]
    known = undamped and mo.damped.closed[0] == 0 and s.parameters["self_collision"][0] == 0
    for h in range(hits):  # without damping or loops the rows were whitened as they came
        r = rows.hit_row[h]
        pack_row(rows, r, rows.white[r] if known else rows.hit_jac[h], n, work.N[h])
    if not known:
        whiten_spans(mo.damped, packed, packs, hits, work.N)
    if undamped:
        take_spans(packed, packs, mo.velocity, work.u0)
        whiten_velocity_spans(mo.damped, packed, packs, work.u0)
        return n
    momentum_spans(sc.M, mo.damped, packed, packs, mo.velocity, work.u0)
    whiten_force_spans(mo.damped, packed, packs, work.u0)
    return n


@kernel
def whiten_hit_tangents(
    inertia: Inertia, rows: Rows, start: int, end: int, n: int, T: np.ndarray
) -> None:
    """The tangential rows of the hits from start to end, likewise."""
    for h in range(start, end):
        for k in range(2):
            row = T[2 * (h - start) + k]
            pack_row(rows, rows.hit_row[h], rows.hit_tangent[h, k], n, row)
    whiten_spans(inertia, rows.packed, rows.packs[0], 2 * (end - start), T)


@kernel
def change_velocity(mo: Motion, rows: Rows, factor: float, n: int, work: ImpactWork) -> None:
    """mo.after ← mo.velocity and the change in ``work.u``, in the dofs of the collision.

    mo.met ← the velocity after the step's damping, likewise; rows.impact[2] the change of energy.
    """
    change = 0.0
    for k in range(n):
        change += factor * work.u[k] * (work.u0[k] + 0.5 * factor * work.u[k])
        work.u0[k] += factor * work.u[k]
    rows.impact[2] = change
    unwhiten_spans(mo.damped, rows.packed, rows.packs[0], work.u)
    unwhiten_spans(mo.damped, rows.packed, rows.packs[0], work.u0)
    column = 0
    for b in range(rows.packs[0]):
        first, size = rows.packed[b, 0], rows.packed[b, 1]
        for c in range(size):
            mo.after[first + c] = mo.velocity[first + c] + factor * work.u[column + c]
            mo.met[first + c] = work.u0[column + c]
        column += size
    unpack_spans(rows)


@kernel
def resolve_group(s: Servo, root: int) -> None:
    """Resolve the collisions of one group; again if a contact left out approaches after it."""
    rows, mo, p = s.rows, s.motion, s.parameters
    rows.impact[1] = rows.group_restitution[root]
    rows.packs[0], rows.impact[2], room = 0, 0.0, s.work.W.shape[0]
    rows.hits[0] = collect_hits(s.scene, rows, root, p, room)
    if rows.hits[0] == 0:
        return
    call_stage(s.stages[places.COLLIDE], s)
    for _ in range(REACTIVATIONS):
        if not more_join(rows, root, mo.met):
            break
        rows.hits[0] = collect_hits(s.scene, rows, root, p, room)
        call_stage(s.stages[places.COLLIDE], s)


@kernel
def strike_colliding(s: Servo) -> None:
    """Impulses of all colliding groups; they act as J_cᵀ p / T in this same step (TH 4.45)."""
    mo, rows = s.motion, s.rows
    for r in range(rows.count[0]):
        rows.joined[r] = 0
    copy_vector(mo.velocity, mo.after)
    for root in range(rows.parent.shape[0]):
        if rows.parent[root] != root or rows.group_state[root] != COLLIDING:
            continue
        resolve_group(s, root)
        packed, packs = rows.packed, rows.packs[0]
        rows.impact[0] += rows.impact[2]
        for h in range(rows.hits[0]):
            push = rows.hit_impulse[h] / s.parameters["step"][0]
            r = rows.hit_row[h]
            rows.force[r] += push
            add_spans(rows.span[r], 2, rows.hit_jac[h], push, mo.impulsive)
            for k in range(2 if s.parameters["friction_impacts"][0] != 0 else 0):
                force = rows.hit_slide[h, k] / s.parameters["step"][0]
                add_rub(rows, r, k, force)
                add_spans(rows.span[r], 2, rows.hit_tangent[h, k], force, mo.impulsive)
        for b in range(packs):
            for j in range(packed[b, 0], packed[b, 0] + packed[b, 1]):
                mo.velocity[j] = mo.after[j]
        rows.struck[0] += rows.hits[0]
