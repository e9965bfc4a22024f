"""What the hand holds physically."""

from detent.devices.display import AdmittanceDisplay
from detent.devices.facts import assumed, known
from detent.devices.inertial import IDEAL, Inertial
from detent.devices.mapped import Gripper, Mapped
from detent.devices.pantograph import Pantograph
from detent.devices.preset import Desktop, Preset, preset
from detent.devices.presets import SHEETS
from detent.devices.protocol import SUBSPACES
from detent.devices.sheet import Sheet

__all__ = [
    "IDEAL",
    "SHEETS",
    "SUBSPACES",
    "AdmittanceDisplay",
    "Desktop",
    "Gripper",
    "Inertial",
    "Mapped",
    "Pantograph",
    "Preset",
    "Sheet",
    "assumed",
    "known",
    "preset",
]
