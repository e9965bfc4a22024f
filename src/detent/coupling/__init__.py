"""What ties the proxy and the device."""

from detent.coupling.direct import Direct
from detent.coupling.four_channel import FourChannel

Coupling = FourChannel | Direct

__all__ = ["Coupling", "Direct", "FourChannel"]
