"""What the hand holds physically."""

from detent.devices.display import AdmittanceDisplay
from detent.devices.inertial import Inertial
from detent.devices.protocol import SUBSPACES

__all__ = ["SUBSPACES", "AdmittanceDisplay", "Inertial"]
