"""What ties tool and device: four-channel (M13), direct, subspaces, delay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent import Contact, Direct, FourChannel, Session, World
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import IDEAL, Inertial
from detent.errors import ParameterError, ServoFault
from detent.hands import Constant, Guided, Impedance, Sinusoid
from detent.record.trace import Trace
from detent.servo.structs import NEVER_SINGULAR
from lab import LOOSE, PLANAR, advance, scene, start

PUSH = Constant(force=(0.32, -0.4))
FREE_BOX = scene(
    """<body name="box"><freejoint/>
    <inertial pos="0 0 0" mass="2" diaginertia=".005 .005 .005"/>
    <geom type="box" size=".02 .015 .01"/></body>"""
)


def corner(**options: object) -> Session:
    """X8: the peg of TH 4.5.1, 20 and 50 mm from the walls."""
    world = World.builtin("corner").placed([0.039, -0.0195, 0.0])
    return Session(
        world, Contact(4000, 30), rate=512, **{"coupling": TABLE_4_1, "device": IDEAL, **options}
    )  # type: ignore[arg-type]


# --- four-channel


@pytest.mark.parametrize("mode", ["impulse", "penalty"])
def test_equal_inertias_move_identically(mode: str) -> None:
    """Free motion, two collisions, rest: tool and device are one."""
    run = corner().changed(mode=mode).run(4.0, PUSH)
    assert run["contacts"].max() == 4
    np.testing.assert_allclose(run["device_position"], run["tool_position"], atol=1e-13)
    np.testing.assert_allclose(run["device_twist"], run["tool_twist"], atol=1e-13)


def test_equal_inertias_in_space_move_identically() -> None:
    world = World.builtin("corner-3d")
    hand = Constant(force=(0.5, 0.4, -0.3))
    run = Session(world, Contact(4000, 30), device=IDEAL, rate=512).run(4.0, hand)
    assert run["contacts"].max() >= 4
    np.testing.assert_allclose(run["device_position"], run["tool_position"], atol=1e-12)
    np.testing.assert_allclose(run["device_twist"], run["tool_twist"], atol=1e-10)


def test_the_corner_run_meets_its_walls_when_newton_says() -> None:
    """X8: the vertical wall at 0.50 s and 0.08 m/s, the floor at 0.707 s and 0.141 m/s."""
    run = corner().run(4.0, PUSH)
    hits = np.nonzero(run["collisions"])[0]
    first, floor = hits[0], hits[run["time"][hits] > 0.6][0]
    assert run["time"][first] == pytest.approx(np.sqrt(2 * 0.02 / 0.16), abs=2 / 512)
    assert run["tool_twist"][first, 0] == pytest.approx(0.08, abs=1e-3)
    assert run["time"][floor] == pytest.approx(np.sqrt(2 * 0.05 / 0.2), abs=2 / 512)
    assert run["tool_twist"][floor, 1] == pytest.approx(-0.1414, abs=1e-3)
    assert run["device_energy"][first + 1] < run["device_energy"][first]


def test_the_sustained_wrench_is_what_the_hand_applies() -> None:
    run = corner().run(4.0, PUSH)
    np.testing.assert_allclose(run["device_wrench"][-1], [-0.32, 0.4, 0, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(run["hand_wrench"][-1], [0.32, -0.4, 0, 0, 0, 0])


def test_default_gains_are_table_4_1_at_two_kilograms() -> None:
    ready = start(corner(coupling=FourChannel()))
    p = ready.servo.parameters[0]
    np.testing.assert_allclose(p["coupling_k"][:2], 100.0, rtol=1e-12)
    np.testing.assert_allclose(p["coupling_b"][:2], 70.0, rtol=1e-12)
    reduced = 0.005 / 2
    np.testing.assert_allclose(p["coupling_k"][5], 100 * reduced, rtol=1e-12)
    np.testing.assert_allclose(p["coupling_b"][5], 70 * reduced, rtol=1e-12)
    assert not ready.notes


def test_default_gains_scale_with_the_reduced_inertia() -> None:
    """10 rad/s and ζ = 3.5 of the motion between tool (2 kg) and device (0.5 kg)."""
    device = Inertial(mass=0.5, rotational_inertia=0.001)
    p = start(corner(coupling=FourChannel(), device=device)).servo.parameters[0]
    reduced = 1 / (1 / 2 + 1 / 0.5)
    np.testing.assert_allclose(p["coupling_k"][0], 100 * reduced, rtol=1e-12)
    np.testing.assert_allclose(p["coupling_b"][0], 2 * 3.5 * 10 * reduced, rtol=1e-12)


def test_unequal_inertias_settle_together() -> None:
    run = corner(device=Inertial(mass=0.5, rotational_inertia=0.002)).run(6.0, PUSH)
    np.testing.assert_allclose(run["device_position"][-1], run["tool_position"][-1], atol=1e-5)
    np.testing.assert_allclose(run["device_wrench"][-1, :2], [-0.32, 0.4], atol=1e-4)


def test_position_channels_are_a_spring_and_damper() -> None:
    """F_tool = F_h + K e + B ė; F_device = F_env − K e − B ė."""
    world = World.from_string(
        scene(f'<body name="peg">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>')
    )
    session = Session(world, coupling=TABLE_4_1)
    ready = start(session, qvel=[0.1, 0.0, 1.0])
    ready.servo.port.state.true_pose[:3] += [0.002, -0.001, 0.0]
    row = advance(ready, 1)[0]
    error, rate = np.array([0.002, -0.001, 0.0]), np.array([-0.1, 0.0, -1.0])
    pull = np.array([100, 100, 0.5]) * error + np.array([70, 70, 0.375]) * rate
    np.testing.assert_allclose(row["raw_wrench"][[0, 1, 5]], -pull, atol=1e-12)
    change = ready.servo.scene.qvel - [0.1, 0.0, 1.0]
    np.testing.assert_allclose(change, 1e-3 * pull / [2, 2, 0.005], atol=1e-12)


def test_adaptive_damping_grows_with_the_environments_force() -> None:
    """TH D.6 with |f_env| (errata B2): on the tool only, positive whatever the sign of f.

    It is bounded by what the step holds: B T ≤ ¼ of the reduced mass, 1 kg.
    """
    coupling = FourChannel((100, 100, 0.5), (70, 70, 0.375), adaptive_damping=60.0)
    for strength, damping in ((-0.5, 100.0), (0.5, 100.0), (3.0, 128.0)):
        ready = start(corner(coupling=coupling))
        ready.servo.device.environment[0] = strength  # of the tick before
        ready.servo.port.state.true_twist[0] = 0.01
        row = advance(ready, 1)[0]
        assert row["raw_wrench"][0] == pytest.approx(-70 * 0.01)
        force = 2 * ready.servo.scene.qvel[0] * 512
        assert force == pytest.approx(damping * 0.01)


LINK = '<geom type="capsule" fromto="0 0 0 .2 0 0" size=".01"/>'
TOOLS = {
    "door": '<body name="t"><joint axis="0 0 1"/><geom type="box" size=".2 .01 .2" pos=".2 0 0"/>',
    "drawer": '<body name="t"><joint type="slide" axis="0 1 0"/><geom size=".02" mass="2"/>',
    "joystick": '<body name="t"><joint type="ball"/>'
    '<geom type="box" size=".2 .01 .1" pos=".2 0 0"/>',
    "stretched arm": (
        f'<body name="a"><joint axis="0 0 1"/>{LINK}'
        f'<body name="t" pos=".2 0 0"><joint axis="0 0 1"/>{LINK}</body>'
    ),
    "spatial arm": (
        f'<body name="a"><joint axis="0 0 1"/>{LINK}<body pos=".2 0 0"><joint axis="0 1 0"/>{LINK}'
        f'<body name="t" pos=".2 0 0"><joint axis="0 1 0"/>{LINK}</body></body>'
    ),
}


@pytest.mark.parametrize("rate", [500.0, 1000.0])
@pytest.mark.parametrize("name", TOOLS)
def test_a_constrained_tool_is_stable_with_default_gains(name: str, rate: float) -> None:
    world = World.from_string(scene(TOOLS[name] + "</body>"), tool="t")
    hand = Impedance(stiffness=50, damping=5, target=(0.25, 0.05, 0.02))
    try:
        run = Session(world, rate=rate).run(3.0, hand)
    except ServoFault as fault:
        pytest.fail(f"{fault}")
    assert np.abs(run["tool_twist"]).max() < 20.0
    assert np.abs(run["tool_twist"][-1]).max() < 1.0


def test_gains_above_the_step_are_bounded_and_reported() -> None:
    session = corner(coupling=FourChannel(stiffness=1e9, damping=1e6))
    ready = start(session)
    assert any("bounded" in note for note in ready.notes)
    run = session.run(2.0, PUSH)
    assert np.abs(run["tool_twist"]).max() < 1.0
    assert run.meta["notes"] == ready.notes


# --- direct


def test_a_directly_coupled_tool_is_where_the_device_is() -> None:
    world = World.from_string(FREE_BOX)
    hand = Sinusoid(force=(1.0, -2.0, 0.5), torque=(0.01, 0.02, -0.01), frequency=1.5)
    run = Session(world, coupling=Direct()).run(1.0, hand)
    np.testing.assert_allclose(run["tool_position"][1:], run["device_position"][1:], atol=1e-12)
    tool = Rotation.from_quat(run["tool_quaternion"], scalar_first=True)
    device = Rotation.from_quat(run["device_quaternion"], scalar_first=True)
    assert (tool * device.inv()).magnitude().max() < 1e-6
    assert np.ptp(run["device_position"], axis=0).min() > 0.01


def test_a_directly_coupled_device_feels_the_wall() -> None:
    run = corner(coupling=Direct()).changed(mode="penalty").run(6.0, PUSH)
    np.testing.assert_allclose(run["tool_position"][1:], run["device_position"][1:], atol=1e-12)
    np.testing.assert_allclose(run["device_wrench"][-1, :2], [-0.32, 0.4], atol=2e-2)


# --- a device that moves in fewer directions than the tool


def turned(run: Trace) -> np.ndarray:
    """Angle of the tool at every tick."""
    return Rotation.from_quat(run["tool_quaternion"], scalar_first=True).magnitude()


@pytest.mark.parametrize("coupling", [FourChannel(), Direct()], ids=["four-channel", "direct"])
def test_rotation_outside_the_device_is_held_by_a_spring(coupling: FourChannel | Direct) -> None:
    """Critically damped at 30 rad/s: a kick of ω₀ turns it by ω₀ / (30 e), then it is back."""
    world = World.from_string(FREE_BOX)
    device = replace(IDEAL, subspace="translational")
    session = Session(world, coupling=coupling, device=device)
    ready = start(session, Constant(force=(0.5, 0, 0)), qvel=[0, 0, 0, 0, 0, 3.0])
    rows = advance(ready, 2000)
    angle = Rotation.from_quat(rows["tool_quaternion"], scalar_first=True).magnitude()
    assert angle.max() == pytest.approx(3.0 / (30 * np.e), rel=0.1)
    assert angle[-1] < 1e-6
    assert np.abs(rows["tool_position"][-1] - rows["device_position"][-1]).max() < 1e-9
    assert rows["tool_position"][-1, 0] > 0.1


@pytest.mark.parametrize("coupling", [FourChannel(), Direct()], ids=["four-channel", "direct"])
def test_rotation_outside_the_device_may_be_left_free(coupling: FourChannel | Direct) -> None:
    world = World.from_string(FREE_BOX)
    device = Inertial(subspace="translational")
    session = Session(world, coupling=coupling, device=device, outside="free")
    rows = advance(start(session, qvel=[0, 0, 0, 0, 0, 1.0]), 1000)
    np.testing.assert_allclose(rows["tool_twist"][:, 5], 1.0, atol=1e-12)


def test_the_device_feels_nothing_outside_its_subspace() -> None:
    world = World.from_string(FREE_BOX)
    session = Session(world, device=Inertial(subspace="translational"))
    hand = Constant(force=(0.5, 0, 0), torque=(1.0, 1.0, 1.0))
    run = session.run(0.5, hand)
    assert not run["hand_wrench"][:, 3:].any()
    assert not run["device_wrench"][:, 3:].any()
    assert not run["device_twist"][:, 3:].any()
    assert turned(run).max() < 1e-9


def test_a_hand_on_a_plane_cannot_push_out_of_it() -> None:
    run = corner().run(0.1, Constant(force=(0.1, 0.1, 5.0), torque=(1.0, 1.0, 0.0)))
    assert not run["hand_wrench"][:, 2:5].any()
    assert not run["tool_position"][:, 2].any()


# --- delay


@pytest.mark.parametrize("ticks", [0, 1, 5, 64])
def test_a_delayed_device_feels_the_wrench_of_before(ticks: int) -> None:
    """m Δv / T = F_h(n) + F(n − delay)."""
    device = Inertial(mass=2.0, rotational_inertia=0.005, delay_ticks=ticks)
    run = corner(device=device).run(1.0, Sinusoid(force=(2.0, -3.0), frequency=2.0))
    assert np.abs(run["device_wrench"]).max() > 0.1
    force = 2.0 * np.diff(run["device_twist"][:, :2], axis=0) * 512
    felt = np.vstack([np.zeros((ticks, 2)), run["device_wrench"][:, :2]])[: len(run)]
    np.testing.assert_allclose(force, (run["hand_wrench"][:, :2] + felt)[:-1], atol=1e-9)


# --- a device beside the tool


def test_a_device_may_start_beside_the_hand_point() -> None:
    """The position channel brings it to the tool; two numbers are x and y."""
    run = corner(device=Inertial(offset=(0.005, -0.003))).run(4.0)
    gap = run["device_position"] - run["tool_position"]
    np.testing.assert_allclose(gap[0], [0.005, -0.003, 0.0], atol=1e-15)
    assert np.abs(gap[-1]).max() < 1e-4
    # equal masses meet in the middle
    assert run["tool_position"][-1, 0] - run["tool_position"][0, 0] == pytest.approx(
        0.0025, abs=1e-4
    )


def test_a_hand_without_a_target_holds_the_device_where_it_starts() -> None:
    run = corner(device=Inertial(offset=(0.005, 0.0)), coupling=LOOSE).run(0.5, Impedance())
    assert not run["hand_wrench"].any()


def test_an_offset_where_the_device_cannot_go_is_refused() -> None:
    with pytest.raises(ParameterError, match="device offset"):
        corner(device=Inertial(offset=(0.0, 0.0, 0.001))).run(0.1)
    corner(device=Inertial(offset=(0.001, 0.0, 0.0))).run(0.1)


# --- hands


def test_a_sinusoidal_hand_is_its_formula() -> None:
    hand = Sinusoid(
        (1.0, 2.0), 0.3, frequency=3.0, phase=0.4, bias_force=(0.5, 0.0), bias_torque=0.1
    )
    run = corner(coupling=LOOSE).run(0.5, hand)
    wave = np.sin(2 * np.pi * 3.0 * run["time"] + 0.4)
    np.testing.assert_allclose(run["hand_wrench"][:, 0], 0.5 + wave, atol=1e-12)
    np.testing.assert_allclose(run["hand_wrench"][:, 1], 2 * wave, atol=1e-12)
    np.testing.assert_allclose(run["hand_wrench"][:, 5], 0.1 + 0.3 * wave, atol=1e-12)


def test_an_impedance_hand_goes_to_its_target() -> None:
    quarter = Rotation.from_euler("x", 40, degrees=True)
    hand = Impedance(
        stiffness=100,
        damping=40,
        rotational_stiffness=1.0,
        rotational_damping=0.2,
        target=(0.05, -0.02, 0.03),
        target_quaternion=2.0 * quarter.as_quat(scalar_first=True),
    )
    run = Session(World.from_string(FREE_BOX)).run(6.0, hand)
    np.testing.assert_allclose(run["tool_position"][-1], [0.05, -0.02, 0.03], atol=1e-4)
    final = Rotation.from_quat(run["tool_quaternion"][-1], scalar_first=True)
    assert (final * quarter.inv()).magnitude() < 1e-3


def test_a_guided_hand_pulls_towards_its_path() -> None:
    """F = K (target − x) − B ẋ at every tick, straight between the rows, the last one held."""
    path = ((0.0, 0, 0, 0), (0.5, 0.05, 0, 0.01), (1.0, 0.05, 0.02, 0))
    hand = Guided(stiffness=100, damping=40, path=path)
    run = Session(World.from_string(FREE_BOX)).run(5.0, hand)
    target = hand.targets(run["time"])
    np.testing.assert_allclose(target[250], [0.025, 0.0, 0.005], atol=1e-12)
    np.testing.assert_allclose(target[-1], [0.05, 0.02, 0.0])
    force = 100 * (target - run["device_position"]) - 40 * run["device_twist"][:, :3]
    np.testing.assert_allclose(run["hand_wrench"][:, :3], force, atol=1e-12)
    np.testing.assert_allclose(run["device_position"][-1], [0.05, 0.02, 0.0], atol=1e-4)


def test_a_guided_hand_turns_the_short_way() -> None:
    """The quaternions of the rows need no sign and no length."""
    end = -3.0 * Rotation.from_euler("z", 60, degrees=True).as_quat(scalar_first=True)
    hand = Guided(100, 40, 1.0, 0.2, path=((0.0, 0, 0, 0, 1, 0, 0, 0), (1.0, 0, 0, 0, *end)))
    turns = Rotation.from_quat(hand.targets(np.linspace(0, 1, 11))[:, 3:], scalar_first=True)
    angles = np.degrees(turns.magnitude())
    assert np.all(np.diff(angles) > 0)
    np.testing.assert_allclose(angles[[0, 5, 10]], [0, 30, 60], atol=1e-9)
    run = Session(World.from_string(FREE_BOX)).run(4.0, hand)
    final = Rotation.from_quat(run["tool_quaternion"][-1], scalar_first=True)
    assert np.degrees(final.magnitude()) == pytest.approx(60, abs=0.1)


def test_a_guided_run_is_deterministic_in_any_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = Guided(path=((0.0, 0, 0, 0), (0.3, 0.02, 0, 0)))
    session = Session(World.from_string(FREE_BOX))
    whole = session.run(0.5, hand)
    monkeypatch.setattr("detent.session.CHUNK", 77)
    assert session.run(0.5, hand).state_hash() == whole.state_hash()


def test_a_guided_hand_is_for_lockstep_only() -> None:
    session = Session(World.from_string(FREE_BOX))
    with (
        pytest.raises(ParameterError, match=r"Live\.pull"),
        session.live(hand=Guided(path=((0.0, 0, 0, 0),))),
    ):
        pass


def test_a_guided_hand_stops_at_a_fault() -> None:
    path = ((0.0, 0, 0, 0), (0.01, 1e300, 0, 0))
    with pytest.raises(ServoFault):
        Session(World.from_string(FREE_BOX)).run(1.0, Guided(stiffness=1e300, path=path))


# --- which tools can be singular

ROUND = '<geom size=".02" mass="1" pos=".1 0 0"/>'
NOWHERE = {
    "free": f"<freejoint/>{ROUND}",
    "planar": '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>'
    f'<joint axis="0 0 1"/>{ROUND}',
    "gantry with a ball": '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>'
    f'<joint type="slide" axis="0 0 1"/><joint type="ball"/>{ROUND}',
}
SOMEWHERE = {
    "turntable": '<joint axis="0 0 1"/><joint type="slide" axis="1 0 0"/>'
    f'<joint type="slide" axis="0 0 1"/>{ROUND}',
    "drawer": f'<joint type="slide" axis="1 0 0"/>{ROUND}',
    "gimbal": f'<joint axis="0 0 1"/><joint axis="0 1 0"/><joint axis="1 0 0"/>{ROUND}',
}


@pytest.mark.parametrize("name", [*NOWHERE, *SOMEWHERE])
def test_only_tools_that_move_everywhere_in_every_pose_are_not_weighed(name: str) -> None:
    body = f'<body name="t">{(NOWHERE | SOMEWHERE)[name]}</body>'
    device = Inertial(1.0, 0.01, subspace="translational" if name == "turntable" else None)
    ready = start(Session(World.from_string(scene(body)), device=device))
    assert bool(ready.servo.scene.features[NEVER_SINGULAR]) == (name in NOWHERE)


def test_the_spring_outside_the_device_is_bounded_by_the_step() -> None:
    body = f'<body name="t">{SOMEWHERE["turntable"]}</body>'
    device = Inertial(1.0, 0.01, subspace="translational")
    session = Session(World.from_string(scene(body)), device=device, rate=100.0)
    run = session.run(2.0, Impedance(stiffness=50, damping=5, target=(-0.1, 0.001, 0.0)))
    assert np.abs(run["tool_twist"]).max() < 50.0
    assert any("outside the device's subspace" in note for note in run.meta["notes"])
