"""Limits of a wrench that keep its direction."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel


@kernel
def uniform_scale(wrench: np.ndarray, cap: np.ndarray) -> float:
    r"""The largest a ≤ 1 for which a·wrench is within the caps of all axes.

    .. math:: a = \min_i (1, F_{lim,i} / |F_i|)

    TH 4.5.2. Clamping each axis by itself would turn the wrench and can raise the
    kinetic energy (errata E8).
    """
    scale = 1.0
    for i in range(wrench.shape[0]):
        size = abs(wrench[i])
        if size * scale > cap[i]:
            scale = cap[i] / size
    return scale


@kernel
def slew_scale(wrench: np.ndarray, last: np.ndarray, slew: np.ndarray) -> float:
    """The largest a ≤ 1 for which last + a·(wrench − last) keeps both slew limits."""
    force = 0.0
    torque = 0.0
    for i in range(3):
        force += (wrench[i] - last[i]) ** 2
        torque += (wrench[i + 3] - last[i + 3]) ** 2
    scale = 1.0
    if math.sqrt(force) > slew[0]:
        scale = slew[0] / math.sqrt(force)
    if math.sqrt(torque) * scale > slew[1]:
        scale = slew[1] / math.sqrt(torque)
    return scale


@kernel
def all_finite(values: np.ndarray) -> bool:
    """Whether no element is NaN or infinite."""
    for i in range(values.shape[0]):
        if not math.isfinite(values[i]):
            return False
    return True
