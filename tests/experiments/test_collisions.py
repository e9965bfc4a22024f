"""Collisions at several contacts (X1, X2), of an arm (X7), and vertices that pass (X27)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from claims import check_figure, failed
from detent.errors import ParameterError
from detent.experiments import reactivation, tight_hole, two_link, vertices
from detent.experiments.peg import HALF, INERTIA, MASS, corners, planar
from detent.experiments.protocol import Claim, Metrics, Result

pytestmark = pytest.mark.slow

MODULES = {
    "reactivation": (reactivation, reactivation.reactivation_claims),
    "peg-in-hole-impulses": (tight_hole, tight_hole.hole_claims),
    "two-link-impact": (two_link, two_link.arm_claims),
    "vertex-vertex": (vertices, vertices.vertex_claims),
}


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {name: module.EXPERIMENTS[0]() for name, (module, _) in MODULES.items()}


@pytest.mark.parametrize("name", MODULES)
def test_every_claim_holds(results: dict[str, Result], name: str) -> None:
    assert MODULES[name][0].EXPERIMENTS[0].name == name
    assert results[name].claims
    assert failed(results[name].claims) == set()


@pytest.mark.parametrize("name", MODULES)
def test_figures_are_drawn(results: dict[str, Result], name: str, tmp_path: Path) -> None:
    check_figure(results[name], tmp_path)


SPOILED: dict[str, tuple[str, Metrics, set[str]]] = {
    "A is pushed into the floor": (
        "reactivation",
        {"hand.reactivated_velocity_a": -0.01, "recorded.reactivated_velocity_a": -0.01},
        {"X1.reactivated-hand", "X1.reactivated-recorded"},
    ),
    "A is left out": (
        "reactivation",
        {"session.error": 2.7, "session.rows": 1.0},
        {"X1.session", "X1.rows"},
    ),
    "B lifts A": (
        "reactivation",
        {"hand.excluded_velocity_a": 0.01, "recorded.excluded_velocity_a": 0.01},
        {"X1.by-hand", "X1.excluded-hand", "X1.excluded-recorded"},
    ),
    "a collision gives energy": (
        "peg-in-hole-impulses",
        {"equality.worst_energy_change": 1e-6},
        {"X2.passive-equality"},
    ),
    "a redundant one does": (
        "peg-in-hole-impulses",
        {"complementarity.worst_redundant_change": 1e-6},
        {"X2.redundant-complementarity"},
    ),
    "never four at once": (
        "peg-in-hole-impulses",
        {"complementarity.most_rows": 3.0, "equality.most_rows": 3.0},
        {"X2.redundant-complementarity", "X2.redundant-equality"},
    ),
    "weak impulses": (
        "peg-in-hole-impulses",
        {"complementarity.peak_force": 49.0, "complementarity.sustained_force": 5.0},
        {"X2.impulsive-complementarity"},
    ),
    "twice the loss (TH 4.27 to the letter)": (
        "two-link-impact",
        {"loss_0.7": 7 / 12, "share_0.7": 0.25},
        {"X7.law-base", "X7.share-base"},
    ),
    "a loss that is not 1 − e²": (
        "two-link-impact",
        {"law_error_1.5": 1e-8, "elastic_loss_1.2": 1e-8},
        {"X7.law-distal", "X7.elastic"},
    ),
    "all is lost everywhere": (
        "two-link-impact",
        {"share_1.2": 1.0, "share_1.8": 1.0},
        {"X7.share-1.2", "X7.share-1.8"},
    ),
    "no collision in the servo": (
        "two-link-impact",
        {"servo_error_0.7": np.inf, "servo_error_1.5": np.inf},
        {"X7.servo-base", "X7.servo-distal"},
    ),
    "a kick where vertices pass": (
        "vertex-vertex",
        {"leading.relative_step": 1.0, "leading.collisions_in_pass": 1.0},
        {"X27.step", "X27.no-impulse"},
    ),
    "one row under an edge": (
        "vertex-vertex",
        {"flat.fewest_rows": 1.0, "flat.relative_step": 0.5},
        {"X27.flat-rows", "X27.flat-step"},
    ),
}


@pytest.mark.parametrize("case", SPOILED)
def test_claims_fail_on_wrong_numbers(results: dict[str, Result], case: str) -> None:
    name, wrong, expected = SPOILED[case]
    claims: Callable[[Metrics], list[Claim]] = MODULES[name][1]
    assert set(wrong) <= set(results[name].metrics)
    assert failed(claims(results[name].metrics | wrong)) == expected


# --- X1


def test_the_two_impulses_by_hand(results: dict[str, Result]) -> None:
    """A right, B left, a = 21 mm, I = m (w² + h²) / 12 = 3.675e-4; v = (0, −a ω), ω = 1 rad/s."""
    m = results["reactivation"].metrics
    assert m["leverage"] == pytest.approx(2.4)
    # B alone: p = 2 a / (1/m + a²/I) = 0.042 / 1.7
    assert m["hand.excluded_torque_impulse"] == pytest.approx(-0.021 * 0.042 / 1.7, rel=1e-12)
    assert m["hand.excluded_velocity_a"] == pytest.approx(0.042 / 1.7 * (0.5 - 1.2), rel=1e-12)
    # both: the body stops, so p_A + p_B = m a ω and a (p_B − p_A) = I ω
    assert m["hand.reactivated_torque_impulse"] == pytest.approx(-3.675e-4, rel=1e-12)
    assert m["hand.impulse_a"] == pytest.approx((0.042 - 3.675e-4 / 0.021) / 2, rel=1e-12)


def test_the_document_turns_the_body_clockwise_into_a(results: dict[str, Result]) -> None:
    m = results["reactivation"].metrics
    assert m["recorded.excluded_torque_impulse"] < m["recorded.reactivated_torque_impulse"] < 0.0
    assert m["recorded.impulse_a"] > 0.0


def test_within_the_radius_of_gyration_nothing_is_reactivated() -> None:
    """With TH 4.5's 0.005 kg·m² an impulse at B lifts A."""
    result = reactivation.reactivate(inertia=0.005)
    assert result.metrics["leverage"] < 1.0
    assert result.metrics["recorded.excluded_velocity_a"] > 0.0
    assert result.metrics["session.rows"] == 1.0
    assert failed(result.claims) == set()
    assert "X1.rows" not in {claim.id for claim in result.claims}


def test_a_flat_fall_is_refused() -> None:
    with pytest.raises(ParameterError, match="A strikes the floor first"):
        reactivation.reactivate(tilt=0.0)


# --- X2


def test_the_hole_is_exactly_as_wide_as_the_peg_is_long() -> None:
    world = tight_hole.World.builtin("tight-hole")
    left, right = world.model.geom("block-left"), world.model.geom("block-right")
    width = (right.pos[0] - right.size[0]) - (left.pos[0] + left.size[0])
    assert width == pytest.approx(2 * world.model.geom("peg").size[0], abs=1e-15)


@pytest.mark.parametrize("law", tight_hole.LAWS)
def test_energy_from_wrench_and_twist_is_the_servos(results: dict[str, Result], law: str) -> None:
    """S0 5.2: the energy after the impulse that the hand feels, minus that before it."""
    trace = results["peg-in-hole-impulses"].traces[law]
    hit = trace["impact_energy"] < -tight_hole.STRUCK
    assert hit.sum() > 10
    D, before = np.array([MASS, MASS, INERTIA]), planar(trace["tool_twist"])
    after = before + planar(trace["environment_wrench"]) / tight_hole.RATE / D
    change = 0.5 * (after**2 - before**2) @ D
    np.testing.assert_allclose(trace["impact_energy"][hit], change[hit], rtol=1e-9, atol=1e-15)


def test_a_push_of_five_newtons(results: dict[str, Result]) -> None:
    """Two vertices of 10 kN/m against a hand of 200 N/m: 5 N / (1 + 200 / 20000)."""
    trace = results["peg-in-hole-impulses"].traces["complementarity"]
    ends = np.cumsum([seconds for *_, seconds in tight_hole.SCRIPT])
    for step, (name, target, _) in enumerate(tight_hole.SCRIPT):
        if target is None or target[1] < tight_hole.TOP:
            continue
        last = round(ends[step] * tight_hole.RATE) - 2
        force = trace["device_wrench"][last, :2]
        assert force[1] == pytest.approx(-5.0 / 1.01, rel=1e-3), name
        assert force[0] == pytest.approx(-np.sign(target[0]) * 5.0 / 1.01, rel=1e-3, abs=1e-3)


def test_the_peg_gets_in_and_out(results: dict[str, Result]) -> None:
    for trace in results["peg-in-hole-impulses"].traces.values():
        y = trace["tool_position"][:, 1]
        assert y[0] < 0.02 < y[round(3.1 * 512)]
        assert y[round(3.9 * 512)] < 0.02 < y[-1]
        assert trace["depth"].max() < 1e-3
        assert np.all(np.diff(trace["time"]) == pytest.approx(1 / 512, abs=1e-12))


# --- X7


def test_losses_of_the_arm_by_hand(results: dict[str, Result]) -> None:
    """Uniform links: D = [[8/3, 5/6], [5/6, 1/3]], J = (L, 0) or (L, L − 1)."""
    m = results["two-link-impact"].metrics
    D, v = np.array([[8 / 3, 5 / 6], [5 / 6, 1 / 3]]), np.ones(2)
    for height in two_link.SHARES:
        J = np.array([height, max(height - 1.0, 0.0)])
        loss = 0.5 * (J @ v) ** 2 / (J @ np.linalg.solve(D, J))
        assert m[f"loss_{height}"] == pytest.approx(loss, rel=1e-9)
    assert m["loss_0.7"] == pytest.approx(0.2917, abs=5e-5)


def test_the_arm_really_strikes_the_post(results: dict[str, Result]) -> None:
    for height in (0.7, 1.5):
        trace = results["two-link-impact"].traces[f"post-{height}"]
        hit = int(np.argmax(trace["collisions"] > 0))
        q, v = two_link.joint_state(trace, hit)
        assert q[0] == pytest.approx(np.pi / 2, abs=0.1)
        # the state read from the trace has the energy that the servo recorded
        D, _ = two_link.inertia_and_row(two_link.arm(height), q)
        assert two_link.energy(D, v) == pytest.approx(trace["tool_energy"][hit], rel=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.7])
def test_the_servo_follows_the_law_for_other_restitutions(e: float) -> None:
    assert two_link.swing(1.2, e)[1] < 1e-9


# --- X27


def test_the_step_is_the_tilt(results: dict[str, Result]) -> None:
    """One normal turns into the other: |n₁ − n₂| = 2 sin(θ/2) of the force."""
    m = results["vertex-vertex"].metrics
    assert m["leading.relative_step"] == pytest.approx(2 * np.sin(0.025), rel=0.1)
    assert m["leading.most_rows"] == 1.0  # one normal per pair of boxes, not two contacts
    steeper = vertices.pass_vertex(tilt=0.15)
    assert steeper.metrics["leading.relative_step"] == pytest.approx(2 * np.sin(0.075), rel=0.15)
    assert failed(steeper.claims) == {"X27.step"}  # noticeable


def test_the_pass_is_quasi_static(results: dict[str, Result]) -> None:
    for name, trace in results["vertex-vertex"].traces.items():
        force = results["vertex-vertex"].metrics[f"{name}.force_level"]
        assert force == pytest.approx(2.0, rel=0.05)  # 100 N/m, aimed 20 mm below
        start = trace["time"] < 0.3
        assert np.abs(planar(trace["tool_twist"][start & (trace["time"] > 0.1)])).max() < 0.05


def test_falling_off_is_no_small_step(results: dict[str, Result]) -> None:
    """What a vertex-edge rule cannot smooth: the normal turns by a quarter."""
    assert results["vertex-vertex"].metrics["trailing.relative_step"] > 0.5


def test_corners_turn_counter_clockwise() -> None:
    np.testing.assert_allclose(corners(0.0)[2], HALF)
    np.testing.assert_allclose(corners(np.pi / 2)[1], [HALF[1], HALF[0]], atol=1e-15)
