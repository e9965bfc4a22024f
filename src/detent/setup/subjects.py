"""From what a user gives to the subject of a session."""

from __future__ import annotations

from typing import Any

from detent.checks import instance
from detent.coupling import Coupling
from detent.devices.protocol import Device
from detent.local.model import LocalModel
from detent.local.pace import Pace
from detent.mechanism import Mechanism
from detent.servo.force_path import ForcePath
from detent.setup.mechanism import MechanismSubject
from detent.setup.subject import Subject
from detent.setup.world import WorldSubject
from detent.world.baumgarte import Baumgarte
from detent.world.contact import Contact
from detent.world.world import World

#: what the parts of a session must be, and how that is said
KINDS: dict[str, tuple[Any, str]] = {
    "world": (World | Mechanism, "a World or a Mechanism"),
    "contact": (Contact | None, "a Contact"),
    "coupling": (Coupling | None, "one of detent.coupling, not its name"),
    "device": (Device | None, "one of detent.devices, not its name"),
    "force_path": (ForcePath | None, "a ForcePath"),
    "baumgarte": (Baumgarte | None, "a Baumgarte"),
    "local": (LocalModel | None, "a LocalModel"),
    "pace": (Pace | None, "a Pace"),
}


def make_subject(frozen: float, **parts: Any) -> Subject:
    """The subject of a session; refused if a part is of another kind, or is nothing to it."""
    for name, value in parts.items():
        instance(name, value, *KINDS[name])
    if not isinstance(parts["world"], Mechanism):
        return WorldSubject(parts["world"], parts["local"])
    given = {name: parts[name] for name in ("contact", "baumgarte", "local")}
    for name, value in (given | {"frozen": frozen or None}).items():
        instance(name, value, type(None), "left out with a Mechanism")
    return MechanismSubject(parts["world"])
