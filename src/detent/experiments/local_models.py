"""The ways to tie a servo to a slow engine that TH 6.4 compares, under one name each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from detent.coupling import Coupling, Direct
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import IDEAL, Inertial
from detent.experiments.protocol import Metrics
from detent.local import LocalModel, Pace
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.friction import NO_FRICTION, Friction
from detent.world.world import World

RATE = 512.0  # [Hz] TH 3
FRAME = 1.0 / 60.0  # [s] of the engine, TH 3: 30 to 60 Hz


@dataclass(frozen=True)
class Method:
    """A local model with the coupling and the contact that belong to it."""

    words: str
    local: LocalModel | None  # None: the whole world in the tick
    coupling: Coupling = TABLE_4_1
    mode: str = "impulse"
    latency: bool = True  # False: an update arrives as soon as the engine has looked

    def session(
        self,
        world: World,
        stiffness: float,
        damping: float,
        period: float,
        restitution: float = 0.0,
        device: Inertial = IDEAL,
        friction: Friction = NO_FRICTION,
    ) -> Session:
        """A session at 512 Hz, beside an engine that takes a period for each frame."""
        contact = Contact(stiffness, damping, restitution, mode=self.mode, friction=friction)
        pace = Pace(period, None if self.latency else 0.0) if self.local else None
        return Session(
            world,
            contact,
            self.coupling,
            device,
            rate=RATE,
            local=self.local,
            pace=pace,
            sleep=False,
        )


def near(epsilon: float, **options: str) -> LocalModel:
    """The local model with what is within ε [m]."""
    return LocalModel(epsilon=epsilon, heal=False, **options)  # type: ignore[arg-type]


IR = Method("intermediate representation", LocalModel.intermediate(), Direct(), "penalty")
METHODS = {
    "ir": IR,
    "ir_prompt": replace(IR, words="intermediate representation, no latency", latency=False),
    "lm0": Method("local model, ε = 0", near(0.0)),
    "lm5": Method("local model, ε = 5 mm", near(0.005)),
    "lm5_literal": Method("local model, ε = 5 mm, TH 6.1 literal", near(0.005, reference="proxy")),
    "lm5_direct": Method(
        "local model, ε = 5 mm, directly coupled", near(0.005), Direct(), "penalty"
    ),
    "lm_kc": Method("kinematic constraints", near(0.005, constraints="kinematic")),
    "lm_inertial": Method("inertial constraints", near(0.005, constraints="inertial")),
    "sync": Method("the whole world in the tick", None),
}


def angle(trace: Trace) -> np.ndarray:
    """[rad] of a planar device."""
    q = trace["device_quaternion"]
    return np.unwrap(2.0 * np.arctan2(q[:, 3], q[:, 0]))


def losses(trace: Trace) -> int:
    """How often the tool was touching and then was not."""
    return int((np.diff((trace["contacts"] > 0).astype(int)) < 0).sum())


def prefixed(name: str, metrics: Metrics) -> Metrics:
    """The metrics of one method."""
    return {f"{name}.{key}": value for key, value in metrics.items()}
