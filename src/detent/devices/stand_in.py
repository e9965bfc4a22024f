"""A simulated device in the place of a real one, where the real one must not be touched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from detent.devices.adapters import Adapter, Placed
from detent.devices.display import AdmittanceDisplay
from detent.devices.inertial import Inertial
from detent.devices.protocol import Device
from detent.devices.safety import Safety


class StandIn:
    """All that a device declares, with a simulated mass (or display) behind the port."""

    def __init__(self, device: Device) -> None:
        self._device = device

    @property
    def subspace(self) -> str | None:
        """That of the device."""
        return self._device.subspace

    @property
    def offset(self) -> Sequence[float]:
        """[m] likewise."""
        return self._device.offset

    @property
    def takes_motion(self) -> bool:
        """Likewise."""
        return self._device.takes_motion

    def mask(self, tool_mask: np.ndarray) -> np.ndarray:
        """(6,) likewise."""
        return self._device.mask(tool_mask)

    def inertia(self, at_hand: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(6, 6) [kg, kg·m²] likewise."""
        return self._device.inertia(at_hand, mask)

    def cap(self) -> np.ndarray:
        """(6,) [N, N·m] likewise."""
        return self._device.cap()

    @property
    def safety(self) -> Safety:
        """Likewise."""
        return self._device.safety

    def adapter(self, placed: Placed) -> Adapter:
        """The simulated one."""
        simulated = AdmittanceDisplay() if self.takes_motion else Inertial()
        return simulated.adapter(placed)
