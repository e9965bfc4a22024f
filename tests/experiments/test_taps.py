"""Taps on materials: every claim holds, and can fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from claims import check_figure
from detent.experiments import find, taps
from detent.experiments.protocol import Metrics, Result


@pytest.fixture(scope="module")
def result() -> Result:
    return find("shaped-impulses")()


def failed(metrics: Metrics) -> set[str]:
    return {claim.id for claim in taps.tap_claims(metrics) if not claim.passed}


def test_every_claim_holds(result: Result) -> None:
    assert len(result.claims) == 7 * 3
    assert failed(result.metrics) == set()


@pytest.mark.parametrize(
    ("spoiled", "expected"),
    [
        ({"rubber.momentum": 6e-3}, {"B7.momentum-rubber"}),
        ({"wood.hard_momentum": 0.05}, {"B7.hard-momentum-wood"}),
        ({"metal.hard_peak": 15.1}, {"B7.cap-metal"}),
        ({"wood.frequency": 120.0, "wood.decay": 100.0}, {"B7.frequency-wood", "B7.decay-wood"}),
        ({"metal.spectral_peak": 250.0}, {"B7.spectral-peak-metal"}),
        ({"rubber.tool_speed_after": 0.0}, {"B7.tool-rubber"}),
    ],
)
def test_claims_fail_on_wrong_numbers(result: Result, spoiled: Metrics, expected: set[str]) -> None:
    assert set(spoiled) <= set(result.metrics)
    assert failed(result.metrics | spoiled) == expected


def test_the_figure_is_drawn(result: Result, tmp_path: Path) -> None:
    check_figure(result, tmp_path)


def test_linear_prediction_finds_a_ring() -> None:
    times = np.arange(1, 800) / taps.RATE
    for omega, decay in ((2 * np.pi * 100, 80.0), (2 * np.pi * 18, 60.0)):
        found = taps.ring_of(np.exp(-decay * times) * np.sin(omega * times))
        np.testing.assert_allclose(found, (omega, decay), rtol=1e-6)
