"""What every coupling says of itself: which channels it has, and what it adds to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from detent.checks import one_of
from detent.coupling.linkage import Shaping, Topology

POSITIONS = ("never", "always", "constrained")
TOOLS = ("pulled", "moved", "god-object")


@dataclass(frozen=True)
class Channels:
    """What a coupling does. Each field is a column of the tick's record: no kernel asks who it is.

    Args:
        device_force: the device feels the environment's wrench.
        device_position: when the device feels the spring between tool and device.
        tool: is ``"pulled"`` by wrenches, ``"moved"`` to where the device is, or a
            ``"god-object"`` that goes there as far as contacts allow.
        hand_on_tool: the hand's wrench, as it is known, acts on the tool.
        leads: the tool leads and the device follows: an admittance.
    """

    device_force: bool = False
    device_position: str = "never"
    tool: str = "pulled"
    hand_on_tool: bool = False
    leads: bool = False

    def __post_init__(self) -> None:
        one_of("device_position", self.device_position, POSITIONS)
        one_of("tool", self.tool, TOOLS)

    def fill(self, p: np.ndarray) -> None:
        """Into a parameter record."""
        p["device_force"] = self.device_force
        p["device_position"] = POSITIONS.index(self.device_position)
        p["tool"] = TOOLS.index(self.tool)
        p["hand_on_tool"] = self.hand_on_tool
        p["leads"] = self.leads


@dataclass(frozen=True)
class Following:
    """How a device follows a tool that leads: gains per unit of its inertia, of six axes."""

    stiffness: np.ndarray  # (6,) [1/s²]
    integral: np.ndarray  # (6,) [1/s³]
    damping: np.ndarray  # (6,) [1/s]
    joints: bool = False  # the axes are the display's joints
    compensate: bool = True  # weight and inertia of what lies beyond the force sensor
    integrator: int = 0  # of a mechanism: a place in MECHANISM_INTEGRATORS


class Coupling:
    """Base of couplings. A new one is a file with a subclass, and a line of ``COUPLINGS``.

    A subclass is a frozen dataclass. What is chosen, a topology for instance, is a field of it; one
    whose channels lead says how the device is `following`.
    """

    channels: ClassVar[Channels]
    topology: Topology | None = None  # a penalty where a linkage cannot follow the hand
    shaping: Shaping | None = None  # the inertia of the linkage instead of the device's own
    adaptive_damping: float = 0.0  # [s/m] damping on the tool per newton of the environment

    def gains(self, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Stiffness and damping of the six axes for these inertias; None without a spring."""
        return None

    def following(self) -> Following | None:
        """How the device follows, where the tool leads."""
        return None
