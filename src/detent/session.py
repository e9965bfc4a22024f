"""A session: a world, how its bodies meet, a coupling, a device. The one place that wires them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from detent.admission import Plan, allocate_mechanism, described, fill_display, make_plan
from detent.assembly import (
    aim,
    check_material,
    fill_closures,
    fill_contact,
    fill_coupling,
    fill_device,
    fill_hand,
    fill_hold,
    fill_limits,
)
from detent.checks import instance, not_negative, one_of, positive
from detent.combinations import check_local, idle_friction, suited
from detent.coupling import Admittance, Coupling, FourChannel
from detent.devices import AdmittanceDisplay, Inertial
from detent.devices.protocol import ImpedanceDevice
from detent.engines import find_engine
from detent.engines.frame import Frames
from detent.engines.host import Host
from detent.engines.lockstep import Lockstep
from detent.engines.protocol import Task
from detent.errors import ParameterError, ServoFault, TraceError
from detent.hands import Guided, Hand, Playback
from detent.local.model import LocalModel
from detent.local.pace import Pace
from detent.local.proxy import cut_to_tool
from detent.local.records import history_ticks, make_local, state_size, update_size
from detent.mechanism import Mechanism
from detent.notes import run_notes
from detent.record.trace import KeptWriter, Trace
from detent.servo import records
from detent.servo.admit import ADMIT_ROW, AdmitServo
from detent.servo.arrays import make_arrays
from detent.servo.closures import make_closures
from detent.servo.display import NOISE_LENGTH, make_display
from detent.servo.exchange import make_slot
from detent.servo.live import Live, percentile
from detent.servo.loop import run_lockstep, time_collision, time_ticks
from detent.servo.records import Servo
from detent.servo.scene import (
    count_limits,
    make_model,
    make_scene,
    never_singular,
)
from detent.servo.start import tool_at_start
from detent.warmup import warm
from detent.world.baumgarte import Baumgarte
from detent.world.contact import Contact
from detent.world.world import World

PREFLIGHT_TICKS = 400
CHUNK = 4096  # [ticks] between two looks at a lockstep run
CAPACITY = 128  # contacts and joint limits, at least
LEAST_CONTACTS = 64  # that fit beside all limits


@dataclass(frozen=True)
class ForcePath:
    """The last guard before the device. Filter and slew are off unless asked for."""

    filter_hz: float | None = None  # [Hz] cut-off of a first-order low pass
    slew_force: float | None = None  # [N/s]
    slew_torque: float | None = None  # [N·m/s]

    def __post_init__(self) -> None:
        for name in ("filter_hz", "slew_force", "slew_torque"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))

    def fill(self, p: np.ndarray) -> None:
        """Into a parameter record whose step is set."""
        step = float(p["step"][0])
        corner = np.inf if self.filter_hz is None else 2.0 * np.pi * self.filter_hz
        p["filter_blend"] = 1.0 - np.exp(-corner * step)
        slews = (self.slew_force, self.slew_torque)
        p["slew"] = [np.inf if one is None else one * step for one in slews]


@dataclass
class Prepared:
    """A servo ready to run, with everything that must stay alive beside it."""

    servo: Any  # Servo, or AdmitServo for a mechanism
    model: mujoco.MjModel
    data: mujoco.MjData
    rate: float  # [Hz]
    notes: list[str]  # of the start

    def said(self) -> list[str]:
        """What the start and the run so far have to say."""
        return self.notes + run_notes(self.servo, self.model, self.data, self.rate)


class Session:
    """Feel a world through a device.

    Args:
        world: what can be touched, and what the hand holds; or a `Mechanism`, which an
            admittance display moves as (of the arguments below it takes coupling, device,
            force_path and rate).
        contact: how bodies meet.
        coupling: what ties tool and device.
        device: by default an inertial one like the tool.
        force_path: filter and slew limit before the device.
        outside: ``"hold"`` the tool by a spring in directions that the device cannot move in,
            or leave it ``"free"`` there.
        rate: [Hz] of the servo in lockstep.
        integrator: ``"symplectic"`` (velocity first: passive for undamped springs) or
            ``"held"`` (positions move as under a force that is held for the step, as a real
            device does: a sampled spring then gains energy).
        frozen: [s] for which inertia and directions of constraint are kept, as those of a local
            model are until its next update (Coriolis terms are left out, too); 0 = exact.
        baumgarte: how drift of closed loops is taken back.
        local: render a local model of what is near the tool, while an engine simulates the
            world at its own pace; by default the whole world is in the tick.
        engine: ``"mujoco"``, ``"bullet"``, or a class of your own (`detent.engines.protocol`).
        pace: when the engine looks and when its updates arrive, in lockstep.
    """

    def __init__(
        self,
        world: World | Mechanism,
        contact: Contact | None = None,
        coupling: Coupling | None = None,
        device: ImpedanceDevice | None = None,
        force_path: ForcePath | None = None,
        outside: str = "hold",
        rate: float = 1000.0,
        integrator: str = "symplectic",
        frozen: float = 0.0,
        baumgarte: Baumgarte | None = None,
        local: LocalModel | None = None,
        engine: str | type = "mujoco",
        pace: Pace | None = None,
    ) -> None:
        instance("world", world, World | Mechanism, "a World or a Mechanism")
        instance("contact", contact, Contact | None, "a Contact")
        instance("coupling", coupling, Coupling | None, "one of detent.coupling, not its name")
        instance("device", device, ImpedanceDevice | None, "one of detent.devices, not its name")
        instance("force_path", force_path, ForcePath | None, "a ForcePath")
        instance("baumgarte", baumgarte, Baumgarte | None, "a Baumgarte")
        self.plan: Plan | None = None  # of a mechanism
        if isinstance(world, Mechanism):
            given = (contact, baumgarte, frozen or None, local)
            names = ("contact", "baumgarte", "frozen", "local")
            for name, value in zip(names, given, strict=True):
                instance(name, value, type(None), "left out with a Mechanism")
            self.plan = make_plan(world)
            world, coupling = self.plan.world, coupling or Admittance()
            instance("coupling", coupling, Admittance, "an Admittance with a Mechanism")
        self.world = world
        self.coupling = coupling or FourChannel()
        self.contact = suited(contact or Contact(), self.coupling)
        admits = isinstance(self.coupling, Admittance)
        self.device = device or (AdmittanceDisplay() if admits else Inertial())
        self.force_path = force_path or ForcePath()
        self.outside = one_of("choice for outside", outside, ("hold", "free"))
        self.rate = positive("rate", rate)
        check_material(self.contact, self.rate)
        self.baumgarte = baumgarte or Baumgarte()
        self.frozen = not_negative("frozen", frozen)
        self.integrator = one_of("integrator", integrator, records.INTEGRATORS)
        self.local, self.engine, self.pace = local, engine, pace or Pace()
        instance("local", local, LocalModel | None, "a LocalModel")
        instance("pace", self.pace, Pace, "a Pace")
        if local is None:
            instance("pace", pace, type(None), "left out without local=LocalModel()")
        self.cut = None if local is None else cut_to_tool(world)
        check_local(local, engine, self.contact, self.frozen)

    def run(
        self,
        seconds: float,
        hand: Hand | None = None,
        record: str | Path | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Trace:
        """Run in lockstep from the world's start; the same inputs give the same trace.

        Args:
            seconds: [s] of virtual time.
            hand: who pushes.
            record: a file to stream the trace into while it runs.
            progress: called with the fraction done.
        """
        ticks = max(1, round(positive("seconds", seconds) * self.rate))
        ready = self.prepare(hand, self.rate, ring=min(ticks, CHUNK))
        engine = None if self.local is None else self.play_engine(ready)
        parts = []
        meta = self.describe(hand, self.rate, ready.notes)
        writer = self._writer(record, meta)
        try:
            done = 0
            while done < ticks:
                batch = advance(ready, hand, done, min(CHUNK, ticks - done), engine)
                ready.servo.written[0] = 0
                parts.append(self._kept(ready.servo.ring[:batch]))
                done += batch
                if writer is not None:
                    writer.append(ready.servo.ring[:batch])
                if progress is not None:
                    progress(done / ticks)
                raise_fault(ready.servo, parts[-1])
        finally:
            if writer is not None:
                writer.close()
        meta["notes"] = ready.said()
        if engine is not None and engine.trouble:
            meta["notes"].append(f"the engine said: {engine.trouble}")
        return Trace(np.concatenate(parts), meta)

    @contextmanager
    def live(
        self,
        rate: float = 4000.0,
        hand: Hand | None = None,
        realtime: bool = False,
        record: str | Path | None = None,
    ) -> Iterator[Live]:
        """Run on the wall clock, on a thread of its own, until the block is left.

        Args:
            rate: [Hz].
            hand: who pushes at first; `Live.pull` moves an impedance hand.
            realtime: ask for SCHED_FIFO, locked memory and low latency where allowed.
            record: a file to stream the trace into.
        """
        rate = positive("rate", rate)
        if isinstance(hand, Guided):
            raise ParameterError("hand", hand, "without a path: live, `Live.pull` moves the target")
        cost = self.tick_cost(hand, rate)
        host = None if self.local is None else self.host_engine()
        bodies = None if self.cut is None else self.cut.bodies
        writer = None
        try:
            ready = self.prepare(hand, rate, ring=max(4096, int(rate)), host=host)
            meta = self.describe(hand, rate, ready.notes)
            writer = self._writer(record, meta)
            live = Live(ready.servo, ready, rate, realtime, writer, cost, host, bodies)
            try:
                if host is not None:
                    host.start()
                live.start()
                yield live
            finally:
                live.stop()
        finally:
            if host is not None:
                host.stop()
            if writer is not None:
                writer.close()
        raise_fault(ready.servo, self._kept(live.recent()))
        if live.sink_error is not None:
            raise TraceError(
                f"recording to {record} stopped: {live.sink_error}"
            ) from live.sink_error

    @property
    def exchanges_forces(self) -> bool:
        """Whether objects in the engine get the forces of the local model."""
        return self.local is not None and self.local.constraints == "inertial"

    def task(self) -> Task:
        """What an engine of this session is made for."""
        assert self.local is not None and self.cut is not None
        return Task(self.world, self.cut, self.local, self.contact)

    def host_engine(self) -> Host:
        """The engine in a process of its own, not yet started."""
        task = self.task()
        tool = task.cut.world
        size = state_size(tool.model, self.exchanges_forces)
        state = np.zeros(size // 8)
        state[1 : 1 + tool.model.nq + tool.model.nv] = np.concatenate([tool.qpos, tool.qvel])
        return Host(task, self.engine, self.pace.period, state)

    def play_engine(self, ready: Prepared) -> Lockstep:
        """The engine in virtual time, beside a servo that is ready."""
        task = self.task()
        frames = Frames(find_engine(self.engine)(task), task)
        return Lockstep(frames, self.pace, ready.servo, ready.rate)

    def tick_cost(self, hand: Hand | None, rate: float) -> float:
        """The 99 % cost of a tick at the start, with a collision of 16 contacts in it [ns]."""
        scratch = self.prepare(hand, rate, ring=PREFLIGHT_TICKS).servo
        time_ticks(scratch, 10)
        slow = min(self._slow_tick(scratch) for _ in range(3))  # other jobs may be in the way
        if isinstance(scratch, AdmitServo):
            return slow
        rng = np.random.default_rng(0)
        scratch.rows.hit_jac[:16] = rng.standard_normal((16, scratch.scene.nv))
        scratch.rows.hit_tangent[:16] = rng.standard_normal((16, 2, scratch.scene.nv))
        scratch.rows.hit_friction[:16] = scratch.parameters["friction_static"]
        scratch.rows.hit_restitution[:16] = 0.5
        scratch.motion.velocity[:] = rng.standard_normal(scratch.scene.nv)
        collision = time_collision(scratch, 16, 200)
        return slow + collision

    def _kept(self, rows: np.ndarray) -> np.ndarray:
        """Rows as a trace keeps them."""
        return rows.copy() if self.plan is None else self.plan.trimmed(rows)

    def _writer(self, record: str | Path | None, meta: dict[str, Any]) -> KeptWriter | None:
        if record is None:
            return None
        rows = records.ROW if self.plan is None else ADMIT_ROW
        return KeptWriter(record, meta, self._kept(np.zeros(0, rows)).dtype, self._kept)

    def _slow_tick(self, servo: Any) -> float:
        """The 99 % cost of a few ticks [ns]."""
        servo.clock.compute[:] = 0
        time_ticks(servo, PREFLIGHT_TICKS)
        return 1e3 * percentile(servo.clock.compute, 0.99)

    def describe(
        self, hand: Hand | None = None, rate: float | None = None, notes: list[str] | None = None
    ) -> dict[str, Any]:
        """The configuration, as plain values, for the head of a trace."""
        out: dict[str, Any] = {
            "world": self.world.name,
            "tool": self.world.body_name(self.world.tool),
            "held": self.world.body_name(self.world.held),
            "point": self.world.point.tolist(),
            "start": self.world.qpos.tolist(),
            "start_velocity": self.world.qvel.tolist(),
            "controls": self.world.ctrl.tolist(),
            "rate": rate or self.rate,
            "outside": self.outside,
            "integrator": self.integrator,
            "frozen": self.frozen,
            "notes": notes or [],
        }
        for name in ("contact", "coupling", "device", "force_path", "baumgarte"):
            out[name] = _plain(getattr(self, name))
        if self.plan is not None:
            out["mechanism"] = described(self.plan)
        if self.local is not None:
            engine = self.engine if isinstance(self.engine, str) else self.engine.__name__
            out |= {"local": _plain(self.local), "engine": engine, "pace": _plain(self.pace)}
        if hand is not None:
            out["hand"] = _plain(hand)
        return out

    def holding(self, held: str, qpos: np.ndarray, qvel: np.ndarray) -> Session:
        """The same session with the hand at another link, going on from a configuration."""
        other, world = copy.copy(self), self.world.holding(held)
        if self.cut is not None:  # the servo knows the tool only
            whole = world.qpos.copy(), world.qvel.copy()
            whole[0][self.cut.qpos], whole[1][self.cut.qvel] = qpos, qvel
            qpos, qvel = whole
        other.world = world.placed(qpos, qvel)
        other.cut = None if self.cut is None else cut_to_tool(other.world)
        return other

    def changed(self, **contact: Any) -> Session:
        """The same session with other contact properties."""
        other = copy.copy(self)
        other.contact = suited(replace(self.contact, **contact), self.coupling)
        check_material(other.contact, other.rate)
        return other

    def warm(self, rate: float) -> None:
        """Check the start and compile what a live run calls, before it is needed."""
        warm(self.allocate(None, positive("rate", rate), ring=1).servo)

    def prepare(
        self, hand: Hand | None, rate: float, ring: int, host: Host | None = None
    ) -> Prepared:
        """A servo that is ready to run: allocated, filled, compiled."""
        ready = self.allocate(hand, rate, ring, host)
        warm(ready.servo)
        return ready

    def _allocate_mechanism(
        self, plan: Plan, hand: Hand | None, rate: float, ring: int
    ) -> Prepared:
        assert isinstance(self.coupling, Admittance)  # the constructor has seen to that
        servo, notes = allocate_mechanism(
            plan, self.device, self.coupling, hand, rate, ring, self.force_path.fill
        )
        return Prepared(servo, plan.world.model, mujoco.MjData(plan.world.model), rate, notes)

    def allocate(
        self, hand: Hand | None, rate: float, ring: int, host: Host | None = None
    ) -> Prepared:
        """Allocate and fill everything that a tick works on; slots to an engine are its host's."""
        if self.plan is not None:
            return self._allocate_mechanism(self.plan, hand, rate, ring)
        world = self.world if self.cut is None else self.cut.world
        model, data = make_model(world, self.contact.mode == "rigid", rate)
        closures = make_closures(model)
        start = tool_at_start(world, model, data)
        capacity = max(CAPACITY, LEAST_CONTACTS + count_limits(model))
        motion, rows, work, device, clock = make_arrays(model, capacity, len(closures.h))
        p = np.zeros(1, records.PARAMETERS)
        notes: list[str] = []
        p["step"] = 1.0 / rate
        p["frozen"] = round(self.frozen * rate)
        p["integrator"] = records.INTEGRATORS.index(self.integrator)
        fill_closures(p, self.baumgarte, len(closures.h), notes)
        fill_device(device, self.device, start)
        fill_contact(p, self.contact)
        fill_limits(p, self.contact, self.device)
        notes += idle_friction(self.world, self.contact)
        fill_hold(p, self.outside, start, device.mask, notes)
        fill_coupling(p, self.coupling, start, device, notes)
        fill_hand(p, hand)
        self.force_path.fill(p)
        if self.local is not None:
            self.local.fill(p)
        motion.start[:] = np.concatenate([start.position, start.quaternion])
        target = np.concatenate([device.position, device.quaternion])
        aim(target, hand)
        display = make_display()
        if isinstance(self.coupling, Admittance):
            p["strategy"] = records.FULL  # the display is told where to go, not how hard to push
            display = make_display(NOISE_LENGTH)
            fill_display(
                display, self.device, self.coupling, device, start.mobility, 1.0 / rate, notes
            )
        nowhere = never_singular(world, start, device.mask)
        scene = make_scene(world, model, data, nowhere)
        poses = np.zeros((model.nbody, 7))
        rows_ring = np.zeros(ring, records.ROW)
        state = np.zeros(1 + model.nq + 2 * model.nv)
        past = history_ticks(self.local, rate)
        if host is not None:
            updates, states = host.shared.updates, host.shared.states
        else:
            updates = make_slot(update_size())
            states = make_slot(state_size(model, self.exchanges_forces))
        servo = Servo(
            scene=scene,
            motion=motion,
            rows=rows,
            work=work,
            closures=closures,
            local=make_local(self.local is not None, capacity, model.nv, updates.buffers, past),
            device=device,
            display=display,
            clock=clock,
            parameters=p,
            parameter_bytes=p.view(np.uint8),
            target=target,
            target_bytes=target.view(np.uint8),
            script=hand.sampled(rate) if isinstance(hand, Playback) else np.zeros((0, 6)),
            poses=poses,
            pose_bytes=poses.reshape(-1).view(np.uint8),
            commands=make_slot(p.nbytes),
            targets=make_slot(target.nbytes),
            updates=updates,
            states=states,
            state=state,
            state_bytes=state.view(np.uint8),
            views=make_slot(poses.nbytes + records.ROW.itemsize),
            ring=rows_ring,
            ring_bytes=rows_ring.view(np.uint8).reshape(ring, -1),
            written=np.zeros(1, np.int64),
            stages=np.zeros(records.STAGES, np.int64),
        )
        return Prepared(servo, model, data, rate, notes)


def _plain(part: Any) -> dict[str, Any]:
    if isinstance(part, Playback):  # its samples are in the trace itself
        return {"type": "Playback"} | part.describe()
    return {"type": type(part).__name__} | (asdict(part) if is_dataclass(part) else {})  # type: ignore[arg-type]


def advance(
    ready: Prepared, hand: Hand | None, done: int, ticks: int, engine: Lockstep | None = None
) -> int:
    """Tick in lockstep, with an engine that acts when it is due; how many ticks were done."""
    if engine is None:
        return advance_alone(ready, hand, done, ticks)
    gone = 0
    while gone < ticks:
        due = engine.until_event(done + gone)
        gone += advance_alone(ready, hand, done + gone, min(due, ticks - gone))
        if ready.servo.clock.counts[records.FAULT] != records.NO_FAULT:
            break
    return gone


def advance_alone(ready: Prepared, hand: Hand | None, done: int, ticks: int) -> int:
    """Tick in lockstep, a guided hand with a new target at each; how many ticks were done."""
    if not isinstance(hand, Guided):
        return run_lockstep(ready.servo, ticks)
    targets = hand.targets(np.arange(done, done + ticks) / ready.rate)
    for tick, target in enumerate(targets):
        ready.servo.target[: len(target)] = target
        run_lockstep(ready.servo, 1)
        if ready.servo.clock.counts[records.FAULT] != records.NO_FAULT:
            return tick + 1
    return ticks


def raise_fault(servo: Servo | AdmitServo, rows: np.ndarray) -> None:
    """Raise what stopped the servo, with the last rows before it."""
    fault = int(servo.clock.counts[records.FAULT])
    if fault != records.NO_FAULT:
        last = rows[-64:]
        raise ServoFault(
            f"the servo stopped with zero force: {records.FAULTS[fault]}",
            {name: last[name].copy() for name in last.dtype.names or ()},
        )
