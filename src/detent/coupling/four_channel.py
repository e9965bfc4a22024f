"""The four-channel controller: forces and positions, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from detent.checks import not_negative
from detent.errors import ParameterError

FREQUENCY = 10.0  # [rad/s] of the default position channel
DAMPING_RATIO = 3.5  # [-]; with it the default is Table 4.1's translation at 2 kg

Gains = float | Sequence[float] | None


@dataclass(frozen=True)
class FourChannel:
    r"""Wrenches go both ways unchanged, and a spring-damper coordinates the positions.

    .. math:: F_{tool} = F_h + K e + B \dot e, \quad F_{device} = F_{env} - K e - B \dot e,
              \quad e = x_{device} - x_{tool}

    TH 4.1, D.6, [Lawrence93]. Gains are six numbers (x, y, z [N/m] and rotations
    [N·m/rad]), three for a planar device (x, y, θ), or None: then they scale with the
    reduced inertia of tool and device (10 rad/s, ζ = 3.5).
    """

    stiffness: Gains = None  # [N/m, N·m/rad]
    damping: Gains = None  # [N·s/m, N·m·s/rad]
    adaptive_damping: float = 0.0  # [s/m] K_b of TH D.6: damping on the tool per newton

    def __post_init__(self) -> None:
        not_negative("adaptive_damping", self.adaptive_damping)
        for name, value in (("stiffness", self.stiffness), ("damping", self.damping)):
            if value is not None:
                six(name, value)

    def gains(self, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping of the six axes, for a reduced inertia (6, 6)."""
        size = isotropic(inertia)
        k = size * FREQUENCY**2 if self.stiffness is None else six("stiffness", self.stiffness)
        b = (
            size * 2.0 * DAMPING_RATIO * FREQUENCY
            if self.damping is None
            else six("damping", self.damping)
        )
        return k, b


def isotropic(inertia: np.ndarray) -> np.ndarray:
    """One size for the moving translations and one for the moving rotations."""
    diagonal = np.diag(inertia)
    out = np.zeros(6)
    for part in (slice(0, 3), slice(3, 6)):
        moving = diagonal[part] > 0.0
        if moving.any():
            out[part] = np.where(moving, diagonal[part][moving].mean(), 0.0)
    return out


def six(name: str, value: float | Sequence[float]) -> np.ndarray:
    """Gains as six numbers; three are x, y, θ of a plane."""
    array = np.asarray(value, float)
    if array.ndim == 0:
        array = np.full(6, float(array))
    if array.shape == (3,):
        array = np.array([array[0], array[1], 0.0, 0.0, 0.0, array[2]])
    if array.shape != (6,) or not np.isfinite(array).all() or (array < 0.0).any():
        raise ParameterError(name, value, "one, three (x, y, θ) or six numbers, not negative")
    return array


#: TH Table 4.1, with the units of the rotation corrected (errata B2)
TABLE_4_1 = FourChannel(stiffness=(100.0, 100.0, 0.5), damping=(70.0, 70.0, 0.375))
