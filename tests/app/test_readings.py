"""Numbers and charts from rows."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from detent.app.charts import round_up
from detent.app.readings import BIN, CHARTED, SPAN, Readings, summary
from detent.app.status import last_line
from detent.servo.columns import ROW
from detent.servo.loop.live import Live, Status
from detent.servo.shown import SHOWN
from detent.servo.structs import COLLIDING, RESTING

RATE = 4000.0


class Tape:
    """Rows where a servo would be."""

    rate = RATE

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.now = rows, len(rows)

    def shown(self) -> np.ndarray:
        return np.zeros(0, SHOWN)

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


def signal(readings: Readings, name: str) -> np.ndarray:
    return readings.history()[1][CHARTED.index(name)]


def test_a_collision_is_an_impulse_in_the_chart_and_no_force() -> None:
    given = tape(3.0)
    given.rows["environment_wrench"][4321, 1] = given.rows["device_wrench"][4321, 1] = -500.0
    given.rows["collisions"][4321] = 1
    readings = play_back(given)
    blow = signal(readings, "impulse")
    np.testing.assert_allclose(blow.max(), 500.0 / RATE)
    assert np.count_nonzero(blow) == 1
    assert abs(readings.history()[0][blow.argmax()] - 4321 / RATE) <= BIN
    assert not signal(readings, "felt").any()


def test_the_chart_forgets_what_is_long_ago() -> None:
    given = tape(SPAN + 3.0)
    given.rows["depth"][100] = 1.0
    time, values = play_back(given).history()
    assert not values.any()
    assert time[-1] - time[0] < SPAN
    assert (np.diff(time) > 0.0).all()


def test_a_stall_loses_nothing() -> None:
    given = tape(2.0)
    given.rows["device_wrench"][:, 0] = 3.0
    readings = Readings(cast(Live, given))
    readings.refresh(2.0)  # one late frame
    assert np.count_nonzero(signal(readings, "felt") == 3.0) >= 2.0 / BIN - 2


def test_what_the_hand_gives_and_gets_back_are_two_lines() -> None:
    given = tape(2.0)
    given.rows["hand_wrench"][:, 0] = 2.0
    given.rows["device_twist"][:4000, 0], given.rows["device_twist"][4000:, 0] = 0.5, -0.25
    readings = play_back(given)
    seen = readings.history()[0]
    gave, back = signal(readings, "given"), signal(readings, "returned")
    np.testing.assert_allclose(gave, np.clip(seen, 0.0, 1.0), atol=2 * BIN)  # 1 W for 1 s
    np.testing.assert_allclose(back, 0.5 * np.maximum(seen - 1.0, 0.0), atol=2 * BIN)
    given.rows["device_twist"], given.now = 0.0, len(given.rows)  # long after
    given.rows["time"] += SPAN + 1.0
    readings.refresh(2.0)
    assert not signal(readings, "given").any()  # what was before the chart is not in it


def test_a_hand_feels_what_it_presses_against_on_a_display() -> None:
    given = tape(1.0)
    given.rows["hand_wrench"][:, 0] = 3.0  # held by a constraint: the drive has nothing to do
    given.rows["environment_wrench"][:, 0] = -2.5
    readings = Readings(cast(Live, given), display=True)
    readings.refresh(1.0)
    np.testing.assert_allclose(readings.moment.felt, [-3.0, 0.0, 0.0])
    np.testing.assert_allclose(readings.moment.parts[3], [-0.5, 0.0, 0.0])  # its inertia
    np.testing.assert_allclose(readings.arrows[0], [-3.0, 0.0, 0.0])
    assert signal(readings, "felt").max() == 3.0


def test_numbers_of_the_moment() -> None:
    given = tape(1.0)
    given.rows["environment_wrench"][:, 0] = -2.0
    given.rows["topology_wrench"][:, 1] = 5.0
    given.rows["device_wrench"][:, :3] = (-3.0, 5.0, 0.0)
    given.rows["contacts"], given.rows["state"] = 2, RESTING
    now = summary(given.rows[-400:], 1.0 / RATE, np.array([0.5, 0.0, 0.0]))
    parts = [[-2.5, 0, 0], [0.5, 0, 0], [0, 5, 0], [-1, 0, 0]]
    np.testing.assert_allclose(now.parts, parts, atol=1e-12)
    np.testing.assert_allclose(now.parts.sum(axis=0), now.felt)
    assert (now.contacts, now.state, now.impulse) == (2, "resting", 0.0)
    given.rows["collisions"][-10] = 1
    now = summary(given.rows[-400:], 1.0 / RATE)
    assert now.state == "colliding"  # for a tick, shown for longer
    assert now.impulse == pytest.approx(2.0 / RATE)


def test_what_joints_hold_is_not_free() -> None:
    given = tape(0.5)
    assert summary(given.rows, 1.0 / RATE).state == "free"
    given.rows["constraints"] = 1
    assert summary(given.rows, 1.0 / RATE).state == "constrained"


def test_a_tool_that_is_too_deep_is_told() -> None:
    given = tape(1.0)
    given.rows["depth"], given.rows["state"] = 0.023, RESTING
    readings = Readings(cast(Live, given), size=0.021)
    readings.refresh(0.1)
    assert readings.deep and readings.warning.startswith("23 mm deep: the contact is softer")
    given.rows["depth"] = 0.001
    readings.refresh(0.1)
    assert not readings.deep and readings.warning == ""


def test_path_and_limits_are_summed_once() -> None:
    given = tape(1.0)
    given.rows["tool_position"][:, 0] = 0.1 * given.rows["time"]
    given.rows["altered"][::1000] = 1
    readings = play_back(given)
    assert readings.altered == 4
    np.testing.assert_allclose(readings.travel, 0.1, rtol=0.05)


def test_the_largest_force_leaves_impulses_out() -> None:
    given = tape(1.0)
    given.rows["device_wrench"][:, 1] = given.rows["environment_wrench"][:, 1] = 3.0
    for name in ("device_wrench", "environment_wrench"):
        given.rows[name][2000, 1] = 800.0
    given.rows["collisions"][2000], given.rows["state"][2000] = 1, COLLIDING
    readings = play_back(given)
    status = Status(4000, 0, 0, RATE, RATE, RATE, 1.0, 2.0, 3.0, 4.0, "")
    said = last_line(status, readings)
    assert said.endswith("largest force on the hand 3.0 N, largest impulse 0.2 N·s")


@pytest.mark.parametrize(("top", "shown"), [(0.9, 1.0), (1.0, 1.0), (1.01, 2.0), (47.0, 50.0)])
def test_an_axis_ends_at_a_round_number(top: float, shown: float) -> None:
    assert round_up(top) == pytest.approx(shown)


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
