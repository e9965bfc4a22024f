"""Detent lets a person feel a rigid-body world.

Names are imported when they are used, so that ``import detent`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detent import devices, hands, mechanism
    from detent.collision import Collision, resolve_collision
    from detent.coupling import (
        Admittance,
        Direct,
        FourChannel,
        Shaping,
        Topology,
        UnilateralCoupler,
        VirtualCoupler,
    )
    from detent.errors import DetentError
    from detent.local.model import LocalModel
    from detent.local.pace import Pace
    from detent.mechanism import Mechanism
    from detent.record.trace import Trace
    from detent.servo.force_path import AT_ONCE, ForcePath
    from detent.servo.watching import Passivity
    from detent.session import Session
    from detent.world.baumgarte import Baumgarte
    from detent.world.contact import Contact
    from detent.world.friction import Friction
    from detent.world.wall import Wall
    from detent.world.world import World

__version__ = "0.1.0"

_HOMES = {
    "AT_ONCE": "detent.servo.force_path",
    "Admittance": "detent.coupling",
    "Baumgarte": "detent.world.baumgarte",
    "Collision": "detent.collision",
    "Contact": "detent.world.contact",
    "DetentError": "detent.errors",
    "Direct": "detent.coupling",
    "ForcePath": "detent.servo.force_path",
    "Friction": "detent.world.friction",
    "FourChannel": "detent.coupling",
    "LocalModel": "detent.local.model",
    "Pace": "detent.local.pace",
    "Passivity": "detent.servo.watching",
    "Mechanism": "detent.mechanism",
    "Session": "detent.session",
    "Shaping": "detent.coupling",
    "Topology": "detent.coupling",
    "Trace": "detent.record.trace",
    "UnilateralCoupler": "detent.coupling",
    "VirtualCoupler": "detent.coupling",
    "Wall": "detent.world.wall",
    "World": "detent.world.world",
    "resolve_collision": "detent.collision",
}
_MODULES = ("devices", "hands", "mechanism")

__all__ = [
    "AT_ONCE",
    "Admittance",
    "Baumgarte",
    "Collision",
    "Contact",
    "DetentError",
    "Direct",
    "ForcePath",
    "FourChannel",
    "Friction",
    "LocalModel",
    "Mechanism",
    "Pace",
    "Passivity",
    "Session",
    "Shaping",
    "Topology",
    "Trace",
    "UnilateralCoupler",
    "VirtualCoupler",
    "Wall",
    "World",
    "devices",
    "hands",
    "mechanism",
    "resolve_collision",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"detent.{name}")
    raise AttributeError(f"module 'detent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
