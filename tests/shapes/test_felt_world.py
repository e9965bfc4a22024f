"""A concave mesh in a session: felt where its triangles are, not where its hull is."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Session, World
from detent.hands import Constant
from detent.shapes.structs import CONTACTS
from lab import advance, loose, start
from shapes_lab import asset, ball, channel, scene_with

FLOOR = 0.0  # [m] of the slot of the channel
TOOLS = {
    "box": '<geom type="box" size=".01 .008 .006" mass=".2"/>',
    "sphere": '<geom type="sphere" size=".006" mass=".2"/>',
    "capsule": '<geom type="capsule" size=".006 .01" quat="1 0 1 0" mass=".2"/>',
    "cylinder": '<geom type="cylinder" size=".01 .006" mass=".2"/>',
    "ellipsoid": '<geom type="ellipsoid" size=".01 .008 .006" mass=".2"/>',
    "mesh": '<geom type="mesh" mesh="ball" mass=".2"/>',
}  # all of them 6 mm from their middle down to their lowest point


def slot(tool: str, concave: bool | str = True, height: float = 0.05) -> World:
    assets = asset("channel", channel()) + asset("ball", ball(2, 0.006))
    bodies = f"""<geom name="channel" type="mesh" mesh="channel"/>
      <body name="tool" pos="0 0 {height}"><freejoint/>{TOOLS[tool]}</body>"""
    return World.from_string(scene_with(assets, bodies), tool="tool", concave=concave)


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_rests_on_the_floor_of_a_slot(tool: str) -> None:
    world = slot(tool, height=0.012)
    trace = Session(world, contact=Contact(stiffness=2000.0)).run(
        seconds=1.0, hand=Constant(force=(0.0, 0.0, -1.0))
    )
    lowest = trace.rows["tool_position"][-1, 2] - 0.006
    force = trace.rows["environment_wrench"][-1, :3]
    assert -1.0e-3 < lowest < 2e-5  # 0.5 mm at one contact of 2000 N/m
    assert trace.rows["contacts"][-1] > 0
    np.testing.assert_allclose(force, (0.0, 0.0, 1.0), atol=0.02)


def test_the_hull_would_have_stopped_it_above_the_slot() -> None:
    for concave, rests in ((False, 0.04), (True, 0.0)):
        trace = Session(slot("box", concave)).run(
            seconds=1.5, hand=Constant(force=(0.0, 0.0, -2.0))
        )
        assert trace.rows["tool_position"][-1, 2] - 0.006 == pytest.approx(rests, abs=2e-3)


def test_mujoco_does_not_collide_it_too() -> None:
    ready = start(loose(slot("box", height=0.0059)))
    advance(ready, 1)
    felt = ready.servo.shapes.felt
    assert felt.counts[CONTACTS] == ready.servo.scene.ncon[0] > 0
    assert (ready.servo.scene.contact["vert"][: felt.ncon[0], 0] >= 0).all()


def test_what_is_beyond_the_band_is_pushed_out() -> None:
    """A ball of 6 mm whose middle is 3 mm below the floor of 20 mm: all of it is felt, upwards."""
    ready = start(loose(slot("sphere", height=-0.003), Contact(stiffness=2000.0, damping=5.0)))
    ready.servo.rows.geom_slack[:] = 0.0
    rows = advance(ready, 3)
    assert rows["depth"][0] > 0.005  # 9 mm; tests bake coarsely
    x, y, z = rows["environment_wrench"][-1, :3]
    assert z > 10.0 and abs(x) + abs(y) < 0.01 * z
