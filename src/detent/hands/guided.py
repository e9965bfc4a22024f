"""A hand that wants to be somewhere else at every tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from detent.checks import unit_quaternion
from detent.errors import ParameterError
from detent.hands.scripted import Impedance, Numbers

_ALLOWED = "rows of 4 (time and position) or 8 finite numbers (and a quaternion), times rising"


@dataclass(frozen=True)
class Guided(Impedance):
    """An impedance hand whose target moves along a path: lockstep only.

    Rows of the path are (time [s], x, y, z [m]) or, with the orientation, (time, x, y, z, w, x,
    y, z); without it the hand wants that of the start. The target goes straight from one row
    to the next, and stays at the last. The hand's damping is against its absolute velocity, so
    it follows with a lag of damping over stiffness.
    """

    path: Sequence[Numbers] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target is not None or self.target_quaternion is not None:
            raise ParameterError("hand target", self.target, "left to the path")
        for turn in self.rows()[:, 4:]:
            if turn.size:
                unit_quaternion("hand path", turn.tolist())

    def rows(self) -> np.ndarray:
        """The path as an array."""
        try:
            rows = np.asarray(self.path, float)
        except (TypeError, ValueError):
            rows = np.empty(0)
        well_formed = rows.ndim == 2 and len(rows) > 0 and rows.shape[1] in (4, 8)
        if not well_formed or not np.isfinite(rows).all() or (np.diff(rows[:, 0]) <= 0.0).any():
            raise ParameterError("hand path", self.path, _ALLOWED)
        return rows

    def targets(self, times: np.ndarray) -> np.ndarray:
        """(n, 3) or (n, 7) where the hand wants to be at these times [s]."""
        rows = self.rows()
        turns = rows[:, 4:]
        if turns.size:
            turns /= np.linalg.norm(turns, axis=1, keepdims=True)
            for before, after in pairwise(turns):
                if before @ after < 0.0:  # the same rotation, the short way
                    after *= -1.0
        columns = [np.interp(times, rows[:, 0], column) for column in rows[:, 1:].T]
        out = np.stack(columns, axis=1)
        if turns.size:
            out[:, 3:] /= np.linalg.norm(out[:, 3:], axis=1, keepdims=True)
        return out
