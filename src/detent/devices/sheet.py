"""What is known of a device that can be bought: each field with its source, or None."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from detent.checks import instance, one_of
from detent.devices.facts import Fact
from detent.devices.protocol import SUBSPACES
from detent.errors import DeviceDataError, ParameterError

#: what a simulation may assume; caps of a real device it may not
#: what no device has none of: leave a field out that is not known
ABOVE_ZERO = (
    *("mass", "rotational_inertia", "force", "force_continuous", "torque", "torque_continuous"),
    *("rate", "reach", "stiffness", "turning_stiffness"),
)
ASSUMABLE = (
    *("mass", "rotational_inertia", "friction", "turning_friction"),
    *("damping", "turning_damping", "delay"),
)


@dataclass(frozen=True)
class Sheet:
    """A data sheet. What nobody has published is None, and raises where it is needed."""

    name: str
    title: str
    senses: str  # subspace of its readings
    actuates: str  # subspace in which it pushes
    driver: str | None = None  # of `detent.devices.drivers`
    takes_motion: bool = False  # an admittance display
    force: Fact | None = None  # [N] peak
    force_continuous: Fact | None = None  # [N]
    torque: Fact | None = None  # [N·m] peak
    torque_continuous: Fact | None = None  # [N·m]
    grip: Fact | None = None  # [N]
    resolution: Fact | None = None  # [m]
    turning_resolution: Fact | None = None  # [rad]
    mass: Fact | None = None  # [kg] apparent
    rotational_inertia: Fact | None = None  # [kg·m²]
    friction: Fact | None = None  # [N]
    turning_friction: Fact | None = None  # [N·m]
    damping: Fact | None = None  # [N·s/m]
    turning_damping: Fact | None = None  # [N·m·s/rad]
    delay: Fact | None = None  # [s] from command to force
    stiffness: Fact | None = None  # [N/m] that it can render
    stiffness_damping: Fact | None = None  # [N·s/m] of a wall on it, at most
    turning_stiffness: Fact | None = None  # [N·m/rad]
    reach: Fact | None = None  # [m] from its centre
    rate: Fact | None = None  # [Hz] of its own loop

    def __post_init__(self) -> None:
        for name in ("senses", "actuates"):
            one_of("device subspace", getattr(self, name), SUBSPACES)
        for field in fields(self):
            value = getattr(self, field.name)
            if "Fact" not in str(field.type) or value is None:
                continue
            allowed = "known(value, source), assumed(value, reason) or None"
            instance(f"{self.name} {field.name}", value, Fact, allowed)
            if field.name in ABOVE_ZERO and value.value <= 0.0:
                raise ParameterError(f"{self.name} {field.name}", value.value, "above 0")
            if value.assumed and field.name not in ASSUMABLE:
                allowed = f"known, with a source: only {', '.join(ASSUMABLE)} may be assumed"
                raise ParameterError(f"{self.name} {field.name}", value.value, allowed)

    def need(self, name: str) -> float:
        """The value of a field; refused if nobody knows it."""
        fact = getattr(self, name)
        if fact is None:
            raise DeviceDataError(self.name, name)
        return float(fact.value)

    def get(self, name: str) -> float | None:
        """The value of a field, or None."""
        fact = getattr(self, name)
        return None if fact is None else float(fact.value)

    def facts(self) -> dict[str, Fact]:
        """All fields that are known or assumed."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, Fact)}

    def with_facts(self, **changed: Any) -> Sheet:
        """The same sheet with other facts: of your own device, as you measured it."""
        names = {field.name for field in fields(self) if "Fact" in str(field.type)}
        for name in changed:
            one_of(f"field of a {self.name}", name, names)
        return replace(self, **changed)

    @property
    def turns(self) -> bool:
        """Whether it senses rotation."""
        return bool(SUBSPACES[self.senses][3:].any())

    @property
    def moves(self) -> bool:
        """Whether it senses translation."""
        return bool(SUBSPACES[self.senses][:3].any())

    @property
    def actuated(self) -> np.ndarray:
        """(6,) 1 = the axis takes a wrench."""
        return SUBSPACES[self.actuates]
