"""Faults of devices and deaths of servos, many times over: three, or 100 in `make test-long`."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faking import (
    CALIBRATED,
    DEAD,
    ERROR_CODE,
    FAKED,
    FORCE_OFF,
    FROZEN,
    HAND,
    JUMP,
    STEP,
    UNPLUGGED,
    WALL,
    WATCHDOG,
    Faked,
    Library,
    built,
)

from detent import Session
from detent.devices import preset
from detent.devices.drivers import moteus
from detent.devices.drivers.contract import Tried
from detent.devices.drivers.forcedimension import ForceDimension
from detent.devices.drivers.foreign import address_of
from detent.devices.drivers.host import STALE, Newest
from detent.devices.drivers.outside import CLOCK
from detent.kernels.jit import JIT_ENABLED
from detent.servo.faults import FAULTS, NO_FAULT
from detent.servo.guarded import LET_GO
from detent.servo.loop.loop import run_lockstep
from detent.servo.structs import FAULT
from detent.setup.prepared import Prepared
from sweeps import LONG
from waiting import wait_for

TIMES = 100 if LONG else 3
KILLS = 100 if LONG else 1  # of servos whose driver has a process, which takes a second to start
ANSWER = bytes([0x21, 0x00, moteus.POSITION, 0x2F, 0x01]) + bytes(12)  # of a controller
RATE = 1000.0  # [Hz] so that ten ticks are 10 ms
needs_speed = pytest.mark.skipif(not JIT_ENABLED, reason="a live servo needs the compiler")


@contextmanager
def pushing(faked: Faked) -> Iterator[Prepared]:
    """The servo on a fake in steps of its own, with a hand that presses it into a wall."""
    faked.fake.c.fake_reset()
    faked.fake.set(STEP, 1.0 / RATE)
    faked.fake.set(HAND, 0.006)
    ready = Session(WALL, device=faked.driver, rate=RATE).prepare(None, RATE, 64)
    ready.begin()
    if isinstance(faked.driver, ForceDimension):  # stamped by the steps, too
        ready.adapter.struct.functions[CLOCK] = address_of(faked.fake.c.fake_clock)
    try:
        run_lockstep(ready.servo, 500)
        assert ready.servo.clock.counts[FAULT] == NO_FAULT
        assert faked.fake.force() < -0.05
        yield ready
    finally:
        ready.end()


BROKEN = {
    "error": (ERROR_CODE, 1.0, "lost"),
    "unplugged": (UNPLUGGED, 1.0, "lost"),
    "jump of 1 mm": (JUMP, 0.001, "jumped"),
    "jump of 50 mm": (JUMP, 0.05, "jumped"),
    "not calibrated": (CALIBRATED, 0.0, "not calibrated"),
    "force off": (FORCE_OFF, 1.0, "switched its force off"),
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("name", ["forcedimension", "native"])
def test_a_fault_is_typed_zero_within_ten_ticks_latched_and_over_with_a_new_session(
    name: str, fault: str
) -> None:
    """In steps of the fake itself, so that a busy machine changes nothing."""
    what, value, reason = BROKEN[fault]
    with FAKED[name](Path()) as faked:
        for _ in range(TIMES):
            with pushing(faked) as ready:
                faked.fake.set(what, value)
                run_lockstep(ready.servo, 10)
                assert reason in FAULTS[int(ready.servo.clock.counts[FAULT])]
                assert (ready.adapter.port.command.wrench == 0.0).all()
                gone = what in (UNPLUGGED,)  # nobody can tell a device that is not there
                assert gone or faked.fake.force() == 0.0
                run_lockstep(ready.servo, 20)
                ready.release()
                assert gone or faked.fake.force() == 0.0


@pytest.mark.parametrize("name", ["native"])
def test_a_dead_man_who_lets_go_is_no_fault_and_force_ramps_in_again(name: str) -> None:
    with FAKED[name](Path()) as faked:
        for _ in range(TIMES):
            with pushing(faked) as ready:
                before = abs(faked.fake.force())
                faked.fake.set(DEAD, 1.0)
                run_lockstep(ready.servo, 10)
                assert faked.fake.force() == 0.0
                assert ready.servo.device.guard.off[0] & LET_GO
                faked.fake.set(DEAD, 0.0)
                run_lockstep(ready.servo, 10)
                assert 0.0 < abs(faked.fake.force()) < 0.5 * before
                assert ready.servo.clock.counts[FAULT] == NO_FAULT


@pytest.mark.parametrize("name", ["forcedimension", "native"])
def test_a_position_that_stands_still_is_no_fault_and_keeps_its_cap(name: str) -> None:
    """A frozen reading cannot be told from a hand at rest: force stays within the cap."""
    with FAKED[name](Path()) as faked, pushing(faked) as ready:
        faked.fake.set(FROZEN, 1.0)
        run_lockstep(ready.servo, 200)
        assert ready.servo.clock.counts[FAULT] == NO_FAULT
        assert abs(faked.fake.force()) <= ready.device.cap()[0]


# --- the servo's process is killed

NURSERY = """
import ctypes, os, sys
from detent.errors import DeviceNotReadyError
from detent.devices.drivers import real
from detent.devices.drivers.contract import Tried
fake, name, path = sys.argv[1:]
options = {"port": path, "patience": 5.0}
if fake.endswith(".so"):
    ctypes.CDLL(fake).fake_attach(path.encode())
    options = {"library": fake}
one = Tried(real(name, **options))
print("ready", flush=True)
for _ in sys.stdin:
    child = os.fork()
    if child:
        print(child, flush=True)
        os.waitpid(child, 0)
        continue
    while True:  # again, if the driver of the one before still had the line
        try:
            one.open()
        except DeviceNotReadyError:
            continue
        one.until(lambda: one.state.counts[3] & 1, 10.0)
        while one.state.counts[3] & 1:
            one.run(0.1, one.along(0.1 * one.peak))
        one.close()
"""


@contextmanager
def nursery(fake: str, name: str, path: Path) -> Iterator[Callable[[], int]]:
    """A process that is forked from for each servo; gives their process ids."""
    command = [sys.executable, "-c", NURSERY, fake, name, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    mother = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert mother.stdin is not None and mother.stdout is not None
    told, heard = mother.stdin, mother.stdout

    def bear() -> int:
        told.write("\n")
        told.flush()
        return int(heard.readline())

    try:
        assert heard.readline() == "ready\n"
        yield bear
    finally:
        os.killpg(mother.pid, signal.SIGKILL)  # with the servo of a test that failed
        mother.communicate()


@needs_speed
@pytest.mark.live
def test_the_watchdog_of_force_dimension_takes_the_force_from_a_killed_servo(
    tmp_path: Path,
) -> None:
    """The device lives in a file of its own, and on the clock of another process."""
    fake, path = Library("libdrd"), tmp_path / "device"
    path.write_bytes(bytes(fake.c.fake_size()))
    assert fake.c.fake_attach(ctypes.c_char_p(str(path).encode())) == 0
    fake.c.fake_reset()
    try:
        with nursery(str(built("libdrd")), "omega.3", path) as bear:
            for _ in range(TIMES):
                servo = bear()
                assert wait_for(lambda: fake.force() != 0.0)
                assert fake.get(WATCHDOG) == pytest.approx(0.01)
                os.kill(servo, signal.SIGKILL)
                killed = time.monotonic()
                while time.monotonic() < killed + 0.01:
                    pass
                time.sleep(1e-3)  # a call that was under way when the signal came
                assert fake.force() == 0.0
    finally:
        fake.c.fake_attach(None)


@needs_speed
@pytest.mark.live
def test_a_killed_servo_of_a_moteus_pushes_no_more(tmp_path: Path) -> None:
    """By the timeouts that its firmware was told, it lets go of every push 10 ms after the kill.

    That is what counts if the driver's process stops as well. A trial in which the fake did not get
    the processor for more than a millisecond says nothing, and is made again.
    """
    with (
        FAKED["moteus"](tmp_path) as faked,
        nursery("line", "moteus-knob", faked.fake.path) as bear,
    ):
        fake, late = faked.fake, []
        for _ in range(4 * KILLS):
            servo = bear()
            assert wait_for(lambda: fake.force() != 0.0, 300.0)
            fake.lag, fake.slower = 0.0, 1.0
            os.kill(servo, signal.SIGKILL)
            killed = time.monotonic()
            assert wait_for(lambda: fake.force() == 0.0)
            time.sleep(0.02)
            fake.slower = 100.0
            if fake.lag < 1e-3 or not LONG:
                late.append(fake.until - killed)
            if len(late) >= KILLS and (LONG or late[-1] <= 0.01):
                break
        assert fake.force() == 0.0
    assert late
    assert max(late) <= 0.01 if LONG else late[-1] <= 0.01


def test_what_a_driver_repeats_gets_no_younger() -> None:
    """A servo that hangs, but is not gone: its command counts 10 ms in all, not once more."""
    ours, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, other:
        newest = Newest(other)
        assert newest.take() == ((0.0,) * 7, STALE)
        began = sent = time.monotonic()
        ours.send(struct.pack("7d2q", *[0.0] * 5, 0.1, 0.0, round(1e9 * sent), 0))
        while (taken := newest.take())[0][5] != 0.0:
            assert 0.0 < taken[1] <= sent + STALE - began
            began = time.monotonic()
        assert time.monotonic() - sent > STALE
        ours.send(struct.pack("7d2q", *[0.0] * 5, 0.1, 0.0, round(1e9 * (sent - STALE)), 0))
        assert newest.take() == ((0.0,) * 7, STALE)  # it lay there for too long


@pytest.mark.parametrize("name", ["2diy", "inverse3"])
def test_a_device_that_falls_silent_is_told_zero_before_its_command_is_stale(
    name: str, tmp_path: Path
) -> None:
    """Nobody else takes the force: it had been held until the driver gave the device up.

    When it answers again, twice by then, it goes on.
    """
    with FAKED[name](tmp_path) as faked:
        fake = faked.fake
        where = {"port": str(fake.path)} if name == "2diy" else {"address": fake.address}
        module, _, kind = type(faked.driver).serves.partition(":")
        served = getattr(importlib.import_module(module), kind)(patience=60.0, **where)
        served.open()
        try:
            served.exchange((0.5, *[0.0] * 6))
            assert fake.force() != 0.0
            fake.silent, last = True, []
            asking = threading.Thread(
                target=lambda: last.append(served.exchange((0.5, *[0.0] * 6), STALE))
            )
            asking.start()
            assert wait_for(lambda: fake.force() != 0.0 or last)
            assert wait_for(lambda: fake.force() == 0.0, 30.0) and asking.is_alive()
            fake.repeat()
            asking.join(30.0)
            assert last
            for _ in range(3):
                served.exchange((0.5, *[0.0] * 6), 5.0)
                assert fake.force() != 0.0
        finally:
            served.close()


@pytest.mark.parametrize("seconds", [0.01, 8e-3, 5.5e-3, 2e-3, 1e-4])
def test_a_moteus_lets_go_when_its_command_is_stale(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bytes] = []
    monkeypatch.setattr(moteus.Served, "_send", lambda _, frame: told.append(frame) or ANSWER)
    moteus.Served(cap=(0.0, 0.3)).exchange((0.0,) * 5 + (0.1, 0.0), seconds)
    _, _, torque, *_, timeout = struct.unpack("<8f", told[0][6:38])
    assert torque == pytest.approx(0.1 if seconds > 5e-3 else 0.0)
    assert moteus.LEAST <= timeout <= (seconds if torque else STALE)


@needs_speed
@pytest.mark.live
@pytest.mark.parametrize(
    "name",
    [
        "touch",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("moteus", "2diy", "inverse3", "wheel")),
    ],
)
def test_a_cable_is_pulled_again_and_again(name: str, tmp_path: Path) -> None:
    """Of a driver in a thread or process of its own: lost, and there again when it is opened."""
    with FAKED[name](tmp_path) as faked:
        one: Any = Tried(faked.driver)
        for _ in range(TIMES):
            one.open()
            assert (
                one.until(lambda: faked.fake.force() != 0.0, 60.0, one.along(0.1 * one.peak))
                is not None
            )
            faked.fake.unplug()
            assert one.until(lambda: not one.state.counts[3] & 1, 60.0) is not None
            one.close()
            faked.fake.plug()
            assert np.isfinite(one.state.position).all()


# --- a servo that is faster than its device


def over_budget(device: Any, rate: float) -> int:
    """Ticks of a second that took longer than their period."""
    with Session(WALL, device=device).live(rate=rate) as live:
        assert wait_for(lambda: live.status().ticks > rate or not live.running)
        assert live.running
        return int((live.recent(1.0)["compute_ns"] > 1e9 / rate).sum())


@needs_speed
@pytest.mark.live
@pytest.mark.alone
@pytest.mark.long
def test_4_khz_on_a_device_of_1_khz_adds_no_tick_over_its_budget() -> None:
    """Taken in turns with a simulated device, and the best of five each: others disturb both."""
    with FAKED["touch"](Path()) as faked:
        found = [
            (over_budget(faked.driver, 4000.0), over_budget(preset("touch"), 4000.0))
            for _ in range(5)
        ]
    real, simulated = np.array(found).min(axis=0)
    assert real <= simulated
