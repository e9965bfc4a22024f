"""Links inside each other: what no pose takes apart never touches, other links once apart."""

from __future__ import annotations

import numpy as np

from detent import Session, World
from detent.hands import Constant
from detent.world.nested import NEVER, UNTIL_APART, nested_geoms
from lab import advance, scene, start

#: the foot of an arm, 10 mm inside its base whatever the angle, as in the URDF of an iiwa
ARM = """<geom name="base" type="cylinder" size=".1 .05"/>
  <body name="foot" pos="0 0 .09"><joint axis="0 0 1"/>
    <geom name="foot" type="cylinder" size=".08 .05" mass="2"/>
    <geom name="arm" type="capsule" fromto="0 0 .1 .3 0 .1" size=".02" mass=".5"/></body>"""

#: a finger that starts outside its range, 30 mm inside the palm
FINGER = """<geom name="palm" type="box" size=".1 .1 .02"/>
  <body name="finger" pos="0 0 .1"><joint type="slide" axis="0 0 1" limited="true" range="0 .2"/>
    <geom name="tip" type="box" size=".02 .02 .02" mass=".3"/></body>"""


def test_a_link_that_is_always_inside_its_base_turns_freely() -> None:
    world = World.from_string(scene(ARM), tool="foot")
    assert nested_geoms(world.model, world.qpos).tolist() == [[0, 1, NEVER, 0]]
    ready = start(Session(world), Constant(force=(0.0, 2.0, 0.0)))
    assert "base and foot overlap in every pose" in "; ".join(ready.notes)
    rows = advance(ready, 500)
    assert rows["depth"].max() == 0.0
    assert not rows["collisions"].any()
    assert ready.data.qpos[0] > 0.2


def test_links_that_overlap_outside_the_range_of_their_joint_touch_once_apart() -> None:
    world = World.from_string(scene(FINGER, 'gravity="0 0 -9.81"'), tool="finger")
    out = world.placed([-0.09])
    ready = start(Session(out, rate=1000.0))
    assert ready.servo.scene.nested.tolist() == [[0, 1, UNTIL_APART, 0]]
    assert "they touch once apart" in "; ".join(ready.notes)
    rows = advance(ready, 1500)
    assert np.abs(rows["tool_twist"][:, 2]).max() < 0.3  # the limit takes it back, slowly
    assert ready.data.qpos[0] > -1e-3
    assert ready.servo.scene.nested[0, 2] not in (UNTIL_APART, NEVER)


def test_a_link_that_leaves_the_other_in_some_pose_is_not_inside_it() -> None:
    world = World.from_string(scene(FINGER), tool="finger")
    assert nested_geoms(world.model, np.array([-0.07])).tolist() == [[0, 1, UNTIL_APART, 0]]
    assert nested_geoms(world.model, np.array([0.1])).size == 0


def test_a_free_body_in_another_is_brought_out() -> None:
    body = '<body name="t"><freejoint/><geom size=".04"/></body>'
    world = World.from_string(scene('<geom type="plane" size="1 1 .1"/>' + body), tool="t")
    assert nested_geoms(world.model, world.qpos).size == 0
