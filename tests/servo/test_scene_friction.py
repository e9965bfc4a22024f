"""The friction of a scene: MuJoCo's combination acts, holds at once, does not creep, and turns."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

from detent import Contact, Friction, Session, World, hands
from detent.errors import SceneError
from detent.servo.loop.loop import run_lockstep
from detent.setup.prepared import advance
from detent.world.friction import NO_FRICTION, SCENE_FRICTION

FAR = """<body name="tool" pos="0 0 2" gravcomp="1"><freejoint/>
  <geom type="sphere" size=".02" mass=".2"/></body>"""


def scene(more: str, option: str = "") -> World:
    """A floor and a tool that is out of the way."""
    xml = f'<mujoco><option {option}/><worldbody><geom name="floor" type="plane" size="3 3 .1"'
    return World.from_string(f"{xml} friction='.4'/>{FAR}{more}</worldbody></mujoco>", tool="tool")


def block(half: str, more: str = "", height: float = 0.02) -> str:
    at = height - 1e-4
    return f"""<body name="block" pos="0 0 {at}"><freejoint/>
      <geom name="block" type="box" size="{half}" mass="1" {more}/></body>"""


def settled(world: World, contact: Contact, ticks: int = 300) -> Any:
    ready = Session(world, contact, rate=1000.0, sleep=False).prepare(None, 1000.0, ring=16)
    run_lockstep(ready.servo, ticks)
    return ready


def tilt(ready: Any, angle: float) -> None:
    ready.servo.scene.gravity[:] = 9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle)


PAIRS = [
    ('friction=".7"', "", 0.7),  # the larger of two
    ('friction=".2" priority="1"', "", 0.2),  # the one of higher priority
    ('friction=".7" condim="1" priority="1"', "", 0.0),
    ("", '<contact><pair geom1="floor" geom2="block" friction=".3 .3 0 0 0"/></contact>', 0.3),
]


@pytest.mark.parametrize("geom, pair, mu", PAIRS)
def test_a_scene_rubs_as_mujoco_combines_its_geoms(geom: str, pair: str, mu: float) -> None:
    """A block slides down a slope with g (sin α − μ cos α), from MuJoCo's own contact."""
    xml = f"""<mujoco><worldbody><geom name="floor" type="plane" size="3 3 .1" friction=".4"/>
      {FAR}{block(".03 .03 .02", geom)}</worldbody>{pair}</mujoco>"""
    world = World.from_string(xml, tool="tool")
    data = mujoco.MjData(world.model)
    mujoco.mj_forward(world.model, data)
    said = np.where(data.contact.dim > 1, data.contact.friction[:, 0], 0.0)
    assert set(said.tolist()) == {mu}
    ready = settled(world, Contact())
    angle = np.arctan(mu + 0.2)
    tilt(ready, angle)
    run_lockstep(ready.servo, 100)
    before = float(ready.data.qvel[6])
    run_lockstep(ready.servo, 100)
    wanted = 9.81 * (np.sin(angle) - mu * np.cos(angle))
    assert (ready.data.qvel[6] - before) / 0.1 == pytest.approx(wanted, rel=0.01)


def test_who_says_what_friction_there_is() -> None:
    world = scene(block(".03 .03 .02"))
    assert world.friction is SCENE_FRICTION and Session(world).contact.friction is SCENE_FRICTION
    assert Session(world, Contact(friction=NO_FRICTION)).contact.friction is NO_FRICTION
    assert Session(World.builtin("corner")).contact.friction is NO_FRICTION
    text = '<mujoco><custom><text name="detent.friction" data="{}"/></custom><worldbody>' + FAR
    text += "</worldbody></mujoco>"
    assert World.from_string(text.format("none")).friction is NO_FRICTION
    with pytest.raises(SceneError, match=r"detent.friction is 'some'"):
        World.from_string(text.format("some"))


@pytest.mark.parametrize("share, holds", [(0.98, True), (1.02, False)])
def test_a_load_that_comes_within_a_tick_slips_at_the_cone(share: float, holds: bool) -> None:
    """Pushed at its base; 0.87 before."""
    xml = f"""<mujoco><worldbody><geom type="plane" size="3 3 .1"/>{block(".03 .03 .02")}
      </worldbody></mujoco>"""
    world = World.from_string(xml, tool="block", point=(0.0, 0.0, -0.02))
    session = Session(world, Contact(friction=Friction(0.4, 0.3)), rate=1000.0)
    ready = session.prepare(hands.Constant(force=(0.0, 0.0, 0.0)), 1000.0, ring=16)
    run_lockstep(ready.servo, 400)
    before = float(ready.data.qpos[0])
    ready.servo.parameters["hand_bias"][0, 0] = share * 0.4 * 9.81
    run_lockstep(ready.servo, 500)
    first = float(ready.data.qpos[0])
    run_lockstep(ready.servo, 500)
    if holds:
        assert abs(first - before) < 2e-6
        assert abs(ready.data.qpos[0] - first) < 1e-8
    else:
        assert first - before > 1e-3


@pytest.mark.parametrize("half", [".1 .1 .02", ".03 .03 .02", ".02 .02 .03"])
def test_a_block_that_is_tilted_slips_at_the_cone(half: str) -> None:
    """Bonds share the load when one is relieved; 0.91 to 0.94 before."""
    height = float(half.split()[2])
    ready = settled(scene(block(half, height=height)), Contact(friction=Friction(0.4, 0.3)))
    at = []
    for share in (0.98, 1.02):
        for i in range(100):
            tilt(ready, np.arctan(0.4 * (share - (0.98 if share < 1 else 0.04) * (1 - i / 99))))
            run_lockstep(ready.servo, 10)
        for _ in range(2):
            run_lockstep(ready.servo, 300)
            at.append(float(ready.data.qpos[7]))
    assert abs(at[0]) < 2e-4  # it leans on its soft contacts
    assert abs(at[1] - at[0]) < 1e-7
    assert at[3] - at[1] > 1e-3


GRIPPER = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
  <geom name="table" type="box" size=".2 .2 .02" pos="0 0 -.02"/>
  <body name="palm" pos="0 0 .12" gravcomp="1"><freejoint/>
    <geom type="box" size=".06 .02 .01" mass=".5" contype="0" conaffinity="0"/>
    <body name="left" gravcomp="1" pos="-.03 0 -.06"><joint name="l" type="slide" axis="1 0 0"
        damping="5"/><geom type="box" size=".005 .012 .05" mass=".1" friction="1"/></body>
    <body name="right" gravcomp="1" pos=".03 0 -.06"><joint name="r" type="slide" axis="-1 0 0"
        damping="5"/><geom type="box" size=".005 .012 .05" mass=".1" friction="1"/></body></body>
  <body name="block" pos="0 0 .0199"><freejoint/>
    <geom type="box" size=".02 .02 .02" mass=".1" friction="1"/></body></worldbody>
  <actuator><motor joint="l"/><motor joint="r"/></actuator>
  <keyframe><key name="start" ctrl="3 3"/></keyframe></mujoco>"""


@pytest.mark.parametrize("mode", ["impulse", "penalty"])
def test_a_gripper_holds_what_it_grips(mode: str) -> None:
    """Closed on a block of 1 N with 3 N a finger, lifted by the hand and held for 10 s."""
    world = World.from_string(GRIPPER, tool="palm", keyframe="start")
    session = Session(world, Contact(mode=mode), rate=1000.0)
    path = [(0.0, 0.0, 0.0, 0.12), (0.3, 0.0, 0.0, 0.12), (1.0, 0.0, 0.0, 0.2)]
    hand = hands.Guided(stiffness=500.0, damping=20.0, path=path)
    ready = session.prepare(hand, 1000.0, ring=16)
    advance(ready, hand, 0, 2000)
    gripped = in_the_palm(ready)
    advance(ready, hand, 2000, 10_000)
    assert ready.data.body("block").xpos[2] > 0.08
    assert np.abs(in_the_palm(ready) - gripped).max() < 2e-6


def in_the_palm(ready: Any) -> np.ndarray:
    """Where the block is, in the frame of the palm."""
    mujoco.mj_kinematics(ready.model, ready.data)
    palm, held = ready.data.body("palm"), ready.data.body("block")
    return palm.xmat.reshape(3, 3).T @ (held.xpos - palm.xpos)


SPIN = """<body name="top" pos="0 0 {0}"><freejoint/>
  <geom type="sphere" size=".05" mass="1" condim="{1}" friction=".5 .01 .002"/></body>"""


@pytest.mark.parametrize("mode", ["impulse", "rigid"])
def test_contacts_resist_turning_as_mujoco_says(mode: str) -> None:
    """A ball spins down with μ_t m g about its normal; a rolling one slows by μ_r g/1.4 R."""
    lose = {}
    for condim in (3, 4, 6):
        world = scene(SPIN.format(0.0499 if mode == "impulse" else 0.05, condim))
        ready = settled(world, Contact(mode=mode), 200)
        ready.data.qvel[11] = 20.0
        run_lockstep(ready.servo, 50)
        before = float(ready.data.qvel[11])
        run_lockstep(ready.servo, 100)
        lose[condim] = (before - float(ready.data.qvel[11])) / 0.1
    wanted = 0.01 * 9.81 / (0.4 * 0.05**2)
    assert lose[3] == pytest.approx(0.0, abs=1e-6)
    assert lose[4] == pytest.approx(wanted, rel=0.01)
    assert lose[6] == pytest.approx(wanted, rel=0.01)
    ready = settled(world, Contact(mode=mode), 200)
    ready.data.qvel[6:12] = 1.0, 0.0, 0.0, 0.0, 20.0, 0.0
    run_lockstep(ready.servo, 50)
    before = float(ready.data.qvel[6])
    run_lockstep(ready.servo, 200)
    slowed = (before - float(ready.data.qvel[6])) / 0.2
    assert slowed == pytest.approx(0.002 * 9.81 / (0.05 * 1.4), rel=0.02)
