"""The corner push: its numbers, and that its claims can fail."""

from __future__ import annotations

import numpy as np
import pytest

from detent.experiments import corner, find


@pytest.fixture(scope="module")
def result() -> corner.Result:
    return find("corner-push")()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("iapb.peak_penetration_x", 0.079e-3),
        ("iapb.peak_penetration_y", 0.128e-3),
        ("pb.peak_penetration_x", 0.923e-3),
        ("pb.peak_penetration_y", 1.613e-3),
    ],
)
def test_penetrations_of_the_catalogue(result: corner.Result, name: str, expected: float) -> None:
    assert result.metrics[name] == pytest.approx(expected, rel=0.01)


def test_impulse_stops_the_peg_in_one_tick(result: corner.Result) -> None:
    trace = result.traces["iapb"]
    first = int(np.argmax(trace["collisions"] > 0))
    before, after = trace["tool_twist"][first, 0], trace["tool_twist"][first + 1, 0]
    assert before == pytest.approx(np.sqrt(2 * 0.32 / 2 * 0.02), rel=0.01)  # v² = 2 a d
    assert after == pytest.approx(0.32 / 2 / 512, rel=1e-6)  # only the hand's push of one tick


def test_every_claim_holds(result: corner.Result) -> None:
    assert result.claims and all(claim.passed for claim in result.claims)


def test_claims_fail_on_wrong_numbers(result: corner.Result) -> None:
    spoiled = {name: 10.0 * value for name, value in result.metrics.items()}
    claims = corner.corner_claims(spoiled, 0.0) + corner.number_claims(spoiled)
    failed = [claim.id for claim in claims if not claim.passed]
    assert {"X8.depth-pb-x", "X9.depth-iapb_spread-y", "X8.sustained-iapb-y"} <= set(failed)
    equal = dict.fromkeys(result.metrics, 1.0)
    assert not any(claim.passed for claim in corner.order_claims(equal))


def test_tilt_and_delay_are_parameters() -> None:
    tilted = find("corner-push")(tilt=0.1)
    delayed = find("corner-push")(delay_ticks=1)
    assert tilted.metrics["iapb.peak_penetration_y"] < tilted.metrics["pb.peak_penetration_y"]
    # catalogue X11: with one step of delay y penetrates about 0.40 mm
    assert delayed.metrics["iapb.peak_penetration_y"] == pytest.approx(0.40e-3, rel=0.1)


def test_space_behaves_like_the_plane() -> None:
    result = find("corner-push-3d")()
    assert all(claim.passed for claim in result.claims)
    assert result.metrics["iapb.peak_penetration_x"] == pytest.approx(0.079e-3, rel=0.02)
