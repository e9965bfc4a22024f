"""What ties the proxy and the device."""

from detent.coupling.admittance import Admittance
from detent.coupling.base import Channels, Coupling
from detent.coupling.couplers import UnilateralCoupler, VirtualCoupler
from detent.coupling.direct import Direct
from detent.coupling.four_channel import FourChannel
from detent.coupling.linkage import Shaping, Topology

__all__ = [
    "Admittance",
    "Channels",
    "Coupling",
    "Direct",
    "FourChannel",
    "Shaping",
    "Topology",
    "UnilateralCoupler",
    "VirtualCoupler",
]
