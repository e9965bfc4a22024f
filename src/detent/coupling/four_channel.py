"""The four-channel controller: forces and positions, both ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from detent.checks import instance, not_negative
from detent.coupling.base import Channels, Coupling
from detent.coupling.gains import Gains, check_gains, scaled
from detent.coupling.linkage import Shaping, Topology

FREQUENCY = 10.0  # [rad/s] of the default position channel
DAMPING_RATIO = 3.5  # [-]; with it the default is Table 4.1's translation at 2 kg


@dataclass(frozen=True)
class FourChannel(Coupling):
    r"""Wrenches go both ways unchanged, and a spring-damper coordinates the positions.

    .. math:: F_{tool} = F_h + K e + B \dot e, \quad F_{device} = F_{env} - K e - B \dot e,
              \quad e = x_{device} - x_{tool}

    TH 4.1, D.6, [Lawrence93]. Gains are six numbers (x, y, z [N/m] and rotations
    [N·m/rad]), three for a planar device (x, y, θ), or None: then they scale with the
    reduced inertia of tool and device (10 rad/s, ζ = 3.5).
    """

    channels: ClassVar = Channels(device_force=True, device_position="always", hand_on_tool=True)

    stiffness: Gains = None  # [N/m, N·m/rad]
    damping: Gains = None  # [N·s/m, N·m·s/rad]
    adaptive_damping: float = 0.0  # [s/m] K_b of TH D.6: damping on the tool per newton
    topology: Topology | None = field(
        default_factory=Topology
    )  # holds the hand where a linkage can follow
    shaping: Shaping | None = None  # the inertia of the linkage instead of the device's own

    def __post_init__(self) -> None:
        not_negative("adaptive_damping", self.adaptive_damping)
        check_gains(self.stiffness, self.damping)
        instance("topology", self.topology, Topology | None, "a Topology, or None")
        instance("shaping", self.shaping, Shaping | None, "a Shaping, or None")

    def gains(self, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping of the six axes, for the reduced inertias of the axes."""
        return scaled(self.stiffness, self.damping, inertia, FREQUENCY, DAMPING_RATIO)


#: TH Table 4.1, with the units of the rotation corrected (errata B2)
TABLE_4_1 = FourChannel(stiffness=(100.0, 100.0, 0.5), damping=(70.0, 70.0, 0.375))
