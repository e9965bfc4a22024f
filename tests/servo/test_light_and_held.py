"""Contacts that joints hold, and bodies of grams that are pressed hard: found in foreign scenes."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Session, World
from detent.hands import Constant
from detent.kernels.impact_friction import COMPRESSION, sweep_contacts
from detent.kernels.sliding import contact_mobilities, friction_work
from lab import scene

PUCK = """<geom type="plane" size="1 1 .1"/><body name="t" pos="0 0 .0191">
  <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
  <geom size=".02" mass="1"/></body>"""
PINCHED = """<geom type="box" size="1 .1 .1" pos="0 .1195 0"/>
  <geom type="box" size="1 .1 .1" pos="0 -.1195 0"/>
  <body name="t"><joint type="slide" axis="1 0 0"/><geom type="box" size=".02 .02 .02" mass=".01"/>
  </body>"""
LIGHT = """<geom type="box" size=".1 1 1" pos="-.125 0 0"/><body name="t">
  <joint type="slide" axis="1 0 0" damping="1"/><geom size=".02" mass=".01"/></body>"""


def rough(bodies: str) -> World:
    """A world with MuJoCo's own friction, and no weight."""
    options = '<option gravity="0 0 0"/>'
    return World.from_string(f"<mujoco>{options}<worldbody>{bodies}</worldbody></mujoco>")


def test_friction_of_a_contact_that_moves_nothing_is_finite() -> None:
    """On the axis of a hinge neither normal nor tangents do: an ant and an arm stopped by 0/0."""
    work = friction_work(1, 2)
    contact_mobilities(1, 2, work)
    assert np.isfinite(work.W).all() and (work.W[0, 3:5] > 0.0).all()
    work.p[0, 0], work.u[:] = 1.0, 1.0  # what a projection by round-off may have given it
    work.restitution.bound[0] = 1.0
    sweep_contacts(COMPRESSION, 1, 2, np.ones(1), 0.0, work, work.p)
    assert np.isfinite(work.p).all() and np.isfinite(work.u).all()


def test_depth_that_no_motion_changes_is_none() -> None:
    """A puck that slides 0.9 mm inside a floor, where its joints hold it."""
    trace = Session(World.from_string(scene(PUCK))).run(0.1, Constant((1.0, 0.0, 0.0)))
    assert trace["contacts"].max() > 0 and trace["depth"].max() == 0.0


def test_friction_stops_ten_grams_that_are_pinched_and_does_not_throw_them() -> None:
    """Walls overlap them by half a millimetre: friction of a kilonewton turned 1.3 m/s into 87."""
    world = rough(PINCHED).placed((0.0,), (1.0,))
    trace = Session(world).run(0.5)
    assert np.abs(trace["tool_twist"][:, 0]).max() <= 1.0 + 1e-9
    assert abs(trace["tool_twist"][-1, 0]) < 1e-3


def test_ten_grams_do_not_go_through_a_wall_while_a_session_ramps_in() -> None:
    """A hand of 10 N gives them half a metre per second in a tick: shares of impulses let it."""
    trace = Session(World.from_string(scene(LIGHT))).run(0.6, Constant((-10.0, 0.0, 0.0)))
    assert trace["contacts"].max() > 0
    assert trace["depth"].max() < 5e-3


@pytest.mark.parametrize("mass", ["", '<geom size=".02" mass="1"/>'])
def test_the_only_mechanism_is_held_by_a_body_that_has_a_mass(mass: str) -> None:
    """A free joint on a frame without mass, as many packages write it."""
    inner = '<body name="inside"><geom size=".05" mass="1"/></body>'
    world = World.from_string(scene(f'<body name="frame"><freejoint/>{mass}{inner}</body>'))
    assert world.body_name(world.held) == ("frame" if mass else "inside")
