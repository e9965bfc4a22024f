"""The last guard before the device: nothing bypasses it.

The force path has one order: plausible, filter, thermal and peak cap, ramp-in, slew, what a hand
bears, latched zero.
The target is capped before the wrench goes towards it: caps are convex, so a step between two
wrenches within them stays within them, and slew and cap hold together. What a hand bears comes
after the slew, since the tick after an impulse must not be as hard as that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from detent.kernels.constants import ROUND_OFF
from detent.kernels.contact import group_root
from detent.kernels.jit import kernel
from detent.kernels.limits import all_finite, length, slew_scale, uniform_scale
from detent.kernels.vectors import copy_vector
from detent.servo.constants import FOLD_BACK, GIVE, IMPLAUSIBLE, MOST_BLOWS
from detent.servo.faults import NO_FAULT, WORLD_NOT_FINITE, WRENCH_NOT_FINITE, WRENCH_TOO_LARGE
from detent.servo.guarded import Guarded
from detent.servo.mechanism_structs import MechanismServo
from detent.servo.parameters import RIGID
from detent.servo.structs import ALTERED, COLLIDING, FAULT, LATCHED, Clock, Device, Servo
from detent.servo.watch import watch


@kernel
def stop_if_unsound(ck: Clock, a: np.ndarray, b: np.ndarray) -> None:
    """What has blown up stops the servo before its next wrench."""
    if ck.counts[FAULT] == NO_FAULT and not (all_finite(a) and all_finite(b)):
        ck.counts[FAULT] = WORLD_NOT_FINITE


@kernel
def stop_if_implausible(ck: Clock, raw: np.ndarray) -> None:
    """A wrench that is not finite, or beyond what any contact asks for, is a fault."""
    if ck.counts[FAULT] != NO_FAULT:
        return
    if not all_finite(raw):
        ck.counts[FAULT] = WRENCH_NOT_FINITE
    for i in range(raw.shape[0]):
        if ck.counts[FAULT] == NO_FAULT and abs(raw[i]) > IMPLAUSIBLE:
            ck.counts[FAULT] = WRENCH_TOO_LARGE


@kernel
def heat_up(gd: Guarded, wrench: np.ndarray, p: np.ndarray) -> None:
    r"""How hot the motors are by what was held since the last tick.

    .. math:: \tau \dot h = (F / F_c)^2 - h

    with the continuous wrench F_c: copper losses into one thermal mass, as in the I²t limits of
    motor drives. h = 1 is where F_c would bring it.

    Limitations: force and torque heat motors of their own; the sheets tell no more.
    """
    for block in range(2):
        load, ball = 0.0, p["ball"][0, block]
        for i in range(3 * block, 3 * block + 3):
            if wrench[i] != 0.0:
                load = max(load, abs(wrench[i]) / p["cap"][0, i])
        if ball > 0.0:
            load = max(load, length(wrench[3 * block : 3 * block + 3]) / ball)
        load /= p["continuous"][0, block]
        gd.heat[block] += p["heat_blend"][0] * (load * load - gd.heat[block])


@kernel
def share_of_peak(heat: float, continuous: float) -> float:
    """What is left of the peak: all of it while cool, the continuous share at h = 1."""
    cool = min(max((1.0 - heat) / FOLD_BACK, 0.0), 1.0)
    return continuous + (1.0 - continuous) * cool


@kernel
def cap_target(de: Device, wrench: np.ndarray, p: np.ndarray) -> bool:
    """gd.target ← de.filtered within the caps; the wrench itself, too, where those have shrunk.

    A cap shrinks by GIVE of the slew in a tick and no faster, and gd.room is what the slew leaves
    after that. Returns whether the target was cut.
    """
    gd, scale = de.guard, 1.0
    for block in range(2):
        part = slice(3 * block, 3 * block + 3)
        share = share_of_peak(gd.heat[block], p["continuous"][0, block])
        give, ball = GIVE * p["slew"][0, block], p["ball"][0, block]
        for i in range(3 * block, 3 * block + 3):
            gd.most[i] = max(share * p["cap"][0, i], abs(wrench[i]) - give)
            gd.moving[i] = wrench[i]
            wrench[i] = min(max(wrench[i], -gd.most[i]), gd.most[i])
        if ball > 0.0:
            size = length(wrench[part])
            ball = max(share * ball, size - give)
            for i in range(3 * block, 3 * block + 3):
                if size > ball:
                    wrench[i] *= ball / size
            size = length(de.filtered[part])
            if size * scale > ball:
                scale = ball / size
        for i in range(3 * block, 3 * block + 3):
            gd.moving[i] -= wrench[i]
        gd.room[block] = max(p["slew"][0, block] - length(gd.moving[part]), 0.0)
    scale = min(scale, uniform_scale(de.filtered, gd.most))
    for i in range(6):  # and not above the cap by round-off either
        gd.target[i] = min(max(scale * de.filtered[i], -gd.most[i]), gd.most[i])
    return scale < 1.0


@kernel
def approach_target(gd: Guarded, wrench: np.ndarray, ramp: float) -> bool:
    """The wrench goes to the target, faded in by the ramp, as far as the slew lets it."""
    fade = min(1.0, gd.engaged[0] * ramp)
    for i in range(6):
        gd.target[i] *= fade
    scale = slew_scale(gd.target, wrench, gd.room)
    for i in range(6):
        step = gd.target[i] - wrench[i]
        wrench[i] = gd.target[i] if scale == 1.0 else wrench[i] + scale * step
        wrench[i] = min(max(wrench[i], -gd.most[i]), gd.most[i])
    return scale < 1.0 or fade < 1.0


@kernel
def has_limits(p: np.ndarray) -> bool:
    """Whether anything caps the wrench or slows it down."""
    for block in range(2):
        if p["ball"][0, block] > 0.0 or p["slew"][0, block] < math.inf:
            return True
    for i in range(6):
        if p["cap"][0, i] < math.inf:
            return True
    return False


@kernel
def limit_wrench(de: Device, wrench: np.ndarray, p: np.ndarray) -> bool:
    """de.filtered → wrench, within caps, ramp and slew; whether they changed it."""
    ramp = p["ramp"][0]
    if not has_limits(p) and de.guard.engaged[0] * ramp >= 1.0:
        copy_vector(de.filtered, wrench)
        return False
    cut = cap_target(de, wrench, p)
    return approach_target(de.guard, wrench, ramp) or cut


@kernel
def filter_raw(de: Device, blend: float) -> None:
    """de.filtered follows de.raw, on axes that take a wrench."""
    for i in range(6):
        asked = de.guard.actuated[i] * de.raw[i]
        de.filtered[i] += blend * (asked - de.filtered[i])
        if blend == 1.0:
            de.filtered[i] = asked


@kernel
def spare_hand(gd: Guarded, wrench: np.ndarray, bearable: float) -> bool:
    """No more than a hand bears, as a whole; but of impulses that follow each other the first."""
    size = length(wrench[0:3])
    if size <= bearable or 0 < gd.blows[0] <= MOST_BLOWS:
        return False
    gd.blows[1] += 1
    for i in range(6):  # and not above it by round-off either
        wrench[i] *= (1.0 - ROUND_OFF) * bearable / size
    return True


@kernel
def force_path(de: Device, wrench: np.ndarray, ck: Clock, p: np.ndarray) -> None:
    """de.raw → wrench. *wrench* is what the device was told in the last tick."""
    gd, blend, altered = de.guard, p["filter_blend"][0], False
    if p["heat_blend"][0] > 0.0:
        heat_up(gd, wrench, p)
    stop_if_implausible(ck, de.raw)
    gd.engaged[0] = gd.engaged[0] + 1 if gd.off[0] == 0 else 0
    if ck.counts[FAULT] == NO_FAULT and gd.off[0] == 0:
        filter_raw(de, blend)
        altered = limit_wrench(de, wrench, p) or blend < 1.0
        if p["bearable"][0] < math.inf and p["contact_mode"][0] != RIGID:
            altered = spare_hand(gd, wrench, p["bearable"][0]) or altered
        if not all_finite(wrench):
            ck.counts[FAULT] = WRENCH_NOT_FINITE
    if ck.counts[FAULT] != NO_FAULT or gd.off[0] != 0:  # at once: no slew holds a force that long
        altered = True
        ck.counts[LATCHED] += 1
        for i in range(6):
            wrench[i] = 0.0
            de.filtered[i] = 0.0
    de.altered[0] = int(altered)
    if altered:
        ck.counts[ALTERED] += 1


@kernel
def guard_device(s: Any) -> None:
    """The watch over the device's readings, and the force path to the port's command."""
    gd, cm = s.device.guard, s.port.command
    watch(s.port.state, gd, s.clock, s.parameters)
    force_path(s.device, cm.wrench, s.clock, s.parameters)
    cm.share[0] = min(1.0, gd.engaged[0] * s.parameters["ramp"][0]) if gd.off[0] == 0 else 0.0


@kernel
def tool_is_struck(s: Servo) -> bool:
    """Whether the tool's own group has impulses in this tick, not something elsewhere."""
    rows = s.rows
    if rows.struck[0] == 0:
        return False
    return bool(rows.group_state[group_root(rows.parent, s.scene.tool_tree)] == COLLIDING)


@kernel
def guard(s: Servo) -> None:
    """Stage: a sound world, a sound device, and the force path."""
    stop_if_unsound(s.clock, s.motion.torque, s.motion.velocity)
    blows = s.device.guard.blows
    blows[0] = blows[0] + 1 if tool_is_struck(s) else 0
    guard_device(s)


@kernel
def guard_mechanism(s: MechanismServo) -> None:
    """Stage: a sound mechanism, a sound device, and the force path."""
    stop_if_unsound(s.clock, s.mechanics.q, s.mechanics.rate)
    guard_device(s)
