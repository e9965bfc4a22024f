"""Who pushes."""

from detent.hands.guided import Guided
from detent.hands.playback import Playback
from detent.hands.scripted import Constant, Impedance, Sinusoid

Hand = Constant | Sinusoid | Impedance | Playback

__all__ = ["Constant", "Guided", "Hand", "Impedance", "Playback", "Sinusoid"]
