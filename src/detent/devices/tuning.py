"""Twenty seconds with a device: what it is, and the stiffness that will hold on it.

First somebody moves the handle about, without force; then it is let go (a hand adds its own mass),
and a chirp shakes it along its first axis, with a weak spring that keeps it where it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from detent.checks import positive
from detent.devices.adapters import Placed
from detent.devices.drivers.contract import Tried
from detent.devices.drivers.driver import Driver
from detent.devices.facts import Fact, assumed, known
from detent.devices.identify import Identified, Recording, identify, resolution_of, width_for
from detent.devices.port import CALIBRATED, FLAGS, FORCE_ON, SEQUENCE, STAMP, VALID
from detent.devices.preset import Preset
from detent.errors import DeviceNotReadyError, IdentificationError, ParameterError
from detent.kernels.stages import run_stage, stage_address

SHARE = 0.35  # of the peak, and
HELD_SHARE = 0.9  # of the continuous wrench: the smaller one is the chirp's amplitude
OVER_FRICTION = 2.5  # times the friction that is expected, at least
HALF_PEAK = 0.5  # of the peak, at most
SILENCE = 0.05  # [s] after which a device that is shaken is let go
ROOM, TURN = 0.3, 1.0  # of the reach, [rad]: how far it swings
SLOWEST = 1.0  # [Hz] of the chirp, and
FASTEST = 0.36  # periods in a window: there it goes in one direction
KEEPING = 0.3  # [-] of the chirp's amplitude over the room: the spring that keeps it there
RAMP = 0.5  # [s] in which the chirp comes in
READY = VALID | CALIBRATED | FORCE_ON

# What is found, as fields of a sheet: along a line, and about an axis.
STRAIGHT = ("mass", "damping", "friction", "resolution")
TURNING = ("rotational_inertia", "turning_damping", "turning_friction", "turning_resolution")


class Sample(NamedTuple):
    """One reading, and when the force after it was told."""

    read_at: float  # [s]
    position: float  # [m, rad]
    told_at: float  # [s]


class Held(Protocol):
    """A device along one axis."""

    period: float  # [s] of its own loop

    def tick(self, force: float, guided: float | None) -> Sample | None:
        """Tell a force; the newest reading, if there is one. *guided*: where a hand takes it."""
        ...


def place_along(state: Any, axis: int) -> float:
    """[m, rad] of a state along an axis."""
    if axis < 3:
        return float(state.position[axis])
    return float(2.0 * np.arctan2(state.quaternion[axis - 2], state.quaternion[0]))


class Modelled:
    """The model of a device, as fast as it goes. Its hand is a spring that is led."""

    def __init__(self, model: Preset) -> None:
        self.period = 1.0 / model.sheet.need("rate")
        mask = model.mask(np.ones(6))
        inertia = np.diag(model.inertia(np.eye(6), mask))
        self.mass = inertia
        mobility = np.diag(np.divide(mask, inertia, out=np.zeros(6), where=inertia > 0.0))
        pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        step = self.period
        placed = Placed(pose, np.zeros(6), mask, mobility, step, False, False, 0.1 / step)
        self.adapter = model.adapter(placed)
        self.axis = int(np.nonzero(model.sheet.actuated)[0][0])
        stages = (self.adapter.read, self.adapter.write)
        self.stages = [stage_address(stage, self.adapter.struct) for stage in stages]
        self.ticks = 0

    def tick(self, force: float, guided: float | None) -> Sample | None:
        """Read, then told and moved; the hand is four times as quick as what it leads."""
        port, now = self.adapter.port, self.ticks * self.period
        port.hand[:] = 0.0
        if guided is not None:
            lag = guided - place_along(port.state, self.axis)
            speed = float(port.state.true_twist[self.axis])
            port.hand[self.axis] = self.mass[self.axis] * (60.0**2 * lag - 100.0 * speed)
        port.command.wrench[:] = 0.0
        port.command.wrench[self.axis] = force
        run_stage(self.stages[0], self.adapter.struct)
        place = place_along(port.state, self.axis)
        run_stage(self.stages[1], self.adapter.struct)
        self.ticks += 1
        return Sample(now, place, now)


class Plugged:
    """A real device, on the wall clock; somebody guides it."""

    def __init__(self, driver: Driver) -> None:
        self.tried = Tried(driver)
        self.period = max(1.0 / driver.preset.sheet.need("rate"), 1e-3)
        self.last, self.due = -1, 0.0

    def tick(self, force: float, guided: float | None) -> Sample | None:
        """Wait for the next period, read and tell."""
        one, now = self.tried, time.monotonic()
        self.due = max(self.due + self.period, now)
        time.sleep(self.due - now)
        one.tick(one.along(force))
        told = time.monotonic()
        if one.state.counts[FLAGS] & READY != READY:
            raise DeviceNotReadyError(one.driver.name, "it was lost, or switched its force off")
        number = int(one.state.counts[SEQUENCE])
        if number == self.last:
            return None
        self.last = number
        return Sample(1e-9 * int(one.state.counts[STAMP]), place_along(one.state, one.axis), told)


@dataclass(frozen=True)
class Shake:
    """How a device is shaken."""

    force: float  # [N, N·m] amplitude
    room: float  # [m, rad] in which it stays, about
    slowest: float  # [Hz] at the start
    fastest: float  # [Hz] at the end
    seconds: float

    def at(self, t: float, place: float) -> float:
        """[N, N·m] the chirp, and the spring."""
        octaves = math.log(self.fastest / self.slowest)
        grown = math.exp(octaves * t / self.seconds)
        angle = 2.0 * math.pi * self.slowest * self.seconds / octaves
        wave = math.sin(angle * (grown - 1.0))
        return min(t / RAMP, 1.0) * self.force * wave - KEEPING * self.force / self.room * place


def shake_of(model: Preset, seconds: float) -> Shake:
    """As hard as its motors allow for long, and as far as a third of its reach."""
    sheet = model.sheet
    turns = not sheet.actuated[:3].any()
    peak = model.peak()[1 if turns else 0]
    names = TURNING if turns else STRAIGHT
    held = sheet.get("torque_continuous" if turns else "force_continuous")
    force = min(SHARE * peak, math.inf if held is None else HELD_SHARE * held)
    force = min(max(force, OVER_FRICTION * (sheet.get(names[2]) or 0.0)), HALF_PEAK * peak)
    room = TURN if turns else ROOM * (sheet.get("reach") or 0.1)
    mass = sheet.get(names[0]) or 0.1
    slowest = math.sqrt(force / (mass * room)) / (2.0 * math.pi)
    fastest = FASTEST / width_for(1.0 / sheet.need("rate"))
    return Shake(force, room, min(max(slowest, SLOWEST), 0.5 * fastest), fastest, seconds)


def record_guided(device: Held, room: float, seconds: float) -> np.ndarray:
    """(n,) positions while the handle is moved about without force."""
    found, began = [], None
    sample: Sample | None = None
    while sample is None or began is None or sample.read_at - began < seconds:
        led = 0.0 if began is None or sample is None else sample.read_at - began
        new = device.tick(0.0, 0.5 * room * math.sin(2.0 * math.pi * 0.7 * led))
        sample = new or sample
        if new is not None:
            began = new.read_at if began is None else began
            found.append(new.position)
    return np.array(found)


def record_shaken(device: Held, shake: Shake) -> Recording:
    """The chirp on a released handle; it ends if that goes away three times as far as its room."""
    read, told, began, home = list[tuple[float, float]](), list[tuple[float, float]](), 0.0, 0.0
    force, t, heard = 0.0, 0.0, time.monotonic()
    while t < shake.seconds:
        sample = device.tick(force, None)
        if sample is None and time.monotonic() - heard < SILENCE:
            continue
        heard = time.monotonic()
        if sample is None:
            device.tick(0.0, None)
            raise IdentificationError(f"it said nothing for {1e3 * SILENCE:g} ms, and was let go")
        if not read:
            began, home = sample.read_at, sample.position
        read.append((sample.read_at, sample.position))
        told.append((sample.told_at, force))
        t, away = sample.read_at - began, sample.position - home
        if abs(away) > 3.0 * shake.room:
            device.tick(0.0, None)
            raise IdentificationError(f"it went {abs(away):.2g} m or rad away, and was let go")
        force = shake.at(t, away)
    device.tick(0.0, None)
    at, places = np.array(read).T
    since, forces = np.array(told).T
    return Recording(at, places, since, forces)


class Tuned(NamedTuple):
    """What twenty seconds have told; of a model, its facts stay assumptions."""

    found: Identified
    facts: dict[str, Fact]  # for a device file
    stiffness: float  # [N/m, N·m/rad] that will hold
    damping: float  # [N·s/m, N·m·s/rad] with it
    turns: bool


def tune(
    model: Preset,
    device: Held,
    seconds: float,
    tell: Callable[[str], None] = lambda said: None,
    fact: Callable[[float, str], Fact] = known,
    of: str = "",
) -> Tuned:
    """Half of the time guided, half released. *model* is what the device is taken for.

    *fact* is what is made of a number, *of* is said about it.
    """
    shake = shake_of(model, 0.5 * positive("seconds", seconds))
    tell(f"move the handle about for {0.5 * seconds:g} s: there is no force")
    guided = record_guided(device, shake.room, 0.5 * seconds)
    tell(f"LET IT GO: it is shaken by {shake.force:.2g} N or N·m for {0.5 * seconds:g} s")
    found = identify(record_shaken(device, shake), device.period)
    turns = not model.sheet.actuated[:3].any()
    names = TURNING if turns else STRAIGHT
    values = [(found.mass, names[0]), (found.damping, names[1]), (found.friction, names[2])]
    facts = {
        name: replace(fact(max(one.value, 0.0), f"detent devices tune{of}"), within=one.within)
        for one, name in [*values, (found.delay, "delay")]
    }
    count = resolution_of(guided) or found.resolution
    if count is not None and fact is known:  # of a model the sheet knows it better
        facts[names[3]] = known(count, "detent devices tune, the smallest step")
    stiffness, damping = Preset(model.sheet.with_facts(**facts)).gains()
    axis = int(np.nonzero(model.sheet.actuated)[0][0])
    resolution = found._replace(resolution=count)
    return Tuned(resolution, facts, stiffness[axis], damping[axis], turns)


def tune_model(model: Preset, seconds: float = 20.0) -> Tuned:
    """A preset: what comes of it should be what it says, and is no measurement of a device."""
    if model.takes_motion:
        raise ParameterError("device", model.name, "one that takes a wrench, not a motion")
    return tune(model, Modelled(model), seconds, fact=assumed, of=" of the model, not of a device")


def tune_plugged(
    driver: Driver, seconds: float = 20.0, tell: Callable[[str], None] = lambda said: None
) -> Tuned:
    """A real device; it is closed, with zero force, whatever happens."""
    device = Plugged(driver)
    device.tried.open()
    try:
        return tune(driver.preset, device, seconds, tell)
    finally:
        device.tried.close()
