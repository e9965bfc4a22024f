"""What every device declares. A session asks it once, at the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from detent.devices.adapters import Adapter, Placed
from detent.devices.safety import Safety

#: directions (x, y, z and rotations about them) in which a device can move
SUBSPACES = {
    "planar": np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
    "translational": np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
    "full": np.ones(6),
    "flat": np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0]),  # x and y
    "rotary": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),  # a knob or a wheel, about z
}


@runtime_checkable
class Device(Protocol):
    """What the hand holds: it takes a wrench, or a motion, through its port."""

    @property
    def subspace(self) -> str | None:
        """The name of its motion subspace; None is the tool's."""
        ...

    @property
    def offset(self) -> Sequence[float]:
        """[m] from the hand point at the start."""
        ...

    @property
    def takes_motion(self) -> bool:
        """Whether it is told how to move (an admittance display), not how hard to push."""
        ...

    def mask(self, tool_mask: np.ndarray) -> np.ndarray:
        """(6,) its subspace, given the tool's."""
        ...

    def inertia(self, at_hand: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(6, 6) [kg, kg·m²], given the tool's inertia at the hand."""
        ...

    def cap(self) -> np.ndarray:
        """(6,) the largest wrench [N, N·m]; infinite for an ideal device."""
        ...

    @property
    def safety(self) -> Safety:
        """What the force path must keep beside the cap; `NO_LIMITS` for an ideal device."""
        ...

    def adapter(self, placed: Placed) -> Adapter:
        """What stands behind the port: with it the tick reads and writes."""
        ...
