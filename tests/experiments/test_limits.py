"""Device limits: the order of the strategies, and errata E9."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from detent.devices import Inertial
from detent.experiments import capped, corner, find, limits
from detent.experiments.corner import FORCE, LIMITS, METHODS, RATE, TABLE_4_1, WALL_X
from detent.hands import Constant
from detent.session import Session
from detent.world.world import World


def test_every_claim_holds_and_can_fail() -> None:
    result = find("limit-sweep")()
    assert all(claim.passed for claim in result.claims)
    ones = {name: np.ones(len(limits.SPEEDS)) for name in limits.NAMES}
    worse = ones | {"iapb_spread": 2.0 * ones["pb_limited"]}
    failed = limits.limit_claims(worse, worse, np.ones(len(limits.SPEEDS)))
    assert not any(claim.passed for claim in failed)


def test_the_literal_limit_gives_back_energy_that_nobody_put_in() -> None:
    """Errata E9: above 2F/√(Km) the unloaded spring switches on with more than the impact's."""
    wide = 0.021
    peaks = {}
    for name in ("iapb_spread_literal", "iapb_spread"):
        world = World.builtin("corner").placed((WALL_X - wide - 1e-4, 0, 0), (0.5, 0, 0))
        contact = METHODS[name].contact
        device = Inertial(limits=LIMITS)
        session = Session(world, contact, TABLE_4_1, device, rate=RATE)
        trace = session.run(0.3, Constant((FORCE[0], 0.0)))
        stopped = int(np.argmax(trace["device_position"][:, 0]))
        peaks[name] = float(trace["tool_energy"][stopped:].max())
    brought = 0.5 * 2.0 * 0.5**2
    assert peaks["iapb_spread_literal"] > 1.5 * brought
    assert peaks["iapb_spread"] < brought


def test_the_rezeroed_spring_gives_nothing_back() -> None:
    depth, returned = limits.hit_wall("iapb_spread_rezeroed", 0.3)
    plain, _ = limits.hit_wall("iapb_spread", 0.3)
    assert returned < 1e-3
    assert depth == pytest.approx(plain, rel=0.02)


def test_corner_device_orders_the_methods() -> None:
    result = find("corner-device")()
    assert all(claim.passed for claim in result.claims)


def test_one_tick_of_delay_alone_gives_the_depths_of_the_catalogue() -> None:
    """X11, of the tool's own inertia."""
    wide, high = corner.extent(0.0)
    start = (corner.WALL_X - 0.02 - wide, corner.WALL_Y + 0.05 + high, 0.0)
    world = World.builtin("corner").placed(start)
    for name, depth in (("iapb", 0.40e-3), ("iapb_spread", 1.58e-3), ("pb", 1.82e-3)):
        method = corner.METHODS[name]
        device = Inertial(delay_ticks=1, limits=corner.LIMITS if method.limited else None)
        session = Session(world, method.contact, method.coupling, device, rate=corner.RATE)
        trace = session.run(corner.SECONDS, Constant(corner.FORCE))
        found = corner.corner_metrics(name, trace)[f"{name}.peak_penetration_y"]
        assert found == pytest.approx(depth, rel=0.1)


def test_what_a_hand_gets_is_what_the_guide_says() -> None:
    result = find("capped-walls")()
    assert all(claim.passed for claim in result.claims)
    guide = Path(__file__).resolve().parents[2] / "docs" / "guide.md"
    page = guide.read_text(encoding="utf-8").splitlines()
    assert [row for row in capped.guide_table(result.metrics) if row not in page] == []
    worse = dict.fromkeys(result.metrics, 1.0) | {"3.3.1.least_taken": -1.0}
    assert not any(claim.passed for claim in capped.wall_claims(worse))
