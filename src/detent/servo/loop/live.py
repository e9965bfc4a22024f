"""The servo on the wall clock: its thread, its statistics, and the ways in and out."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from detent.checks import unit_quaternion, vector
from detent.coupling import Coupling
from detent.devices.port import BUTTONS
from detent.errors import ParameterError, PlatformError
from detent.hands import Hand, Impedance
from detent.servo.compile import prepare_material
from detent.servo.constants import KEEP_SECONDS, MOST_SPIN, SPIN_NS, VIEW_HZ
from detent.servo.faults import NO_FAULT
from detent.servo.force_path import ForcePath
from detent.servo.loop.drain import Drain, Sink
from detent.servo.loop.exchange import latest, publish
from detent.servo.loop.loop import run_live
from detent.servo.loop.rights import Promises
from detent.servo.loop.status import Meter, Status, open_percentile
from detent.servo.shown import NOTHING
from detent.servo.structs import FAULT, SKIPS, STARTED, STOP, TICKS
from detent.servo.watching import OFF, Passivity
from detent.world.contact import Contact

#: parameters that a running servo cannot change, and those that may be infinite
FIXED = (
    *("step", "integrator", "frozen", "contact_mode", "strategy", "shaping"),
    *("device_force", "device_position", "tool", "hand_on_tool", "leads"),
    *("local_moving", "local_inertia", "local_literal"),
    *("singular", "friction", "friction_scene", "friction_impacts", "wall", "wall_blocks"),
)
UNBOUNDED = ("slew", "cap", "limit", "local_slew", "passive_bound", "bearable")
SIGNED = ("hand_bias", "hand_amplitude", "hand_omega", "hand_phase", "friction_damping")


class Companion(Protocol):
    """An engine that simulates the world beside the servo."""

    def poses(self) -> np.ndarray:
        """(nbody, 7) of the whole world."""
        ...

    def status(self) -> Any:
        """How it is doing."""
        ...


class Settings(NamedTuple):
    """What a running session may change."""

    contact: Contact | None  # None: a mechanism has nothing to meet
    coupling: Coupling
    force_path: ForcePath
    hand: Hand | None
    passivity: Passivity = OFF


class Ready(Protocol):
    """What must stay alive beside the servo, and speaks for it."""

    settings: Settings  # the newest

    @property
    def real(self) -> bool:
        """Whether there is a device outside of this process."""
        ...

    @property
    def gripped(self) -> int | None:
        """The actuator that the gripper of the device drives."""
        ...

    def changed(self, parameters: np.ndarray, settings: Settings) -> np.ndarray:
        """The parameters of other settings; refused if they do not fit."""
        ...

    def accept(self) -> None:
        """What was last offered is in force."""
        ...

    def release(self) -> None:
        """Tell the device, for the last time: zero."""
        ...

    def said(self) -> list[str]:
        """Notes of the start and of the run so far."""
        ...


class Live:
    """A running servo. Use it through `Session.live`."""

    def __init__(
        self,
        servo: Any,  # Servo, or MechanismServo
        ready: Ready,
        rate: float,
        realtime: bool,
        sink: Sink | None,
        cost_ns: float,
        engine: Companion | None = None,
        tool_bodies: np.ndarray | None = None,
    ) -> None:
        self._servo, self._ready = servo, ready
        self.rate, self.real = rate, ready.real
        self.period_ns = round(1e9 / rate)
        self._realtime, self._cost_ns = realtime, cost_ns
        self._rows = Drain(servo, rate, sink)
        self.promises = Promises()
        self._meter = Meter(rate)
        self._settled = threading.Event()  # the machine has said what it allows
        self.engine = engine  # of a local model
        self._tool_bodies = tool_bodies  # which of its bodies the servo's are
        self._parameters = servo.parameters.copy()
        self._target = servo.target.copy()
        self._changing = threading.Lock()  # one change after the other
        self._lock = threading.Lock()  # between readers of the page and of the status line
        self.changed: list[float] = []  # [s] when a person changed more than the hand
        self._view = np.zeros(servo.views.buffers.shape[1], np.uint8)
        self._pacing = threading.Lock()  # between who paces the loop and who stops it
        self._woken = threading.Event()
        self._over = False
        self._slowness = 1.0  # of the servo's time; infinite: it stands still
        self._steps = 0  # ticks to do while it stands still
        self._spent = 0.0  # [s] of the servo's time that the clock gave it, until this stretch
        self._stretch = 1.0  # the slowness since then
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the threads. Refuses a rate that this machine cannot hold."""
        cost = self._cost_ns
        if cost > self.period_ns:
            raise PlatformError(
                f"a rate of {self.rate:g} Hz leaves {self.period_ns / 1e3:.0f} µs, but ticks of "
                f"this world take {cost / 1e3:.0f} µs here (99 %): "
                f"at most {1e9 / cost:.0f} Hz"
            )
        run_live(self._servo, self.period_ns, 0, 1, 0)  # compiled before the clock starts
        for target in (self._drive, self._drain):
            thread = threading.Thread(target=target, name=f"detent{target.__name__}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._settled.wait()

    def stop(self) -> None:
        """Stop the loop and wait for the last rows."""
        with self._pacing:
            self._over = True
            self._servo.clock.counts[STOP] = 1
        self._woken.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def pace(self, slowness: float, steps: int = 0) -> None:
        """Go on so many times slower than the clock: 1 is real time, infinity stands still.

        Each tick is as long as ever, in its own time. While it stands still the wrench is held;
        *steps* ticks are done one after the other. A real device cannot be slowed.
        """
        if not slowness >= 1.0:
            raise ParameterError("slowness", slowness, "at least 1")
        if slowness > 1.0 and self.real:
            raise ParameterError("slowness", slowness, "1 with a real device")
        with self._pacing:
            self._slowness, self._steps = slowness, steps
            self._servo.clock.counts[STOP] = 1
        self._woken.set()

    @property
    def slowness(self) -> float:
        """How many times slower than the clock it runs."""
        return self._slowness

    @property
    def running(self) -> bool:
        """Whether the servo is still ticking (False after a fault)."""
        return bool(self._threads) and self._threads[0].is_alive()

    def pull(self, position: Sequence[float], quaternion: Sequence[float] | None = None) -> None:
        """Move the target of an impedance hand [m]; two numbers are x and y."""
        place = vector("target", position, (2, 3))
        turn = None if quaternion is None else unit_quaternion("target", quaternion)
        with self._lock:
            self._target[: place.size] = place
            if turn is not None:
                self._target[3:7] = turn
            publish(self._servo.targets, self._target.view(np.uint8))

    @property
    def buttons(self) -> int:
        """Bits of the buttons of the device that are pressed."""
        return int(self._servo.port.state.counts[BUTTONS])

    @property
    def settings(self) -> Settings:
        """How bodies meet, the coupling, the force path and the hand, as they are now."""
        return self._ready.settings

    def change(
        self,
        *,
        contact: Contact | None = None,
        coupling: Coupling | None = None,
        force_path: ForcePath | None = None,
        hand: Hand | None = None,
        passivity: Passivity | None = None,
    ) -> None:
        """Change how bodies meet, gains, force path, hand or passivity, from the next tick on.

        Gains may change, laws may not: ``change(contact=replace(live.settings.contact,
        stiffness=8000))``. What the step cannot hold is bounded, as at the start. What is left
        out stays as it is.
        """
        given = (contact, coupling, force_path, hand, passivity)
        with self._changing:
            old_settings = self.settings
            pairs = zip(given, self.settings, strict=True)
            new = Settings(*(old if value is None else value for value, old in pairs))  # type: ignore[arg-type]
            self._send(self._ready.changed(self.parameters, new))
            self._ready.accept()
            if new._replace(hand=None) != old_settings._replace(hand=None):
                self.changed.append(float(self._servo.clock.counts[TICKS]) / self.rate)
            if isinstance(hand, Impedance) and hand.target is not None:
                self.pull(hand.target, hand.target_quaternion)

    def _send(self, parameters: np.ndarray) -> None:
        """Replace the parameters at the start of the next tick.

        Numbers may change, laws may not: the stages of others are not compiled. The material
        is an exception: its stage is small, and compiled here when it is first asked for.
        """
        for name in parameters.dtype.names or ():
            new, old = parameters[name], self._parameters[name]
            if name in FIXED and not np.array_equal(new, old):
                raise ParameterError(
                    name, new.tolist(), f"what the session began with, {old.tolist()}"
                )
            if name not in UNBOUNDED and not np.isfinite(new).all():
                raise ParameterError(name, new.tolist(), "finite")
            if name not in SIGNED and (new < 0).any():
                raise ParameterError(name, new.tolist(), "not negative")
        if parameters["material"][0] != 0:
            prepare_material(self._servo)
        with self._lock:
            self._parameters[:] = parameters
            publish(self._servo.commands, self._parameters.view(np.uint8))

    @property
    def parameters(self) -> np.ndarray:
        """A copy of the parameters that were sent last."""
        with self._lock:
            return self._parameters.copy()

    def view(self) -> tuple[np.ndarray, np.ndarray]:
        """The newest poses of all bodies (n, 7) and the newest row."""
        with self._lock:
            latest(self._servo.views, self._view)
            poses = self._view[: self._servo.poses.nbytes].view(np.float64).reshape(-1, 7).copy()
            size = self._servo.pose_bytes.shape[0]
            row = self._view[size:].copy().view(self._servo.ring.dtype)[0]
        if self.engine is not None:
            whole = self.engine.poses()
            whole[self._tool_bodies] = poses
            poses = whole
        return poses, row

    def shown(self) -> np.ndarray:
        """Contacts, constraints and lost directions of the newest view, as `servo.shown` says."""
        with self._lock:
            latest(self._servo.views, self._view)
            start, end = self._servo.poses.nbytes, self._servo.pose_bytes.shape[0]
            shown = self._view[start:end].copy().view(self._servo.shown.dtype)
        return shown[shown["kind"] != NOTHING]

    def drive(self, actuator: int, value: float) -> None:
        """Tell an actuator of the world, by its number, something else from the next tick on."""
        count = len(self._target) - 7
        if not 0 <= actuator < count:
            raise ParameterError("actuator", actuator, f"one of the {count} that the world has")
        if actuator == self._ready.gripped:
            raise ParameterError("actuator", actuator, "none that the device's gripper drives")
        if not math.isfinite(value):
            raise ParameterError("control", value, "finite")
        with self._lock:
            self._target[7 + actuator] = value
            publish(self._servo.targets, self._target.view(np.uint8))
        self.changed.append(float(self._servo.clock.counts[TICKS]) / self.rate)

    @property
    def gripped(self) -> int | None:
        """The actuator that nobody but the gripper of the device drives, if there is one."""
        return self._ready.gripped

    @property
    def controls(self) -> np.ndarray:
        """(nu,) What the actuators of the world are told now."""
        return self._servo.scene.control.copy()

    def recent(self, seconds: float = KEEP_SECONDS) -> np.ndarray:
        """The rows of the last *seconds*; a short look copies little."""
        return self._rows.recent(seconds)

    @property
    def sink_error(self) -> Exception | None:
        """What stopped the recording, if anything."""
        return self._rows.error

    def configuration(self) -> tuple[np.ndarray, np.ndarray]:
        """qpos and qvel where the servo stopped."""
        return self._servo.scene.qpos.copy(), self._servo.scene.qvel.copy()

    def histogram(self) -> np.ndarray:
        """Ticks per microsecond of lateness."""
        return self._servo.clock.lateness.copy()

    def status(self) -> Status:
        """Counts and percentiles since the start."""
        ck, slowness = self._servo.clock, self._slowness
        ticks, seconds = int(ck.counts[TICKS]), max(self._time_given(), 1e-9)
        return Status(
            ticks,
            int(ck.counts[SKIPS]),
            self._rows.lost,
            0.0 if math.isinf(slowness) else self.rate / slowness,
            ticks / seconds,
            self._meter.rate,
            open_percentile(ck.lateness, 0.5),
            open_percentile(ck.lateness, 0.99),
            open_percentile(ck.compute, 0.5),
            open_percentile(ck.compute, 0.99),
            str(self.promises),
        )

    def notes(self) -> list[str]:
        """Where the step bounds something and from which rate on it would not, and warnings."""
        trouble = "" if self.engine is None else self.engine.status().trouble
        said = self._ready.said() + ([f"the engine said: {trouble}"] if trouble else [])
        error = self.sink_error
        return said if error is None else [*said, f"the recording stopped: {error}"]

    def _drive(self) -> None:
        try:
            self.promises.take(self._realtime)
        finally:
            self._settled.set()
        try:
            while self._next_stretch():
                pass
        finally:
            self._ready.release()
            self.promises.release()

    def _next_stretch(self) -> bool:
        """Run at one pace, until another is wanted; whether to go on."""
        with self._pacing:
            if self._over:
                return False
            still = math.isinf(self._slowness)
            slowness, most = (1.0, self._steps) if still else (self._slowness, 2**62)
            self._steps = 0
            self._servo.clock.counts[STOP] = 0
        if most == 0:
            self._woken.wait()
            self._woken.clear()
            return True
        every = 1 if still else max(1, round(self.rate / slowness / VIEW_HZ))
        counts, self._stretch = self._servo.clock.counts, slowness
        run_live(self._servo, round(slowness * self.period_ns), self._spin_ns(), every, most)
        self._spent, counts[STARTED] = self._time_given(), 0
        return bool(counts[FAULT] == NO_FAULT)

    def _time_given(self) -> float:
        """[s] of the servo's time that have passed on the clock, since its first deadline."""
        began = int(self._servo.clock.counts[STARTED])
        since = max(time.monotonic_ns() - began, 0) if began else 0
        return self._spent + 1e-9 * since / self._stretch

    def _spin_ns(self) -> int:
        """How long to spin before a deadline [ns].

        Who spins without priority uses up the share of time that is needed when it counts.
        """
        return min(SPIN_NS, round(MOST_SPIN * self.period_ns)) if self.promises.fifo else 0

    def _drain(self) -> None:
        while self._threads[0].is_alive():
            self._rows.take()
            if ticks := int(self._servo.clock.counts[TICKS]):
                self._meter.mark(time.monotonic_ns(), ticks)
            time.sleep(0.02)
        self._rows.take()
