"""Hands without a person: a constant or sinusoidal wrench, a spring that holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from detent.checks import finite, not_negative, unit_quaternion, vector, wrench

Numbers = Sequence[float]


@dataclass(frozen=True)
class Constant:
    """A constant wrench at the hand point, in world axes."""

    force: Numbers = (0.0, 0.0, 0.0)  # [N] two (planar) or three numbers
    torque: float | Numbers = 0.0  # [N·m] about z, or three numbers

    def __post_init__(self) -> None:
        wrench(self.force, self.torque)


@dataclass(frozen=True)
class Sinusoid:
    r""":math:`F_h(t) = F_0 + F_1 \sin(2\pi f t + \varphi)`."""

    force: Numbers = (0.0, 0.0, 0.0)  # [N] amplitude
    torque: float | Numbers = 0.0  # [N·m] amplitude
    frequency: float = 1.0  # [Hz]
    phase: float = 0.0  # [rad]
    bias_force: Numbers = (0.0, 0.0, 0.0)  # [N]
    bias_torque: float | Numbers = 0.0  # [N·m]

    def __post_init__(self) -> None:
        wrench(self.force, self.torque)
        wrench(self.bias_force, self.bias_torque)
        not_negative("frequency", self.frequency)
        finite("phase", self.phase)


@dataclass(frozen=True)
class Impedance:
    """A hand that wants to be somewhere: a spring and damper to a target pose.

    Without a target it holds the device where it started; `Live.pull` moves the target.
    """

    stiffness: float = 200.0  # [N/m]
    damping: float = 20.0  # [N·s/m]
    rotational_stiffness: float = 0.5  # [N·m/rad]
    rotational_damping: float = 0.05  # [N·m·s/rad]
    target: Numbers | None = None  # [m] two or three numbers
    target_quaternion: Numbers | None = None  # (w, x, y, z)

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "rotational_stiffness", "rotational_damping"):
            not_negative(f"hand {name}", getattr(self, name))
        if self.target is not None:
            vector("hand target", self.target, (2, 3))
        if self.target_quaternion is not None:
            unit_quaternion("hand target", self.target_quaternion)

    def gains(self) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping of the six axes."""
        k = np.repeat([self.stiffness, self.rotational_stiffness], 3)
        b = np.repeat([self.damping, self.rotational_damping], 3)
        return k, b
