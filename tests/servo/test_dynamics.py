"""The proxy's dynamics (M1) against closed forms and against MuJoCo's own step."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.optimize import root

from detent import Contact, Session, World
from detent.hands import Constant
from detent.servo import places
from detent.setup.constants import JOINT_LIMIT_FREQUENCY
from detent.setup.prepared import Prepared
from detent.world.nested import nested_geoms
from lab import LOOSE, PLANAR, advance, full_inertia, full_rows, loose, run_stage, scene, start

INERTIA = np.array([0.002, 0.004, 0.005])
BOX = f"""<body name="box"><freejoint/>
  <inertial pos="0 0 0" mass="2" diaginertia="{" ".join(map(str, INERTIA))}"/>
  <geom type="box" size=".02 .015 .01"/></body>"""
SPIN = np.array([0.1, -0.2, 0.3, 3.0, 5.0, -2.0])


def spinning(rate: float, seconds: float) -> tuple[Prepared, np.ndarray]:
    """A free body with gyroscopic motion."""
    ready = start(loose(World.from_string(scene(BOX)), rate=rate), qvel=SPIN)
    return ready, advance(ready, round(rate * seconds))


def angular_momentum(rows: np.ndarray) -> np.ndarray:
    """World-axes angular momentum of the box, from the recorded pose and twist."""
    out = []
    for q, twist in zip(rows["tool_quaternion"], rows["tool_twist"], strict=True):
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, q)
        R = R.reshape(3, 3)
        out.append(R @ np.diag(INERTIA) @ R.T @ twist[3:])
    return np.array(out)


# --- three hinges in a row, without armature

GIMBAL = """<body name="rod">
  <joint name="roll" axis="1 0 0"/><joint axis="0 1 0"/><joint name="yaw" axis="0 0 1"/>
  <inertial pos="0 0 .1" mass="1" diaginertia=".002 .003 .001"/></body>"""


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_a_rod_goes_through_gimbal_lock_without_gaining_energy(seed: int) -> None:
    """``mj_step`` diverges in the same motion, and starts again."""
    world = World.from_string(scene(GIMBAL)).placed((0.0, 1.5, 0.0))
    ready = start(loose(world), qvel=20.0 * np.random.default_rng(seed).standard_normal(3))
    energy = advance(ready, 2000)["tool_energy"]
    assert energy.max() < 1.05 * energy[0]
    (said,) = ready.said()
    assert "gimbal lock" in said
    assert "rad/s to 100; from" in said


def test_ticks_in_which_hinges_were_too_fast_are_counted_once() -> None:
    """Whether one of them is, or two."""
    world = World.from_string(scene(GIMBAL)).placed((0.0, 0.3, 0.0))
    for speeds, count in (((1.0, 2.0, 0.0), 0), ((5e3, 0.0, 0.0), 1), ((5e3, 4e3, -6e3), 1)):
        ready = start(loose(world), qvel=speeds)
        for _ in range(2):
            advance(ready, 1)
            assert ready.servo.motion.spun[0] == count
            ready.servo.scene.qvel[:] = 0.0  # slow from now on


def test_a_single_hinge_may_be_as_fast_as_it_likes() -> None:
    rotor = """<body name="rotor"><joint axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".001 .001 .002"/></body>"""
    ready = start(loose(World.from_string(scene(rotor))), qvel=[3000.0])
    advance(ready, 100)
    assert ready.servo.scene.qvel[0] == 3000.0
    assert ready.said() == []


# --- a free body in space


def test_a_free_body_moves_as_in_mujoco_with_a_step_that_is_short() -> None:
    """MuJoCo's Coriolis terms are explicit: at our step it is 0.3 % off after a second."""
    ready, _ = spinning(1000, 1.0)
    option = 'gravity="0 0 0" timestep="0.0001" integrator="RK4"'
    model = mujoco.MjModel.from_xml_string(scene(BOX, option))
    data = mujoco.MjData(model)
    data.qvel[:] = SPIN
    mujoco.mj_step(model, data, nstep=10_000)
    np.testing.assert_allclose(ready.servo.scene.qvel, data.qvel, atol=2e-4)
    np.testing.assert_allclose(ready.servo.scene.qpos, data.qpos, atol=2e-4)


def test_a_free_body_keeps_its_momentum_and_energy() -> None:
    for rate in (500, 1000, 2000):
        _, rows = spinning(rate, 1.0)
        assert np.ptp(rows["tool_twist"][:, :3], axis=0).max() < 1e-14
        momentum = angular_momentum(rows)
        np.testing.assert_allclose(momentum, momentum[:1].repeat(len(rows), axis=0), atol=1e-11)
        assert rows["tool_energy"] == pytest.approx(rows["tool_energy"][0], rel=1e-9)


def test_a_symmetric_top_precesses_at_the_closed_form_rate() -> None:
    r"""Body-frame ω₁ + iω₂ turns at Ω = (I₃ − I₁) ω₃ / I₁ (Euler)."""
    xml = scene(BOX.replace("0.002 0.004 0.005", "0.003 0.003 0.005"))
    rate, spin = 4000.0, 20.0
    ready = start(loose(World.from_string(xml), rate=rate), qvel=[0, 0, 0, 1.0, 0, spin])
    advance(ready, 400)
    angle = (0.005 - 0.003) * spin / 0.003 * 0.1
    got = ready.servo.scene.qvel[3:]
    np.testing.assert_allclose(got, [np.cos(angle), np.sin(angle), spin], atol=5e-3)


def test_energy_of_the_row_is_half_v_d_v() -> None:
    _, rows = spinning(1000, 0.01)
    v = rows["tool_twist"][0]
    want = 0.5 * 2.0 * v[:3] @ v[:3] + 0.5 * INERTIA @ v[3:] ** 2
    assert rows["tool_energy"][0] == pytest.approx(want, rel=1e-12)


def test_free_fall_is_the_closed_form_of_the_step() -> None:
    world = World.from_string(scene(BOX, 'gravity="0 0 -9.81"'))
    rows = advance(start(loose(world)), 501)
    n = np.arange(501)
    np.testing.assert_allclose(
        rows["tool_position"][:, 2], -9.81e-6 * n * (n + 1) / 2, atol=1e-12
    )  # velocity first


# --- a planar peg


def test_a_pushed_peg_is_the_closed_form_of_the_step() -> None:
    world = World.from_string(
        scene(f'<body name="peg">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>')
    )
    hand = Constant(force=(0.3, -0.4), torque=0.002)
    rows = advance(start(loose(world), hand), 1000)
    n = np.arange(1000)
    moved = 1e-6 * n * (n + 1) / 2
    np.testing.assert_allclose(rows["tool_position"][:, 0], 0.15 * moved, atol=1e-13)
    np.testing.assert_allclose(rows["tool_position"][:, 1], -0.2 * moved, atol=1e-13)
    np.testing.assert_allclose(rows["tool_twist"][:, 5], 0.4 * 1e-3 * n, atol=1e-13)


def test_an_off_centre_push_turns_the_peg_by_r_cross_f() -> None:
    """Errata E1: torque = + r × F."""
    world = World.from_string(
        scene(f'<body name="peg">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'),
        point=(0.02, 0.01, 0.0),
    )
    ready = start(loose(world), Constant(force=(1.0, 2.0)))
    advance(ready, 1)
    torque = 0.02 * 2.0 - 0.01 * 1.0
    np.testing.assert_allclose(
        ready.servo.scene.qvel, [0.5e-3, 1e-3, torque / 0.005 * 1e-3], rtol=1e-12
    )


# --- what the sense stage reads, against MuJoCo's Python API and finite differences

WALL = '<geom type="plane" size="1 1 .1" pos="0 -.006 0" zaxis="0 1 0"/>'
PEG_ON_WALL = scene(f'{WALL}<body name="tool">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>')
BOX_IN_CORNER = scene(
    """<geom type="plane" size="1 1 .1" pos="0 0 -.006"/>
    <geom type="plane" size="1 1 .1" pos=".016 0 0" zaxis="-1 0 0"/>
    <body name="tool"><freejoint/>
      <inertial pos=".001 -.002 .003" mass="2" fullinertia=".002 .004 .005 .0001 .0002 .0003"/>
      <geom type="box" size=".02 .015 .01"/></body>"""
)
CHAIN = scene(
    """<geom type="plane" size="1 1 .1" pos="0 0 -.02"/>
    <body name="base"><joint axis="0 0 1" damping=".2" armature=".01"/>
      <geom type="capsule" fromto="0 0 0 .2 0 0" size=".01"/>
      <body pos=".2 0 0"><joint axis="0 1 0" damping=".1" stiffness="2" springref=".3"/>
        <geom type="capsule" fromto="0 0 0 .15 0 0" size=".02"/>
        <body name="tool" pos=".15 0 0">
          <joint axis="1 .5 0" limited="true" range="-3 3" armature=".002"/>
          <geom type="sphere" pos=".05 .02 0" size=".03"/>
        </body></body></body>""",
    'gravity="0.5 -1 -9.81"',
)
SEVERAL = scene(
    """<geom type="plane" size="1 1 .1" pos="0 0 -.036"/>
    <body name="tool"><freejoint/><geom size=".04" mass="1"/></body>
    <body pos=".079 0 0"><freejoint/><geom size=".04" mass="2"/></body>
    <body pos="-.079 0 0"><joint type="ball"/><geom size=".04" mass="2" pos="0 .001 0"/>
      <body pos="0 -.079 0"><joint type="slide" axis="1 1 0" damping="3"/>
        <geom size=".04" mass=".5"/>
      </body></body>"""
)
SCENES = {"peg": PEG_ON_WALL, "box": BOX_IN_CORNER, "chain": CHAIN, "several": SEVERAL}


def sensed(xml: str, seed: int) -> tuple[Prepared, mujoco.MjData]:
    """A servo that has sensed a random state, and the same state in a fresh mjData."""
    rng = np.random.default_rng(seed)
    ready = start(loose(World.from_string(xml, tool="tool", point=(0.01, 0.02, 0.03))))
    reference = mujoco.MjData(ready.model)
    mujoco.mj_integratePos(
        ready.model, reference.qpos, 0.003 * rng.standard_normal(ready.model.nv), 1.0
    )
    reference.qvel[:] = rng.standard_normal(ready.model.nv)
    ready.servo.scene.qpos[:] = reference.qpos
    ready.servo.scene.qvel[:] = reference.qvel
    run_stage(ready.servo, places.SENSE)
    run_stage(ready.servo, places.APPROACH)
    mujoco.mj_forward(ready.model, reference)
    return ready, reference


@pytest.fixture(params=[(name, seed) for name in SCENES for seed in range(3)], ids=str)
def state(request: pytest.FixtureRequest) -> tuple[Prepared, mujoco.MjData]:
    name, seed = request.param
    return sensed(SCENES[name], seed)


def test_inertia_and_its_factor(state: tuple[Prepared, mujoco.MjData]) -> None:
    ready, reference = state
    D = np.zeros((ready.model.nv, ready.model.nv))
    mujoco.mj_fullM(ready.model, reference, D)
    np.testing.assert_allclose(full_inertia(ready), D, atol=1e-13)
    mo, rows = ready.servo.motion, ready.servo.rows
    count = int(rows.count[0])
    assert count > 0
    white, jac = full_rows(ready, rows.white), full_rows(ready, rows.jac)
    np.testing.assert_allclose(white @ white.T, jac @ np.linalg.solve(D, jac.T), atol=1e-10)
    want = mo.jac @ np.linalg.solve(D, mo.jac.T)
    np.testing.assert_allclose(mo.mobility, want, rtol=1e-9, atol=1e-9 * np.abs(want).max())


def test_bias_and_passive_torques(state: tuple[Prepared, mujoco.MjData]) -> None:
    ready, reference = state
    np.testing.assert_allclose(ready.servo.scene.bias, reference.qfrc_bias, atol=1e-12)
    np.testing.assert_allclose(ready.servo.scene.passive, reference.qfrc_passive, atol=1e-12)


def contact_row(model: mujoco.MjModel, data: mujoco.MjData, c: int) -> np.ndarray:
    """nᵀ(J₂ − J₁) of a contact, from the Python API."""
    contact, row = data.contact[c], np.zeros(model.nv)
    for geom, sign in ((contact.geom1, -1.0), (contact.geom2, 1.0)):
        jac = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jac, None, contact.pos, model.geom_bodyid[geom])
        row += sign * contact.frame[:3] @ jac
    return row


def test_contact_rows_are_those_of_the_python_api(state: tuple[Prepared, mujoco.MjData]) -> None:
    ready, reference = state
    rows, model = ready.servo.rows, ready.model
    jac = full_rows(ready, rows.jac)
    nested = {tuple(pair) for pair in nested_geoms(model, model.qpos0)[:, :2].tolist()}
    contacts = [
        c
        for c in range(reference.ncon)
        if reference.contact[c].dist <= 0.0
        and tuple(sorted(reference.contact[c].geom.tolist())) not in nested  # they pass
    ]
    wanted = [
        np.append(contact_row(model, reference, c), reference.contact[c].dist) for c in contacts
    ]
    touching = [r for r in range(int(rows.count[0])) if rows.geom[r, 0] >= 0]
    got = [np.append(jac[r], rows.separation[r]) for r in touching]
    assert touching
    for row in got:
        assert min(np.abs(row - want).max() for want in wanted) < 1e-12
    for want in wanted:  # none is missing: a copy is there once
        assert min(np.abs(row - want).max() for row in got) < 1e-9
    velocity = [jac[r] @ reference.qvel for r in touching]
    np.testing.assert_allclose(rows.velocity[touching], velocity, atol=1e-12)


def test_contact_rows_are_finite_differences(state: tuple[Prepared, mujoco.MjData]) -> None:
    """The material points of the two bodies part along n at the rate J q̇."""
    ready, reference = state
    rows, model, size = ready.servo.rows, ready.model, 1e-6
    jac, moved = full_rows(ready, rows.jac), mujoco.MjData(model)
    for r in range(int(rows.count[0])):
        if rows.geom[r, 0] < 0:
            continue
        bodies = [int(model.geom_bodyid[g]) for g in rows.geom[r]]
        local = [
            reference.xmat[b].reshape(3, 3).T @ (rows.point[r] - reference.xpos[b]) for b in bodies
        ]
        for j in range(model.nv):
            apart = []
            for sign in (-1.0, 1.0):
                moved.qpos[:] = reference.qpos
                mujoco.mj_integratePos(model, moved.qpos, np.eye(model.nv)[j], sign * size)
                mujoco.mj_kinematics(model, moved)
                one, two = (
                    moved.xpos[b] + moved.xmat[b].reshape(3, 3) @ at
                    for b, at in zip(bodies, local, strict=True)
                )
                apart.append(rows.normal[r] @ (two - one))
            assert (apart[1] - apart[0]) / (2 * size) == pytest.approx(jac[r, j], abs=1e-8)


def test_hand_jacobian_is_finite_differences(state: tuple[Prepared, mujoco.MjData]) -> None:
    ready, reference = state
    model, mo, size = ready.model, ready.servo.motion, 1e-6
    held, moved = ready.servo.scene.held_body, mujoco.MjData(model)
    for j in range(model.nv):
        poses = []
        for sign in (-1.0, 1.0):
            moved.qpos[:] = reference.qpos
            mujoco.mj_integratePos(model, moved.qpos, np.eye(model.nv)[j], sign * size)
            mujoco.mj_kinematics(model, moved)
            R = moved.xmat[held].reshape(3, 3)
            poses.append((moved.xpos[held] + R @ [0.01, 0.02, 0.03], R.copy()))
        linear = (poses[1][0] - poses[0][0]) / (2 * size)
        turn = (poses[1][1] - poses[0][1]) / (2 * size) @ reference.xmat[held].reshape(3, 3).T
        angular = [turn[2, 1], turn[0, 2], turn[1, 0]]
        np.testing.assert_allclose(mo.jac[:, j], [*linear, *angular], atol=1e-8)
    np.testing.assert_allclose(mo.twist, mo.jac @ reference.qvel, atol=1e-12)


def test_a_reached_joint_limit_is_a_row() -> None:
    ready, _ = sensed(CHAIN, 0)
    for q, sign in ((-0.06, 1.0), (0.06, -1.0)):
        ready.servo.scene.qpos[2] = q
        run_stage(ready.servo, places.SENSE)
        rows = ready.servo.rows
        limits = [r for r in range(int(rows.count[0])) if rows.geom[r, 0] < 0]
        assert len(limits) == 1
        np.testing.assert_array_equal(rows.jac[limits[0]], [0.0, 0.0, sign])
        assert rows.separation[limits[0]] == pytest.approx(np.radians(3) - 0.06)


# --- damping, springs, limits


def slide(attributes: str, option: str = 'gravity="0 0 0"', mass: float = 2.0) -> World:
    """One body on one slide along z."""
    return World.from_string(
        scene(
            f"""<body name="tool"><joint type="slide" axis="0 0 1" {attributes}/>
            <geom size=".02" mass="{mass}"/></body>""",
            option,
        )
    )


@pytest.mark.parametrize("damping", [1.0, 1e3, 1e6])
def test_joint_damping_is_implicit(damping: float) -> None:
    """v⁺ = v / (1 + T c / m): never beyond zero, however large the damping."""
    ready = start(loose(slide(f'damping="{damping}"')), qvel=[1.0])
    for n in range(1, 6):
        advance(ready, 1)
        assert ready.servo.scene.qvel[0] == pytest.approx(
            (1 + 1e-3 * damping / 2.0) ** -n, rel=1e-12
        )


def test_damping_moves_a_chain_as_mujocos_euler_does() -> None:
    """MuJoCo's Euler treats joint damping implicitly too."""
    xml = """<body name="a"><joint axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>
      <body name="tool" pos=".2 0 0"><joint axis="0 1 0" damping=".02" armature=".01"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/></body></body>"""
    option = 'gravity="0 0 -9.81" timestep="0.001"'
    ready = start(loose(World.from_string(scene(xml, option), tool="tool")))
    advance(ready, 500)
    model = mujoco.MjModel.from_xml_string(scene(xml, option))
    data = mujoco.MjData(model)
    for _ in range(500):
        mujoco.mj_step(model, data)
    assert np.abs(data.qpos).max() > 0.5
    np.testing.assert_allclose(ready.servo.scene.qpos, data.qpos, atol=1e-9)
    np.testing.assert_allclose(ready.servo.scene.qvel, data.qvel, atol=1e-9)


def test_a_spring_settles_where_it_carries_the_weight() -> None:
    world = slide('stiffness="500" damping="20" springref=".01"', 'gravity="0 0 -9.81"')
    ready = start(loose(world))
    advance(ready, 4000)
    assert ready.servo.scene.qpos[0] == pytest.approx(0.01 - 2 * 9.81 / 500, abs=1e-9)


def test_springs_of_a_chain_settle_in_the_static_equilibrium() -> None:
    xml = scene(
        """<body name="a"><joint axis="0 1 0" stiffness="3" damping=".3" springref=".2"/>
      <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>
      <body name="tool" pos=".2 0 0"><joint axis="0 1 0" stiffness="2" damping=".3"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/></body></body>""",
        'gravity="0 0 -9.81"',
    )
    ready = start(loose(World.from_string(xml, tool="tool")))
    advance(ready, 8000)
    data = mujoco.MjData(ready.model)

    def residual(q: np.ndarray) -> np.ndarray:
        data.qpos[:] = q
        mujoco.mj_forward(ready.model, data)
        return data.qfrc_passive - data.qfrc_bias

    found = root(residual, np.zeros(2))
    assert found.success
    np.testing.assert_allclose(ready.servo.scene.qpos, found.x, atol=1e-6)


@pytest.mark.parametrize("mode", ["impulse", "penalty", "rigid"])
def test_a_joint_limit_holds_a_link_under_load(mode: str) -> None:
    """Against a limit, the link's own weight and the hand: it yields by F / (ω² m), not more."""
    world = slide('limited="true" range="-.01 .05"', 'gravity="0 0 -9.81"')
    ready = start(loose(world, Contact(mode=mode)), Constant(force=(0, 0, -10.0)))
    rows = advance(ready, 2000)
    load = 2 * 9.81 + 10
    yielding = 0.0 if mode == "rigid" else load / (100.0**2 * 2.0)
    np.testing.assert_allclose(rows["tool_position"][-1, 2], -0.01 - yielding, atol=1e-8)
    np.testing.assert_allclose(rows["tool_twist"][-1], 0.0, atol=1e-8)
    if mode == "rigid":
        assert rows["tool_position"][:, 2].min() > -0.01 - 1e-9


@pytest.mark.parametrize("joint", ["hinge", "slide"])
@pytest.mark.parametrize("end", [-1.0, 1.0])
def test_a_joint_limit_is_critically_damped(joint: str, end: float) -> None:
    """Beyond the limit x = v t exp(−ω t), until the limit would have to pull, at t = 2/ω."""
    omega, speed, rate = JOINT_LIMIT_FREQUENCY, 0.3, 10_000.0
    xml = scene(
        f"""<body name="arm"><joint type="{joint}" axis="0 0 1" limited="true" range="-.2 .2"/>
        <inertial pos=".1 0 0" mass=".7" diaginertia=".001 .002 .003"/></body>""",
        more='<compiler angle="radian"/>',
    )
    world = World.from_string(xml).placed([0.2 * end])
    ready = start(loose(world, Contact(mode="penalty"), rate), qvel=[speed * end])
    times = np.arange(1, 201) / rate
    beyond = []
    for _ in times:
        advance(ready, 1)
        beyond.append(end * ready.servo.scene.qpos[0] - 0.2)
    want = speed * times * np.exp(-omega * times)
    np.testing.assert_allclose(beyond, want, atol=0.03 * want.max())


def test_a_frozen_inertia_is_kept_until_the_next_refresh() -> None:
    world = World.builtin("three-link").placed([0.3, 0.8, -0.5], [3.0, -2.0, 1.0])
    session = Session(world, coupling=LOOSE, rate=1000.0, frozen=0.01)
    ready = start(session)
    seen = []
    for _ in range(25):
        advance(ready, 1)
        seen.append(full_inertia(ready))
    changed = [i for i in range(1, 25) if not np.array_equal(seen[i], seen[i - 1])]
    assert changed == [10, 20]
    assert not ready.servo.scene.bias.any()  # neither Coriolis terms nor, here, weight


def test_switched_off_dampers_do_not_act_beside_dry_friction() -> None:
    xml = scene(
        """<body name="slide"><joint type="slide" axis="0 0 1" damping="1000" frictionloss=".001"/>
        <geom size=".05" mass="1" contype="0" conaffinity="0"/></body>""",
        'gravity="0 0 -1"',
        '<option><flag damper="disable"/></option>',
    )
    rows = advance(start(loose(World.from_string(xml))), 1000)
    assert rows["tool_twist"][-1, 2] == pytest.approx(-0.998, abs=2e-3)


def test_a_filtered_actuator_goes_by_the_servos_step_not_by_the_scenes() -> None:
    def at(timestep: float) -> np.ndarray:
        xml = scene(
            """<body name="slide"><joint name="j" type="slide" axis="1 0 0"/>
            <geom size=".05" mass="1" contype="0" conaffinity="0"/></body>""",
            f'gravity="0 0 0" timestep="{timestep}"',
            """<actuator><general joint="j" dyntype="filterexact" dynprm=".05" actearly="true"/>
            </actuator><keyframe><key name="start" ctrl="1"/></keyframe>""",
        )
        return advance(start(loose(World.from_string(xml))), 100)["tool_twist"][-1]

    np.testing.assert_array_equal(at(0.01), at(0.001))
    assert at(0.001)[0] > 0.01


def test_dry_friction_of_a_joint_that_hardly_moves_is_finite() -> None:
    """A speed of 2e-310 m/s: friction over speed was infinite, and the wrench at the hand NaN."""
    ready = start(loose(slide('frictionloss="0.1"')), qvel=[2e-310])
    ready.servo.motion.bond[:1] = ready.servo.scene.dry_reach[:1]  # it slips
    advance(ready, 3)
    assert np.isfinite(ready.servo.motion.M).all() and np.isfinite(ready.servo.device.raw).all()
