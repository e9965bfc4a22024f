"""Experiments on the local model (X15 to X20, slow-engine); against closed forms and matrices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from claims import check_figure, failed
from detent import experiments
from detent.errors import ParameterError
from detent.experiments import (
    linkage_collisions,
    local_hole,
    local_wall,
    push_linkage,
    slow_engine,
)
from detent.experiments.local_models import METHODS, RATE
from detent.experiments.protocol import Claim, Metrics, Result
from detent.experiments.verdicts import RECORDED
from detent.world.world import World

pytestmark = pytest.mark.slow

CLAIMS: dict[str, Callable[[Metrics], list[Claim]]] = {
    "tight-hole-1d": local_wall.peg_claims,
    "static-wall": local_wall.wall_claims,
    "tight-hole": local_hole.hole_claims,
    "stiff-hole": local_hole.stiff_claims,
    "linkage-collisions": linkage_collisions.collision_claims,
    "push-linkage": push_linkage.push_claims,
    "slow-engine": slow_engine.pile_claims,
}


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {name: experiments.find(name)() for name in CLAIMS}


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_holds(results: dict[str, Result], name: str) -> None:
    assert results[name].claims
    assert failed(results[name].claims) == set()


def test_every_verdict_on_record_is_of_a_claim(results: dict[str, Result]) -> None:
    found = {claim.id for result in results.values() for claim in result.claims}
    assert {
        name for name in RECORDED if name.startswith(("X16", "X17", "X18", "X19", "X20"))
    } < found


@pytest.mark.parametrize("name", CLAIMS)
def test_figures_are_drawn(results: dict[str, Result], name: str, tmp_path: Path) -> None:
    check_figure(results[name], tmp_path)


SPOILED: dict[str, tuple[str, Metrics, set[str]]] = {
    "a soft wall": ("tight-hole-1d", {"lm5.travel": 5.3e-4}, {"X15.stiffness"}),
    "a deformed proxy": ("tight-hole-1d", {"lm5.deformation": 1e-6}, {"X15.no-drift"}),
    "no drift without ε": ("tight-hole-1d", {"ratio": 1.5}, {"X15.drift"}),
    "a wall that is felt late": (
        "static-wall",
        {"lm5.error": 1.1e-3, "lm5.sweep_error": 1.1e-3},
        {"X17.lm5", "X17.sweep"},
    ),
    "updates too late for ε": ("static-wall", {"late": 5.1e-3}, {"X17.in-time"}),
    "no drift of the others": (
        "static-wall",
        {"lm0.error": 1e-3, "ir.error": 1e-3},
        {"X17.lm0", "X17.ir"},
    ),
    "ε does not help": (
        "tight-hole",
        {"lm0.travel_x": 2e-4, "lm0.turned": 2e-3},
        {"X18.travel-lm0", "X18.turned-lm0"},
    ),
    "the other keeps contact": ("tight-hole", {"ir.losses": 0.0}, {"X18.contact-ir"}),
    "four channels do not help": (
        "stiff-hole",
        {"lm5.settles": 0.0, "ratio": 3.7},
        {"X19.stable-lm5", "X19.ratio"},
    ),
    "as stiff when coupled directly": (
        "stiff-hole",
        {"ir_prompt.largest_stable": 16_000.0, "ir.settles": 1.0},
        {"X19.unstable-ir_prompt", "X19.unstable-ir"},
    ),
    "a collision gives energy": (
        "linkage-collisions",
        {"plastic.worst_change": 1e-9, "elastic.largest_change": 2e-9},
        {"X16.plastic", "X16.elastic"},
    ),
    "weak impulses": (
        "linkage-collisions",
        {"plastic.peak_force": 20.0},
        {"X16.impulsive"},
    ),
    "kinematic constraints bounce most": (
        "push-linkage",
        {"lm_kc.bounces": 60.0},
        {"X20.most-ir", "X20.alike"},
    ),
    "20 mm after all": ("stiff-hole", {"lm0.travel_x": 0.02}, {"X19.further-x"}),
    "an intermediate representation that needs no latency": (
        "tight-hole",
        {"ir_prompt.travel_x": 1e-3},
        {"X18.travel-ir_prompt"},
    ),
    "an object without inertia": (
        "push-linkage",
        {"lm_inertial.bounces": 60.0, "lm_inertial.acceleration": 0.022},
        {"X20.inertial", "X20.block"},
    ),
    "nothing bounces": ("push-linkage", {"ir.fewest_bounces": 0.0}, {"X20.bounces-ir"}),
    "a fast engine": ("slow-engine", {"frame": 0.02}, {"slow-engine.slow"}),
    "a jump at an update": (
        "slow-engine",
        {"step_at_updates": 1.01, "least_trust": 0.9},
        {"slow-engine.smooth", "slow-engine.felt"},
    ),
}


@pytest.mark.parametrize("case", SPOILED)
def test_claims_fail_on_wrong_numbers(results: dict[str, Result], case: str) -> None:
    name, wrong, expected = SPOILED[case]
    assert set(wrong) <= set(results[name].metrics)
    assert failed(CLAIMS[name](results[name].metrics | wrong)) == expected


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("tight-hole-1d", {"delay": 0.0}, "delay of tight-hole-1d = 0.0"),
        ("tight-hole-1d", {"frequency": -1.0}, "frequency"),
        ("static-wall", {"run": 0.0}, "run"),
        ("tight-hole", {"period": -0.1}, "period"),
        ("stiff-hole", {"mass": 0.0}, "mass"),
        ("stiff-hole", {"delay_ticks": 65}, "delay_ticks = 65"),
        ("linkage-collisions", {"period": 0.0}, "period"),
        ("push-linkage", {"period": 0.0}, "period"),
        ("slow-engine", {"count": 0}, "count"),
        ("slow-engine", {"period": -1.0, "count": 4}, "period"),
    ],
)
def test_bad_parameters_are_refused(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        experiments.find(name)(**given)


# --- X15


def test_the_hand_moves_as_a_mass_on_a_spring(results: dict[str, Result]) -> None:
    """|x| = F / |K − m ω² + i ω B|, once the start has decayed."""
    trace = results["tight-hole-1d"].traces["lm5"]
    omega = 2.0 * np.pi
    exact = 5.0 / abs(10_000.0 - omega**2 + 15.0j * omega)
    late = trace["time"] > 3.0
    assert np.abs(trace["device_position"][late, 0]).max() == pytest.approx(exact, rel=2e-3)


def test_a_slow_force_drifts_less(results: dict[str, Result]) -> None:
    """The catalogue's four readings: the faster the force, the larger the drift without ε."""
    slow = local_wall.shake_peg(frequency=0.1, seconds=10.0).metrics
    fast = local_wall.shake_peg(frequency=10.0).metrics
    middle = results["tight-hole-1d"].metrics
    assert slow["lm0.travel"] < middle["lm0.travel"] < fast["lm0.travel"]
    assert slow["lm5.travel"] == pytest.approx(5e-4, rel=0.02)


# --- X17


def test_the_wall_is_met_at_the_speed_of_the_fall(results: dict[str, Result]) -> None:
    m = results["static-wall"].metrics
    run = 0.04 + np.sqrt(0.02) * 5.0 / 360.0  # the farthest start
    assert m["lm5.speed"] == pytest.approx(np.sqrt(2.0 * 0.25 * run), rel=0.01)
    trace = results["static-wall"].traces["lm5"]
    rest = trace["device_position"][-1, 1] - local_wall.REST
    assert rest == pytest.approx(-0.5 / 8_000.0, rel=0.1)  # two vertices of 4 kN/m hold 0.5 N


def test_literally_the_wall_moves_by_speed_times_latency(results: dict[str, Result]) -> None:
    """TH 6.1 takes the proxy as it is when the update arrives (docs/physics.md)."""
    m = results["static-wall"].metrics
    latency = 1.0 / 60.0
    assert m["lm5_literal.error"] == pytest.approx(m["lm5_literal.speed"] * latency, rel=0.15)


# --- X19


def comes_to_rest(stiffness: float, mass: float = 2.0) -> bool:
    """A mass between two walls of two vertices each, whose force acts one tick late."""
    step, x, v, late, fastest = 1.0 / RATE, 0.0, 0.05, 0.0, 0.0
    for tick in range(int(3.0 * RATE)):
        side = np.sign(x)
        force = -2.0 * side * max(0.0, stiffness * abs(x) + stiffness / 150.0 * side * v)
        v, late = v + step * late / mass, force
        x += step * v
        if abs(x) > 0.05:
            return False
        if tick > 2.8 * RATE:
            fastest = max(fastest, abs(v))
    return fastest < 0.005


def test_direct_coupling_is_as_stiff_as_a_late_spring_allows(results: dict[str, Result]) -> None:
    found = results["stiff-hole"].metrics["lm5_direct.largest_stable"]
    assert comes_to_rest(0.93 * found)
    assert not comes_to_rest(1.12 * found)


def test_the_hole_is_exactly_as_wide_as_the_peg() -> None:
    model = World.builtin("exact-hole").model
    left, right = model.geom("block-left"), model.geom("block-right")
    width = (right.pos[0] - right.size[0]) - (left.pos[0] + left.size[0])
    assert width == pytest.approx(2.0 * model.geom("peg").size[0], abs=1e-15)


# --- X16


def test_the_energy_of_the_next_tick_is_that_after_the_collision(
    results: dict[str, Result],
) -> None:
    """The impulse is in the velocities: other forces do little in one tick."""
    trace = results["linkage-collisions"].traces["plastic"]
    hit = np.flatnonzero(trace["impact_energy"] < -1e-3)
    assert len(hit) > 5
    after = trace["tool_energy"][hit] + trace["impact_energy"][hit]
    scale = trace["tool_energy"][hit]
    assert np.abs((trace["tool_energy"][hit + 1] - after) / scale).max() < 0.1


# --- X20


def test_a_pushed_block_moves_as_in_the_whole_world(results: dict[str, Result]) -> None:
    """v₁ m₁ / (m₁ + m₂) after the plastic collision, then F / (m₁ + m₂)."""
    traces = results["push-linkage"].traces
    trace, exact = traces["block-lm_inertial"], traces["block-sync"]
    hit = int(np.argmax(trace["collisions"] > 0))
    before, after = trace["tool_twist"][[hit, hit + 2], 0]
    assert after == pytest.approx(before * 2.0 / 5.0, rel=0.05)
    apart = np.abs(trace["device_position"][:, 0] - exact["device_position"][:, 0])
    assert apart.max() < 1e-3
    assert METHODS["lm_inertial"].local is not None


# --- slow-engine


@pytest.mark.parametrize("frame", [0.04, 0.2])
def test_no_update_makes_the_force_jump(frame: float) -> None:
    world = slow_engine.cluttered(60)
    trace = slow_engine.feel(world, frame).run(1.5, slow_engine.stroke(world))
    m = slow_engine.pile_metrics(trace)
    assert m["step_at_updates"] <= (1.0 + 1e-6) * slow_engine.SLEW / slow_engine.RATE
    assert m["updates"] >= 5.0
    assert m["median_force"] > 0.1


def test_the_same_seed_makes_the_same_pile() -> None:
    first, second = slow_engine.cluttered(20), slow_engine.cluttered(20)
    np.testing.assert_array_equal(first.qpos, second.qpos)
    assert not np.array_equal(first.qpos, slow_engine.cluttered(20, seed=1).qpos)
