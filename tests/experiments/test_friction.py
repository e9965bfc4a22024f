"""Friction through the whole tick: the documents' numbers, and that claims can fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from claims import check_figure, failed
from detent.experiments import friction, friction_device, incline
from detent.experiments.protocol import Claim, Metrics, Result

pytestmark = pytest.mark.slow

BY_NAME = {
    experiment.name: experiment
    for family in (friction, friction_device, incline)
    for experiment in family.EXPERIMENTS
}


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {name: experiment() for name, experiment in BY_NAME.items()}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_claim_holds(results: dict[str, Result], name: str) -> None:
    assert results[name].claims
    assert failed(results[name].claims) == set()


@pytest.mark.parametrize("name", BY_NAME)
def test_figures_are_drawn(results: dict[str, Result], name: str, tmp_path: Path) -> None:
    check_figure(results[name], tmp_path)


def claims_of(name: str, m: Metrics) -> list[Claim]:
    return {
        "friction-damping": lambda: friction.damping_claims(m, 0.06),
        "friction-models": lambda: friction.law_claims(m, 0.06),
        "friction-device": lambda: friction_device.device_claims(m),
        "incline": lambda: incline.slope_claims(m, 0.98, 1.02),
    }[name]()


@pytest.mark.parametrize(
    ("name", "spoiled", "expected"),
    [
        ("friction-damping", {"critical.rms_speed_in_stick": 3e-4}, {"X4.calm-critical"}),
        ("friction-damping", {"undamped.stick_phases": 0.0}, {"X4.stick-undamped"}),
        ("friction-damping", {"critical.end": 0.22, "critical.contacts": 4.0},
         {"X4.end", "X4.contacts"}),
        ("friction-damping", {"overdamped.largest_friction": 0.09}, {"X4.limit"}),
        ("friction-models", {"classical.moved": 0.0, "dahl.drift": 1e-5},
         {"M12.drift", "X5.hold-dahl"}),
        ("friction-models", {"nahvi.rms_speed_in_stick": 9e-5}, {"X5.ring-nahvi"}),
        ("friction-device", {"nahvi.stick_phases": 2.0}, {"X6.stick-nahvi"}),
        ("friction-device", {"nahvi.force_ripple_in_stick": 1.0},
         {"X6.compliance-nahvi"}),
        ("incline", {"plane.slid_below": 1.0, "space.slid_above": 0.0},
         {"incline.stick-plane", "incline.slip-space"}),
        ("incline", {"plane.rigid_creep": 1e-5, "space.rigid_breakaway": 0.98},
         {"incline.rigid-stick-plane", "incline.rigid-slip-space"}),
        ("incline", {"plane.rigid_acceleration": 0.5}, {"incline.rigid-slide-plane"}),
        ("incline", {"space.acceleration": 0.5, "space.turned_difference": 1e-3},
         {"incline.slide-space", "incline.isotropy"}),
    ],
)  # fmt: skip
def test_claims_fail_on_wrong_numbers(
    results: dict[str, Result], name: str, spoiled: Metrics, expected: set[str]
) -> None:
    assert set(spoiled) <= set(results[name].metrics)
    assert failed(claims_of(name, results[name].metrics | spoiled)) == expected


def test_numbers_of_the_catalogue_at_its_force() -> None:
    """X4, X5 at 0.05 (1 + sin t): 4.3e-4 and 9e-5; Nahvi 3.4e-4, Dahl 3.7e-4 m/s; 0.22 m."""
    damping = BY_NAME["friction-damping"](force=0.05)
    laws = BY_NAME["friction-models"](force=0.05)
    assert damping.metrics["critical.end"] == pytest.approx(0.22, abs=0.005)
    assert {"X4.ring-undamped", "X4.ring-critical"} <= {c.id for c in damping.claims}
    assert {"X5.rms-nahvi", "X5.rms-dahl", "X5.rms-reset"} <= {c.id for c in laws.claims}
    assert failed(damping.claims) == failed(laws.claims) == set()


def test_the_session_agrees_with_a_mass_on_two_bonds(results: dict[str, Result]) -> None:
    """Newton's law by hand while it slides: v̇ = (F − 2 μ_k f_n)/m."""
    trace = results["friction-damping"].traces["critical"]
    t, v = trace["time"], trace["tool_twist"][:, 1]
    free = (t > 1.5) & (t < 4.0)
    change = np.diff(v)[free[:-1]] * friction.RATE
    push = 0.06 * (1.0 + np.sin(t[:-1][free[:-1]]))
    np.testing.assert_allclose(change, (push - 2 * 0.2 * 0.175) / 2.0, atol=1e-9)


def test_the_jammed_peg_is_in_equilibrium() -> None:
    tilt, torque = friction.jammed(0.175)
    assert 0.0 < tilt < 0.01
    assert torque == pytest.approx(0.175 * 0.042, rel=0.01)


def test_rests_are_counted_after_a_slip_only() -> None:
    speed = np.concatenate([np.zeros(600), np.full(50, 0.01), np.zeros(400), np.full(9, 0.01)])
    assert len(friction.rests(speed)) == 1
    assert friction.rests(np.zeros(2000)) == []
