"""A script for mechanisms: the hand is led along the constraints, as the mechanism says."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from detent.mechanism import Mechanism


class Lead:
    """Where the hand is led at a time, from the expressions of a mechanism."""

    def __init__(self, mechanism: Mechanism) -> None:
        import sympy as sp

        assert mechanism.lead is not None
        time, position, rotation = mechanism.lead
        values = {s: sp.Float(v) for s, v in mechanism.constants.items()}
        where: Any = sp.Matrix([*position, *rotation]).subs(values)
        self._at = sp.lambdify(time, list(where), "math")

    def pose(self, time: float) -> np.ndarray:
        """Position and quaternion (7,) at a time [s]."""
        values = np.array(self._at(time), float)
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, values[3:])
        return np.concatenate([values[:3], quaternion])
