"""What ties the proxy and the device."""

from detent.coupling.couplers import UnilateralCoupler, VirtualCoupler
from detent.coupling.direct import Direct
from detent.coupling.four_channel import FourChannel
from detent.coupling.linkage import Shaping, Topology

Coupling = FourChannel | Direct | VirtualCoupler | UnilateralCoupler

__all__ = [
    "Coupling",
    "Direct",
    "FourChannel",
    "Shaping",
    "Topology",
    "UnilateralCoupler",
    "VirtualCoupler",
]
