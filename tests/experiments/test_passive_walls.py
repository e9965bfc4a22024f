"""Sampled walls and joints: Z-width, the controller, delays, the range of k_j and b_j (B9, B13)."""

from __future__ import annotations

from pathlib import Path

import pytest

from claims import check_figure, failed
from detent.devices.limits import stable_joint
from detent.experiments import delay, find, passive_walls, topology_gains
from detent.experiments.protocol import Metrics, Result

pytestmark = pytest.mark.slow

CLAIMS = {
    "z-width": passive_walls.z_claims,
    "passivity": passive_walls.law_claims,
    "delay": delay.delay_claims,
    "topology-gains": topology_gains.range_claims,
}


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {name: find(name)() for name in CLAIMS}


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_holds_and_its_figure_is_drawn(
    results: dict[str, Result], name: str, tmp_path: Path
) -> None:
    assert results[name].claims
    assert failed(results[name].claims) == set()
    check_figure(results[name], tmp_path)


@pytest.mark.parametrize(
    ("name", "spoiled", "expected"),
    [
        ("z-width", {"touch.4000Hz.off": 0.03}, {"Z.boundary-touch"}),
        ("passivity", {"damper.swing": 2e-3}, {"P.swing-damper"}),
        ("passivity", {"felt.acted": 1.0}, {"P.unfelt"}),
        ("delay", {"engine.33ms.1.apart": 0.03}, {"D.engine"}),
        ("delay", {"crossing.33ms.boundary": 100.0}, {"D.crossing"}),
        ("delay", {"1000us.1.swing": 3e-3}, {"D.calm-1"}),
        ("topology-gains", {"four-bar.1.0.0117.off": 0.03}, {"B13.boundary-four-bar"}),
        ("topology-gains", {"door.2.0.00686.boundary": 0.01}, {"B13.alike"}),
        ("topology-gains", {"S3.2.growth": 0.1}, {"B13.S3"}),
        ("topology-gains", {"bound.1.margin": 1.0}, {"B13.bound"}),
        ("topology-gains", {"door.3.unrest": 2.0}, {"B13.default"}),
    ],
)
def test_claims_fail_on_wrong_numbers(
    results: dict[str, Result], name: str, spoiled: Metrics, expected: set[str]
) -> None:
    assert set(spoiled) <= set(results[name].metrics)
    assert failed(CLAIMS[name](results[name].metrics | spoiled)) == expected


@pytest.mark.parametrize("step", [1e-4, 1e-3])
def test_the_range_of_joints_in_closed_form(step: float) -> None:
    """Without delay kT/2 < b < 2/T; a tick late a damper alone ends at 1/T."""
    for b in (0.1 / step, 1.0 / step, 1.9 / step):
        assert stable_joint(b, step, 0) == pytest.approx(2.0 * b / step, rel=1e-6)
    assert stable_joint(2.1 / step, step, 0) == 0.0
    assert stable_joint(0.99 / step, step, 1) > 0.0 == stable_joint(1.01 / step, step, 1)
