"""What ties the proxy and the device."""

from detent.coupling.admittance import Admittance
from detent.coupling.base import Channels, Coupling
from detent.coupling.couplers import UnilateralCoupler, VirtualCoupler
from detent.coupling.direct import Direct
from detent.coupling.four_channel import FourChannel
from detent.coupling.linkage import Shaping, Topology

#: Each by the word that names it, for the command line, the page, maps and traces.
COUPLINGS: dict[str, type[Coupling]] = {
    "four-channel": FourChannel,
    "virtual": VirtualCoupler,
    "unilateral": UnilateralCoupler,
    "direct": Direct,
    "admittance": Admittance,
}

#: Those that push an impedance device.
IMPEDANCE = {name: kind for name, kind in COUPLINGS.items() if not kind.channels.leads}

__all__ = [
    "COUPLINGS",
    "IMPEDANCE",
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
