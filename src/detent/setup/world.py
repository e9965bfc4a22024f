"""A world as the subject of a session."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from detent.coupling import Coupling, FourChannel
from detent.engines.host import Host
from detent.hands import Hand, Playback
from detent.kernels.constants import INTEGRATORS
from detent.kernels.stages import empty_table
from detent.local.model import LocalModel
from detent.local.proxy import Cut, cut_to_tool
from detent.local.records import history_ticks, make_local, state_size, update_size
from detent.mechanism import Mechanism
from detent.servo import places
from detent.servo.arrays import make_arrays
from detent.servo.columns import ROW
from detent.servo.constants import RIGID_GAP
from detent.servo.loop.exchange import Slot, make_slot
from detent.servo.loop.loop import time_collision
from detent.servo.parameters import PARAMETERS
from detent.servo.shown import MOST_SHOWN, drawn_block
from detent.servo.structs import Closures, Device, Servo
from detent.servo.world.closures import make_closures
from detent.servo.world.overlap import fill_slack
from detent.servo.world.scene import make_model, make_scene, never_singular
from detent.servo.world.slumber import make_sleep, may_sleep
from detent.servo.world.start import ToolStart, tool_at_start
from detent.setup.asked import Asked
from detent.setup.capacity import collision_capacity, row_capacity
from detent.setup.combinations import idle_friction
from detent.setup.contact import fill_contact
from detent.setup.coupling import fill_closures, fill_coupling, fill_hold, weigh_by_springs
from detent.setup.device import (
    fill_device,
    fill_limits,
    ignore_limits,
    named_actuators,
    place_device,
)
from detent.setup.hand import aim, fill_hand
from detent.setup.joints import with_joint_gains
from detent.setup.kept_rows import with_columns
from detent.setup.lead import lead_for
from detent.setup.passivity import fill_observed, watch_world
from detent.setup.prepared import Prepared, Settings
from detent.setup.progress import telling
from detent.setup.sinking import heavy_tool
from detent.setup.thin import thin_walls
from detent.shapes.felt import FeltWorld
from detent.world.contact import USUAL, Contact, settled
from detent.world.held_by import held_by
from detent.world.weight import default_gains
from detent.world.world import World


class WorldSubject:
    """A world: its tool is held, and all of it (or what is near the tool) is in the tick."""

    touchable = True
    mechanism: Mechanism | None = None
    row = ROW

    def __init__(self, world: World, local: LocalModel | None) -> None:
        self.world, self._local = world, local
        self.cut: Cut | None = None if local is None else cut_to_tool(world)

    @property
    def ticked(self) -> World:
        """What is in the tick: the world, or its tool alone."""
        return self.world if self.cut is None else self.cut.world

    def suited(self, coupling: Coupling | None) -> Coupling:
        """Any coupling suits a world; its joints may have the gains."""
        return with_joint_gains(coupling or FourChannel(), self.world)

    def settled(self, contact: Contact, rate: float) -> Contact:
        """The contact with numbers: what holds the bodies of this world at this rate [Hz]."""
        gains = USUAL  # where the caller says how stiff it is, nothing need be weighed
        if contact.stiffness is None:
            gains = default_gains(self.world.model, self.world.qpos, rate)
        return settled(contact, gains, self.world.friction)

    def start(self) -> ToolStart:
        """The held link at the start."""
        data = mujoco.MjData(self.world.model)
        data.qpos[:], data.qvel[:] = self.world.qpos, self.world.qvel
        return tool_at_start(self.world, self.world.model, data)

    def kept(self, rows: np.ndarray) -> np.ndarray:
        """All columns, but those of objects near a local model where there is none."""
        if self.cut is not None:
            return rows.copy()
        names = rows.dtype.names or ()
        return with_columns(rows, tuple(name for name in names if not name.startswith("near_")))

    def describe(self) -> dict[str, Any]:
        """Nothing that the world itself does not say."""
        return {}

    def holding(self, held: str, qpos: np.ndarray, qvel: np.ndarray) -> WorldSubject:
        """The same world, held at another link, going on from a configuration of the tick."""
        world = self.world.holding(held)
        if self.cut is not None:  # the servo knows the tool only
            whole = world.qpos.copy(), world.qvel.copy()
            whole[0][self.cut.qpos], whole[1][self.cut.qvel] = qpos, qvel
            qpos, qvel = whole
        return WorldSubject(world.placed(qpos, qvel), self._local)

    def blow(self, servo: Any) -> float:
        """[ns] of a collision of 16 contacts."""
        rng = np.random.default_rng(0)
        width = servo.rows.jac.shape[1]
        servo.rows.hit_row[:16] = range(16)
        servo.rows.span[:16] = [servo.scene.tree_span[servo.scene.tool_tree], (0, 0)]
        servo.rows.hit_jac[:16] = servo.rows.white[:16] = rng.standard_normal((16, width))
        servo.rows.hit_tangent[:16] = rng.standard_normal((16, 2, width))
        servo.rows.hit_friction[:16] = servo.parameters["friction_static"]
        servo.rows.hit_restitution[:16] = 0.5
        servo.motion.velocity[:] = rng.standard_normal(servo.scene.nv)
        return time_collision(servo, 16, 200)

    def allocate(
        self, asked: Asked, hand: Hand | None, rate: float, ring: int, host: Host | None
    ) -> Prepared:
        """Everything that a tick works on; slots to an engine are its host's."""
        world, notes = self.ticked, self._remarks(asked)
        rigid = asked.contact.mode == "rigid"
        model, data = make_model(world, rigid, rate)
        closures = make_closures(model)
        start = tool_at_start(world, model, data)
        felt = FeltWorld(world, data, RIGID_GAP if rigid else 0.0, telling, rate)
        notes += felt.notes
        capacity = row_capacity(model, felt.rows)
        motion, rows, work, device, clock = make_arrays(
            model, capacity, collision_capacity(model, capacity), len(closures.h)
        )
        motion.start[:] = np.concatenate([start.position, start.quaternion])
        fill_device(device, asked.device, start)
        step, drives = 1.0 / rate, named_actuators(model, data)
        adapter = place_device(asked.device, device, start, asked.coupling, step, notes, drives)
        fill_observed(device, asked.device, adapter, asked.passivity, step)
        p = self._parameters(asked, hand, rate, start, device, closures, notes)
        if asked.outside == "hold" and asked.coupling.channels.tool == "god-object":
            weigh_by_springs(model, world.held, p, device.mask, start.mask)
        rows.yields[0] = p["fade"][0] < 1.0  # what strikes in the first moments is cut short
        notes += watch_world(asked, device, p, model, data, world)
        lead = lead_for(asked, device, start.mobility, step, notes)
        target = np.append(adapter.port.state.true_pose, np.full(model.nu, np.nan))
        aim(target, hand)
        updates, states = self._slots(model, host)
        may = may_sleep(model, world.trees) & asked.sleep
        (poses, shown, drawn), kept = drawn_block(model.nbody, MOST_SHOWN), np.zeros(ring, ROW)
        state, past = np.zeros(1 + model.nq + 2 * model.nv), history_ticks(self._local, rate)
        servo = Servo(
            scene=make_scene(world, model, data, never_singular(world, start, device.mask)),
            motion=motion, rows=rows, work=work, closures=closures,
            sleep=make_sleep(model, data, may, rate, capacity),
            shapes=felt.shapes,
            local=make_local(self._local is not None, capacity, model.nv, updates.buffers, past),
            port=adapter.port, device=device, lead=lead, clock=clock,
            parameters=p, parameter_bytes=p.view(np.uint8),
            target=target, target_bytes=target.view(np.uint8),
            script=hand.sampled(rate) if isinstance(hand, Playback) else np.zeros((0, 6)),
            poses=poses, shown=shown, pose_bytes=drawn,
            commands=make_slot(p.nbytes), targets=make_slot(target.nbytes),
            updates=updates, states=states, state=state, state_bytes=state.view(np.uint8),
            views=make_slot(drawn.nbytes + ROW.itemsize),
            ring=kept, ring_bytes=kept.view(np.uint8).reshape(ring, -1),
            written=np.zeros(1, np.int64), stages=empty_table(places.PLACES),
        )  # fmt: skip
        notes += fill_slack(model, data, servo.scene, rows, felt.feel)
        settings = Settings(asked.contact, asked.coupling, asked.force_path, hand, asked.passivity)
        return Prepared(servo, adapter, model, data, rate, notes, start, settings, asked.device)

    def _remarks(self, asked: Asked) -> list[str]:
        """Notes of what the world makes of what was asked for."""
        friction = idle_friction(self.world, asked.contact)
        weighty = heavy_tool(self.world, asked.device)
        thin = thin_walls(self.world, asked.contact, asked.device)
        return held_by(self.world) + friction + weighty + thin

    def _parameters(
        self,
        asked: Asked,
        hand: Hand | None,
        rate: float,
        start: ToolStart,
        device: Device,
        closures: Closures,
        notes: list[str],
    ) -> np.ndarray:
        p = np.zeros(1, PARAMETERS)
        p["step"] = 1.0 / rate
        p["frozen"] = round(asked.frozen * rate)
        p["integrator"] = INTEGRATORS.index(asked.integrator)
        fill_closures(p, asked.baumgarte, len(closures.h), notes)
        fill_limits(p, asked.contact, asked.device)
        fill_contact(p, asked.contact)
        if asked.coupling.channels.leads:
            ignore_limits(p)  # the display is told where to go, not how hard to push
        fill_hold(p, asked.outside, start, device.mask, notes)
        fill_coupling(p, asked.coupling, start, device, notes)
        fill_hand(p, hand, device.mobility, notes)
        asked.force_path.fill(p, asked.device.safety)
        if self._local is not None:
            self._local.fill(p)
        return p

    def _slots(self, model: mujoco.MjModel, host: Host | None) -> tuple[Slot, Slot]:
        """Updates from an engine and states for it: those of its host, or new ones."""
        if host is not None:
            return host.shared.updates, host.shared.states
        pushes = self._local is not None and self._local.exchanges_forces
        return make_slot(update_size()), make_slot(state_size(model, pushes))
