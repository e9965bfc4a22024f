"""The data sheet behind a device."""

from __future__ import annotations

from detent.devices.mapped import Mapped
from detent.devices.preset import Preset
from detent.devices.protocol import Device


def sheet_of(device: Device | None) -> Preset | None:
    """The preset that a device is, or that its driver has, or what a mapping maps."""
    if isinstance(device, Mapped):
        return sheet_of(device.device)
    found = getattr(device, "preset", device)
    return found if isinstance(found, Preset) else None
