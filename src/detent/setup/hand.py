"""Who pushes, into the parameter record."""

from __future__ import annotations

import numpy as np

from detent.checks import unit_quaternion, wrench
from detent.errors import ParameterError
from detent.hands import Hand
from detent.hands.playback import Playback
from detent.hands.scripted import Constant, Impedance, Sinusoid
from detent.servo.parameters import IMPEDANCE_HAND, NO_HAND, PLAYBACK_HAND, SINUSOID_HAND
from detent.setup.bounds import bound, unbounded_from
from detent.setup.constants import HAND_DAMPING, HAND_STIFFNESS


def fill_hand(p: np.ndarray, hand: Hand | None, mobility: np.ndarray, notes: list[str]) -> None:
    """A hand into a parameter record, instead of the one that was there.

    *mobility* is that of the device (6, 6). A simulated hand is sampled as everything else: one
    that is too stiff for a light device is bounded, and noted.
    """
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
        p["hand_k"], p["hand_b"] = bounded_gains(hand, mobility, float(p["step"][0]), notes)
    elif isinstance(hand, Playback):
        p["hand"] = PLAYBACK_HAND
    elif hand is not None:
        raise ParameterError(
            "hand", hand, "a detent.hands.Constant, Sinusoid, Impedance or Playback"
        )


def bounded_gains(
    hand: Impedance, mobility: np.ndarray, step: float, notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping of a hand that the step can hold on a device of this mobility."""
    k, b = hand.gains()
    for what, part in (("translation", slice(0, 3)), ("rotation", slice(3, 6))):
        soft = bound(k[part], mobility[part, part], HAND_STIFFNESS / step**2)
        ease = bound(b[part], mobility[part, part], HAND_DAMPING / step)
        k[part] *= soft
        b[part] *= ease
        if soft < 1.0 or ease < 1.0:
            notes.append(
                f"the simulated hand's gains in {what} were bounded, for a device this light, by "
                f"the step of {1e3 * step:.3g} ms: stiffness to {100 * soft:.3g} %, damping to "
                f"{100 * ease:.3g} %" + unbounded_from(step, soft, ease)
            )
    return k, b


def aim(target: np.ndarray, hand: Hand | None) -> None:
    """The pose that an impedance hand wants."""
    if isinstance(hand, Impedance) and hand.target is not None:
        target[: len(hand.target)] = hand.target
    if isinstance(hand, Impedance) and hand.target_quaternion is not None:
        target[3:7] = unit_quaternion("hand target", hand.target_quaternion)
