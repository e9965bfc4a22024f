"""The first half of a tick in a local model: constraints near the tool as unilateral rows."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.contact import CREEP
from detent.kernels.jit import kernel
from detent.kernels.local import struck_restitution
from detent.kernels.stages import call_stage
from detent.kernels.vectors import clear_vector, copy_vector, dot
from detent.local.records import AGE, ARRIVED, FRESH, LOADED, ROWS, TRUST, Local
from detent.servo.drag import drag
from detent.servo.exchange import publish, take
from detent.servo.identity import keeps_memory
from detent.servo.merge import merge_update, present_separation
from detent.servo.records import (
    COLLIDING,
    IMPULSE,
    PENALTY,
    STAGE_CLOSE,
    TICKS,
    Motion,
    Rows,
    Scene,
    Servo,
)
from detent.servo.response import MOST_DAMPING, MOST_STIFFNESS
from detent.servo.sense import (
    add_point_row,
    classify_groups,
    drop_coriolis,
    forget_round_off,
    is_fresh,
    respond,
    row_group,
    update_inertia,
    update_physics,
)
from detent.servo.stops import gather_limits


@kernel
def shared_mobility(lo: Local, i: int, j: int) -> float:
    """How much a unit force at constraint j moves the plane of constraint i away [1/kg]."""
    held = lo.held
    if held["group"][i] < 0 or held["group"][i] != held["group"][j]:
        return 0.0
    return dot(held["give"][i], held["give"][j], held["give"].shape[1])


@kernel
def give_way(lo: Local, i: int, step: float) -> None:
    """The object behind constraint i under the forces of the last tick (B4)."""
    pushed, drift = 0.0, step * lo.held["drift"][i]
    for j in range(lo.number[0]):
        if lo.held["force"][j] != 0.0:
            pushed += step * shared_mobility(lo, i, j) * lo.held["force"][j]
    if drift > 0.0:  # what resists the push does not push back before the engine says so
        pushed = max(pushed - drift, 0.0)
    else:
        pushed -= drift
    lo.held["rate"][i] -= pushed
    lo.held["yielded"][i] += pushed


@kernel
def note_push(lo: Local, i: int, step: float) -> None:
    """What the object behind constraint i received in the last tick, for the engine."""
    held, t = lo.held, lo.held["track"][i]
    for k in range(3):
        n = held["normal"][i, k]
        lo.pushes["place"][t, k] = held["place"][i, k] + held["shift"][i] * n
        lo.pushes["impulse"][t, k] -= step * (held["force"][i] * n + held["drag"][i, k])


@kernel
def settle(lo: Local, rows: Rows, p: np.ndarray, tick: int) -> None:
    """What a tick did to the constraints: forces, memories, and objects that gave way."""
    held, step = lo.held, p["step"][0]
    remembers = keeps_memory(p)
    for i in range(lo.number[0]):
        held["force"][i] = 0.0
        clear_vector(held["drag"][i])
    for r in range(lo.counts[ROWS]):
        i = lo.source[r]
        held["force"][i] = rows.force[r]
        if remembers:
            copy_vector(rows.memory[r], held["memory"][i])
            copy_vector(rows.rub[r], held["drag"][i])
    for i in range(lo.number[0]):
        if p["local_inertia"][0] != 0 and held["group"][i] >= 0:
            give_way(lo, i, step)
            lo.history[tick % lo.history.shape[0], held["track"][i]] = held["yielded"][i]
            note_push(lo, i, step)
        held["shift"][i] += step * held["rate"][i]
    if p["local_inertia"][0] != 0:
        for t in range(lo.pushes.shape[0]):  # also of constraints that ended
            for k in range(3):
                lo.pushes["moment"][t, k] += step * lo.pushes["impulse"][t, k]


@kernel
def watch_age(lo: Local, p: np.ndarray, tick: int) -> None:
    """How old the newest update is, and how much of its constraints is still rendered."""
    step = p["step"][0]
    lo.times[AGE] = (tick - lo.counts[ARRIVED]) * step
    if lo.times[AGE] > p["local_age"][0]:
        lo.times[TRUST] = max(lo.times[TRUST] - step / p["local_decay"][0], 0.0)
    else:
        lo.times[TRUST] = min(lo.times[TRUST] + step / p["local_ramp"][0], 1.0)


@kernel
def world_value(value: float, world: float) -> float:
    """A property of the constraint, or the world's where it has none."""
    return world if math.isnan(value) else value


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
    clear_vector(rows.jac[r])
    add_point_row(sc, link, rows.point[r], rows.normal[r], 1.0, rows.jac[r])
    forget_round_off(rows.jac[r])
    rows.geom[r, 0], rows.geom[r, 1] = 0, 0
    rows.body[r, 0], rows.body[r, 1] = -1, link
    rows.tree[r, 0], rows.tree[r, 1] = -1, sc.body_tree[link]
    for k in range(3):
        rows.carry[r, k] = held["velocity"][i, k] if p["local_moving"][0] != 0 else 0.0
    rows.separation[r] = held["separation"][i]
    rows.stiffness[r] = world_value(held["stiffness"][i], p["stiffness"][0])
    rows.damping[r] = world_value(held["damping"][i], p["damping"][0])
    rows.restitution[r] = world_value(held["restitution"][i], p["restitution"][0])
    rows.friction[r] = world_value(held["friction"][i], p["friction_static"][0])
    if keeps_memory(p):
        copy_vector(held["memory"][i], rows.memory[r])


@kernel
def gather_constraints(sc: Scene, lo: Local, rows: Rows, p: np.ndarray) -> None:
    """The constraints that are touched, as rows."""
    r, trust = 0, lo.times[TRUST]
    rows.trust[0] = trust
    returns = trust < 1.0 and lo.times[AGE] <= p["local_age"][0]
    for i in range(lo.number[0]):
        if present_separation(sc, lo, i, p["step"][0]) > 0.0:
            continue
        if returns:  # springs begin unloaded, wherever the tool is by then
            lo.held["offset"][i] -= lo.held["separation"][i]
            lo.held["separation"][i] = 0.0
        write_constraint_row(sc, lo, rows, i, r, p)
        r += 1
    rows.tally[0], rows.tally[1] = r, 0
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
                    mobility += dot(rows.white[r], rows.white[q], sc.nv)
                    behind += shared_mobility(lo, i, lo.source[q])
            mobility, behind = max(mobility, 0.0), max(behind, 0.0)
            rows.restitution[r] = struck_restitution(
                rows.restitution[r], rows.velocity[r], rate, mobility, behind
            )
            both = dot(rows.white[r], rows.white[r], sc.nv) + shared_mobility(lo, i, i)
            both = max(both, mobility + behind)
            rows.stiffness[r] = min(rows.stiffness[r], MOST_STIFFNESS / (step * step * both))
            rows.damping[r] = min(rows.damping[r], MOST_DAMPING / (step * both))
        rows.velocity[r] -= rate


@kernel
def strike_late(lo: Local, rows: Rows, mode: int) -> None:
    """A constraint that came too late to be crossed is a new contact all the same (TH 6.3)."""
    for r in range(lo.counts[ROWS]):
        i = lo.source[r]
        if lo.held["late"][i] != 0 and rows.velocity[r] < -CREEP and mode == IMPULSE:
            rows.group_state[row_group(rows, r)] = COLLIDING
        lo.held["late"][i] = 0


@kernel
def sense_local(s: Servo) -> None:
    """Stage: like `sense`, with the constraints of a local model in place of contacts."""
    sc, mo, lo, rows, p = s.scene, s.motion, s.local, s.rows, s.parameters
    tick = s.clock.counts[TICKS]
    update_physics(sc, mo)
    lo.counts[FRESH], lo.times[LOADED] = 0, 0.0
    if take(s.updates):
        mine = s.updates.reader[0]
        lo.counts[FRESH] = int(merge_update(sc, lo, lo.heads[mine], lo.incomings[mine], p, tick))
    watch_age(lo, p, tick)
    fresh = is_fresh(s)
    if fresh:
        update_inertia(sc, mo)
    drag(sc, mo, p["step"][0], fresh)
    if p["frozen"][0] != 0:
        drop_coriolis(sc)
    if s.closures.kind.shape[0] > 0:
        call_stage(s.stages[STAGE_CLOSE], s)
    gather_constraints(sc, lo, rows, p)
    gather_limits(sc, rows, p)
    respond(sc, mo, rows, p)
    carry_rows(sc, mo, lo, rows, p)
    mode = p["contact_mode"][0]
    if lo.times[TRUST] < 1.0:
        mode = PENALTY  # no impulses from constraints that are fading
    for tree in range(rows.touched.shape[0]):
        rows.touched[tree] = 1  # what an update brings has not arrived: only its path tells
    classify_groups(sc, rows, mode, p["step"][0])
    strike_late(lo, rows, mode)


@kernel
def report(s: Servo) -> None:
    """Stage: what the tick did to the constraints, and the proxy as it is now, for the engine."""
    sc, nq, tick = s.scene, s.scene.qpos.shape[0], s.clock.counts[TICKS]
    settle(s.local, s.rows, s.parameters, tick)
    step = s.parameters["step"][0]
    s.state[0] = tick * step
    for i in range(nq):
        s.state[1 + i] = sc.qpos[i]
    for j in range(sc.nv):
        s.state[1 + nq + j] = sc.qvel[j]
        s.state[1 + nq + sc.nv + j] += step * (s.motion.penalty[j] + s.motion.impulsive[j])
    mine = s.states.buffers[s.states.writer[0]]
    size = s.state_bytes.shape[0]
    mine[:size] = s.state_bytes
    mine[size:] = s.local.push_bytes[: mine.shape[0] - size]
    publish(s.states, mine)
