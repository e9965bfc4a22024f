"""Gains of a spring-damper between tool and device: six numbers, or scaled by inertia."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from detent.errors import ParameterError

Gains = float | Sequence[float] | None


def block_inertia(mobility: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """One inertia for translation and one for rotation, within the subspace of *mask*.

    It is the inverse of the mean mobility, so a direction that cannot move does not count as
    one that is infinitely heavy.
    """
    out = np.zeros(6)
    for part in (slice(0, 3), slice(3, 6)):
        inside = mask[part] > 0.0
        mean = np.diag(mobility)[part][inside].mean() if inside.any() else 0.0
        out[part] = np.where(inside, 1.0 / mean if mean > 0.0 else 0.0, 0.0)
    return out


def six(name: str, value: float | Sequence[float]) -> np.ndarray:
    """Gains as six numbers; three are x, y, θ of a plane."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim == 0:
        array = np.full(6, float(array))
    if array.shape == (3,):
        array = np.array([array[0], array[1], 0.0, 0.0, 0.0, array[2]])
    if array.shape != (6,) or not np.isfinite(array).all() or (array < 0.0).any():
        raise ParameterError(name, value, "one, three (x, y, θ) or six numbers, not negative")
    return array


def check_gains(stiffness: Gains, damping: Gains) -> None:
    """Refuse gains that are not numbers, or negative."""
    for name, value in (("stiffness", stiffness), ("damping", damping)):
        if value is not None:
            six(name, value)


def scaled(
    stiffness: Gains, damping: Gains, inertia: np.ndarray, frequency: float, ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """The given gains, or those of a frequency [rad/s] and damping ratio at these inertias."""
    k = inertia * frequency**2 if stiffness is None else six("stiffness", stiffness)
    b = inertia * 2.0 * ratio * frequency if damping is None else six("damping", damping)
    return k, b
