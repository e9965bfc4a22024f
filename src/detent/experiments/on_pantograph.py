"""How the documents' experiments on their device are set up here: X6, X11, X26."""

from __future__ import annotations

from dataclasses import replace

from detent import Shaping
from detent.coupling.four_channel import TABLE_4_1

#: TH 4.1, with the impedance control that gives the pantograph the inertia of the tool (TH D.2)
SHAPED = replace(TABLE_4_1, shaping=Shaping())
