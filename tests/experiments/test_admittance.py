"""The experiments of document 002 and our own: every claim holds, and can fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from claims import check_figure
from detent.devices import AdmittanceDisplay
from detent.experiments import find
from detent.experiments.rolling_disk import measured, parking, parking_hand, session
from detent.mechanism.library import WHEEL

pytestmark = pytest.mark.slow

NAMES = (
    "rolling-disk", "disk-on-sphere", "two-link-circle", "euler-versus-lie",
    "admittance-versus-impedance",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_holds(name: str, tmp_path: Path) -> None:
    result = find(name)()
    failed = [f"{c.id}: {c.measured:.4g}, {c.required}" for c in result.claims if not c.passed]
    assert not failed, failed
    check_figure(result, tmp_path)


@pytest.mark.parametrize(("roll", "steer"), [(0.03, 0.1), (0.05, 0.25), (-0.04, 0.2)])
def test_parking_moves_sideways_by_the_area_of_the_loop(roll: float, steer: float) -> None:
    trace = session(AdmittanceDisplay.ideal()).run(4.5, parking_hand(1, roll, steer))
    end = trace["tool_position"][-1] - trace["tool_position"][0]
    assert end[1] == pytest.approx(-roll * np.sin(steer), rel=1e-4)  # the exact way
    assert end[1] == pytest.approx(-roll * steer, rel=0.02)  # the Lie bracket
    _, way, heading = parking(1, roll, steer)
    rolled = -WHEEL * trace["coordinates"][:, 4]
    np.testing.assert_allclose(rolled, way[0][: len(trace)], atol=1e-4)
    np.testing.assert_allclose(trace["coordinates"][:, 3], heading[0][: len(trace)], atol=1e-3)


def test_a_large_loop_is_not_its_lie_bracket() -> None:
    trace = session(AdmittanceDisplay.ideal()).run(4.5, parking_hand(1, 0.05, 1.0))
    side = -trace["tool_position"][-1, 1]
    assert abs(side / 0.05 - 1.0) > 0.1


def test_what_the_display_measures_of_a_tilted_disk_is_its_tilt() -> None:
    trace = session(AdmittanceDisplay.ideal()).run(0.1)
    c, s = np.cos(np.pi / 4 + 0.005), np.sin(np.pi / 4 + 0.005)  # turned by 0.01 more about x
    trace.rows["seen_quaternion"][:] = [c, s, 0.0, 0.0]
    trace.rows["seen_position"][:, 2] = WHEEL + 1e-4
    shown = measured(trace)
    np.testing.assert_allclose(np.abs(shown["tilt"]), 0.01, atol=1e-12)
    np.testing.assert_allclose(shown["height"], 1e-4, atol=1e-15)
