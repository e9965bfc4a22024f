"""The local model: constraints near the tool, refreshed by an engine (TH 6)."""

from detent.local.model import LocalModel
from detent.local.pace import Pace
from detent.local.records import NEAR

__all__ = ["NEAR", "LocalModel", "Pace"]
