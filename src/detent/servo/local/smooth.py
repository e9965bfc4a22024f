"""No update of a local model makes the force jump: what it changed is let go at a bounded rate."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector, copy_vector, dot, largest
from detent.local.records import AGE, FRESH, IN_STEP, STRUCK, TRUST, TRUSTED, Local
from detent.servo.hand.reach import map_to_hand
from detent.servo.structs import Device, Motion, Scene, Servo


@kernel
def note_change(lo: Local, mo: Motion) -> None:
    """At an update: how far the contact torques are from those of the last tick."""
    for j in range(lo.residual.shape[0]):
        lo.residual[j] = lo.kept[j] - mo.penalty[j]


@kernel
def let_go(sc: Scene, lo: Local, mo: Motion, de: Device, slew: np.ndarray, p: np.ndarray) -> None:
    """Shorten the residual by what the slew limits allow of it at the hand.

    It also fades as the constraints do when no update comes any more.
    """
    step, trust = p["step"][0], lo.times[TRUST]
    map_to_hand(sc, mo, de, lo.residual, lo.wrench)
    share = math.inf
    for block in range(2):
        part = lo.wrench[3 * block : 3 * block + 3]
        size = math.sqrt(dot(part, part, 3))
        if size > 0.0:
            share = min(share, slew[block] * step / size)
    keep = max(1.0 - share, 0.0)
    if lo.times[AGE] > p["local_age"][0]:
        keep = min(keep, trust / lo.times[TRUSTED]) if lo.times[TRUSTED] > 0.0 else 0.0
    for j in range(lo.residual.shape[0]):
        lo.residual[j] *= keep


@kernel
def measure_step(sc: Scene, lo: Local, mo: Motion, de: Device) -> None:
    """lo.step = by how much contact wrenches at the hand changed in the tick of an update.

    The last tick's torques count at this tick's pose: what a linkage that turns does to them is
    no step.
    """
    lo.step[0], lo.step[1] = 0.0, 0.0
    if lo.counts[FRESH] == 0:
        return
    for j in range(lo.change.shape[0]):
        lo.change[j] = mo.penalty[j] - lo.kept[j]
    map_to_hand(sc, mo, de, lo.change, lo.wrench)
    for block in range(2):
        part = lo.wrench[3 * block : 3 * block + 3]
        lo.step[block] = math.sqrt(dot(part, part, 3))


@kernel
def smooth(s: Servo) -> None:
    """Stage: contact torques that do not jump at updates, into mo.penalty.

    Penetration does not jump by itself (`merged_separation`). What is left: constraints that
    end while they press, normals that turn, planes that retreat or change their speed. The
    torque that an update takes away (or adds) is kept, and falls to zero at the slew limit.
    Collisions are no jumps of this kind: the residual does not survive one. Nor is what an update
    in step changes: a synchronous session feels the same.
    """
    lo, mo, p = s.local, s.motion, s.parameters
    slew = p["local_slew"][0]
    unlimited = math.isinf(slew[0]) and math.isinf(slew[1])
    if s.rows.struck[0] > 0 or lo.counts[STRUCK] != 0 or unlimited:
        clear_vector(lo.residual)
    elif lo.counts[FRESH] != 0 and lo.counts[IN_STEP] == 0:
        note_change(lo, mo)
    lo.counts[STRUCK] = int(s.rows.struck[0] > 0)
    if largest(lo.residual) > 0.0:
        let_go(s.scene, lo, mo, s.device, slew, p)
        for j in range(lo.residual.shape[0]):
            mo.penalty[j] += lo.residual[j]
    measure_step(s.scene, lo, mo, s.device)
    copy_vector(mo.penalty, lo.kept)  # before the device's limits: they are no change by an update
