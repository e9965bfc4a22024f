"""Impulses of colliding groups (TH 4.14-4.45, errata E4; B1, B3)."""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import SWEEPS
from detent.kernels.impact import resolve_equality
from detent.kernels.impact_friction import resolve_friction
from detent.kernels.impact_restitution import resolve_restitutions
from detent.kernels.inertia import kinetic_energy
from detent.kernels.jit import kernel
from detent.kernels.projection import iteration_limit
from detent.kernels.stages import call_stage
from detent.kernels.vectors import clear_matrix, clear_vector, copy_vector, dot
from detent.servo import places
from detent.servo.constants import APPROACH, NO_IMPULSE, REACTIVATIONS
from detent.servo.contact.groups import row_group
from detent.servo.contact.rows import add_normal_row, add_relative_row
from detent.servo.structs import COLLIDING, Motion, Rows, Scene, Servo


@kernel
def add_hit(sc: Scene, mo: Motion, rows: Rows, r: int, hits: int, p: np.ndarray) -> int:
    """Row r joins the collision; a split self-collision as one row per body (TH 4.22-4.23)."""
    moving = rows.tree[r, 0] >= 0 and rows.tree[r, 1] >= 0 and rows.geom[r, 0] >= 0
    if p["self_collision"][0] == 0 or not moving:
        copy_vector(rows.jac[r], rows.hit_jac[hits])
        describe_hit(rows, r, hits)
        if p["friction_impacts"][0] != 0:
            describe_sliding(sc, rows, r, hits, p)
        return hits + 1
    kept = mo.scratch
    copy_vector(rows.jac[r], kept)
    for side in range(2):
        clear_vector(rows.jac[r])
        add_normal_row(sc, rows, r, side, 1.0 if side == 1 else -1.0)
        copy_vector(rows.jac[r], rows.hit_jac[hits])
        describe_hit(rows, r, hits)
        hits += 1
    copy_vector(kept, rows.jac[r])
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
    clear_matrix(rows.hit_tangent[hit])
    squared = 0.0
    for k in range(2):
        row = rows.hit_tangent[hit, k]
        add_relative_row(sc, rows, r, tangent(rows.normal[r], k), row)
        squared += dot(row, sc.qvel, sc.nv) ** 2
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
def normal_velocity(rows: Rows, r: int, velocity: np.ndarray, nv: int) -> float:
    """J q̇ of a row."""
    return dot(rows.jac[r], velocity, nv)


@kernel
def collect_hits(
    sc: Scene, mo: Motion, rows: Rows, root: int, p: np.ndarray, after: np.ndarray
) -> int:
    """All touching contacts of the group that do not recede, before or after (TH 4.24)."""
    hits = 0
    for r in range(rows.count[0]):
        if rows.separation[r] > 0.0 or row_group(rows, r) != root:
            continue
        if rows.restitution[r] <= NO_IMPULSE:
            continue
        joins = rows.velocity[r] <= 0.0 or rows.joined[r] != 0
        if not joins and normal_velocity(rows, r, after, sc.nv) < -APPROACH:
            rows.joined[r] = 1
            joins = True
        if joins:
            hits = add_hit(sc, mo, rows, r, hits, p)
    return hits


@kernel
def resolve_hits(s: Servo) -> None:
    """Stage: resolve the collision of the rows in hit_jac (TH 4.36, errata E4; B1).

    Reads mo.velocity and the restitutions, writes mo.after and hit_impulse.
    """
    sc, mo, rows, work = s.scene, s.motion, s.rows, s.work
    hits = rows.hits[0]
    if s.parameters["restitution_law"][0] == 0:
        resolve_restitutions(
            mo.inertia, rows.hit_jac, hits, mo.velocity, rows.hit_restitution,
            iteration_limit(hits, sc.nv), work.restitution, mo.after, rows.hit_impulse,
        )  # fmt: skip
    else:
        resolve_equality(
            mo.inertia, rows.hit_jac, hits, mo.velocity, rows.impact[1],
            work.restitution.impact, mo.after, rows.hit_impulse,
        )  # fmt: skip


@kernel
def resolve_sliding_hits(s: Servo) -> None:
    """Stage: the same with Coulomb friction (B3)."""
    sc, mo, rows = s.scene, s.motion, s.rows
    hits = rows.hits[0]
    resolve_friction(
        mo.inertia, rows.hit_jac, rows.hit_tangent, rows.hit_friction, hits, mo.velocity,
        rows.hit_restitution, iteration_limit(hits, sc.nv), SWEEPS, s.work,
        mo.after, rows.hit_impulse, rows.hit_slide,
    )  # fmt: skip


@kernel
def resolve_group(s: Servo, root: int) -> None:
    """Resolve the collisions of one group; again if a contact left out approaches after it."""
    rows, mo, p = s.rows, s.motion, s.parameters
    rows.impact[1] = rows.group_restitution[root]
    copy_vector(mo.velocity, mo.after)
    rows.hits[0] = 0
    for _ in range(1 + REACTIVATIONS):
        before = rows.hits[0]
        rows.hits[0] = collect_hits(s.scene, mo, rows, root, p, mo.after)
        if rows.hits[0] == before:
            break
        call_stage(s.stages[places.COLLIDE], s)


@kernel
def strike_colliding(s: Servo) -> None:
    """Impulses of all colliding groups; they act as J_cᵀ p / T in this same step (TH 4.45)."""
    sc, mo, rows = s.scene, s.motion, s.rows
    for r in range(rows.count[0]):
        rows.joined[r] = 0
    for root in range(rows.parent.shape[0]):
        if rows.parent[root] != root or rows.group_state[root] != COLLIDING:
            continue
        resolve_group(s, root)
        rows.impact[0] += kinetic_energy(sc.M, mo.inertia, mo.after)
        rows.impact[0] -= kinetic_energy(sc.M, mo.inertia, mo.velocity)
        for h in range(rows.hits[0]):
            push = rows.hit_impulse[h] / s.parameters["step"][0]
            rows.force[rows.hit_row[h]] += push
            for j in range(sc.nv):
                mo.impulsive[j] += rows.hit_jac[h, j] * push
            for k in range(2 if s.parameters["friction_impacts"][0] != 0 else 0):
                force = rows.hit_slide[h, k] / s.parameters["step"][0]
                add_rub(rows, rows.hit_row[h], k, force)
                for j in range(sc.nv):
                    mo.impulsive[j] += rows.hit_tangent[h, k, j] * force
        copy_vector(mo.after, mo.velocity)
        rows.struck[0] += rows.hits[0]
