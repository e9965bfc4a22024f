"""Direct coupling: the held link goes where the device goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from detent.coupling.base import Channels, Coupling


@dataclass(frozen=True)
class Direct(Coupling):
    """The tool is moved by the device, and the device feels the environment's wrench.

    The baseline of TH 6.4.3: an impedance device coupled directly to an admittance
    simulation. The hand's wrench acts on the device only.
    """

    channels: ClassVar = Channels(device_force=True, tool="moved")
