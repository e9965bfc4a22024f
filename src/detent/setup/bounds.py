"""What a fixed step can hold, for gains that are known beforehand."""

from __future__ import annotations

import numpy as np


def unbounded_from(step: float, soft: float, ease: float) -> str:
    """From which rate on stiffness and damping, now scaled by these, would be what was asked for.

    The bound of a stiffness grows with the square of the rate, that of a damping with the rate.
    """
    return f"; from {1.0 / (step * min(np.sqrt(soft), ease, 1.0)):.4g} Hz on they would not be"


def bound(gain: np.ndarray, mobility: np.ndarray, most: float) -> float:
    """By what to multiply gains so that their largest rate with this mobility is *most*."""
    root = np.sqrt(gain)
    rate = float(np.linalg.eigvalsh(mobility * np.outer(root, root)).max(initial=0.0))
    return min(1.0, most / rate) if rate > 0.0 else 1.0
