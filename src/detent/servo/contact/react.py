"""What contacts do to the bodies: impulses and penalty forces."""

from __future__ import annotations

import math

from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage
from detent.kernels.vectors import clear_vector
from detent.local.records import ACTIVE
from detent.servo import places
from detent.servo.contact.hold import can_hold, hold
from detent.servo.contact.identity import keeps_memory, remember
from detent.servo.contact.impulses import strike_colliding
from detent.servo.contact.press import press_resting
from detent.servo.parameters import GOD_OBJECT, IMPULSE, RIGID
from detent.servo.structs import (
    Servo,
)


@kernel
def react(s: Servo) -> None:
    """Stage: contact forces and impulses into mo.penalty and mo.impulsive."""
    mode = s.parameters["contact_mode"][0]
    clear_vector(s.motion.penalty)
    clear_vector(s.motion.impulsive)
    clear_vector(s.rows.impact)
    s.rows.bounded[0] = 0
    s.rows.struck[0] = 0
    if s.parameters["tool"][0] == GOD_OBJECT:
        return  # contacts act where the tool follows the device
    if mode == RIGID:
        call_stage(s.stages[places.STEP], s)
        if keeps_memory(s.parameters, s.rows):
            remember(s.rows, math.inf)
        return
    local = s.local.counts[ACTIVE] != 0
    press_resting(s.scene, s.motion, s.rows, s.parameters, local)
    if can_hold(s.rows, s.parameters, local):
        hold(s)
    call_stage(s.stages[places.RUB], s)
    call_stage(s.stages[places.TURN], s)
    if mode == IMPULSE:
        strike_colliding(s)
    if keeps_memory(s.parameters, s.rows):
        remember(s.rows, 0.0)
