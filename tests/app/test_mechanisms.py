"""Mechanisms in the workbench: led along their constraints; their page is in test_controls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from detent import Session, Trace, World
from detent.app.grip import grip
from detent.app.lead import Lead
from detent.app.stage import set_stage
from detent.app.workbench import play
from detent.cli.play import choose_device, mechanism_session
from detent.coupling import Admittance
from detent.devices import AdmittanceDisplay, Inertial
from detent.errors import UnknownNameError
from detent.mechanism.library import CIRCLE, MECHANISMS, SPHERE, WHEEL, builtin
from sweeps import sweep


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_hand_is_led_where_the_mechanism_can_follow(name: str) -> None:
    poses = np.array([Lead(builtin(name)).pose(t) for t in np.linspace(0.0, 20.0, sweep(400, 80))])
    np.testing.assert_allclose(np.linalg.norm(poses[:, 3:], axis=1), 1.0)
    if "sphere" in name:
        np.testing.assert_allclose(np.linalg.norm(poses[:, :3], axis=1), SPHERE)
    elif name == "rolling-disk":
        np.testing.assert_allclose(poses[:, 2], WHEEL)
    else:
        np.testing.assert_allclose(np.linalg.norm(poses[:, :2], axis=1), CIRCLE)


@pytest.mark.live
@pytest.mark.parametrize("name", ["rolling-disk", "disk-on-sphere", "two-link-circle"])
def test_a_mechanism_plays_without_a_browser(name: str, tmp_path: Path) -> None:
    file = tmp_path / "play.arrow"
    status = play(mechanism_session(name, None), rate=500.0, port=0, seconds=2.0, record=file)
    assert status is not None and status.ticks > 0
    trace = Trace.load(file)
    assert np.ptp(trace["tool_position"], axis=0).max() > 0.002
    assert trace["closure"].max() < 1e-9 and trace["forbidden_rate"].max() < 1e-9


@pytest.mark.live
def test_a_world_plays_on_a_display() -> None:
    session = Session(World.builtin("four-bar"), coupling=Admittance())
    status = play(session, rate=500.0, port=0, seconds=1.0)
    assert status is not None and status.ticks > 0


def test_names_of_experiments_can_be_played_too() -> None:
    assert mechanism_session("euler-versus-lie", None).world.name == "lie-disk-on-sphere"
    either = mechanism_session("admittance-versus-impedance", "impedance")
    assert isinstance(either.device, Inertial)
    assert isinstance(mechanism_session("rolling-disk", "display").device, AdmittanceDisplay)
    assert mechanism_session("peg-in-hole", None) is None
    with pytest.raises(UnknownNameError, match="display, impedance"):
        choose_device("robot")


def test_the_grip_is_that_of_the_virtual_inertia_not_of_the_display() -> None:
    session = mechanism_session("disk-on-sphere", None)
    hand = grip(session, set_stage(session), 1000.0)
    assert 50.0 < hand.stiffness < 300.0  # 100 1/s² times some 1.25 kg, not 11
