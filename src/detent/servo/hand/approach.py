"""The tick before contact: the hand point, the position channels, all smooth torques."""

from __future__ import annotations

from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage
from detent.kernels.vectors import copy_vector
from detent.servo import places
from detent.servo.hand.coordinate import coordinate
from detent.servo.hand.point import add_hand_torque, update_hand_point
from detent.servo.parameters import PULLED
from detent.servo.structs import Motion, Scene, Servo


@kernel
def smooth_torques(sc: Scene, mo: Motion) -> None:
    """All torques but contacts: passive, actuators, bias, and the coupling's wrench."""
    for j in range(sc.nv):
        mo.torque[j] = sc.passive[j] + sc.actuator[j] - sc.bias[j] + mo.reaction[j]
    add_hand_torque(mo, mo.on_tool, sc.nv, mo.torque)


@kernel
def approach(s: Servo) -> None:
    """Stage: what the hand and the coupling do to the tool (TH 4.1, 5.16)."""
    sc, mo, de, p = s.scene, s.motion, s.device, s.parameters
    update_hand_point(sc, mo)
    copy_vector(s.port.state.wrench, s.lead.sensed)
    if p["leads"][0] != 0:
        call_stage(s.stages[places.LEAD], s)
    copy_vector(sc.qvel, mo.velocity)
    coordinate(sc, mo, s.port.state, de, p)
    for i in range(6):
        if p["tool"][0] != PULLED:  # moved by the device instead
            mo.on_tool[i] *= 1.0 - de.mask[i]
        elif p["hand_on_tool"][0] != 0:
            mo.on_tool[i] += s.lead.sensed[i]
    call_stage(s.stages[places.WEIGH], s)
    smooth_torques(sc, mo)
