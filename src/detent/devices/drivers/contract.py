"""What every driver must keep, checked on a device that is plugged in, or on a fake of it.

The device moves by itself, pushed by a tenth of its peak until it has moved 0.2 mm. What only a
fake can show (what the device was really told, an unplugged cable) is checked where a `Probe` is
given, and said not to have been checked where none is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from detent.devices.adapters import Adapter, Placed
from detent.devices.drivers.driver import Driver
from detent.devices.port import FLAGS, SEQUENCE, VALID
from detent.errors import DetentError
from detent.kernels.stages import run_stage, stage_address

STEP = 1e-3  # [s] of the ticks here
PATIENCE = 5.0  # [s] for a first reading, or a first motion
SHARE = 0.1  # of the peak, for the push
MOVED = 2e-4  # [m, rad] after which the push ends
STALE, LOST = 0.01, 0.05  # [s] after which zero is told, or a loss is seen


class Check(NamedTuple):
    """One promise: kept, broken, or (None) not to be checked here."""

    what: str
    passed: bool | None
    found: str


class Probe(Protocol):
    """What a fake knows of itself."""

    def force(self) -> float:
        """[N, N·m] along the axis that is pushed: what the device was told last."""
        ...

    def unplug(self) -> None:
        """The cable is out."""
        ...

    def plug(self) -> None:
        """And in again."""
        ...


class Tried:
    """A driver on its port, without a servo."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        mask = driver.mask(np.ones(6))
        inertia = np.diag(driver.inertia(np.eye(6), mask))
        mobility = np.diag(np.divide(mask, inertia, out=np.zeros(6), where=inertia > 0.0))
        pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        placed = Placed(pose, np.zeros(6), mask, mobility, STEP, False, False, 0.1 / STEP)
        self.adapter: Adapter = driver.adapter(placed)
        struct = self.adapter.struct
        self.struct: Any = struct
        self.read_address = stage_address(self.adapter.read, struct)
        self.write_address = stage_address(self.adapter.write, struct)
        self.state, self.command = self.adapter.port.state, self.adapter.port.command
        actuated = np.nonzero(driver.preset.sheet.actuated)[0]
        self.axis = int(actuated[0])

    def open(self) -> None:
        """As a session does."""
        assert self.adapter.begin is not None
        self.command.wrench[:] = 0.0
        self.command.latched[0] = 0
        self.adapter.begin()

    def close(self) -> None:
        """As a session does."""
        assert self.adapter.end is not None
        self.adapter.end()

    def tick(self, wrench: np.ndarray | None = None) -> None:
        """Read and write once."""
        self.command.wrench[:] = 0.0 if wrench is None else wrench
        run_stage(self.read_address, self.struct)
        self.command.sequence[0] += 1
        run_stage(self.write_address, self.struct)

    def run(self, seconds: float, wrench: np.ndarray | None = None) -> None:
        """Ticks, about every millisecond."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.tick(wrench)
            time.sleep(STEP)

    def until(
        self, condition: Callable[[], bool], seconds: float, wrench: np.ndarray | None = None
    ) -> float | None:
        """How long it took for a condition to come true; None if it did not."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            self.tick(wrench)
            if condition():
                return time.monotonic() - began
            time.sleep(STEP)
        return None

    def along(self, size: float) -> np.ndarray:
        """A wrench along the axis that is pushed."""
        out = np.zeros(6)
        out[self.axis] = size
        return out

    @property
    def peak(self) -> float:
        """[N, N·m] along that axis."""
        return float(self.driver.cap()[self.axis])

    def sent(self) -> float:
        """What was last made of the command, in the device's own axes: its largest element."""
        return float(np.abs(self.struct.wrench[:6]).max())


def _opens(one: Tried) -> Check:
    for _ in range(2):
        one.open()
        one.close()
        one.close()
    return Check("opens and closes, again and again", True, "twice")


def _reads(one: Tried) -> Check:
    first = int(one.state.counts[SEQUENCE])
    came = one.until(lambda: int(one.state.counts[SEQUENCE]) > first + 3, PATIENCE)
    unit = abs(float(np.linalg.norm(one.state.quaternion)) - 1.0) < 1e-6
    sound = bool(np.isfinite(one.state.position).all() and np.isfinite(one.state.twist).all())
    found = "no readings" if came is None else f"{1e3 * came:.0f} ms for four readings"
    return Check("readings come, numbered and finite", came is not None and unit and sound, found)


def _anchors(one: Tried) -> Check:
    away = float(np.abs(one.state.position).max())
    return Check("starts where the session does", away < 5e-3, f"{1e3 * away:.2f} mm away")


def _pushes(one: Tried) -> Check:
    """The device goes where it is pushed."""
    before = _place(one)
    one.until(lambda: abs(_place(one) - before) > MOVED, PATIENCE, one.along(SHARE * one.peak))
    moved = _place(one) - before
    one.run(0.02)
    return Check("goes where it is pushed", moved > 0.0, f"{moved:.2g} m or rad")


def _place(one: Tried) -> float:
    if one.axis < 3:
        return float(one.state.position[one.axis])
    return float(2.0 * np.arctan2(one.state.quaternion[one.axis - 2], one.state.quaternion[0]))


def _refuses(one: Tried) -> Check:
    worst = 0.0
    for bad in (np.nan, np.inf, -np.inf):
        one.tick(one.along(bad))
        worst = max(worst, one.sent()) if np.isfinite(one.sent()) else np.inf
    one.tick()
    return Check("tells zero for what is not finite", worst == 0.0, f"{worst:g} told")


def _caps(one: Tried) -> Check:
    one.tick(one.along(10.0 * one.peak))
    told = one.sent()
    one.tick()
    good = told <= one.peak * (1.0 + 1e-9)
    return Check("keeps the cap", good, f"{told:g} of {one.peak:g} told")


def _goes_stale(one: Tried, probe: Probe | None, slack: float) -> Check:
    what = "zero 10 ms after the last command"
    if probe is None:
        return Check(what, None, f"cannot be seen from here; {one.driver.watchdog}")
    push = one.along(SHARE * one.peak)
    if one.until(lambda: probe.force() != 0.0, PATIENCE + slack, push) is None:
        return Check(what, False, "nothing was told before")
    time.sleep(STALE + 2.0 * STEP)
    until = time.monotonic() + slack
    while probe.force() != 0.0 and time.monotonic() < until:
        time.sleep(STEP)
    return Check(what, probe.force() == 0.0, f"{probe.force():g} told then")


def _zero_when_closed(one: Tried, probe: Probe | None) -> Check:
    what = "zero when it is closed"
    if probe is None:
        one.close()
        return Check(what, None, "cannot be seen from here")
    one.until(lambda: probe.force() != 0.0, PATIENCE, one.along(SHARE * one.peak))
    one.close()
    told = probe.force()
    return Check(what, told == 0.0, f"{told:g} told")


def _is_lost(one: Tried, probe: Probe | None, slack: float) -> Check:
    what = "a cable that is pulled is seen within 50 ms, and the device opens again"
    if probe is None:
        return Check(what, None, "pull it while a session runs")
    one.open()
    _reads(one)
    probe.unplug()
    seen = one.until(lambda: not one.state.counts[FLAGS] & VALID, PATIENCE + slack)
    one.close()
    probe.plug()
    one.open()
    back = _reads(one).passed
    one.close()
    good = seen is not None and seen <= LOST + slack and bool(back)
    return Check(what, good, "never" if seen is None else f"{1e3 * seen:.0f} ms")


def check_driver(driver: Driver, probe: Probe | None = None, slack: float = 0.0) -> list[Check]:
    """All promises, in order; the device is closed at the end, whatever happens.

    *slack* [s] is what a busy machine may take longer.
    """
    one, checks = Tried(driver), list[Check]()
    try:
        checks.append(_opens(one))
        one.open()
        for check in (_reads, _anchors, _refuses, _caps, _pushes):
            checks.append(check(one))
        checks.append(_goes_stale(one, probe, slack))
        checks.append(_zero_when_closed(one, probe))
        checks.append(_is_lost(one, probe, slack))
    except DetentError as error:
        checks.append(Check("can be used", False, str(error)))
    finally:
        one.close()
    return checks
