"""What ties the proxy and the device."""

from detent.coupling.admittance import Admittance
from detent.coupling.couplers import UnilateralCoupler, VirtualCoupler
from detent.coupling.direct import Direct
from detent.coupling.four_channel import FourChannel
from detent.coupling.linkage import Shaping, Topology

Coupling = FourChannel | Direct | VirtualCoupler | UnilateralCoupler | Admittance

__all__ = [
    "Admittance",
    "Coupling",
    "Direct",
    "FourChannel",
    "Shaping",
    "Topology",
    "UnilateralCoupler",
    "VirtualCoupler",
]
