"""The gains of an admittance, bounded by what the step can hold."""

from __future__ import annotations

import numpy as np

from detent.devices import AdmittanceDisplay
from detent.servo.arrays import make_lead
from detent.servo.structs import Device, Lead
from detent.setup.asked import Asked
from detent.setup.constants import COUPLING_DAMPING, COUPLING_STIFFNESS


def lead_for(
    asked: Asked, known: Device, mobility: np.ndarray, step: float, notes: list[str]
) -> Lead:
    """A display follows, or the model of an impedance device that is pulled; or nobody does."""
    le, device, following = make_lead(), asked.device, asked.coupling.following()
    if following is None:
        return le
    le.senses[0] = device.takes_motion
    gains = [following.stiffness, following.integral, following.damping]
    ratio = 1.0
    if not device.takes_motion:  # the mechanism gives way, too
        ratio += float(np.linalg.eigvals(known.mass @ mobility).real.max())
    soft = _bounded(gains[0].max() * ratio, 2.0 * COUPLING_STIFFNESS / step**2)
    ease = _bounded(gains[2].max() * ratio, 2.0 * COUPLING_DAMPING / step)
    if soft < 1.0 or ease < 1.0:
        notes.append(
            f"the admittance's gains were bounded by the step of {1e3 * step:.3g} ms: "
            f"stiffness to {100 * soft:.3g} %, damping to {100 * ease:.3g} %"
        )
    joints = np.eye(6)
    if following.joints and isinstance(device, AdmittanceDisplay):
        joints = device.joint_map()
    for i, (gain, factor) in enumerate(zip(gains, (soft, soft, ease), strict=True)):
        le.gains[i] = np.linalg.solve(joints, np.diag(factor * gain) @ joints)
    return le


def _bounded(value: float, most: float) -> float:
    return min(1.0, most / value) if value > 0.0 else 1.0
