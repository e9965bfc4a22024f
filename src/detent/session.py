"""A session: a world, how its bodies meet, a coupling, a device. The one place that wires them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import mujoco
import numpy as np

from detent.checks import one_of, positive, wrench
from detent.coupling import Coupling, Direct, FourChannel
from detent.coupling.four_channel import isotropic
from detent.devices import Inertial
from detent.devices.protocol import ImpedanceDevice
from detent.errors import ParameterError, ServoFault
from detent.hands import Constant, Hand, Impedance, Sinusoid
from detent.record.trace import Trace, TraceWriter
from detent.servo import records
from detent.servo.exchange import make_slot
from detent.servo.live import Live, percentile
from detent.servo.loop import run_lockstep, time_collision, time_ticks
from detent.servo.records import Servo
from detent.servo.scene import make_arrays, make_scene
from detent.servo.start import ToolStart, inertia_from, inverse_within, tool_at_start
from detent.servo.tick import compile_stages
from detent.world.contact import METHODS, MODES, SELF_COLLISIONS, Contact
from detent.world.world import World

RIGID_GAP = 0.005  # [m] how near a contact must be for rigid time stepping to see it coming
PREFLIGHT_TICKS = 400
CHUNK = 4096  # [ticks] between two looks at a lockstep run
CAPACITY = 128  # contacts and joint limits
HOLD_FREQUENCY = 30.0  # [rad/s] of the spring outside the device's subspace
MOST_STIFFNESS, MOST_DAMPING = 0.25, 0.5  # K T²/m, B T/m that a fixed step holds with margin


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


@dataclass
class Prepared:
    """A servo ready to run, with everything that must stay alive beside it."""

    servo: Servo
    model: mujoco.MjModel
    data: mujoco.MjData
    rate: float  # [Hz]
    notes: list[str]


class Session:
    """Feel a world through a device.

    Args:
        world: what can be touched, and what the hand holds.
        contact: how bodies meet.
        coupling: what ties tool and device.
        device: by default an inertial one like the tool.
        force_path: filter and slew limit before the device.
        outside: ``"hold"`` the tool by a spring in directions that the device cannot move in,
            or leave it ``"free"`` there.
        rate: [Hz] of the servo in lockstep.
    """

    def __init__(
        self,
        world: World,
        contact: Contact | None = None,
        coupling: Coupling | None = None,
        device: ImpedanceDevice | None = None,
        force_path: ForcePath | None = None,
        outside: str = "hold",
        rate: float = 1000.0,
    ) -> None:
        self.world = world
        self.contact = contact or Contact()
        self.coupling = coupling or FourChannel()
        self.device = device or Inertial()
        self.force_path = force_path or ForcePath()
        self.outside = one_of("choice for outside", outside, ("hold", "free"))
        self.rate = positive("rate", rate)

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
        ticks = round(positive("seconds", seconds) * self.rate)
        ready = self.prepare(hand, self.rate, ring=min(ticks, CHUNK))
        parts = []
        writer = TraceWriter(record, self.describe(hand)) if record is not None else None
        try:
            done = 0
            while done < ticks:
                batch = run_lockstep(ready.servo, min(CHUNK, ticks - done))
                ready.servo.written[0] = 0
                parts.append(ready.servo.ring[:batch].copy())
                done += batch
                if writer is not None:
                    writer.append(parts[-1])
                if progress is not None:
                    progress(done / ticks)
                raise_fault(ready.servo, parts[-1])
        finally:
            if writer is not None:
                writer.close()
        return Trace(np.concatenate(parts), self.describe(hand) | {"notes": ready.notes})

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
        ready = self.prepare(hand, rate, ring=max(4096, int(rate)))
        writer = TraceWriter(record, self.describe(hand)) if record is not None else None
        live = Live(ready.servo, ready, rate, realtime, writer, self.tick_cost(hand, rate))
        try:
            live.start()
            yield live
        finally:
            live.stop()
            if writer is not None:
                writer.close()
        raise_fault(ready.servo, live.recent())

    def tick_cost(self, hand: Hand | None, rate: float) -> float:
        """The 99 % cost of a tick at the start, with a collision of 16 contacts in it [ns]."""
        scratch = self.prepare(hand, rate, ring=PREFLIGHT_TICKS).servo
        time_ticks(scratch, 10)
        scratch.clock.compute[:] = 0
        time_ticks(scratch, PREFLIGHT_TICKS)
        rng = np.random.default_rng(0)
        scratch.rows.hit_jac[:16] = rng.standard_normal((16, scratch.scene.nv))
        scratch.motion.velocity[:] = rng.standard_normal(scratch.scene.nv)
        collision = time_collision(scratch, 16, 200)
        return 1e3 * percentile(scratch.clock.compute, 0.99) + collision

    def describe(self, hand: Hand | None = None) -> dict[str, Any]:
        """The configuration, as plain values, for the head of a trace."""
        parts = {"contact": self.contact, "coupling": self.coupling, "device": self.device}
        out: dict[str, Any] = {"world": self.world.name, "rate": self.rate, "outside": self.outside}
        for name, part in cast(dict[str, Any], parts | ({"hand": hand} if hand else {})).items():
            out[name] = {"type": type(part).__name__} | asdict(part)
        return out

    def changed(self, **contact: Any) -> Session:
        """The same session with other contact properties."""
        other = copy.copy(self)
        other.contact = replace(self.contact, **contact)
        return other

    def prepare(self, hand: Hand | None, rate: float, ring: int) -> Prepared:
        """Allocate and fill everything that a tick works on."""
        model = copy.deepcopy(self.world.model)
        if self.contact.mode == "rigid":
            moving = model.body_treeid[model.geom_bodyid] >= 0
            model.geom_gap[moving] = np.maximum(model.geom_gap[moving], RIGID_GAP)
            model.pair_gap[:] = np.maximum(model.pair_gap, RIGID_GAP)
        data = mujoco.MjData(model)
        data.qpos[:] = self.world.qpos
        data.ctrl[:] = self.world.ctrl
        start = tool_at_start(self.world, model, data)
        motion, rows, work, device, clock = make_arrays(model, CAPACITY)
        p = np.zeros(1, records.PARAMETERS)
        notes: list[str] = []
        self._fill_device(device, start)
        self._fill_parameters(p, start, device, 1.0 / rate, notes)
        fill_hand(p, hand)
        motion.start[:] = np.concatenate([start.position, start.quaternion])
        target = motion.start.copy()
        aim(target, hand)
        poses = np.zeros((model.nbody, 7))
        rows_ring = np.zeros(ring, records.ROW)
        servo = Servo(
            scene=make_scene(self.world, model, data),
            motion=motion,
            rows=rows,
            work=work,
            device=device,
            clock=clock,
            parameters=p,
            parameter_bytes=p.view(np.uint8),
            target=target,
            target_bytes=target.view(np.uint8),
            poses=poses,
            pose_bytes=poses.reshape(-1).view(np.uint8),
            commands=make_slot(p.nbytes),
            targets=make_slot(target.nbytes),
            views=make_slot(poses.nbytes + records.ROW.itemsize),
            ring=rows_ring,
            ring_bytes=rows_ring.view(np.uint8).reshape(ring, -1),
            written=np.zeros(1, np.int64),
            stages=np.zeros(6, np.int64),
        )
        compile_stages(servo)
        return Prepared(servo, model, data, rate, notes)

    def _fill_device(self, device: records.Device, start: ToolStart) -> None:
        device.position[:] = start.position
        device.quaternion[:] = start.quaternion
        device.mask[:] = self.device.mask(start.mask)
        at_hand = inertia_from(start.mobility, start.mask)
        device.mass[:] = self.device.inertia(at_hand, device.mask)
        if (np.diag(device.mass)[device.mask > 0.0] <= 0.0).any():
            raise ParameterError(
                "device subspace",
                getattr(self.device, "subspace", None),
                "one in which the tool moves, or the device needs a mass and an inertia of its own",
            )
        device.mobility[:] = inverse_within(device.mass, device.mask)

    def _fill_parameters(
        self, p: np.ndarray, start: ToolStart, device: records.Device, step: float, notes: list[str]
    ) -> None:
        p["step"] = step
        fill_contact(p, self.contact)
        p["limit_frequency"] = 100.0
        p["delay_ticks"] = self.device.delay_ticks
        p["cap"] = self.device.cap()
        guard = self.force_path
        p["filter_blend"] = (
            1.0 if guard.filter_hz is None else 1.0 - np.exp(-2.0 * np.pi * guard.filter_hz * step)
        )
        limits = (guard.slew_force, guard.slew_torque)
        p["slew"] = [np.inf if one is None else one * step for one in limits]
        at_hand = inertia_from(start.mobility, start.mask)
        outside = start.mask * (1.0 - device.mask)
        if self.outside == "hold" and outside.any():
            size = np.diag(at_hand) * outside
            p["hold_k"] = size * HOLD_FREQUENCY**2
            p["hold_b"] = size * 2.0 * HOLD_FREQUENCY
        p["coupling"] = records.DIRECT if isinstance(self.coupling, Direct) else 0
        if isinstance(self.coupling, FourChannel):
            reduced = inverse_within(
                inverse_within(at_hand, device.mask * start.mask) + device.mobility,
                device.mask,
            )
            k, b = self.coupling.gains(reduced)
            p["coupling_k"], p["coupling_b"] = bounded(k, b, isotropic(reduced), step, notes)
            p["adaptive_damping"] = self.coupling.adaptive_damping


def fill_contact(p: np.ndarray, contact: Contact) -> None:
    """Contact properties into a parameter record."""
    p["contact_mode"] = MODES.index(contact.mode)
    p["restitution_law"] = METHODS.index(contact.method)
    p["self_collision"] = SELF_COLLISIONS.index(contact.self_collision)
    p["clamp"] = contact.clamp
    p["stiffness"] = contact.stiffness
    p["damping"] = contact.damping
    p["restitution"] = contact.restitution


def fill_hand(p: np.ndarray, hand: Hand | None) -> None:
    """A hand into a parameter record."""
    p["hand"] = records.NO_HAND
    if isinstance(hand, Constant):
        p["hand"] = records.SINUSOID_HAND
        p["hand_bias"] = wrench(hand.force, hand.torque)
    elif isinstance(hand, Sinusoid):
        p["hand"] = records.SINUSOID_HAND
        p["hand_bias"] = wrench(hand.bias_force, hand.bias_torque)
        p["hand_amplitude"] = wrench(hand.force, hand.torque)
        p["hand_omega"] = 2.0 * np.pi * hand.frequency
        p["hand_phase"] = hand.phase
    elif isinstance(hand, Impedance):
        p["hand"] = records.IMPEDANCE_HAND
        p["hand_k"], p["hand_b"] = hand.gains()
    elif hand is not None:
        raise ParameterError("hand", hand, "a detent.hands.Constant, Sinusoid or Impedance")


def aim(target: np.ndarray, hand: Hand | None) -> None:
    """The pose that an impedance hand wants."""
    if isinstance(hand, Impedance) and hand.target is not None:
        target[: len(hand.target)] = hand.target
    if isinstance(hand, Impedance) and hand.target_quaternion is not None:
        q = np.asarray(hand.target_quaternion, float)
        target[3:] = q / np.linalg.norm(q)


def bounded(
    k: np.ndarray, b: np.ndarray, inertia: np.ndarray, step: float, notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Coupling gains, bounded by what a fixed step can hold; a bound that acts is noted."""
    most_k, most_b = MOST_STIFFNESS * inertia / step**2, MOST_DAMPING * inertia / step
    if (k > most_k).any() or (b > most_b).any():
        notes.append(
            f"the coupling's gains were bounded by the step of {step * 1e3:.3g} ms: "
            f"stiffness at most {np.array2string(most_k, precision=3)}, "
            f"damping at most {np.array2string(most_b, precision=3)}"
        )
    return np.minimum(k, most_k), np.minimum(b, most_b)


def raise_fault(servo: Servo, rows: np.ndarray) -> None:
    """Raise what stopped the servo, with the last rows before it."""
    fault = int(servo.clock.counts[records.FAULT])
    if fault != records.NO_FAULT:
        last = rows[-64:]
        raise ServoFault(
            f"the servo stopped with zero force: {records.FAULTS[fault]}",
            {name: last[name].copy() for name in last.dtype.names or ()},
        )
