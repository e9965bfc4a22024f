"""The local model beside the synchronous session: tools led along walls and pressed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from detent import Contact, LocalModel, Pace, Session, World
from detent.hands import Guided
from detent.kernels.jit import JIT_ENABLED
from lab import LOOSE, PLANAR, scene
from local.enclosures import RATE, STEP, Case, Felt, feel, make_case, overdue, too_deep
from sweeps import LONG

pytestmark = pytest.mark.slow

CASES = (300 if LONG else 8) if JIT_ENABLED else 1
EVERY_TICK = Pace(STEP, latency=0.0)


def rubbing_box() -> Case:
    """12 × 40 mm, pressed with 8 N, to and fro at 0.4 m/s."""
    floor = '<geom type="plane" size="1 1 .1" pos="0 -.05 0" zaxis="0 1 0"/>'
    body = f'<body name="tool">{PLANAR}<geom type="box" size=".006 .02 .01"/></body>'
    path = [(0.0, 0.0, -0.03, 0.0), (0.3, 0.0, -0.05, 0.0)]
    path += [(0.7 + 0.4 * i, 0.08 * (-1) ** i, -0.05, 0.0) for i in range(6)]
    hand = Guided(400.0, 10.0, 1.0, 0.02, path=path)
    return Case(World.from_string(scene(floor + body), tool="tool"), hand, Pace(1 / 60), "box")


def test_a_box_does_not_sink_into_the_wall_it_slides_along() -> None:
    """Nor does a late landing stay: after 0.6 s it is where the synchronous session has it."""
    case = rubbing_box()
    exact, felt = feel(case, None), feel(case, LocalModel())
    assert np.abs(felt.depth - exact.depth)[600:].max() < 5e-5
    assert felt.rows["resets"][-1] == 0
    assert felt.rows["deformation"].max() > 3e-3  # it did land late
    literal = feel(case, LocalModel(heal=False))
    assert literal.rows["healed"].max() == 0.0
    assert literal.rows["deformation"][600:].min() > 3e-3  # M22: until it withdraws


def differs(felt: Felt, exact: Felt) -> tuple[float, float]:
    """[m] How far the tools are apart at most, and the forces, as a share of the largest."""
    apart = felt.rows["tool_position"] - exact.rows["tool_position"]
    calm = (exact.rows["collisions"] == 0) & (felt.rows["collisions"] == 0)
    force = exact.rows["environment_wrench"][calm, :3]
    change = np.linalg.norm(felt.rows["environment_wrench"][calm, :3] - force, axis=1)
    most = np.linalg.norm(force, axis=1).max(initial=1e-9)
    return float(np.linalg.norm(apart, axis=1).max()), float(change.max(initial=0.0) / most)


def sensitivity(case: Case, exact: Felt) -> tuple[float, float]:
    """How much the synchronous session differs from itself if the hand is led a hair beside."""
    apart, change = 0.0, 0.0
    for hair in (1e-15, -1e-15, 1e-13):  # [m]
        beside = [(t, x + hair, y - hair, turn) for t, x, y, turn in case.hand.path]
        other = feel(case._replace(hand=replace(case.hand, path=beside)), None)
        one = differs(other, exact)
        apart, change = max(apart, one[0]), max(change, one[1])
    return apart, change


@pytest.mark.parametrize("seed", range(CASES))
def test_an_update_every_tick_is_the_synchronous_session(seed: int) -> None:
    """In depth, motion and force: within 0.05 mm and 2 %, or as near as rounding leaves it.

    A mesh that lies on a cylinder has contacts that rounding decides: there the synchronous session
    itself goes elsewhere, and the local model no farther.
    """
    case = make_case(seed, EVERY_TICK)
    exact = feel(case, None)
    apart, change = differs(feel(case, LocalModel()), exact)
    if apart >= 5e-5 or change >= 0.02:
        own = sensitivity(case, exact)
        apart, change = apart - 2.0 * own[0], change - 2.0 * own[1]
    assert apart < 5e-5 and change < 0.02, case.name


@pytest.mark.parametrize("seed", range(CASES))
def test_tools_stay_out_of_walls_at_any_pace(seed: int) -> None:
    """Not deeper than they came late, no spring of a pressed pair is lost, and late ones heal."""
    case = make_case(seed)
    exact, felt = feel(case, None), feel(case, LocalModel())
    rows = felt.rows
    assert too_deep(felt, exact).max() <= 0.0, case.name
    assert rows["resets"][-1] == 0, case.name
    assert overdue(case, felt) <= 0.0, case.name
    assert rows["update_energy"].max() <= 1e-12  # nothing that heat did not pay for
    assert rows["healed"].min() >= -1e-15


@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("latency", [0.03, 0.06])
def test_healing_throws_nobody(latency: float, restitution: float) -> None:
    """A box that flies into a wall without a hand never has more energy than it came with."""
    floor = '<geom type="plane" size="1 1 .1" pos="0 -.05 0" zaxis="0 1 0"/>'
    body = f'<body name="tool">{PLANAR}<geom type="box" size=".006 .02 .01"/></body>'
    world = World.from_string(scene(floor + body), tool="tool")
    world = world.placed((0.0, -0.01, 0.3), (0.1, -0.4, 0.5))
    contact = Contact(4000.0, 30.0, restitution)
    session = Session(world, contact, LOOSE, rate=RATE, local=LocalModel(),
                      pace=Pace(0.04, latency=latency))  # fmt: skip
    trace = session.run(2.0)
    energy = trace["tool_energy"] + trace["device_energy"]
    assert trace["deformation"].max() > 1e-3
    assert energy.max() <= 1.001 * energy[0]
    assert trace["deformation"][-1] == 0.0
