"""How stiffly the pointer's hand holds a tool."""

from __future__ import annotations

import numpy as np

from detent.app.stage import Stage
from detent.coupling.gains import block_inertia
from detent.hands import Impedance
from detent.servo.world.start import inverse_within
from detent.session import Session
from detent.setup.bounds import bound
from detent.setup.constants import COUPLING_DAMPING, COUPLING_STIFFNESS
from detent.setup.device import device_inertia

GRIP_FREQUENCY, GRIP_RATIO = 10.0, 0.8  # [rad/s], [-] of tool and device in the hand
MOST_GRIP = 1000.0, 20.0  # [N/m, N·m/rad]: no hand is stiffer


def grip(session: Session, stage: Stage, rate: float) -> Impedance:
    """A hand that moves tool and device together as one well-damped oscillator.

    Its gains are bounded by what the step can hold, as those of a coupling are.
    """
    mask = stage.free.astype(float)
    device = device_inertia(session.device, stage.start, mask)
    mobility = inverse_within(device, mask)
    both = block_inertia(stage.start.mobility, mask) + block_inertia(mobility, mask)
    if session.device.takes_motion:  # it masks its own inertia
        mobility = stage.start.mobility * np.outer(mask, mask)
        both = block_inertia(mobility, mask)
    gains = []
    for part, most in zip((slice(0, 3), slice(3, 6)), MOST_GRIP, strict=True):
        size = np.full(3, min(both[part].max(), most / GRIP_FREQUENCY**2))
        k, b = GRIP_FREQUENCY**2 * size, 2.0 * GRIP_RATIO * GRIP_FREQUENCY * size
        k *= bound(k, mobility[part, part], COUPLING_STIFFNESS * rate**2)
        b *= bound(b, mobility[part, part], COUPLING_DAMPING * rate)
        gains += [float(k[0]), float(b[0])]
    return Impedance(gains[0], gains[1], gains[2], gains[3])
