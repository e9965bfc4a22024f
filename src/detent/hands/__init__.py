"""Who pushes."""

from detent.hands.scripted import Constant, Impedance, Sinusoid

Hand = Constant | Sinusoid | Impedance

__all__ = ["Constant", "Hand", "Impedance", "Sinusoid"]
