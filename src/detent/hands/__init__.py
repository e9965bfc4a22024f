"""Who pushes."""

from detent.hands.playback import Playback
from detent.hands.scripted import Constant, Impedance, Sinusoid

Hand = Constant | Sinusoid | Impedance | Playback

__all__ = ["Constant", "Hand", "Impedance", "Playback", "Sinusoid"]
