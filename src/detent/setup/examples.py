"""The smallest servo of each kind: for their types, by which stages are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import mujoco
import numpy as np

from detent.coupling import Coupling, FourChannel
from detent.devices import AdmittanceDisplay, Inertial
from detent.devices.adapters import Adapter, Placed
from detent.devices.protocol import Device
from detent.local.model import LocalModel
from detent.local.pace import Pace
from detent.servo import places
from detent.servo.compile import Fitted
from detent.servo.force_path import ForcePath
from detent.servo.table import TABLES, Stage, always
from detent.servo.watching import OFF, Passivity
from detent.setup.mechanism import blank_servo
from detent.setup.world import WorldSubject
from detent.shapes.filter import Meeting
from detent.shapes.shapes import make_pair
from detent.shapes.solids import primitive_solid
from detent.shapes.structs import Felt, Pair
from detent.world.baumgarte import Baumgarte
from detent.world.contact import Contact
from detent.world.world import World


@dataclass
class Defaults:
    """What a session asks for if nobody says anything."""

    contact: Contact = field(default_factory=Contact)
    coupling: Coupling = field(default_factory=FourChannel)
    device: Device = field(default_factory=Inertial)
    force_path: ForcePath = field(default_factory=ForcePath)
    passivity: Passivity = OFF
    outside: str = "hold"
    rate: float = 1000.0
    integrator: str = "velocity-first"
    frozen: float = 0.0
    baumgarte: Baumgarte = field(default_factory=Baumgarte)
    local: LocalModel | None = None
    engine: str | type = "mujoco"
    pace: Pace = field(default_factory=Pace)
    sleep: bool = True


def example_adapters() -> list[Adapter]:
    """One of each simulated device."""
    pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    none = np.zeros(6)
    placed = Placed(pose, none, none, np.zeros((6, 6)), 1e-3, False, False, 100.0)
    return [Inertial().adapter(placed), AdmittanceDisplay().adapter(placed)]


def example_pair(felt: Felt) -> Pair:
    """Two balls, as if one of them were felt as it is."""
    ball, _ = primitive_solid(int(mujoco.mjtGeom.mjGEOM_SPHERE), np.full(3, 0.1), 0.1)
    return make_pair(felt, Meeting(0, 1, np.zeros(5), 1), ball, ball)


def all_stages() -> Iterator[Fitted]:
    """Every stage there is, with a struct of the type that it is compiled for."""
    adapters = example_adapters()
    for adapter in adapters:
        kind = type(adapter.struct)
        yield Fitted(Stage(places.READ, adapter.read, kind, always), adapter.struct)
        yield Fitted(Stage(places.WRITE, adapter.write, kind, always), adapter.struct)
    mechanism = blank_servo(adapters[1])
    world = WorldSubject(World.builtin("corner"), None).allocate(Defaults(), None, 1000.0, 1, None)
    pair = example_pair(world.servo.shapes.felt)
    parts = (world.servo, mechanism, mechanism.mechanics, pair)
    structs = {type(part): part for part in parts}
    for table in TABLES.values():
        for stage in table:
            yield Fitted(stage, structs[stage.takes])
