"""Numbers and charts from rows."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from detent.app.readings import BIN, SPAN, Readings, summary
from detent.app.status import last_line
from detent.servo.columns import ROW
from detent.servo.loop.live import Live, Status
from detent.servo.structs import COLLIDING, RESTING

RATE = 4000.0


class Tape:
    """Rows where a servo would be."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.now = rows, len(rows)

    def recent(self, seconds: float) -> np.ndarray:
        return self.rows[max(0, self.now - round(seconds * RATE)) : self.now]


def tape(seconds: float) -> Tape:
    rows = np.zeros(round(seconds * RATE), ROW)
    rows["time"] = np.arange(1, len(rows) + 1) / RATE
    return Tape(rows)


def play_back(given: Tape, frame: float = 1 / 60) -> Readings:
    readings = Readings(cast(Live, given))
    for end in np.arange(frame, len(given.rows) / RATE, frame):
        given.now = round(end * RATE)
        readings.refresh(frame)
    return readings


def test_an_impulse_of_one_tick_shows_in_the_chart() -> None:
    given = tape(3.0)
    given.rows["environment_wrench"][4321, 1] = -500.0
    time, values = play_back(given).history()
    assert values[0].max() == 500.0
    assert np.count_nonzero(values[0]) == 1
    assert abs(time[values[0].argmax()] - 4321 / RATE) <= BIN


def test_the_chart_forgets_what_is_long_ago() -> None:
    given = tape(SPAN + 3.0)
    given.rows["tool_energy"][100] = 1.0
    time, values = play_back(given).history()
    assert not values.any()
    assert time[-1] - time[0] < SPAN
    assert (np.diff(time) > 0.0).all()


def test_a_stall_loses_nothing() -> None:
    given = tape(2.0)
    given.rows["hand_wrench"][:, 0] = 3.0
    readings = Readings(cast(Live, given))
    readings.refresh(2.0)  # one late frame
    _, values = readings.history()
    assert np.count_nonzero(values[1] == 3.0) >= 2.0 / BIN - 2


def test_numbers_of_the_moment() -> None:
    given = tape(1.0)
    given.rows["environment_wrench"][:, 0] = -2.0
    given.rows["environment_wrench"][-10, 0] = -400.0
    given.rows["contacts"], given.rows["state"] = 2, RESTING
    now = summary(given.rows[-400:])
    assert now.peak == 400.0
    np.testing.assert_allclose(now.environment, [-2.0 - 398.0 / 400.0, 0.0, 0.0])
    assert (now.contacts, now.state) == (2, "resting")
    given.rows["collisions"][-10] = 1
    assert summary(given.rows[-400:]).state == "colliding"  # for a tick, shown for longer


def test_path_peak_and_limits_are_summed_once() -> None:
    given = tape(1.0)
    given.rows["tool_position"][:, 0] = 0.1 * given.rows["time"]
    given.rows["altered"][::1000] = 1
    given.rows["environment_wrench"][2000, 2] = 7.0
    readings = play_back(given)
    assert readings.altered == 4
    assert (readings.resting, readings.peak) == (7.0, 7.0)
    np.testing.assert_allclose(readings.travel, 0.1, rtol=0.05)


def test_the_largest_force_at_rest_leaves_impulses_out() -> None:
    given = tape(1.0)
    given.rows["environment_wrench"][:, 1] = 3.0
    given.rows["state"] = RESTING
    given.rows["environment_wrench"][2000, 1], given.rows["state"][2000] = 800.0, COLLIDING
    readings = play_back(given)
    assert (readings.resting, readings.peak) == (3.0, 800.0)
    status = Status(4000, 0, 0, RATE, RATE, RATE, 1.0, 2.0, 3.0, 4.0, "")
    said = last_line(status, readings)
    assert said.endswith("largest force 3.0 N at rest, 800.0 N with impulses of one tick")


def test_no_rows_yet() -> None:
    readings = Readings(cast(Live, tape(0.0)))
    readings.refresh(0.1)
    assert readings.moment.state == "free"


def test_a_firmer_grip_keeps_its_damping_ratio() -> None:
    from detent.app.panel import firmer
    from detent.hands import Impedance

    grip = Impedance(100.0, 10.0, 5.0, 0.5)
    firm = firmer(grip, 4.0)
    assert (firm.stiffness, firm.rotational_stiffness) == (400.0, 20.0)
    for k, b, k0, b0 in (
        (firm.stiffness, firm.damping, grip.stiffness, grip.damping),
        (firm.rotational_stiffness, firm.rotational_damping, 5.0, 0.5),
    ):
        assert b / k**0.5 == pytest.approx(b0 / k0**0.5)
