"""What every device declares: its motion subspace, its inertia, its limits."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

#: directions (x, y, z and rotations about them) in which a device can move
SUBSPACES = {
    "planar": np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
    "translational": np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
    "full": np.ones(6),
}


@runtime_checkable
class ImpedanceDevice(Protocol):
    """Takes a wrench. A session asks it once, at the start."""

    @property
    def delay_ticks(self) -> int:
        """[ticks] between a command and its effect."""
        ...

    def mask(self, tool_mask: np.ndarray) -> np.ndarray:
        """The device's subspace, given the tool's."""
        ...

    def inertia(self, at_hand: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(6, 6) [kg, kg·m²], given the tool's inertia at the hand."""
        ...

    def cap(self) -> np.ndarray:
        """(6,) the largest wrench [N, N·m]; infinite for an ideal device."""
        ...
