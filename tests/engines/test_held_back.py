"""Objects that cannot give way: pressed against a wall, or at the end of a joint (B4)."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, LocalModel, Pace, Session, World
from detent.engines.giving import held_back
from detent.hands import Constant

PLANAR = """<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
            <joint type="hinge" axis="0 0 1"/>"""
SLIDER = '<joint type="slide" axis="1 0 0" limited="true" range="-1 0.022"/>'


def scene(joints: str, wall: str) -> World:
    def box(name: str, x: float, mass: float, joint: str) -> str:
        return f"""<body name="{name}" pos="{x} 0 0">{joint}
            <inertial pos="0 0 0" mass="{mass}" diaginertia="0.005 0.005 0.005"/>
            <geom type="box" size="0.021 0.0105 0.01"/></body>"""

    return World.from_string(
        f"""<mujoco><option gravity="0 0 0" timestep="0.002"/><worldbody>{wall}
        {box("block", 0.047, 3.0, joints)}{box("peg", 0.0, 2.0, PLANAR)}
        </worldbody></mujoco>""",
        tool="peg",
    )


@pytest.mark.parametrize(
    "world",
    [
        scene(PLANAR, '<geom type="plane" size="1 1 .1" pos="0.09 0 0" zaxis="-1 0 0"/>'),
        scene(SLIDER, ""),
    ],
    ids=["wall", "joint limit"],
)
@pytest.mark.parametrize("force", [0.1, 1.0])
def test_a_block_that_is_pressed_against_something_stays(world: World, force: float) -> None:
    """It can be pushed by 27 mm; the peg is late by v (T + latency), and comes back slowly."""
    session = Session(
        world,
        Contact(4000.0, 30.0),
        rate=512.0,
        local=LocalModel(constraints="inertial"),
        pace=Pace(1.0 / 60.0),
    )
    trace = session.run(6.0, Constant((force, 0.0)))
    x = trace["device_position"][:, 0]
    late = np.abs(trace["tool_twist"][:, 0]).max() / 30.0
    assert 0.0265 < x[-1] < 0.027 + late + force / 4000.0
    assert abs(x[-1] - x[-1024]) < 5e-4  # it may bounce by the 5 mm/s at which it comes back


def test_what_is_left_is_the_nearest_way_that_nothing_holds() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        give, holds = rng.standard_normal(6), rng.standard_normal((2, 6))
        left = held_back(give, holds)
        assert (holds @ left).max() < 1e-4
        assert left @ (give - left) == pytest.approx(0.0, abs=1e-4)  # Moreau
        shares = np.linalg.lstsq(holds.T, give - left, rcond=None)[0]
        assert shares.min() > -1e-6


def test_nothing_holds_what_is_pushed_away() -> None:
    give = np.array([1.0, 0.0])
    np.testing.assert_array_equal(held_back(give, np.array([[-2.0, 0.0]])), give)
    np.testing.assert_array_equal(held_back(give, np.zeros((0, 2))), give)
    np.testing.assert_allclose(held_back(give, np.array([[2.0, 0.0]])), 0.0, atol=1e-15)
