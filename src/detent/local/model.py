"""What of the world the servo keeps near the tool, and how it lives between two updates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detent.checks import not_negative, one_of, positive
from detent.errors import ParameterError
from detent.local.constants import HEALING

CONSTRAINTS = ("static", "kinematic", "inertial")
REFERENCES = ("engine", "proxy")


@dataclass(frozen=True)
class LocalModel:
    """The local model of interaction: constraints near the tool, refreshed by an engine (TH 6).

    The engine reports everything within ``epsilon`` of the tool (ε-active geometry, M23); with
    ``horizon`` also what the tool would reach within that time, at its present velocity (B5).
    Where they are more than an update holds, those nearer to each other than ``cluster`` count as
    one (M24).

    ``constraints`` are ``"static"`` between updates, ``"kinematic"`` (they move as the object
    did at the update) or ``"inertial"`` (they also give way as its mass does, B4). In
    collisions they are static, so that no update brings energy into the tool.

    A constraint that arrives late deforms the proxy. With ``heal`` the deformation is taken back
    at 50 mm/s at most, and only as far as the energy goes that this contact has dissipated;
    without it, and with ``reference="proxy"``, it stays until the proxy is free again (M22 to the
    letter). With
    ``recovery`` [s] it is instead moved to its place within that time: constraint
    interpolation, as in the intermediate representation (M26, `intermediate`).

    Contact points belong to the engine's tool as it was when the engine looked
    (``reference="engine"``); ``"proxy"`` is TH 6.1 to the letter, which takes the proxy as it is
    when the update arrives, and so moves a wall by speed × latency.

    ``frozen`` keeps inertia, weight and constraint directions between updates, and leaves out
    Coriolis terms (TH 6.15-6.22); by default all are exact in every tick.

    No update changes the contact force at the hand by more than ``slew_force`` and
    ``slew_torque`` allow (None: at once). After ``age_limit`` without an update the forces fall
    to zero within ``decay``, and come back within ``ramp``.
    """

    epsilon: float = 0.005  # [m]
    horizon: float = 0.0  # [s]
    cluster: float = 0.002  # [m] ε_tVE
    constraints: str = "static"
    heal: bool = True
    recovery: float | None = None  # [s]
    reference: str = "engine"
    frozen: bool = False
    slew_force: float | None = 2_000.0  # [N/s]
    slew_torque: float | None = 100.0  # [N·m/s]
    age_limit: float = 0.25  # [s]
    decay: float = 0.02  # [s]
    ramp: float = 0.1  # [s]
    speed: float = 1.0  # [m/s] v_max: the fastest that anything moves
    angle: float = np.pi / 6.0  # [rad] θ_max: between faces that are one

    def __post_init__(self) -> None:
        for name in ("epsilon", "horizon", "cluster"):
            not_negative(name, getattr(self, name))
        for name in ("age_limit", "decay", "ramp", "speed", "angle"):
            positive(name, getattr(self, name))
        for name in ("recovery", "slew_force", "slew_torque"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        one_of("kind of constraints", self.constraints, CONSTRAINTS)
        one_of("reference", self.reference, REFERENCES)
        if self.angle > 0.5 * np.pi:
            raise ParameterError("angle", self.angle, "at most π/2: opposing faces are never one")

    @classmethod
    def intermediate(cls, recovery: float = 0.02) -> LocalModel:
        """The intermediate representation: contacts only, moved to their place in that time."""
        return cls(epsilon=0.0, recovery=recovery, reference="proxy", slew_force=None,
                   slew_torque=None)  # fmt: skip

    @property
    def reach(self) -> float:
        """[m] How far around the tool the engine must look."""
        return self.epsilon + self.horizon * self.speed

    @property
    def heals(self) -> bool:
        """Whether deformation is taken back under load: not where points follow the proxy."""
        return self.heal and self.recovery is None and self.reference == "engine"

    @property
    def exchanges_forces(self) -> bool:
        """Whether objects in the engine get the forces of the local model."""
        return self.constraints == "inertial"

    def fill(self, p: np.ndarray) -> None:
        """Into a parameter record."""
        p["frozen"] = self.frozen
        p["local_moving"] = self.constraints != "static"
        p["local_inertia"] = self.constraints == "inertial"
        p["local_literal"] = self.reference == "proxy"
        p["local_recovery"] = self.recovery or 0.0
        slews = (self.slew_force, self.slew_torque)
        p["local_slew"] = [np.inf if one is None else one for one in slews]
        p["local_heal"] = HEALING if self.heals else 0.0
        for name in ("speed", "angle", "decay", "ramp"):
            p[f"local_{name}"] = getattr(self, name)
        p["local_age"] = self.age_limit
