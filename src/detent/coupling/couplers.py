"""Couplers: a spring-damper between tool and device, and no force channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from detent.coupling.base import Channels, Coupling
from detent.coupling.gains import Gains, check_gains, scaled

FREQUENCY = 1000.0**0.5  # [rad/s] with these, the default is Table 4.1's coupler at 2 kg
DAMPING_RATIO = 50.0 / (2.0 * FREQUENCY)  # [-]


@dataclass(frozen=True)
class VirtualCoupler(Coupling):
    r"""A spring-damper that is always on; the tool is simulated (TH 2.3.1, Fig 2.8).

    .. math:: F_{tool} = K e + B \dot e = -F_{device}, \quad e = x_{device} - x_{tool}

    The document gives no gains; the default ones are those of the unilateral coupler.
    """

    channels: ClassVar = Channels(device_position="always")

    stiffness: Gains = None  # [N/m, N·m/rad]
    damping: Gains = None  # [N·s/m, N·m·s/rad]

    def __post_init__(self) -> None:
        check_gains(self.stiffness, self.damping)

    def gains(self, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping of the six axes, for the inertias of the axes."""
        return scaled(self.stiffness, self.damping, inertia, FREQUENCY, DAMPING_RATIO)


@dataclass(frozen=True)
class UnilateralCoupler(VirtualCoupler):
    """A spring-damper that acts only while contacts hold the tool back (TH 4.5, Fig 4.14a).

    The tool is a god object [ZS95]: it has no dynamics, follows the device as far as rigid
    contacts allow, and in free motion the device feels nothing. It needs rigid contact: a
    session makes ``mode="impulse"``, the default, ``"rigid"``, and refuses ``"penalty"`` and
    whatever else rigid contact does not know. With Coulomb friction it stays until the way to the
    device leaves the cone, and slides along it then: what is felt along the surface is at most
    μ times what is felt against it [MH05]. It does not turn where the device does not.

    Limitations: the tool moves without inertia of its own, so it pushes movable bodies as
    hard as it must to follow the device.
    """

    channels: ClassVar = Channels(device_position="constrained", tool="god-object")


#: TH Table 4.1, with the units of the rotation corrected (errata B2)
TABLE_4_1_COUPLER = UnilateralCoupler(stiffness=(1000.0, 1000.0, 2.5), damping=(50.0, 50.0, 0.125))
