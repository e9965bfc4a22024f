"""What a tick did to the constraints of a local model, for the next tick and for the engine."""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.local import depth_energy
from detent.kernels.vectors import clear_vector, copy_vector, dot
from detent.local.records import ROWS, TRUST, Local
from detent.servo.contact.identity import keeps_memory
from detent.servo.loop.exchange import publish
from detent.servo.structs import TICKS, Rows, Scene, Servo


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
def note_heat(sc: Scene, lo: Local, rows: Rows, r: int, step: float) -> None:
    r"""What the contact of row r took from the tool in this tick, and did not store [J].

    .. math:: \Delta Q = -f T \tfrac12 (u + u^+) - \Delta (\tfrac12 K s^2)

    with the velocity u along the normal before and after the tick, relative to the plane: the
    work of an impulse and of a force that is held for a tick. A wall that gives more than it
    took has nothing left to heal with.
    """
    i, span, column, after = lo.source[r], rows.span, 0, -lo.held["rate"][lo.source[r]]
    for part in range(2):
        shift = span[r, part, 0] - column
        for c in range(column, column + span[r, part, 1]):
            after += rows.jac[r, c] * sc.qvel[c + shift]
        column += span[r, part, 1]
    stiffness, s = lo.times[TRUST] * rows.stiffness[r], rows.separation[r]
    stored = depth_energy(stiffness, s + step * after) - depth_energy(stiffness, s)
    work = -rows.force[r] * step * 0.5 * (rows.velocity[r] + after)
    lo.held["heat"][i] = max(lo.held["heat"][i] + work - stored, 0.0)


@kernel
def carry_over(sc: Scene, lo: Local, rows: Rows, p: np.ndarray, tick: int) -> None:
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
    if p["local_heal"][0] > 0.0:
        for r in range(lo.counts[ROWS]):
            note_heat(sc, lo, rows, r, step)
    if p["local_inertia"][0] != 0:
        for t in range(lo.pushes.shape[0]):  # also of constraints that ended
            for k in range(3):
                lo.pushes["moment"][t, k] += step * lo.pushes["impulse"][t, k]


@kernel
def report(s: Servo) -> None:
    """Stage: what the tick did to the constraints, and the proxy as it is now, for the engine."""
    sc, nq, tick = s.scene, s.scene.qpos.shape[0], s.clock.counts[TICKS]
    carry_over(sc, s.local, s.rows, s.parameters, tick)
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
