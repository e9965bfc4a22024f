"""What contacts do to the bodies: impulses and penalty forces."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.contact import (
    accumulate_outer,
    gain_scale,
    penalty_force,
    quadratic_form,
)
from detent.kernels.impact import resolve_equality
from detent.kernels.impact_friction import SWEEPS, resolve_friction
from detent.kernels.impact_restitution import resolve_restitutions
from detent.kernels.inertia import kinetic_energy, unwhiten
from detent.kernels.jit import kernel
from detent.kernels.projection import iteration_limit
from detent.kernels.stages import call_stage
from detent.kernels.vectors import clear_matrix, clear_vector, copy_vector, dot
from detent.kernels.walls import wall_force
from detent.servo.identity import keeps_memory, remember
from detent.servo.records import (
    COLLIDING,
    IMPULSE,
    MEMORY_STRUCK,
    MEMORY_WALL,
    MEMORY_ZERO,
    RIGID,
    STAGE_COLLIDE,
    STAGE_RIGID,
    STAGE_RUB,
    UNILATERAL,
    Motion,
    Rows,
    Scene,
    Servo,
)
from detent.servo.sense import NO_IMPULSE, add_normal_row, add_relative_row, row_group

TRACE = 1e-9  # [m] of depth, so that contacts of no depth share evenly
MOST_STIFFNESS = 0.25  # K T²/m_eff that a fixed step holds with margin
MOST_DAMPING = 0.5  # B T/m_eff
REACTIVATIONS = 3  # how often contacts may join a collision that is being resolved
APPROACH = 1e-12  # [m/s] slower than this nothing approaches


@kernel
def share_gains(rows: Rows) -> None:
    r"""Divide stiffness and damping among the contacts of a face, by their depths (B9).

    .. math:: K_i = K \frac{d_i}{\sum_j \max(0, n_i^T n_j)^2 d_j}

    Contacts of equal depth share K, a contact that is only just touched has none of it, and
    one that is reported twice counts once: the resultant depends on the geometry alone, and
    changes without a jump when contacts come and go.
    """
    for r in range(rows.tally[0]):
        depth = TRACE - rows.separation[r]
        if rows.geom[r, 0] < 0 or depth < 0.0:
            continue
        total = 0.0
        for i in range(rows.tally[0]):
            if rows.geom[i, 0] >= 0 and rows.separation[i] <= 0.0:
                facing = max(dot(rows.normal[r], rows.normal[i], 3), 0.0)
                total += facing * facing * (TRACE - rows.separation[i])
        rows.stiffness[r] *= depth / total
        rows.damping[r] *= depth / total


@kernel
def note_bound(rows: Rows, r: int, soften: float, ease: float) -> None:
    """Remember the row whose gains were bounded most since the start."""
    if min(math.sqrt(soften), ease) < min(math.sqrt(rows.worst[0]), rows.worst[1]):
        rows.worst[0], rows.worst[1] = soften, ease
        rows.worst_geom[0], rows.worst_geom[1] = rows.geom[r, 0], rows.geom[r, 1]


@kernel
def bound_gains(sc: Scene, mo: Motion, rows: Rows, step: float) -> None:
    r"""Bound the gains of touching rows by what a fixed step can hold.

    The load that all contacts put on the direction in which row i moves the bodies is

    .. math:: \kappa_i = \frac{\sum_j K_j G_{ij}^2}{G_{ii}}, \quad G = J D^{-1} J^T

    (K_i/m_eff for a single contact); K_i is scaled so that κ_i T² ≤ ¼, and B_i likewise
    so that β_i T ≤ ½. Cost grows with the number of rows, not with its square.
    """
    stiffest, most_damped = 0.0, 0.0
    for r in range(rows.tally[0]):
        if rows.separation[r] <= 0.0:
            mobility = dot(rows.white[r], rows.white[r], sc.nv)
            stiffest += rows.stiffness[r] * mobility
            most_damped += rows.damping[r] * mobility
    # every κ is at most the trace of G K: usually that is enough to know
    if stiffest * step * step <= MOST_STIFFNESS and most_damped * step <= MOST_DAMPING:
        return
    clear_matrix(mo.load[0])
    clear_matrix(mo.load[1])
    for r in range(rows.tally[0]):
        if rows.separation[r] <= 0.0:
            accumulate_outer(rows.stiffness[r], rows.jac[r], sc.nv, mo.load[0])
            accumulate_outer(rows.damping[r], rows.jac[r], sc.nv, mo.load[1])
    for r in range(rows.tally[0]):
        if rows.separation[r] > 0.0:
            continue
        mobility = dot(rows.white[r], rows.white[r], sc.nv)
        if mobility <= 0.0:
            continue
        copy_vector(rows.white[r], mo.white)
        unwhiten(mo.inertia, mo.white)
        kappa = quadratic_form(mo.load[0], mo.white, sc.nv) / mobility
        beta = quadratic_form(mo.load[1], mo.white, sc.nv) / mobility
        soften = gain_scale(kappa, step * step, MOST_STIFFNESS)
        ease = gain_scale(beta, step, MOST_DAMPING)
        rows.stiffness[r] *= soften
        rows.damping[r] *= ease
        if soften < 1.0 or ease < 1.0:
            rows.tally[2] += 1
            note_bound(rows, r, soften, ease)
    if rows.tally[2] > 0:
        rows.worst[2] += 1.0


@kernel
def add_row_torque(rows: Rows, r: int, force: float, nv: int, out: np.ndarray) -> None:
    """out += Jᵀ force."""
    for j in range(nv):
        out[j] += rows.jac[r, j] * force


@kernel
def rezeroed(rows: Rows, r: int, colliding: bool) -> float:
    """The separation from where the last collision of this contact ended (errata E9).

    The spring starts unloaded there, and its zero returns with the body (as TH 6.4-6.5).
    """
    memory = rows.memory[r]
    s = rows.separation[r]
    if colliding:
        memory[MEMORY_STRUCK] = 1.0
    elif memory[MEMORY_STRUCK] != 0.0:
        memory[MEMORY_STRUCK] = 0.0
        memory[MEMORY_ZERO] = s
    if s > memory[MEMORY_ZERO]:
        memory[MEMORY_ZERO] = min(s, 0.0)
    return s - memory[MEMORY_ZERO]


@kernel
def braked_mass(sc: Scene, rows: Rows, r: int) -> float:
    """What a braking pulse of row r must stop [kg], if all contacts of this tick brake alike."""
    mobility = 0.0
    for i in range(rows.tally[0]):
        first = rows.memory[i, MEMORY_WALL] == 0.0 and rows.velocity[i] < 0.0
        if i == r or (first and rows.geom[i, 0] >= 0):
            mobility += dot(rows.white[i], rows.white[r], sc.nv)
    return 1.0 / mobility if mobility > 0.0 else 0.0


@kernel
def normal_force(sc: Scene, rows: Rows, r: int, s: float, p: np.ndarray) -> float:
    """The force of a resting row: penalty, or a wall with a history."""
    stiffness, damping = rows.stiffness[r], rows.damping[r]
    if p["wall"][0] == 0 or rows.geom[r, 0] < 0:
        return penalty_force(s, rows.velocity[r], stiffness, damping, p["clamp"][0])
    return wall_force(
        p["wall"][0],
        s,
        rows.velocity[r],
        stiffness,
        damping,
        p["step"][0],
        braked_mass(sc, rows, r),
        p["wall_integral"][0],
        rows.restitution[r],
        p["wall_blocks"][0],
        p["wall_breakaway"][0],
        p["clamp"][0],
        rows.memory[r, MEMORY_WALL:],
    )


@kernel
def press_resting(sc: Scene, mo: Motion, rows: Rows, p: np.ndarray) -> None:
    """Normal forces of all touching rows, except of groups that are colliding (TH 4.5)."""
    if p["resultant"][0] != 0:
        share_gains(rows)
    bound_gains(sc, mo, rows, p["step"][0])
    for r in range(rows.tally[0]):
        rows.force[r] = 0.0
        if rows.separation[r] > 0.0:
            continue
        colliding = rows.group_state[row_group(rows, r)] == COLLIDING
        s = rows.separation[r]
        if p["rezero"][0] != 0:
            s = rezeroed(rows, r, colliding)
        if not colliding:
            rows.force[r] = rows.trust[0] * normal_force(sc, rows, r, s, p)
            add_row_torque(rows, r, rows.force[r], sc.nv, mo.penalty)


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
def add_drag(rows: Rows, r: int, which: int, drag: float) -> None:
    """The friction of a collision, as a force on the second body."""
    direction = tangent(rows.normal[r], which)
    for k in range(3):
        rows.rub[r, k] += drag * direction[k]


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
    for r in range(rows.tally[0]):
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
    hits = rows.tally[4]
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
    hits = rows.tally[4]
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
    rows.tally[4] = 0
    for _ in range(1 + REACTIVATIONS):
        before = rows.tally[4]
        rows.tally[4] = collect_hits(s.scene, mo, rows, root, p, mo.after)
        if rows.tally[4] == before:
            break
        call_stage(s.stages[STAGE_COLLIDE], s)


@kernel
def strike_colliding(s: Servo) -> None:
    """Impulses of all colliding groups; they act as J_cᵀ p / T in this same step (TH 4.45)."""
    sc, mo, rows = s.scene, s.motion, s.rows
    for r in range(rows.tally[0]):
        rows.joined[r] = 0
    for root in range(rows.parent.shape[0]):
        if rows.parent[root] != root or rows.group_state[root] != COLLIDING:
            continue
        resolve_group(s, root)
        rows.impact[0] += kinetic_energy(sc.M, mo.inertia, mo.after)
        rows.impact[0] -= kinetic_energy(sc.M, mo.inertia, mo.velocity)
        for h in range(rows.tally[4]):
            push = rows.hit_impulse[h] / s.parameters["step"][0]
            rows.force[rows.hit_row[h]] += push
            for j in range(sc.nv):
                mo.impulsive[j] += rows.hit_jac[h, j] * push
            for k in range(2 if s.parameters["friction_impacts"][0] != 0 else 0):
                drag = rows.hit_slide[h, k] / s.parameters["step"][0]
                add_drag(rows, rows.hit_row[h], k, drag)
                for j in range(sc.nv):
                    mo.impulsive[j] += rows.hit_tangent[h, k, j] * drag
        copy_vector(mo.after, mo.velocity)
        rows.tally[3] += rows.tally[4]


@kernel
def react(s: Servo) -> None:
    """Stage: contact forces and impulses into mo.penalty and mo.impulsive."""
    mode = s.parameters["contact_mode"][0]
    clear_vector(s.motion.penalty)
    clear_vector(s.motion.impulsive)
    clear_vector(s.rows.impact)
    s.rows.tally[2] = 0
    s.rows.tally[3] = 0
    if s.parameters["coupling"][0] == UNILATERAL:
        return  # a god object: contacts act where the tool follows the device
    if mode == RIGID:
        call_stage(s.stages[STAGE_RIGID], s)
        if keeps_memory(s.parameters):
            remember(s.rows, math.inf)
        return
    press_resting(s.scene, s.motion, s.rows, s.parameters)
    if s.parameters["friction"][0] != 0:
        call_stage(s.stages[STAGE_RUB], s)
    if mode == IMPULSE:
        strike_colliding(s)
    if keeps_memory(s.parameters):
        remember(s.rows, 0.0)
