"""A mechanism as the subject of a session."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from detent.checks import instance
from detent.coupling import Admittance, Coupling
from detent.devices.adapters import Adapter
from detent.engines.host import Host
from detent.errors import ParameterError
from detent.hands import Hand, Playback
from detent.kernels.mechanics import Mechanics, make_mechanics
from detent.kernels.stages import empty_table
from detent.mechanism import Mechanism
from detent.servo import places
from detent.servo.arrays import make_clock, make_device, make_lead
from detent.servo.columns import MECHANISM_ROW
from detent.servo.loop.exchange import make_slot
from detent.servo.mechanism_structs import Drawn, MechanismServo
from detent.servo.parameters import PARAMETERS
from detent.servo.shown import drawn_block
from detent.servo.structs import Device, Lead
from detent.servo.world.start import ToolStart
from detent.setup.asked import Asked
from detent.setup.device import fill_device, fill_limits, place_device
from detent.setup.hand import aim, fill_hand
from detent.setup.lead import lead_for
from detent.setup.passivity import fill_observed, fill_passivity
from detent.setup.plan import Plan, make_plan
from detent.setup.prepared import Prepared, Settings
from detent.world.contact import Contact, settled
from detent.world.friction import NO_FRICTION
from detent.world.weight import USUAL
from detent.world.world import World

REFUSED = "an Admittance, or another coupling that leads, with a Mechanism"


class MechanismSubject:
    """A mechanism: a display moves as it does."""

    touchable = False
    cut = None
    row = MECHANISM_ROW

    def __init__(self, mechanism: Mechanism) -> None:
        self.plan: Plan = make_plan(mechanism)
        self.mechanism: Mechanism | None = mechanism

    @property
    def world(self) -> World:
        """The scene in which it is drawn."""
        return self.plan.world

    def suited(self, coupling: Coupling | None) -> Coupling:
        """An admittance: nothing else moves a display."""
        instance("coupling", coupling, Coupling | None, REFUSED)
        if coupling is not None and coupling.following() is None:
            raise ParameterError("coupling", coupling, REFUSED)
        return coupling or Admittance()

    def settled(self, contact: Contact, rate: float) -> Contact:
        """A mechanism touches nothing."""
        return settled(contact, USUAL, NO_FRICTION)

    def start(self) -> ToolStart:
        """The handle at the start."""
        return self.plan.start

    def kept(self, rows: np.ndarray) -> np.ndarray:
        """As many columns as it has coordinates and constraints."""
        return self.plan.trimmed(rows)

    def blow(self, servo: Any) -> float:
        """None: it has stops, and they are in every tick."""
        return 0.0

    def holding(self, held: str, qpos: np.ndarray, qvel: np.ndarray) -> MechanismSubject:
        """Itself: a mechanism has one handle."""
        return self

    def describe(self) -> dict[str, Any]:
        """Its coordinates, constraints and constants."""
        m = self.plan.mechanism
        described = {
            "name": m.name,
            "coordinates": [str(s) for s in m.q],
            "velocities": [str(s) for s in m.u],
            "constraints": [str(e) for e in m.holonomic] + [str(list(r)) for r in m.pfaffian],
            "constants": {str(k): float(v) for k, v in m.constants.items()},
            "parts": list(m.energies),
            "start": [float(v) for v in m.start],
            "start_velocity": [float(v) for v in m.start_velocity],
        }
        return {"mechanism": described}

    def allocate(
        self, asked: Asked, hand: Hand | None, rate: float, ring: int, host: Host | None
    ) -> Prepared:
        """Everything that a tick works on."""
        coupling, notes, start = asked.coupling, list[str](), self.plan.start
        following = coupling.following()
        assert following is not None  # `suited` has seen to that
        me = self.plan.mechanics()
        me.step[0] = 1.0 / rate
        me.integrator[0] = following.integrator
        p = np.zeros(1, PARAMETERS)
        p["step"] = 1.0 / rate
        coupling.channels.fill(p)
        device = make_device()
        fill_device(device, asked.device, start)
        fill_limits(p, Contact(), asked.device)
        adapter = place_device(asked.device, device, start, coupling, 1.0 / rate, notes)
        fill_observed(device, asked.device, adapter, asked.passivity, 1.0 / rate)
        fill_passivity(p, asked.passivity, device.observed)
        lead = lead_for(asked, device, start.mobility, 1.0 / rate, notes)
        fill_hand(p, hand, device.mobility, notes)
        asked.force_path.fill(p, asked.device.safety)
        target = adapter.port.state.true_pose.copy()
        aim(target, hand)
        script = hand.sampled(rate) if isinstance(hand, Playback) else np.zeros((0, 6))
        model = self.world.model
        ids = [model.body(name).id for name in self.plan.mechanism.bodies]
        servo = make_servo(me, adapter, device, lead, p, target, script, model.nbody, ids, ring)
        settings = Settings(None, coupling, asked.force_path, hand, asked.passivity)
        data = mujoco.MjData(model)
        return Prepared(servo, adapter, model, data, rate, notes, start, settings, asked.device)


def make_servo(
    me: Mechanics,
    adapter: Adapter,
    device: Device,
    lead: Lead,
    p: np.ndarray,
    target: np.ndarray,
    script: np.ndarray,
    nbody: int,
    ids: list[int],
    ring: int,
) -> MechanismServo:
    """All arrays of a servo together."""
    (poses, shown, drawn), xquat = drawn_block(nbody, 0), np.zeros((nbody, 4))
    xquat[:, 0] = 1.0
    rows = np.zeros(ring, MECHANISM_ROW)
    return MechanismServo(
        scene=Drawn(np.zeros((nbody, 3)), xquat, me.q, me.u, np.array(ids, np.int64), np.zeros(0)),
        mechanics=me,
        port=adapter.port,
        device=device,
        lead=lead,
        clock=make_clock(),
        parameters=p,
        parameter_bytes=p.view(np.uint8),
        target=target,
        target_bytes=target.view(np.uint8),
        script=script,
        poses=poses,
        shown=shown,
        pose_bytes=drawn,
        commands=make_slot(p.nbytes),
        targets=make_slot(target.nbytes),
        views=make_slot(drawn.nbytes + MECHANISM_ROW.itemsize),
        ring=rows,
        ring_bytes=rows.view(np.uint8).reshape(ring, -1),
        written=np.zeros(1, np.int64),
        stages=empty_table(places.PLACES),
        work=np.zeros((4, 6, 6)),
    )


def blank_servo(adapter: Adapter) -> MechanismServo:
    """The smallest servo there can be: for its type, by which stages are compiled."""
    names = ("nq", "nv", "nz", "nc", "rows", "holonomic", "phi", "psi", "stops", "energies")
    sizes = dict.fromkeys((*names, "bodies", "track"), 0) | {"nq": 1, "nv": 1}
    where = np.zeros((1, 2), np.int64), np.zeros((0, 2), np.int64)
    columns = {"M": [[0]], "psi_gram": [], "J_gram": [[0]]}
    me = make_mechanics(sizes, columns, *where)
    p, device, lead = np.zeros(1, PARAMETERS), make_device(), make_lead()
    return make_servo(me, adapter, device, lead, p, np.zeros(7), np.zeros((0, 6)), 1, [], 1)
