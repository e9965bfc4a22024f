"""Drivers of real devices, by name. Each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from detent.checks import one_of
from detent.devices.preset import preset
from detent.devices.presets import SHEETS
from detent.errors import UnknownNameError

if TYPE_CHECKING:
    from detent.devices.drivers.driver import Driver

#: the module and the class of each driver
DRIVERS = {
    "forcedimension": ("forcedimension", "ForceDimension"),
    "touch": ("touch", "Touch"),
    "inverse3": ("inverse3", "Inverse3"),
    "2diy": ("twodiy", "TwoDiy"),
    "moteus": ("moteus", "Moteus"),
    "wheel": ("wheel", "Wheel"),
}


def find_driver(name: str) -> type[Driver]:
    """A driver by its name."""
    module, kind = DRIVERS[one_of("driver", name, DRIVERS)]
    found: type[Driver] = getattr(import_module(f"detent.devices.drivers.{module}"), kind)
    return found


def real(name: str, facts: dict[str, Any] | None = None, **options: Any) -> Driver:
    """The real device of a preset's name; it is opened when a live session starts."""
    model = preset(name, **(facts or {}))
    if model.sheet.driver is None:
        raise UnknownNameError("device with a driver", name, drivable())
    return find_driver(model.sheet.driver)(model, **options)


def drivable() -> list[str]:
    """Names of presets whose device can be driven."""
    return [name for name, sheet in SHEETS.items() if sheet.driver is not None]
