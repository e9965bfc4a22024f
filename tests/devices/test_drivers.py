"""Drivers on fakes of their devices: the contract, and the servo on each, with faults."""

from __future__ import annotations

import ctypes.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faking import (
    CALIBRATED,
    CALLS,
    CLOSED,
    DEAD,
    ERROR_CODE,
    FAKED,
    FORCE_OFF,
    GAP,
    GRIP,
    HAND,
    JUMP,
    KIND,
    LARGEST,
    OPENED,
    SLOW,
    STEP,
    TRIPS,
    WALL,
    WATCHDOG,
    Faked,
    Library,
)

from detent import Session, World
from detent.devices import SHEETS, Gripper, Mapped, known, preset
from detent.devices.drivers import DRIVERS, drivable, find_driver, real
from detent.devices.drivers.contract import Tried, check_driver
from detent.devices.drivers.native import Native
from detent.errors import (
    DetentError,
    DeviceFault,
    DeviceMissingError,
    DeviceNotReadyError,
    ParameterError,
    UnknownNameError,
)
from detent.kernels.jit import JIT_ENABLED
from detent.servo.faults import FAULTS
from detent.servo.loop.loop import run_lockstep
from detent.servo.structs import FAULT
from sweeps import LONG
from waiting import wait_for

IN_PROCESS = ("forcedimension", "touch", "native")  # others start a process, which takes a second
LATE = 5.0  # [s] that a busy machine may take longer


needs_speed = pytest.mark.skipif(not JIT_ENABLED, reason="a live servo needs the compiler")


@pytest.fixture(params=list(FAKED))
def faked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Faked]:
    with FAKED[request.param](tmp_path) as one:
        yield one


def run_until_broken(
    session: Session, break_it: Callable[[], None], late: Callable[[], bool] = lambda: False
) -> None:
    """Live for a while, then broken: the servo stops by itself. Again, if that came too late."""
    with session.live(rate=1000.0) as live:
        assert wait_for(lambda: live.status().ticks > 50)
        assert live.running
        break_it()
        while wait_for(lambda: not live.running or late()) and live.running:
            break_it()
        assert not live.running


@pytest.mark.live
def test_every_driver_keeps_the_contract(faked: Faked) -> None:
    checks = check_driver(faked.driver, faked.fake, slack=LATE)
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == 9


@needs_speed
@pytest.mark.live
@pytest.mark.parametrize("rate", [1000.0, 4000.0])
def test_the_servo_runs_on_every_fake(faked: Faked, rate: float) -> None:
    """4 kHz or 1 kHz on a device of its own rate: no fault, finite, zero at the end."""
    with Session(WALL, device=faked.driver).live(rate=rate) as live:
        assert wait_for(lambda: live.status().ticks > rate // 8 or not live.running)
        assert live.running
        rows = live.recent()
    assert np.isfinite(rows["device_position"]).all()
    assert wait_for(lambda: faked.fake.force() == 0.0)
    assert getattr(faked.fake, "bad", 0) == 0


@needs_speed
@pytest.mark.live
def test_a_cable_that_is_pulled_stops_the_servo_and_a_new_session_goes_on(faked: Faked) -> None:
    for _ in range(2):
        with pytest.raises(DeviceFault) as caught:
            run_until_broken(Session(WALL, device=faked.driver), faked.fake.unplug)
        assert caught.value.last_rows is not None
        np.testing.assert_array_equal(caught.value.last_rows["device_wrench"][-1], 0.0)
        faked.fake.plug()


def faults(name: str) -> list[Any]:
    return [
        pytest.param(name, lambda f: f.set(ERROR_CODE, 1 if name != "touch" else 0x301), "lost"),
        pytest.param(name, lambda f: f.set(JUMP, 0.005), "jumped"),
        pytest.param(name, lambda f: f.set(JUMP, 0.05), "jumped"),
    ]


@needs_speed
@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "break_it", "reason"),
    [
        *faults("forcedimension"),
        *faults("touch"),
        *faults("native"),
        ("forcedimension", lambda f: f.set(CALIBRATED, 0), "not calibrated"),
        ("forcedimension", lambda f: f.set(FORCE_OFF, 1), "switched its force off"),
        ("native", lambda f: f.set(CALIBRATED, 0), "not calibrated"),
        ("touch", lambda f: f.set(CALIBRATED, 0), "not calibrated"),
        pytest.param("touch", lambda f: f.set(DEAD, 1), "silent", marks=pytest.mark.long),
        ("2diy", lambda f: setattr(f, "silent", True), "silent|lost"),
        ("2diy", lambda f: setattr(f, "jump", 0.3), "jumped"),
        ("moteus", lambda f: setattr(f, "jump", 0.5), "jumped"),
        ("wheel", lambda f: setattr(f, "jump", 0.8), "jumped"),
        ("inverse3", lambda f: setattr(f, "jump", 0.005), "jumped"),
        ("inverse3", lambda f: setattr(f, "jump", 0.05), "jumped"),
        ("inverse3", lambda f: setattr(f, "silent", True), "silent|lost"),
        ("inverse3", lambda f: setattr(f, "garbled", True), "silent|lost"),
        ("moteus", lambda f: setattr(f, "fault", True), "lost"),
        ("moteus", lambda f: setattr(f, "silent", True), "silent|lost"),
    ],
)
def test_a_fault_of_the_device_is_typed_latched_and_over_with_a_new_session(
    name: str, break_it: Callable[[Any], None], reason: str, tmp_path: Path
) -> None:
    """Again and again where the driver has a thread or a process; see `test_faults`, too."""
    for turn in range(100 if LONG else 3 if name in IN_PROCESS else 1):
        folder = tmp_path / str(turn)
        folder.mkdir()
        with FAKED[name](folder) as faked:
            with pytest.raises(DeviceFault, match=reason):
                run_until_broken(
                    Session(WALL, device=faked.driver),
                    lambda: break_it(faked.fake),
                    getattr(faked.fake, "came_late", lambda: False),
                )
            assert wait_for(lambda: faked.fake.force() == 0.0)


@needs_speed
@pytest.mark.live
def test_a_wall_is_felt_on_a_fake_device() -> None:
    """The hand goes 6 mm, the wall is 3 mm away: the fake is pushed back, within its cap."""
    with FAKED["forcedimension"](Path()) as faked:
        with Session(WALL, device=faked.driver).live(rate=4000.0) as live:
            assert wait_for(lambda: live.status().ticks > 2000)
            faked.fake.set(HAND, 0.006)
            assert wait_for(lambda: faked.fake.force() < -0.05)
        assert faked.fake.get(LARGEST) <= 12.0
        assert faked.fake.bad == 0


@needs_speed
@pytest.mark.live
def test_a_slow_library_makes_ticks_late_and_no_fault() -> None:
    fake = Library("libdrd")
    driver = real("omega.3", library=str(fake.path))
    with Session(WALL, device=driver).live(rate=1000.0) as live:
        assert wait_for(lambda: live.status().ticks > 100)
        fake.set(SLOW, 3e6)
        skips = live.status().skips
        assert wait_for(lambda: live.status().skips > skips)
        fake.set(SLOW, 0)
        assert live.running


def test_the_watchdog_of_a_device_is_set() -> None:

    with FAKED["forcedimension"](Path()) as faked:
        one = Tried(faked.driver)
        one.open()
        assert faked.fake.get(WATCHDOG) == pytest.approx(0.01)
        one.run(0.02, one.along(1.0))
        assert wait_for(lambda: faked.fake.force() == 0.0)
        assert faked.fake.get(TRIPS) >= 1  # more often where others have the processor
        one.close()
        assert (faked.fake.get(OPENED), faked.fake.get(CLOSED)) == (1, 1)


def test_a_device_is_asked_at_its_own_rate() -> None:
    """1 kHz under 4 kHz: every fourth tick, read and written once."""
    from detent.devices.adapters import Placed
    from detent.kernels.stages import run_stage, stage_address

    with FAKED["native"](Path()) as faked:
        faked.driver.preset = type(faked.driver.preset)(SHEETS["falcon"])
        pose = np.array([0.0, 0, 0, 1, 0, 0, 0])
        mask = np.array([1.0, 1, 1, 0, 0, 0])
        adapter = faked.driver.adapter(
            Placed(pose, np.zeros(6), mask, np.diag(mask), 2.5e-4, False, False, 100.0)
        )
        assert adapter.begin is not None and adapter.end is not None
        adapter.begin()
        stages = [stage_address(stage, adapter.struct) for stage in (adapter.read, adapter.write)]
        fresh = []
        for _ in range(16):
            for stage in stages:
                run_stage(stage, adapter.struct)
            fresh.append(int(adapter.port.state.counts[0]))
        assert fresh == [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4
        adapter.end()


PUSHING = """
import sys, time
from detent.devices.drivers import real
from detent.devices.drivers.contract import Tried
one = Tried(real(sys.argv[1], port=sys.argv[2], patience=5.0))
one.open()
print("open", flush=True)
while True:
    one.tick(one.along(0.1 * one.peak))
    time.sleep(1e-3)
"""


@pytest.mark.live
@pytest.mark.parametrize(
    ("fake", "name"),
    [("2diy", "2diy"), pytest.param("moteus", "moteus-knob", marks=pytest.mark.long)],
)
def test_a_servo_that_is_killed_pushes_no_more(fake: str, name: str, tmp_path: Path) -> None:
    """SIGKILL: the process that serves the device is told by the kernel, and sends zero."""
    with FAKED[fake](tmp_path) as faked:
        command = [sys.executable, "-c", PUSHING, name, str(faked.fake.path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        pushing = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        try:
            assert wait_for(lambda: faked.fake.force() != 0.0, 300.0)  # two processes import all
        finally:
            pushing.kill()
            pushing.communicate()
        assert wait_for(lambda: faked.fake.force() == 0.0)


@needs_speed
@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_told_to_end_sends_zero_first(number: int, tmp_path: Path) -> None:
    """A terminal that is closed tells both."""
    with FAKED["2diy"](tmp_path) as faked:
        driver: Any = faked.driver
        one = Tried(driver)
        one.open()
        try:
            one.until(lambda: faked.fake.force() != 0.0, LATE, one.along(0.1 * one.peak))
            os.kill(driver.process.pid, number)
            assert wait_for(lambda: driver.process.poll() is not None)
            assert wait_for(lambda: faked.fake.force() == 0.0)
        finally:
            one.close()


@pytest.mark.parametrize("frame", [np.full((3, 3), np.nan), 10.0 * np.eye(3), np.eye(2), "up"])
def test_a_frame_that_is_no_rotation_is_refused(frame: Any) -> None:
    """Ten times the axes were ten times the force."""
    with pytest.raises(ParameterError, match="frame"):
        real("omega.3", frame=frame)


@pytest.mark.parametrize("address", [0, -1, None, 1.5])
def test_a_function_that_is_nowhere_is_refused(address: Any) -> None:
    with pytest.raises(ParameterError, match="address of a C function"):
        Native(preset("omega.3"), address, 1)


def test_a_library_of_another_name_is_refused() -> None:
    for name in ("omega.3", "touch"):
        driver = real(name, library=ctypes.util.find_library("c") or "libc.so.6")
        with pytest.raises(DeviceMissingError, match="another library"):
            Tried(driver).open()


# --- what is missing


@pytest.mark.parametrize("name", list(DRIVERS))
def test_a_driver_says_what_it_needs_and_who_lets_go(name: str) -> None:
    driver = find_driver(name)
    assert driver.name == name
    assert driver.needs and driver.watchdog
    assert "pip install" not in driver.needs


@pytest.mark.live
@pytest.mark.parametrize("name", ["omega.3", "touch", "2diy", "moteus-knob", "inverse3"])
def test_without_the_vendors_things_the_error_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FDSDK", str(tmp_path))
    options = {"address": "ws://127.0.0.1:9"} if name == "inverse3" else {}
    one = Tried(real(name, **options))
    with pytest.raises((DeviceMissingError, DeviceNotReadyError)) as caught:
        one.open()
    one.close()
    said = str(caught.value)
    assert "pip" not in said
    wanted = {
        "omega.3": "forcedimension.com", "touch": "3dsystems.com", "2diy": "ttyACM",
        "moteus-knob": "fdcanusb", "inverse3": "haply.co",
    }  # fmt: skip
    assert wanted[name] in said


def test_a_library_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "libdrd.so"
    file.write_text("no library")
    one = Tried(real("omega.3", library=str(file)))
    with pytest.raises(DeviceMissingError, match="cannot be loaded"):
        one.open()
    one.close()


def test_another_device_than_the_one_that_was_named_is_refused() -> None:
    """A Falcon bears 8 N, and an omega.3 is told 12."""
    with FAKED["forcedimension"](Path()) as faked:
        one = Tried(faked.driver)
        faked.fake.set(KIND, 60)
        with pytest.raises(DeviceNotReadyError, match="is a falcon: name that"):
            one.open()
        assert faked.fake.get(CALLS) == 0
        faked.fake.set(KIND, 33)
        one.open()
        one.close()


@pytest.mark.parametrize("name", drivable())
def test_an_option_that_a_driver_has_not_is_refused(name: str) -> None:
    with pytest.raises(UnknownNameError, match="prot"):
        real(name, {"torque": known(2.0, "a test")} if name == "wheel" else None, prot="/dev/x")


def test_a_gripper_of_force_dimension_drives_an_actuator_and_is_pushed() -> None:
    """From 20 mm open to closed; the jaw is stopped half-way by a stone."""
    world = World.from_string(
        '<mujoco><option gravity="0 0 0"/><worldbody><geom type="box" pos="0.025 0 0" '
        'size="0.01 0.01 0.01"/><body name="palm" pos="0 0.1 0"><freejoint/><geom size="0.01" '
        'mass="0.1"/></body><body><joint name="jaw" type="slide" axis="1 0 0" damping="2"/>'
        '<geom type="box" size="0.005 0.01 0.01" mass="0.05"/></body></worldbody><actuator>'
        '<position name="claw" joint="jaw" kp="200" ctrlrange="0 0.02"/></actuator></mujoco>',
        tool="palm",
    )
    fake = Library("libdrd")
    fake.set(GAP, 0.02)
    fake.set(STEP, 1e-3)
    driver = real("omega.7", library=str(fake.path), silence=5.0)
    device = Mapped(driver, gripper=Gripper("claw", opening=(0.02, 0.0), control=(0.0, 0.02)))
    ready = Session(world, device=device, rate=1000.0).prepare(None, 1000.0, 8)
    ready.begin()
    try:
        run_lockstep(ready.servo, 400)
        assert ready.data.ctrl[0] == 0.0 and abs(fake.get(GRIP)) < 1e-3
        fake.set(GAP, 1e-9)
        run_lockstep(ready.servo, 800)
        assert ready.data.ctrl[0] == pytest.approx(0.02)
        assert fake.get(GRIP) == pytest.approx(200.0 * (0.02 - ready.data.qpos[-1]), rel=1e-3)
        assert fake.get(GRIP) > 1.0  # it is pushed open
        fake.set(GAP, np.nan)
        run_lockstep(ready.servo, 1)
        assert "not finite" in FAULTS[int(ready.servo.clock.counts[FAULT])]
        assert fake.get(GRIP) == 0.0
    finally:
        ready.end()


def test_a_device_that_cannot_be_calibrated_is_refused() -> None:
    with FAKED["forcedimension"](Path()) as faked:
        one = Tried(faked.driver)
        faked.fake.set(CALIBRATED, -1)
        with pytest.raises(DeviceNotReadyError, match="calibrated"):
            one.open()
        assert faked.fake.get(CLOSED) == 1
        assert faked.fake.get(CALLS) == 0


def test_a_real_device_does_not_run_in_lockstep() -> None:
    with pytest.raises(ParameterError, match="runs live"):
        Session(WALL, device=real("omega.3", library=str(Library("libdrd").path))).run(0.01)


def test_a_preset_without_a_driver_says_so() -> None:
    assert "hapticmaster" not in drivable()
    with pytest.raises(DetentError, match="device with a driver"):
        real("hapticmaster")
