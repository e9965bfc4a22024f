"""Who pushes, into the parameter record."""

from __future__ import annotations

import numpy as np

from detent.checks import unit_quaternion, wrench
from detent.errors import ParameterError
from detent.hands import Hand
from detent.hands.playback import Playback
from detent.hands.scripted import Constant, Impedance, Sinusoid
from detent.servo.parameters import IMPEDANCE_HAND, NO_HAND, PLAYBACK_HAND, SINUSOID_HAND


def fill_hand(p: np.ndarray, hand: Hand | None) -> None:
    """A hand into a parameter record, instead of the one that was there."""
    for name in p.dtype.names or ():
        if name.startswith("hand_") and name != "hand_on_tool":
            p[name] = 0.0
    p["hand"] = NO_HAND
    if isinstance(hand, Constant):
        p["hand"] = SINUSOID_HAND
        p["hand_bias"] = wrench(hand.force, hand.torque)
    elif isinstance(hand, Sinusoid):
        p["hand"] = SINUSOID_HAND
        p["hand_bias"] = wrench(hand.bias_force, hand.bias_torque)
        p["hand_amplitude"] = wrench(hand.force, hand.torque)
        p["hand_omega"] = 2.0 * np.pi * hand.frequency
        p["hand_phase"] = hand.phase
    elif isinstance(hand, Impedance):
        p["hand"] = IMPEDANCE_HAND
        p["hand_k"], p["hand_b"] = hand.gains()
    elif isinstance(hand, Playback):
        p["hand"] = PLAYBACK_HAND
    elif hand is not None:
        raise ParameterError(
            "hand", hand, "a detent.hands.Constant, Sinusoid, Impedance or Playback"
        )


def aim(target: np.ndarray, hand: Hand | None) -> None:
    """The pose that an impedance hand wants."""
    if isinstance(hand, Impedance) and hand.target is not None:
        target[: len(hand.target)] = hand.target
    if isinstance(hand, Impedance) and hand.target_quaternion is not None:
        target[3:7] = unit_quaternion("hand target", hand.target_quaternion)
