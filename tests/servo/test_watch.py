"""The watch over a device's readings: what cannot be is a fault, what must not be gets no force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from detent import Session, World
from detent.devices import Inertial
from detent.devices.port import (
    AT_STOP,
    CALIBRATED,
    DEAD_MAN,
    FLAGS,
    FORCE_ON,
    SEQUENCE,
    STAMP,
    VALID,
    State,
    make_state,
)
from detent.devices.safety import NO_LIMITS, Safety
from detent.errors import DeviceFault
from detent.hands import Constant
from detent.servo.arrays import make_clock
from detent.servo.faults import (
    DEVICE_FORCE_OFF,
    DEVICE_JUMPED,
    DEVICE_LOST,
    DEVICE_NOT_CALIBRATED,
    DEVICE_NOT_FINITE,
    DEVICE_SILENT,
    NO_FAULT,
)
from detent.servo.guarded import LET_GO, OUTSIDE, TOO_FAST, Guarded, make_guarded
from detent.servo.parameters import PARAMETERS
from detent.servo.structs import FAULT, Clock
from detent.servo.watch import watch
from detent.setup.prepared import raise_fault
from lab import advance, start

READY = VALID | CALIBRATED | FORCE_ON | DEAD_MAN


class Watched:
    """A device that says something, and the watch over it."""

    def __init__(self, period: float = 1e-3, **parameters: Any) -> None:
        self.state: State = make_state()
        self.guard: Guarded = make_guarded()
        self.clock: Clock = make_clock()
        self.p = np.zeros(1, PARAMETERS)
        self.p["step"], self.period = period, period
        for name, value in parameters.items():
            self.p[name] = value
        self.state.quaternion[0] = 1.0
        self.state.counts[FLAGS] = READY

    def read(self, x: float | None = None, turn: float | None = None, fresh: bool = True) -> int:
        """One tick; the fault so far."""
        if x is not None:
            self.state.position[0] = x
        if turn is not None:
            self.state.quaternion[[0, 3]] = np.cos(turn / 2), np.sin(turn / 2)
        if fresh:
            self.state.counts[SEQUENCE] += 1
            self.state.counts[STAMP] += round(1e9 * self.period)
        watch(self.state, self.guard, self.clock, self.p)
        return int(self.clock.counts[FAULT])


@pytest.mark.parametrize(
    ("missing", "fault"),
    [(VALID, DEVICE_LOST), (CALIBRATED, DEVICE_NOT_CALIBRATED), (FORCE_ON, DEVICE_FORCE_OFF)],
)
def test_a_flag_that_is_missing_is_a_fault_that_stays(missing: int, fault: int) -> None:
    device = Watched()
    assert device.read() == NO_FAULT
    device.state.counts[FLAGS] = READY & ~missing
    assert device.read() == fault
    device.state.counts[FLAGS] = READY
    assert device.read() == fault


@pytest.mark.parametrize("field", ["position", "quaternion", "twist"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_reading_that_is_not_finite_is_a_fault(field: str, bad: float) -> None:
    device = Watched()
    device.read()
    getattr(device.state, field)[-1] = bad
    assert device.read() == DEVICE_NOT_FINITE


def test_silence_is_a_fault_after_its_time_and_not_before() -> None:
    device = Watched(silence=10)
    device.read()
    assert [device.read(fresh=False) for _ in range(11)] == [NO_FAULT] * 10 + [DEVICE_SILENT]
    other = Watched(silence=10)
    for k in range(100):  # a device that is slower than the servo
        assert other.read(fresh=k % 10 == 0) == NO_FAULT


def test_silence_of_a_single_tick_can_be_asked_for() -> None:
    device = Watched(silence=1)
    device.read()
    assert [device.read(fresh=False) for _ in range(2)] == [NO_FAULT, DEVICE_SILENT]


def test_a_jump_is_seen_from_the_third_reading_on() -> None:
    """Two tell where it goes; from where it came before the first nobody knows."""
    device = Watched(jumps=1)
    assert [device.read(0.0), device.read(0.0)] == [NO_FAULT, NO_FAULT]
    assert device.read(0.01) == DEVICE_JUMPED
    early = Watched(jumps=1)
    assert [early.read(0.0), early.read(0.01)] == [NO_FAULT, NO_FAULT]


def test_readings_with_one_stamp_are_a_step_apart() -> None:
    """At 100 Hz a hand may be 20 mm off what three readings foretell, whatever the stamps say."""
    device = Watched(0.01, jumps=1)
    device.period = 0.0
    for place in (0.0, 0.0, 0.0, 0.02):
        assert device.read(place) == NO_FAULT
    assert device.read(0.02 + 0.08) == DEVICE_JUMPED


@pytest.mark.parametrize("jump", [1e-3, 5e-3, 0.05])
@pytest.mark.parametrize("speed", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("rate", [1_000.0, 4_000.0, 10_000.0])
def test_a_jump_is_seen_at_rest_and_in_motion(jump: float, speed: float, rate: float) -> None:
    device = Watched(1.0 / rate, jumps=1)
    for k in range(20):
        assert device.read(speed * k / rate) == NO_FAULT
    assert device.read(speed * 20 / rate + jump) == DEVICE_JUMPED


@pytest.mark.parametrize("stall", [3e-3, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("speed", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("jump", [0.0, 1e-3, 0.05])
def test_a_host_that_stalls_is_no_jump_and_hides_none_for_long(
    stall: float, speed: float, jump: float
) -> None:
    """The device went on meanwhile: millimetres in one reading, and a usual step in the next."""
    device, x = Watched(1e-3, jumps=1), 0.0
    for k in range(40):
        device.period = stall if k % 10 == 5 else 1e-3
        x += speed * device.period
        assert device.read(x) == NO_FAULT
    device.period = 1e-3
    assert device.read(x + speed * 1e-3 + jump) == (DEVICE_JUMPED if jump else NO_FAULT)


def test_ticks_at_the_end_stop_are_counted() -> None:
    device = Watched()
    device.read()
    assert device.guard.stopped[0] == 0
    device.state.counts[FLAGS] |= AT_STOP
    device.read()
    device.read()
    assert device.guard.stopped[0] == 2


def test_a_jump_of_the_orientation_is_seen() -> None:
    device = Watched(jumps=1)
    for k in range(20):
        assert device.read(turn=0.003 * k) == NO_FAULT
    assert device.read(turn=0.2) == DEVICE_JUMPED


@pytest.mark.parametrize("rate", [200.0, 1_000.0, 4_000.0, 10_000.0])
def test_a_quick_hand_with_coarse_encoders_is_no_jump(rate: float) -> None:
    """5 Hz with 60 mm amplitude: 1.9 m/s, 59 m/s², read in steps of 55 µm."""
    device = Watched(1.0 / rate, jumps=1)
    for k in range(int(rate)):
        x = 0.06 * np.sin(2 * np.pi * 5.0 * k / rate)
        assert device.read(55e-6 * np.round(x / 55e-6)) == NO_FAULT


def test_without_jumps_asked_for_a_device_may_be_anywhere() -> None:
    device = Watched()
    assert {device.read(float(x)) for x in (0, 5, -3, 1e3)} == {NO_FAULT}


def test_the_dead_man_the_speed_and_the_reach_withhold_force_and_give_it_back() -> None:
    device = Watched(speed=(1.0, 10.0), reach=0.1)
    device.read()
    device.state.counts[FLAGS] = READY & ~DEAD_MAN
    device.read()
    assert device.guard.off[0] == LET_GO
    device.state.counts[FLAGS] = READY
    device.state.twist[0] = 1.1
    device.read()
    assert device.guard.off[0] == TOO_FAST
    device.state.twist[0] = 0.6  # slower, but not slow
    device.read()
    assert device.guard.off[0] == TOO_FAST
    device.state.twist[:] = [0, 0, 0, 0, 0, 11]
    device.read()
    assert device.guard.off[0] == TOO_FAST
    device.state.twist[:] = 0.0
    device.read(0.101)
    assert device.guard.off[0] == OUTSIDE
    device.read(0.099)
    assert device.guard.off[0] == OUTSIDE
    assert device.read(0.09) == NO_FAULT
    assert device.guard.off[0] == 0
    np.testing.assert_array_equal(device.guard.off_ticks, [1, 3, 2])


def test_only_who_was_too_fast_or_outside_has_to_come_well_back() -> None:
    """Below the limits there is force, however near to them, unless they were passed before."""
    device = Watched(speed=(1.0, 10.0), reach=0.1)
    for twist, x in (((0.99, 0, 0, 0, 0, 9.9), 0.0), ((0,) * 6, 0.0999)):
        device.state.twist[:] = twist
        device.read(x)
        assert device.guard.off[0] == 0
    device.state.position[:] = (0.06, -0.06, 0.06)  # beyond by its length alone
    device.read()
    assert device.guard.off[0] == OUTSIDE
    np.testing.assert_array_equal(device.guard.off_ticks, [0, 0, 1])


def test_the_reach_is_counted_from_where_the_session_began() -> None:
    device = Watched(reach=0.1)
    device.guard.home[:] = (0.5, 0.0, 0.0)
    device.read(0.55)
    assert device.guard.off[0] == 0
    device.read(0.05)
    assert device.guard.off[0] == OUTSIDE


# --- in a session


@dataclass(frozen=True)
class Watchful(Inertial):
    kept: Safety = NO_LIMITS

    @property
    def safety(self) -> Safety:
        return self.kept


def let_go(state: State) -> None:
    state.counts[FLAGS] &= ~DEAD_MAN


def hold(state: State) -> None:
    state.counts[FLAGS] |= DEAD_MAN


def test_letting_go_takes_the_force_away_at_once_and_holding_ramps_it_in() -> None:
    device = Watchful(kept=Safety(ramp=0.1))
    session = Session(World.builtin("corner").placed([0.05, -0.06, 0.1]), device=device)
    ready = start(session, Constant(force=(0.5, -0.6)))
    before = advance(ready, 3000)
    assert np.abs(before["device_wrench"][-1]).max() > 0.1
    let_go(ready.servo.port.state)
    rows = advance(ready, 5)
    assert len(rows) == 5  # no fault: the servo goes on
    assert (rows["device_wrench"] == 0.0).all()
    assert (rows["altered"] == 1).all()
    hold(ready.servo.port.state)
    rows = advance(ready, 50)
    assert 0.0 < np.abs(rows["device_wrench"][0]).max() < 0.02 * np.abs(rows["raw_wrench"][0]).max()
    assert any("dead-man" in note for note in ready.said())


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (lambda state: state.counts.__setitem__(FLAGS, DEAD_MAN), "lost"),
        (lambda state: state.counts.__setitem__(FLAGS, VALID), "not calibrated"),
        (lambda state: state.counts.__setitem__(FLAGS, VALID | CALIBRATED), "switched its force"),
    ],
)
def test_a_device_that_fails_stops_the_servo(
    break_it: Callable[[State], None], reason: str
) -> None:
    session = Session(World.builtin("corner").placed([0.05, -0.06, 0.1]))
    ready = start(session, Constant(force=(0.5, -0.6)))
    advance(ready, 500)
    break_it(ready.servo.port.state)
    rows = advance(ready, 100)
    assert len(rows) == 1
    assert (rows["device_wrench"] == 0.0).all()
    with pytest.raises(DeviceFault, match=reason) as caught:
        raise_fault(ready.servo, rows)
    assert caught.value.last_rows is not None
