"""What acts in a scene acts here: dry friction, tendons, balls, actuators with a state."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent import Session, World
from detent.servo.constants import STICK_SLIDE
from lab import LOOSE, advance, loose, scene, start

SLIDER = """<body name="slider"><joint type="slide" axis="1 0 0" frictionloss="{dry}"/>
  <inertial pos="0 0 0" mass="2" diaginertia=".01 .01 .01"/></body>"""


def slider(dry: float, along: float) -> World:
    """A mass of 2 kg with dry friction, pulled along its slide by gravity."""
    return World.from_string(scene(SLIDER.format(dry=dry), f'gravity="{along} 0 0"'))


def coast(world: World, ticks: int, qvel: list[float] | None = None, rate: float = 1000.0) -> tuple:
    ready = start(loose(world, rate=rate), qvel=qvel)
    advance(ready, ticks)
    return ready.servo.scene.qpos.copy(), ready.servo.scene.qvel.copy()


def test_dry_friction_holds_what_is_less_and_lets_slip_what_is_more() -> None:
    q, v = coast(slider(dry=5.0, along=2.4), 10_000)  # 4.8 N for ten seconds
    early, _ = coast(slider(dry=5.0, along=2.4), 2000)
    assert abs(q[0]) < 1e-4 and abs(v[0]) < 1e-9  # loaded at once, it gives a little
    assert q[0] == pytest.approx(early[0], abs=1e-9)  # and does not creep
    q, v = coast(slider(dry=5.0, along=3.0), 1000)  # 6 N
    assert v[0] == pytest.approx((6.0 - 5.0) / 2.0, rel=0.02)
    assert q[0] == pytest.approx(0.25, rel=0.02)


@pytest.mark.parametrize("rate", [1000.0, 4000.0])
def test_dry_friction_stops_a_mass_where_it_should(rate: float) -> None:
    q, v = coast(slider(dry=5.0, along=0.0), int(rate), qvel=[1.0], rate=rate)
    assert q[0] == pytest.approx(1.0 / (2.0 * 5.0 / 2.0), abs=1.5 / rate)  # v²/2a
    assert abs(v[0]) < 1e-6


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_dry_friction_is_an_elastoplastic_bond(way: float) -> None:
    """It slips with f/m from the first tick on; loaded by less it stretches by z₀ F/f and rests."""
    q, v = coast(slider(dry=5.0, along=0.0), 20, qvel=[way])
    assert v[0] == pytest.approx(way * (1.0 - 20e-3 * 2.5), abs=1e-12)
    q, v = coast(slider(dry=5.0, along=way * 1.5), 60)
    assert q[0] == pytest.approx(way * STICK_SLIDE * 3.0 / 5.0, rel=1e-3)
    assert abs(v[0]) < 1e-7


def test_no_dry_friction_is_too_much_for_a_light_joint() -> None:
    light = SLIDER.format(dry=1000.0).replace('mass="2"', 'mass="1e-5"')
    q, v = coast(World.from_string(scene(light)), 500, qvel=[1.0])
    assert abs(q[0]) < 2e-3 and abs(v[0]) < 1e-6


def test_dry_friction_does_not_act_where_the_scene_disables_it() -> None:
    off = '<option gravity="0 0 0"><flag frictionloss="disable"/></option>'
    text = f"<mujoco>{off}<worldbody>{SLIDER.format(dry=5.0)}</worldbody></mujoco>"
    q, _ = coast(World.from_string(text), 1000, qvel=[1.0])
    assert q[0] == pytest.approx(1.0, rel=1e-9)


PAIR = """<body name="a"><joint name="a" type="slide" axis="1 0 0"/>
    <inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/><site name="a"/></body>
  <body name="b" pos=".5 0 0"><joint name="b" type="slide" axis="1 0 0"/>
    <inertial pos="0 0 0" mass="3" diaginertia=".01 .01 .01"/><site name="b"/></body>"""


def string(attributes: str) -> World:
    """Two masses on a line, with a string between them."""
    sites = '<site site="a"/><site site="b"/>'
    tendon = f"<tendon><spatial {attributes}>{sites}</spatial></tendon>"
    return World.from_string(scene(PAIR, more=tendon), tool="a")


def test_a_string_of_limited_length_pulls_the_other_body_along() -> None:
    q, v = coast(string('limited="true" range="0 1"'), 4000, qvel=[0.0, 1.0])
    momentum = v @ [1.0, 3.0]
    assert momentum == pytest.approx(3.0, rel=1e-9)  # it acts on both
    assert 0.5 + q[1] - q[0] < 1.02  # m: it is as long as it may be, but for its stretch
    assert v[0] > 0.5  # the first mass follows


def test_dry_friction_of_a_tendon_slows_both_ends_by_its_force() -> None:
    """2 N between 1 kg and 3 kg that part with 1 m/s, and what would stop them is never more."""
    _, v = coast(string('frictionloss="2"'), 50, qvel=[0.0, 1.0])
    assert v[0] == pytest.approx(0.1, rel=0.03)
    assert v[1] == pytest.approx(1.0 - 0.1 / 3.0, rel=0.01)
    assert v @ [1.0, 3.0] == pytest.approx(3.0, rel=1e-9)
    _, v = coast(string('frictionloss="2000"'), 50, qvel=[0.0, 1.0])
    np.testing.assert_allclose(v, 0.75, atol=1e-2)


def test_dry_friction_of_a_tendon_takes_the_relative_motion_only() -> None:
    q, v = coast(string('frictionloss="2"'), 4000, qvel=[0.0, 1.0])
    assert v == pytest.approx([0.75, 0.75], abs=1e-3)  # 3/4 of a metre per second, together
    meet = 1.0 / (2.0 + 2.0 / 3.0)  # s: 1 = (2/1 + 2/3) t
    assert q[1] - q[0] == pytest.approx(0.5 * meet, abs=2e-3)


def test_a_ball_joint_stops_at_its_angle() -> None:
    text = scene(
        """<body name="rod"><joint type="ball" limited="true" range="0 28.64789"/>
        <inertial pos="0 0 -.2" mass="1" diaginertia=".01 .01 .01"/></body>"""
    )
    most = 0.0
    ready = start(loose(World.from_string(text)), qvel=[1.0, 0.5, 0.0])
    for _ in range(100):
        advance(ready, 20)
        q = ready.servo.scene.qpos
        most = max(most, 2.0 * np.arctan2(np.linalg.norm(q[1:]), abs(q[0])))
    assert 0.49 < most < 0.52


def geared(polynomial: str, second: str) -> World:
    """Two joints that a tendon equality ties, as grippers do."""
    text = scene(
        """<body name="a"><joint name="a" axis="0 0 1"/><geom size=".1" mass="1"/></body>
        <body name="b" pos="1 0 0"><joint name="b" axis="0 0 1"/>
          <geom size=".1" mass="2"/></body>""",
        more=f"""<tendon><fixed name="one"><joint joint="a" coef="1"/></fixed>
          <fixed name="two"><joint joint="b" coef="2"/></fixed></tendon>
        <equality><tendon tendon1="one" {second} polycoef="{polynomial}"/></equality>""",
    )
    return World.from_string(text, tool="a")


def test_tendons_that_are_tied_move_together() -> None:
    world = geared("0 -.5 0 0 0", 'tendon2="two"')  # q_a = −q_b
    assert world.trees == {0, 1}
    q, _ = coast(world, 1000, qvel=[1.0, -1.0])
    assert q[0] == pytest.approx(1.0, rel=1e-6)
    assert q[0] == pytest.approx(-q[1], abs=1e-9)
    q, _ = coast(geared("0 1 0 0 0", ""), 1000, qvel=[0.0, 1.0])  # one alone: held
    assert q == pytest.approx([0.0, 1.0], abs=1e-9)


@pytest.mark.parametrize("kind", ["filter", "filterexact", "integrator"])
def test_actuators_with_a_state_move_as_in_mujoco(kind: str) -> None:
    text = scene(
        SLIDER.format(dry=0.0).replace("<joint", '<joint name="x" damping="1"'),
        more=f"""<actuator><general joint="x" dyntype="{kind}" dynprm=".1" gainprm="3"
          actlimited="true" actrange="-1 .8"/></actuator>
          <keyframe><key name="start" ctrl="1" act=".2"/></keyframe>""",
    )
    world = World.from_string(text)
    ready = start(Session(world, coupling=LOOSE))
    advance(ready, 500)
    model, data = world.model, mujoco.MjData(world.model)
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data.ctrl[:], data.act[:] = 1.0, 0.2
    mujoco.mj_step(model, data, 500)
    assert ready.data.act == pytest.approx(data.act, rel=1e-9)
    assert ready.servo.scene.qpos == pytest.approx(data.qpos, rel=1e-9)
