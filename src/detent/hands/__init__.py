"""Who pushes."""

from detent.hands.guided import Guided
from detent.hands.scripted import Constant, Impedance, Sinusoid

Hand = Constant | Sinusoid | Impedance

__all__ = ["Constant", "Guided", "Hand", "Impedance", "Sinusoid"]
