"""The first half of a tick in a local model: constraints near the tool as unilateral rows."""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import CREEP, MOST_DAMPING, MOST_STIFFNESS
from detent.kernels.jit import kernel
from detent.kernels.local import struck_restitution
from detent.kernels.vectors import copy_vector, largest
from detent.local.records import (
    AGE,
    ARRIVED,
    FRESH,
    HEALED,
    IN_STEP,
    LOADED,
    ROWS,
    TRUST,
    TRUSTED,
    WATCHED,
    Local,
)
from detent.servo.contact.columns import begin_columns, row_product
from detent.servo.contact.groups import classify_groups, row_group
from detent.servo.contact.identity import keeps_memory
from detent.servo.contact.joint_limits import gather_joint_limits
from detent.servo.contact.rows import (
    add_relative_row,
    forget_row,
    note_lost,
    respond,
    use_up_slack,
)
from detent.servo.local.merge import merge_update
from detent.servo.local.report import shared_mobility
from detent.servo.local.separation import own_or, relaxed_separation, spring_of
from detent.servo.loop.exchange import take
from detent.servo.parameters import IMPULSE, PENALTY
from detent.servo.structs import COLLIDING, SKIPS, TICKS, Motion, Rows, Scene, Servo
from detent.servo.world.sense import (
    update_dynamics,
    update_physics,
)


@kernel
def watch_age(lo: Local, p: np.ndarray, clock: int) -> None:
    """How old the newest update is, and how much of its constraints is still rendered.

    By the schedule of the loop: a host that skips ticks does not trust an update for longer.
    """
    now = clock * p["step"][0]
    elapsed = now - lo.times[WATCHED]
    lo.times[WATCHED], lo.times[TRUSTED] = now, lo.times[TRUST]
    lo.times[AGE] = now - lo.counts[ARRIVED] * p["step"][0]
    if lo.times[AGE] > p["local_age"][0]:
        lo.times[TRUST] = max(lo.times[TRUST] - elapsed / p["local_decay"][0], 0.0)
    else:
        lo.times[TRUST] = min(lo.times[TRUST] + elapsed / p["local_ramp"][0], 1.0)


@kernel
def write_constraint_row(sc: Scene, lo: Local, rows: Rows, i: int, r: int, p: np.ndarray) -> None:
    """Row r ← constraint i: J = nᵀ J of the link at its point."""
    held, link = lo.held, lo.held["link"][i]
    lo.source[r] = i
    turn, at = sc.xmat[link], held["point"][i]
    for k in range(3):
        rows.normal[r, k] = held["normal"][i, k]
        rows.point[r, k] = sc.xpos[link, k] + (
            turn[3 * k] * at[0] + turn[3 * k + 1] * at[1] + turn[3 * k + 2] * at[2]
        )
        rows.point[r, k] -= held["bulge"][i] * held["normal"][i, k]
    rows.geom[r, 0], rows.geom[r, 1] = 0, 0
    base = held["base"][i] if sc.body_tree[held["base"][i]] >= 0 else -1
    rows.body[r, 0], rows.body[r, 1] = base, link
    rows.tree[r, 0] = sc.body_tree[base] if base >= 0 else -1
    rows.tree[r, 1] = sc.body_tree[link]
    begin_columns(sc, rows, r)
    add_relative_row(sc, rows, r, rows.normal[r], rows.jac[r])
    forget_row(rows, r)
    for k in range(3):
        rows.carry[r, k] = held["velocity"][i, k] if p["local_moving"][0] != 0 else 0.0
    rows.separation[r] = held["separation"][i]
    rows.stiffness[r] = spring_of(held, i, p)
    rows.damping[r] = held["weight"][i] * own_or(held["damping"][i], p["damping"][0])
    rows.restitution[r] = own_or(held["restitution"][i], p["restitution"][0])
    rows.friction[r] = own_or(held["friction"][i], p["friction_static"][0])
    rows.turning[r, 0], rows.turning[r, 1] = 0.0, 0.0
    if keeps_memory(p, rows):
        copy_vector(held["memory"][i], rows.memory[r])


@kernel
def gather_constraints(sc: Scene, lo: Local, rows: Rows, p: np.ndarray) -> None:
    """The constraints that are touched, as rows.

    Healing waits while what an update changed is let go (`smooth`), which takes all of the slew.
    """
    r, trust = 0, lo.times[TRUST]
    rows.trust[0] = trust
    returns = trust < 1.0 and lo.times[AGE] <= p["local_age"][0]
    heals = p["local_heal"][0] > 0.0 and largest(lo.residual) == 0.0
    for i in range(lo.number[0]):
        if relaxed_separation(sc, lo, i, p, heals) > 0.0:
            continue
        if returns:  # springs begin unloaded, wherever the tool is by then
            lo.held["offset"][i] -= lo.held["separation"][i]
            lo.held["separation"][i] = 0.0
        write_constraint_row(sc, lo, rows, i, r, p)
        r += 1
    rows.count[0], rows.dropped[0] = r, 0
    lo.counts[ROWS] = r


@kernel
def carry_rows(sc: Scene, mo: Motion, lo: Local, rows: Rows, p: np.ndarray) -> None:
    """Velocities relative to planes that move; what an object of finite mass can hold (B4)."""
    step = p["step"][0]
    for r in range(lo.counts[ROWS]):
        i = lo.source[r]
        rate = lo.held["rate"][i]
        if p["local_inertia"][0] != 0 and lo.held["group"][i] >= 0:
            mobility, behind = 0.0, 0.0  # of all that presses on the same object
            for q in range(lo.counts[ROWS]):
                if lo.held["group"][lo.source[q]] == lo.held["group"][i]:
                    mobility += row_product(rows, rows.white, r, q)
                    behind += shared_mobility(lo, i, lo.source[q])
            mobility, behind = max(mobility, 0.0), max(behind, 0.0)
            rows.restitution[r] = struck_restitution(
                rows.restitution[r], rows.velocity[r], rate, mobility, behind
            )
            both = row_product(rows, rows.white, r, r) + shared_mobility(lo, i, i)
            both = max(both, mobility + behind)
            rows.stiffness[r] = min(rows.stiffness[r], MOST_STIFFNESS / (step * step * both))
            rows.damping[r] = min(rows.damping[r], MOST_DAMPING / (step * both))
        rows.velocity[r] -= rate


@kernel
def strike_late(lo: Local, rows: Rows, mode: int) -> None:
    r"""A constraint that came too late to be crossed is a new contact all the same (TH 6.3).

    .. math:: s < 0, \quad v_n < 0, \quad s - \tau v_n \ge 0

    with the true separation s and the time τ since the engine last saw nothing there: decision
    0011, with τ in place of a tick. A pair that pressed nothing has no such bound.
    """
    held = lo.held
    for r in range(lo.counts[ROWS]):
        i, speed = lo.source[r], rows.velocity[r]
        crossed = held["separation"][i] - held["offset"][i] - held["late"][i] * speed >= 0.0
        if held["late"][i] > 0.0 and speed < -CREEP and crossed and mode == IMPULSE:
            rows.group_state[row_group(rows, r)] = COLLIDING
        held["late"][i] = 0.0


@kernel
def merge(s: Servo) -> None:
    """Stage: kinematics of this state, then the newest update, and how far it can be trusted."""
    lo, tick = s.local, s.clock.counts[TICKS]
    clock = tick + s.clock.counts[SKIPS]
    update_physics(s)
    lo.counts[FRESH], lo.times[LOADED], lo.times[HEALED] = 0, 0.0, 0.0
    if take(s.updates):
        mine = s.updates.reader[0]
        head, new = lo.heads[mine], lo.incomings[mine]
        merged = merge_update(s.scene, lo, head, new, s.parameters, tick, clock)
        lo.counts[FRESH] = int(merged)
    watch_age(lo, s.parameters, clock)


@kernel
def sense_local(s: Servo) -> None:
    """Stage: like `sense`, with the constraints of a local model in place of contacts."""
    sc, mo, lo, rows, p = s.scene, s.motion, s.local, s.rows, s.parameters
    update_dynamics(s)
    gather_constraints(sc, lo, rows, p)
    if rows.slack_left[0] != 0:
        use_up_slack(rows, p["step"][0])
    gather_joint_limits(sc, rows, p)
    note_lost(rows)
    respond(sc, mo, rows, p)
    carry_rows(sc, mo, lo, rows, p)
    mode = p["contact_mode"][0]
    if lo.times[TRUST] < 1.0:
        mode = PENALTY  # no impulses from constraints that are fading
    if lo.counts[FRESH] != 0 and lo.counts[IN_STEP] == 0:
        for tree in range(rows.touched.shape[0]):
            rows.touched[tree] = 1  # what an update brings has not arrived: only its path tells
    classify_groups(sc, rows, mode, p["step"][0])
    strike_late(lo, rows, mode)
