"""What the hand holds physically."""

from detent.devices.display import AdmittanceDisplay
from detent.devices.inertial import IDEAL, Inertial
from detent.devices.protocol import SUBSPACES

__all__ = ["IDEAL", "SUBSPACES", "AdmittanceDisplay", "Inertial"]
