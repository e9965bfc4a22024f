"""The planar peg of the documents: 42 × 21 mm, 2 kg."""

from __future__ import annotations

from typing import Any

import numpy as np

from detent.record.trace import Trace

MASS = 2.0  # [kg] TH 4.5
INERTIA = 0.005  # [kg·m²] TH 4.5
HALF = np.array([0.021, 0.0105])  # [m] half its sides, TH 4.5


def planar(vectors: np.ndarray) -> np.ndarray:
    """(x, y, θ) of twists or wrenches."""
    return vectors[..., [0, 1, 5]]


def pose(trace: Trace, tick: int) -> np.ndarray:
    """(x, y, θ) of the tool."""
    q = trace["tool_quaternion"][tick]
    return np.array([*trace["tool_position"][tick, :2], 2.0 * np.arctan2(q[3], q[0])])


def corners(angle: float) -> np.ndarray:
    """(4, 2) the turned peg's vertices from its centre, counter-clockwise from lower left [m]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * HALF @ np.array([[c, s], [-s, c]])


def draw_peg(ax: Any, at: np.ndarray, colour: str, **style: Any) -> None:
    """The peg's outline [mm]."""
    ring = 1e3 * (at[:2] + corners(at[2])[[0, 1, 2, 3, 0]])
    ax.plot(ring[:, 0], ring[:, 1], color=colour, **style)
