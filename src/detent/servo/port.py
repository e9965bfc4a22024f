"""The device's side of a tick, the same for worlds and mechanisms: read, take, write."""

from __future__ import annotations

import math
from typing import Any

from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage
from detent.servo import places
from detent.servo.faults import NO_FAULT
from detent.servo.hand.model import hand_wrench
from detent.servo.loop.exchange import latest
from detent.servo.structs import FAULT, TICKS


@kernel
def read(s: Any) -> None:
    """Pose, twist and flags of the device, and the hand's wrench: simulated, sensed or unknown."""
    tick = s.clock.counts[TICKS]
    hand_wrench(s.port, s.device.mask, s.target, s.script, s.parameters, tick)
    call_stage(s.stages[places.READ], s.port.adapter)


@kernel
def take(s: Any) -> None:
    """The newest parameters, targets and controls, where somebody sent some."""
    latest(s.commands, s.parameter_bytes)
    if latest(s.targets, s.target_bytes):
        control = s.scene.control
        for i in range(control.shape[0]):
            if not math.isnan(s.target[7 + i]):
                control[i] = s.target[7 + i]


@kernel
def write(s: Any) -> None:
    """The guarded wrench, to the device; a simulated one moves under it now, before the world."""
    s.port.command.sequence[0] += 1
    s.port.command.latched[0] = int(s.clock.counts[FAULT] != NO_FAULT)
    call_stage(s.stages[places.WRITE], s.port.adapter)
