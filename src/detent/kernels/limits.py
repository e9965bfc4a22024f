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
def length(values: np.ndarray) -> float:
    r"""The length of a vector, which neither overflows nor vanishes on the way.

    .. math:: |v| = m \sqrt{\sum_i (v_i / m)^2}, \quad m = \max_i |v_i|
    """
    most = 0.0
    for i in range(values.shape[0]):
        most = max(most, abs(values[i]))
    if most == 0.0 or not math.isfinite(most):
        return most
    total = 0.0
    for i in range(values.shape[0]):
        total += (values[i] / most) ** 2
    return most * math.sqrt(total)


@kernel
def slew_scale(wrench: np.ndarray, last: np.ndarray, slew: np.ndarray) -> float:
    """The largest a ≤ 1 for which last + a·(wrench − last) keeps both slew limits.

    A difference that is not finite gives 0: nothing moves towards it.
    """
    scale = 1.0
    for block in range(2):
        x = wrench[3 * block] - last[3 * block]
        y = wrench[3 * block + 1] - last[3 * block + 1]
        z = wrench[3 * block + 2] - last[3 * block + 2]
        most = max(abs(x), abs(y), abs(z))
        if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
            return 0.0
        if most == 0.0:
            continue
        size = most * math.sqrt((x / most) ** 2 + (y / most) ** 2 + (z / most) ** 2)
        if size * scale > slew[block]:
            scale = slew[block] / size
    return scale


@kernel
def all_finite(values: np.ndarray) -> bool:
    """Whether no element is NaN or infinite."""
    for i in range(values.shape[0]):
        if not math.isfinite(values[i]):
            return False
    return True
