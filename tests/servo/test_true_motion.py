"""Motion that broke in scenes of others: spin, damped joints, fast loops, starts outside."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent import Baumgarte, Contact, Session, World
from detent.servo.loop.loop import run_lockstep
from lab import LOOSE, advance, loose, scene, start


def energy_and_momentum(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[float, np.ndarray]:
    """Kinetic energy, and angular momentum about the middle of everything, in world axes."""
    mujoco.mj_forward(model, data)
    mujoco.mj_subtreeVel(model, data)
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    return 0.5 * float(data.qvel @ inertia @ data.qvel), data.subtree_angmom[0].copy()


@pytest.mark.parametrize("middle", ["0 0 0", ".01 .02 -.03"])
@pytest.mark.parametrize("speed", [20.0, 60.0, 150.0])
def test_a_free_body_keeps_energy_and_momentum_while_it_tumbles(middle: str, speed: float) -> None:
    """Inertias 1 : 2 : 3, about the middle axis: it gained 139 % at 60 rad/s within 2 s."""
    body = f"""<body name="t"><freejoint/>
      <inertial pos="{middle}" mass="1" diaginertia=".01 .02 .03"/>
      <geom size=".01" contype="0" conaffinity="0"/></body>"""
    ready = start(loose(World.from_string(scene(body), tool="t")))
    axis = np.array([0.02, 1.0, 0.03])
    ready.data.qvel[3:] = speed * axis / np.linalg.norm(axis)
    energy, momentum = energy_and_momentum(ready.model, ready.data)
    turned = 0.0
    for _ in range(40):
        run_lockstep(ready.servo, 50)
        now, turn = energy_and_momentum(ready.model, ready.data)
        assert now == pytest.approx(energy, rel=1e-3)
        np.testing.assert_allclose(turn, momentum, atol=1e-3 * np.linalg.norm(momentum))
        turned = max(turned, abs(ready.data.qvel[3]) / speed)
    assert turned > 0.5  # it does tumble


def test_a_body_on_a_ball_keeps_energy_and_momentum() -> None:
    body = """<body name="t"><joint type="ball"/>
      <inertial pos=".1 .02 -.03" mass="1" diaginertia=".01 .02 .03"/>
      <geom size=".01" contype="0" conaffinity="0"/></body>"""
    ready = start(loose(World.from_string(scene(body), tool="t")))
    ready.data.qvel[:] = 30.0, 60.0, 20.0
    energy, _ = energy_and_momentum(ready.model, ready.data)
    run_lockstep(ready.servo, 2000)
    assert energy_and_momentum(ready.model, ready.data)[0] == pytest.approx(energy, rel=1e-3)


def arm_on_slide(damping: float) -> World:
    """A slide that carries three hinges and a box, which falls on a plane."""
    link = '<geom type="capsule" fromto="0 0 0 .2 0 0" size=".01" mass=".5" {}/>'
    ghost = 'contype="0" conaffinity="0"'
    body = f"""<geom type="plane" size="3 3 .1"/>
      <body pos="0 0 .3"><joint type="slide" axis="1 0 0" damping="{damping}"/>
      <geom size=".02" mass="1" {ghost}/>
      <body><joint axis="0 1 0"/>{link.format(ghost)}
      <body pos=".2 0 0"><joint axis="0 1 0"/>{link.format(ghost)}
      <body name="t" pos=".2 0 0"><joint axis="0 1 0"/>
      <geom type="box" size=".03 .03 .03" mass=".5"/>
      </body></body></body></body>"""
    return World.from_string(scene(body, 'gravity="0 0 -9.81"'), tool="t")


@pytest.mark.parametrize("damping", [0.0, 1e3, 1e7, 1e9])
def test_an_impulse_beside_a_damped_joint_throws_nothing(damping: float) -> None:
    """It gave thousands of rad/s in the tick after the first touch."""
    ready = start(loose(arm_on_slide(damping), Contact(4000, 30)))
    fastest, taken = 0.0, 0.0
    for _ in range(150):
        rows = advance(ready, 10)
        fastest = max(fastest, float(np.abs(ready.data.qvel).max()))
        taken = min(taken, float(rows["impact_energy"].min()))
        assert rows["impact_energy"].max() <= 1e-12
    assert taken < -0.5  # joules: it did land
    assert fastest < 40.0


#: a loop, what of it is pushed to which speed [rad/s], and how fast that is at its tip [m/s]
FOUR_BAR = """<body name="t" pos="0 0 0"><joint axis="0 0 1"/><geom type="capsule"
    fromto="0 0 0 .1 0 0" size=".005" mass=".1" contype="0" conaffinity="0"/>
  <body name="coupler" pos=".1 0 0"><joint axis="0 0 1"/><geom type="capsule"
    fromto="0 0 0 .05 .15 0" size=".005" mass=".1" contype="0" conaffinity="0"/></body></body>
  <body name="rocker" pos=".3 0 0"><joint axis="0 0 1"/><geom type="capsule"
    fromto="0 0 0 -.15 .15 0" size=".005" mass=".1" contype="0" conaffinity="0"/></body>"""
TIED = '<equality><connect body1="coupler" body2="rocker" anchor=".05 .15 0"/></equality>'


def test_loops_stay_closed_at_the_speed_of_a_hand() -> None:
    """Four-bar at 1 m/s and 1 kHz: 0.45 mm open before; energy within 1 % over 10 s."""
    world = World.from_string(scene(FOUR_BAR, more=TIED), tool="t")
    ready = start(loose(world))
    session = Session(world, coupling=LOOSE, baumgarte=Baumgarte(projected=False))
    literal = start(session)
    for one in (ready, literal):
        mujoco.mj_forward(one.model, one.data)
        one.servo.scene.qvel[:] = consistent(one.model, one.data, 10.0)
    energy, _ = energy_and_momentum(ready.model, ready.data)
    open_by, open_literally = 0.0, 0.0
    for _ in range(100):
        open_by = max(open_by, float(advance(ready, 100)["closure"].max()))
        open_literally = max(open_literally, float(advance(literal, 100)["closure"].max()))
        now, _ = energy_and_momentum(ready.model, ready.data)
        assert now == pytest.approx(energy, rel=0.01)
    assert open_by < 1e-6
    assert open_literally > 2e-5


def planar_arm(name: str, x: float, tip: str = "") -> str:
    """Three hinges, the last with a light end."""
    over, ghost = (0.1 if x < 0.0 else -0.1), 'contype="0" conaffinity="0"'
    link = f'size=".01" mass=".3" {ghost}'
    return f"""<body name="{name}" pos="{x} 0 0"><joint axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 0 .2 0" {link}/>
      <body pos="0 .2 0"><joint axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 {over} .15 0" {link}/>
      <body name="{name}-end" pos="{over} .15 0"><joint axis="0 0 1"/>
      <geom size=".01" mass=".05" {ghost}/>{tip}</body></body></body>"""


def test_two_arms_on_one_plate_stay_welded_at_the_speed_of_a_hand() -> None:
    """2.6 mm open at 1 m/s: its lengths were weighed against its angles."""
    plate = '<body name="plate" pos=".1 0 0"><geom type="box" size=".1 .02 .02" mass=".5"/></body>'
    weld = '<equality><weld body1="plate" body2="r-end"/></equality>'
    world = World.from_string(
        scene(planar_arm("t", -0.2, plate) + planar_arm("r", 0.2), more=weld), tool="t"
    )
    ready = start(loose(world))
    advance(ready, 1)
    W = ready.servo.closures.W
    rates = np.linalg.svd(W)[2][np.linalg.matrix_rank(W, 1e-9) :]  # what the loop allows
    ready.servo.scene.qvel[:] = 3.0 * rates.T @ (rates @ np.array([1.0, 0, 0, 0, 0, 0]))
    energy, _ = energy_and_momentum(ready.model, ready.data)
    for _ in range(40):
        rows = advance(ready, 50)
        assert rows["closure"].max() < 1e-6 and rows["closure_angle"].max() < 1e-5
        now, _ = energy_and_momentum(ready.model, ready.data)
        assert now == pytest.approx(energy, rel=0.01)


def consistent(model: mujoco.MjModel, data: mujoco.MjData, rate: float) -> np.ndarray:
    """Joint velocities of a four-bar whose crank turns at a rate."""
    rows = []
    anchors = (("coupler", (0.05, 0.15, 0.0)), ("rocker", (-0.15, 0.15, 0.0)))
    for name, point in anchors:
        jac = np.zeros((3, model.nv))
        body = data.body(name)
        place = body.xpos + body.xmat.reshape(3, 3) @ point
        mujoco.mj_jac(model, data, jac, None, place, model.body(name).id)
        rows.append(jac)
    W = (rows[0] - rows[1])[:2]
    return np.concatenate([[rate], np.linalg.solve(W[:, 1:], -W[:, 0] * rate)])


def test_a_joint_that_starts_outside_its_range_comes_back_slowly() -> None:
    """Half a radian outside: it was thrown back, and struck."""
    body = """<body name="t"><joint axis="0 0 1" range="-1 -.5" limited="true"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".01" mass="1" contype="0" conaffinity="0"/>
      </body>"""
    world = World.from_string(
        f'<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>{body}'
        "</worldbody></mujoco>"
    )
    ready = start(loose(world))
    assert any("starts 0.5 rad outside its range" in note for note in ready.notes)
    fastest = 0.0
    for _ in range(150):
        rows = advance(ready, 10)
        fastest = max(fastest, abs(float(ready.data.qvel[0])))
        assert not rows["collisions"].any()
    assert fastest < 1.5
    assert ready.data.qpos[0] < -0.49


def test_a_loop_is_not_driven_apart_by_a_limit_that_it_cannot_reach() -> None:
    """Eight hinges, stretched out and pinned at both ends; the second starts 0.1 rad outside."""
    xml, axes = "", ("0 0 1", "0 1 0", "1 0 0")
    for i in range(8):
        ends = 'range="-1 -.1" limited="true"' if i == 1 else ""
        xml += f"""<body name="b{i}" pos="{0.3 if i else 0} 0 0">
          <joint axis="{axes[i % 3]}" damping="1" armature=".001" {ends}/>
          <geom type="capsule" fromto="0 0 0 .3 0 0" size=".01" mass="1" contype="0"
            conaffinity="0"/>"""
    world = World.from_string(
        '<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>'
        f'{xml}{8 * "</body>"}</worldbody><equality><connect body1="b7" anchor=".3 0 0"/>'
        "</equality></mujoco>",
        tool="b3",
    )
    for rate in (1000.0, 2000.0):
        ready = start(loose(world, rate=rate))
        fastest = 0.0
        for _ in range(200):
            rows = advance(ready, 10)
            fastest = max(fastest, float(np.abs(ready.data.qvel).max()))
            assert rows["closure"].max() < 1e-4
        assert fastest < 4.1  # rad/s, what MuJoCo's soft constraints need


@pytest.mark.parametrize(
    "half, depth, contact",
    [(0.04, 0.03, Contact(20000, 100)), (0.02, 0.015, None), (0.02, 0.006, None)],
)
def test_a_body_that_starts_inside_another_comes_out_slowly(
    half: float, depth: float, contact: Contact | None
) -> None:
    """Of 60 g and 15 mm deep it was thrown off at 1.5 m/s."""
    body = f"""<body name="t" pos="0 0 {half - depth}"><freejoint/>
      <geom type="box" size="{half} {half} {half}"/></body>"""
    world = World.from_string(
        scene('<geom type="plane" size="1 1 .1"/>' + body, 'gravity="0 0 -9.81"'), tool="t"
    )
    ready = start(loose(world, contact))
    assert any(f"starts {1e3 * depth:.3g} mm inside" in note for note in ready.notes)
    fastest = 0.0
    for _ in range(100):
        rows = advance(ready, 10)
        fastest = max(fastest, float(np.abs(ready.data.qvel[:3]).max()))
        assert rows["impact_energy"].min() > -1e-5  # [J]
    assert fastest < 0.12
    assert half - 0.001 < ready.data.qpos[2] < half + 1e-6
