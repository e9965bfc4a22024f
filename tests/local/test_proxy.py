"""The tool, cut out of its scene, is the tool in its scene."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent import World
from detent.local.proxy import Cut, cut_to_tool

CROWD = """<mujoco><option gravity="0 0 -9.81"/>
<custom><tuple name="detent.stiffness">
 <element objtype="geom" objname="tip" prm="300"/></tuple></custom>
<worldbody><geom name="floor" type="plane" size="1 1 .1"/>
<body name="before"><freejoint/><geom size=".1"/></body>
<body name="mount" pos=".3 0 1" euler="0 0 30"><geom size=".02"/>
 <body><joint name="a" axis="0 1 0" damping=".1"/><geom size=".1"/>
  <body name="tip" pos=".1 0 0"><joint name="b" axis="0 1 0" range="-1 1"/>
   <geom name="tip" type="capsule" size=".02 .1"/></body></body></body>
<body name="after" pos="0 0 2"><joint type="ball"/><geom name="ball" size=".1"/></body>
</worldbody>
<contact><exclude body1="tip" body2="after"/><pair geom1="tip" geom2="ball"/></contact>
<equality><joint joint1="a" joint2="b"/></equality>
<tendon><fixed name="cable" stiffness="3"><joint joint="a" coef="1"/></fixed></tendon>
<actuator><motor joint="b" gear="2"/></actuator>
<sensor><framepos objtype="body" objname="after"/></sensor>
<keyframe><key name="start" qpos="0 0 5 1 0 0 0  .4 -.3  1 0 0 0" ctrl=".5"/></keyframe>
</mujoco>"""


def place(cut: Cut, world: World) -> tuple[mujoco.MjData, mujoco.MjData]:
    """Both models in the same state, at a random velocity."""
    rng = np.random.default_rng(0)
    whole, alone = mujoco.MjData(world.model), mujoco.MjData(cut.world.model)
    whole.qpos[:], whole.qvel[:] = world.qpos, rng.normal(size=world.model.nv)
    whole.ctrl[:], alone.ctrl[:] = world.ctrl, cut.world.ctrl
    alone.qpos[:], alone.qvel[:] = whole.qpos[cut.qpos], whole.qvel[cut.qvel]
    mujoco.mj_forward(world.model, whole)
    mujoco.mj_forward(cut.world.model, alone)
    return whole, alone


def full(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    out = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, out)
    return out


@pytest.mark.parametrize("gravity", [True, False])
def test_the_cut_tool_moves_as_the_whole(gravity: bool) -> None:
    world = World.from_string(CROWD, tool="tip", gravity=gravity)
    cut = cut_to_tool(world)
    whole, alone = place(cut, world)
    tool = np.ix_(cut.qvel, cut.qvel)
    np.testing.assert_allclose(full(cut.world.model, alone), full(world.model, whole)[tool])
    for name in ("qfrc_bias", "qfrc_passive", "qfrc_actuator"):
        np.testing.assert_allclose(getattr(alone, name), getattr(whole, name)[cut.qvel], atol=1e-15)
    np.testing.assert_allclose(alone.xpos, whole.xpos[cut.bodies], atol=1e-15)
    np.testing.assert_allclose(alone.xquat, whole.xquat[cut.bodies], atol=1e-15)


def test_the_cut_keeps_loops_and_limits_and_nothing_that_collides() -> None:
    world = World.from_string(CROWD, tool="tip")
    model = cut_to_tool(world).world.model
    assert (model.neq, model.ntendon, model.nu, model.npair) == (1, 1, 1, 0)
    assert model.jnt_limited.tolist() == [0, 1]
    assert not model.geom_contype.any() and not model.geom_conaffinity.any()


def test_held_links_and_points_stay() -> None:
    world = World.from_string(CROWD, tool="tip", point=(0.0, 0.0, 0.1))
    cut = cut_to_tool(world)
    assert cut.world.body_name(cut.world.held) == "tip"
    np.testing.assert_array_equal(cut.world.point, world.point)
    assert cut.bodies[cut.world.held] == world.held


@pytest.mark.parametrize("name", World.library())
def test_every_world_of_the_library_can_be_cut(name: str) -> None:
    world = World.builtin(name)
    cut = cut_to_tool(world)
    whole, alone = place(cut, world)
    tool = np.ix_(cut.qvel, cut.qvel)
    np.testing.assert_allclose(
        full(cut.world.model, alone), full(world.model, whole)[tool], atol=1e-15
    )


def test_the_scenery_stays_behind_but_what_tendons_run_around() -> None:
    boxes = "".join(f'<geom type="box" size=".1 .1 .1" pos="{i} 9 0"/>' for i in range(20))
    world = World.from_string(
        f"""<mujoco><worldbody><geom type="plane" size="1 1 .1"/>{boxes}
        <site name="here" pos="0 0 1"/><geom name="pulley" size=".05" pos=".2 0 .5"/>
        <body name="arm"><joint axis="0 1 0"/><geom name="arm" size=".01" pos="0 0 .1"/>
          <site name="there" pos=".3 0 0"/></body></worldbody>
        <tendon><spatial stiffness="9"><site site="here"/><geom geom="pulley"/><site site="there"/>
        </spatial></tendon></mujoco>""",
        tool="arm",
    )
    cut = cut_to_tool(world)
    model = cut.world.model
    assert [model.geom(i).name for i in range(model.ngeom)] == ["pulley", "arm"]
    whole, alone = place(cut, world)
    np.testing.assert_allclose(alone.qfrc_passive, whole.qfrc_passive)
