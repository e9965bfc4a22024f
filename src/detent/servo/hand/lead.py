"""Admittance: the tool leads, and the device follows it (S2 eq. 17-18)."""

from __future__ import annotations

from typing import Any

from detent.devices.port import State
from detent.kernels.jit import kernel
from detent.kernels.so3 import pose_error
from detent.kernels.vectors import copy_vector
from detent.servo.structs import Device, Lead, Servo


@kernel
def compare(le: Lead, st: State, de: Device, step: float) -> None:
    r"""What the device lacks of the reference, and the acceleration that takes it back.

    .. math:: \ddot x_{fb} = K_p e + K_i \int e \, dt + K_d \dot e

    S2 eq. 17; e is of one moment: the reference and the measurement of this tick.
    """
    pose_error(le.reference[0:3], le.reference[3:7], st.position, st.quaternion, le.error[0])
    for i in range(6):
        le.error[0, i] *= de.mask[i]
        le.error[1, i] = de.mask[i] * (le.twist[i] - st.twist[i])
        le.sum[i] += step * le.error[0, i]
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += le.gains[0, i, k] * le.error[0, k]
            total += le.gains[1, i, k] * le.sum[k]
            total += le.gains[2, i, k] * le.error[1, k]
        le.feedback[i] = total


@kernel
def know_hand(le: Lead, st: State, de: Device) -> None:
    """The hand's wrench as it is known: sensed, or what an impedance device is pulled with."""
    if le.senses[0] != 0:
        copy_vector(st.wrench, le.sensed)
        return
    for i in range(6):
        total = 0.0
        for k in range(6):
            total -= de.mass[i, k] * le.feedback[k]
        le.sensed[i] = total


@kernel
def follow_reference(s: Any) -> None:
    """All of an admittance that comes before the response, once the reference is known."""
    compare(s.lead, s.port.state, s.device, s.parameters["step"][0])
    know_hand(s.lead, s.port.state, s.device)


@kernel
def lead_device(s: Servo) -> None:
    """Stage: a world's held link is the reference; its acceleration is that of the last tick."""
    sc, mo, le = s.scene, s.motion, s.lead
    copy_vector(mo.point, le.reference[0:3])
    copy_vector(sc.xquat[sc.held_body], le.reference[3:7])
    for i in range(6):
        le.feedforward[i] = (mo.twist[i] - le.twist[i]) / s.parameters["step"][0]
        le.twist[i] = mo.twist[i]
    follow_reference(s)


@kernel
def command_motion(s: Any) -> None:
    """Stage: the motion that is asked of the device, as a wrench on its inertia (S2 eq. 18)."""
    le, de = s.lead, s.device
    for i in range(6):
        total = 0.0
        for k in range(6):
            asked = le.feedback[k]
            if le.senses[0] != 0:
                asked += le.feedforward[k]
            total += de.mass[i, k] * asked
        de.raw[i] = total
