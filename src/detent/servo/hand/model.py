"""The model of a hand: what it applies to a simulated device."""

from __future__ import annotations

import math

import numpy as np

from detent.devices.port import Port
from detent.kernels.jit import kernel
from detent.kernels.so3 import pose_error
from detent.kernels.vectors import copy_vector
from detent.servo.parameters import IMPEDANCE_HAND, PLAYBACK_HAND, SINUSOID_HAND


@kernel
def hand_wrench(
    port: Port,
    mask: np.ndarray,
    target: np.ndarray,
    script: np.ndarray,
    p: np.ndarray,
    tick: int,
) -> None:
    """port.hand ← F_h; it feels where the device really is, and takes hold as a session ramps in.

    Else it would lift by its full force, in the first moments, what has not all of its weight yet.
    What is played back was recorded as it took hold.
    """
    kind, time, out = p["hand"][0], tick * p["step"][0], port.hand
    pose, twist = port.state.true_pose, port.state.true_twist
    for i in range(6):
        out[i] = 0.0
    if kind == SINUSOID_HAND:
        wave = math.sin(p["hand_omega"][0] * time + p["hand_phase"][0])
        for i in range(6):
            out[i] = p["hand_bias"][0, i] + p["hand_amplitude"][0, i] * wave
    elif kind == IMPEDANCE_HAND:
        pose_error(target[0:3], target[3:7], pose[0:3], pose[3:7], out)
        for i in range(6):
            out[i] = p["hand_k"][0, i] * out[i] - p["hand_b"][0, i] * twist[i]
    elif kind == PLAYBACK_HAND and tick < script.shape[0]:
        copy_vector(script[tick], out)
    grip = 1.0 if kind == PLAYBACK_HAND else min((tick + 1) * p["fade"][0], 1.0)
    for i in range(6):
        out[i] *= grip * mask[i]
