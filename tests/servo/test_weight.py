"""The hand carries the tool's weight, once."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent import FourChannel, Session, World
from detent.hands import Impedance
from lab import PLANAR, advance, scene, start

HAND = Impedance(stiffness=200.0, damping=40.0, rotational_stiffness=2.0, rotational_damping=0.2)
PEG = scene(
    f'<body name="tool">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>', 'gravity="0 -9.81 0"'
)
BOX = scene(
    """<body name="tool"><freejoint/>
    <inertial pos="0 0 0" mass="2" diaginertia=".005 .005 .005"/>
    <geom type="box" size=".02 .01 .01"/></body>""",
    'gravity="0 -9.81 0"',
)
ARM = scene(
    """<body name="base"><joint type="slide" axis="0 1 0"/><geom size=".02" mass="1.5"/>
    <body name="tool" pos=".1 0 0"><joint type="slide" axis="0 1 0" stiffness="100" damping="5"/>
    <geom size=".01" mass=".5"/></body></body>""",
    'gravity="0 -9.81 0"',
)


@pytest.mark.parametrize("xml", [PEG, BOX], ids=["planar", "free"])
def test_a_held_tool_droops_by_m_g_over_k(xml: str) -> None:
    run = Session(World.from_string(xml)).run(8.0, HAND)
    for end in ("tool", "device"):
        moved = run[f"{end}_position"][-1]
        np.testing.assert_allclose(moved, [0.0, -2 * 9.81 / 200, 0.0], atol=1e-5)
    np.testing.assert_allclose(run["device_wrench"][-1], [0, -2 * 9.81, 0, 0, 0, 0], atol=1e-3)
    np.testing.assert_allclose(run["environment_wrench"][0], [0, -2 * 9.81, 0, 0, 0, 0], atol=1e-9)


@pytest.mark.parametrize("xml", [PEG, BOX, ARM], ids=["planar", "free", "arm"])
def test_without_gravity_the_tool_weighs_nothing(xml: str) -> None:
    run = Session(World.from_string(xml, tool="tool", gravity=False)).run(1.0, HAND)
    assert np.abs(run["tool_position"] - run["tool_position"][0]).max() < 1e-12
    assert np.abs(run["device_wrench"]).max() < 1e-9


def test_gravity_off_is_only_for_the_tool() -> None:
    other = '<body name="other" pos="1 0 0"><freejoint/><geom size=".01" mass="1"/></body>'
    world = World.from_string(
        PEG.replace("</worldbody>", f"{other}</worldbody>"), "tool", gravity=False
    )
    ready = start(Session(world))
    advance(ready, 100)
    assert ready.data.xpos[2, 1] == pytest.approx(-9.81e-6 * 99 * 100 / 2, rel=1e-6)


def test_a_chain_weighs_what_its_links_weigh() -> None:
    """A spring inside the tool cannot change the total that the hand carries."""
    world = World.from_string(ARM, tool="base", held="base")
    run = Session(world, coupling=FourChannel(stiffness=100.0, damping=70.0)).run(8.0, HAND)
    moved = run["tool_position"][-1] - run["tool_position"][0]
    np.testing.assert_allclose(moved, [0.0, -2 * 9.81 / 200, 0.0], atol=1e-4)


def test_an_off_centre_grip_feels_the_torque_of_the_weight() -> None:
    run = Session(World.from_string(BOX, point=(0.05, 0.0, 0.0))).run(0.01, HAND)
    np.testing.assert_allclose(
        run["environment_wrench"][0], [0, -19.62, 0, 0, 0, 0.05 * 19.62], atol=1e-9
    )


CHAIN = """<body name="base"><joint axis="0 0 1"/>
  <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>
  <body pos=".2 0 0"><joint type="ball"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>
  <body name="tool" pos=".2 0 0">
    <joint axis="0 1 0" stiffness="1"/><joint type="slide" axis="1 1 0"/>
    <geom type="box" size=".05 .02 .02" pos=".03 .02 .01"/></body></body></body>"""
STAND = '<body name="stand" pos=".3 0 .5"><geom type="box" size=".1 .1 .5"/>{}</body>'
OTHER = (
    '<body name="other" pos="0 1 0"><joint axis="0 1 0"/><geom size=".1" pos=".1 .2 .3"/></body>'
)


@pytest.mark.parametrize(
    "bodies",
    [CHAIN, CHAIN + OTHER, STAND.format(CHAIN), STAND.format(CHAIN + OTHER)],
    ids=["alone", "beside another", "on a stand", "on a stand with another"],
)
def test_the_weight_of_a_linkage_is_mujocos(bodies: str) -> None:
    """T_ext without contacts = passive − G, whatever static body the linkage hangs on."""
    world = World.from_string(scene(bodies, 'gravity="1 2 -9.81"'), tool="tool")
    ready = start(Session(world, coupling=FourChannel(0.0, 0.0)))
    reference = mujoco.MjData(ready.model)
    kick = np.random.default_rng(0).standard_normal(ready.model.nv)
    mujoco.mj_integratePos(ready.model, reference.qpos, kick, 1.0)
    ready.servo.scene.qpos[:] = reference.qpos
    mujoco.mj_forward(ready.model, reference)  # at rest the bias is gravity alone
    advance(ready, 1)
    want = reference.qfrc_passive - reference.qfrc_bias
    dofs = world.tool_dofs
    np.testing.assert_allclose(ready.servo.motion.external[dofs], want[dofs], atol=1e-10)
