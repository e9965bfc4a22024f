"""What ties the proxy and the device."""

from detent.coupling.couplers import UnilateralCoupler, VirtualCoupler
from detent.coupling.direct import Direct
from detent.coupling.four_channel import FourChannel

Coupling = FourChannel | Direct | VirtualCoupler | UnilateralCoupler

__all__ = ["Coupling", "Direct", "FourChannel", "UnilateralCoupler", "VirtualCoupler"]
