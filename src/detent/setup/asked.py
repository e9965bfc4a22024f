"""What the set-up reads of a session."""

from __future__ import annotations

from typing import Protocol

from detent.coupling import Coupling
from detent.devices.protocol import Device
from detent.local.model import LocalModel
from detent.local.pace import Pace
from detent.servo.force_path import ForcePath
from detent.servo.watching import Passivity
from detent.world.baumgarte import Baumgarte
from detent.world.contact import Contact


class Asked(Protocol):
    """A session as the set-up sees it: what was asked for, checked."""

    contact: Contact
    coupling: Coupling
    device: Device
    force_path: ForcePath
    passivity: Passivity
    outside: str
    rate: float
    integrator: str
    frozen: float
    baumgarte: Baumgarte
    local: LocalModel | None
    engine: str | type
    pace: Pace
    sleep: bool
