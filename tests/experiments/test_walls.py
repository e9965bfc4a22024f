"""Virtual walls through the whole tick: the documents' numbers, and that claims can fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from claims import check_figure, failed
from detent.experiments import walls
from detent.experiments.protocol import Metrics, Result

pytestmark = pytest.mark.slow

BY_NAME = {experiment.name: experiment for experiment in walls.EXPERIMENTS}
CLAIMS = {"walls": walls.wall_claims, "walls-device": walls.device_claims}


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


@pytest.mark.parametrize(
    ("name", "spoiled", "expected"),
    [
        ("walls", {"pulse.rebound": 0.5}, {"X25.settles-pulse"}),
        ("walls", {"zoh.last_rebound": 1.0}, {"X25.active"}),
        ("walls", {"seh.last_rebound": 0.1}, {"X25.marginal"}),
        ("walls", {"pi.last_rebound": 1.0, "pi.last_rms_speed": 0.01}, {"X25.pi", "M37.order"}),
        ("walls", {"zoh.radius": 1.0}, {"M36.radius-zoh", "M36.growth-zoh"}),
        ("walls", {"seh.growth": 1.001}, {"M36.growth-seh"}),
        ("walls", {"seh.largest_integral": 0.0}, {"X25.may"}),
        ("walls-device", {"zoh.last_rebound": 0.0}, {"X26.bounces-zoh"}),
        ("walls-device", {"pulse.rebound": 0.5}, {"X26.settles-pulse"}),
        ("walls-device", {"hysteretic.last_rms_speed": 1.0}, {"X26.calm-hysteretic"}),
    ],
)
def test_claims_fail_on_wrong_numbers(
    results: dict[str, Result], name: str, spoiled: Metrics, expected: set[str]
) -> None:
    assert set(spoiled) <= set(results[name].metrics)
    assert failed(CLAIMS[name](results[name].metrics | spoiled)) == expected


def test_spectral_radius_of_a_sampled_spring_in_closed_form() -> None:
    """A held spring: det = 1 + K T²/2m, and its eigenvalues are a complex pair."""
    for rate in (500.0, 512.0, 4000.0):
        expected = np.sqrt(1.0 + 4000.0 / (2 * 2.0 * rate**2))
        assert walls.spectral_radius("zoh", rate) == pytest.approx(expected, rel=1e-12)
    assert walls.spectral_radius("seh", 512.0) == pytest.approx(0.99999, abs=1e-5)


def test_first_hit_is_newtons(results: dict[str, Result]) -> None:
    """From rest over 20 mm under 0.4 N on 2 kg: t = √(2 d m/F) = 0.447 s."""
    for law in walls.LABELS:
        trace = results["walls"].traces[law]
        hit = trace["time"][int(np.argmax(trace["contacts"] > 0))]
        assert hit == pytest.approx(np.sqrt(2 * 0.02 * 2.0 / 0.4), abs=2 / walls.RATE)


def test_the_two_vertices_are_one_wall() -> None:
    """At rest a damped push would sink to F/K; the bounce turns where energy says."""
    trace = walls.bounce("seh", 0.02, seconds=0.6)
    deepest = -walls.lowest(trace).min()
    root = (0.4 + np.sqrt(0.4**2 + 2 * 4000.0 * 0.4 * 0.02)) / 4000.0  # ½Kd² = F (gap + d)
    assert deepest == pytest.approx(root, rel=0.02)
