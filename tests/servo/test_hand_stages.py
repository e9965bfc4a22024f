"""What the hand is given, step by step and for a few ticks: channels, limits, rings, reference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent import Admittance, Contact, Direct, FourChannel, Session, UnilateralCoupler, World
from detent.devices import IDEAL, Inertial
from detent.hands import Constant, Impedance
from detent.servo import places
from detent.servo.hand.lead import command_motion, compare
from detent.servo.hand.limit import share_within
from detent.servo.loop.exchange import publish
from detent.servo.structs import COLLIDING
from lab import LOOSE, PLANAR, advance, run_stage, scene, start

STEP = 1e-3
FLOOR = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
PEG = f'<body name="peg">{PLANAR}<geom type="box" size=".021 .0105 .01"/></body>'
MASS = 2.0  # [kg] of the peg


def falling(speed: float, depth: float = 1e-6) -> World:
    """A peg that is just touching a floor, flat, and moving towards it."""
    return World.from_string(scene(FLOOR + PEG)).placed((0, 0.0105 - depth, 0), (0, -speed, 0))


def corner(**options: object) -> Session:
    return Session(World.builtin("corner"), **options)  # type: ignore[arg-type]


# --- what contacts do to the hand


@pytest.mark.parametrize("strategy", ["scale", "spread"])
def test_tool_and_device_share_what_the_device_can_render(strategy: str) -> None:
    """All of the impulse would be 2 kg · 0.1 m/s / 1 ms = 200 N; both get 15 N for the tick."""
    device = Inertial(limits=(15.0, 15.0, 1.0))
    session = Session(falling(0.1), Contact(strategy=strategy), LOOSE, device)
    ready = start(session)
    row = advance(ready, 1)[0]
    assert row["state"] == COLLIDING
    np.testing.assert_allclose(row["environment_wrench"], [0, 15.0, 0, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(row["device_wrench"], row["environment_wrench"], atol=1e-9)
    slower = -0.1 + 15.0 * STEP / MASS
    np.testing.assert_allclose(ready.servo.scene.qvel, [0.0, slower, 0.0], atol=1e-12)
    assert row["impact_energy"] == pytest.approx(0.5 * MASS * (slower**2 - 0.01), rel=1e-9)


@pytest.mark.parametrize("material", ["rubber", "wood", "metal"])
def test_a_ring_owes_what_it_has_not_given_yet(material: str) -> None:
    """Σ F T + M · lag is the momentum of the blow, in every tick; it comes bit by bit."""
    rate = 4000.0
    contact = Contact(4000, 30, restitution=1.0, material=material)
    ready = start(Session(falling(0.1), contact, LOOSE, rate=rate))
    given = np.zeros(6)
    for tick in range(40):
        row = advance(ready, 1)[0]
        if tick == 0:
            momentum = row["environment_wrench"] / rate
            assert momentum[1] == pytest.approx(2 * MASS * 0.1)
            assert abs(row["device_wrench"][1]) < abs(row["environment_wrench"][1])
        given += row["device_wrench"] / rate
        owed = ready.servo.device.mass @ ready.servo.device.lag
        np.testing.assert_allclose(given + owed, momentum, atol=1e-9)
    assert given.any()


def test_the_largest_share_that_keeps_the_limits() -> None:
    """All of it where it fits; else one limit is just met, or there was no room before."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        other, part = rng.uniform(-1.2, 1.2, 6), rng.standard_normal(6) * (rng.random(6) > 0.3)
        limit = rng.uniform(1.0, 2.0, 6)
        share = share_within(other, part, limit)
        if (np.abs(other + part) <= limit).all():
            assert share == 1.0
            continue
        acting = part != 0.0
        outside = acting & (np.abs(other) > limit) & (np.abs(other + part) > limit)
        if outside.any():
            continue  # what is beyond its limit anyway says nothing about the rest
        assert (np.abs(other + share * part)[acting] <= limit[acting] + 1e-12).all()
        tight = np.abs(np.abs(other + share * part) - limit) < 1e-12
        assert share == 1.0 or tight[acting].any()


# --- channels


@pytest.mark.parametrize(("constrained", "felt"), [(0, 0.0), (1, 1.0)])
def test_a_unilateral_coupler_pulls_the_device_only_in_contact(
    constrained: int, felt: float
) -> None:
    ready = start(corner(coupling=UnilateralCoupler()))
    wrench = np.array([0.3, -0.2, 0.0, 0.0, 0.0, 0.05])
    ready.servo.motion.on_device[:] = wrench
    ready.servo.rows.constrained[0] = constrained
    ready.servo.device.topology[:] = resisted = np.array([0.0, 0.7, 0.0, 0.0, 0.0, -0.1])
    run_stage(ready.servo, places.COMMAND)
    np.testing.assert_allclose(ready.servo.device.raw, felt * wrench + resisted, atol=1e-15)


@pytest.mark.parametrize("shape", ["box", "sphere"])
def test_a_god_object_knows_that_it_is_held_back(shape: str) -> None:
    """Pressed into the floor it is constrained, and stays outside; pulled away it is not.

    A sphere is the first geom of its contact with a box, a box the second.
    """
    body = f'<body name="peg">{PLANAR}<geom type="{shape}" size=".0105 .0105 .01"/></body>'
    world = World.from_string(scene(FLOOR + body)).placed((0, 0.0105, 0))
    for push, held in ((-5.0, True), (5.0, False)):
        ready = start(Session(world, coupling=UnilateralCoupler()), Constant(force=(0.0, push)))
        advance(ready, 5)
        assert (ready.servo.rows.constrained[0] != 0) == held
        device, tool = ready.servo.port.state.true_pose[1], ready.servo.scene.qpos[1]
        assert tool == pytest.approx(0.0105 if held else device, abs=1e-5)
        assert (device < 0.0105) == held


def test_a_directly_coupled_tool_arrives_with_the_device() -> None:
    ready = start(corner(coupling=Direct(), device=IDEAL))
    ready.servo.port.state.true_twist[:] = (0.02, -0.01, 0, 0, 0, 0.3)
    for _ in range(3):
        advance(ready, 1)
        x, y, turn = ready.servo.scene.qpos
        pose = ready.servo.port.state.true_pose
        np.testing.assert_allclose([x, y], pose[:2], atol=1e-12)
        angle = Rotation.from_quat(pose[3:], scalar_first=True).as_rotvec()[2]
        assert turn == pytest.approx(angle, abs=1e-12)
    assert turn == pytest.approx(0.3 * 3 * STEP, rel=1e-6)


def test_the_coupling_is_a_spring_and_a_damper_between_tool_and_device() -> None:
    """TH 4.1 for one tick: equal and opposite, and the device moves under it."""
    coupling = FourChannel((100, 100, 0.5), (7, 7, 0.02))
    world = World.from_string(scene(PEG))
    ready = start(Session(world, coupling=coupling, device=IDEAL), qvel=[0.1, 0.0, 1.0])
    state = ready.servo.port.state
    state.true_pose[:3] += [0.002, -0.001, 0.0]
    state.true_twist[:] = (0.05, 0.02, 0, 0, 0, 0.4)
    before = state.true_twist.copy()
    row = advance(ready, 1)[0]
    gap, rate = np.array([0.002, -0.001, 0.0]), np.array([-0.05, 0.02, -0.6])
    pull = np.array([100, 100, 0.5]) * gap + np.array([7, 7, 0.02]) * rate
    np.testing.assert_allclose(row["device_wrench"][[0, 1, 5]], -pull, atol=1e-12)
    change = (state.true_twist - before)[[0, 1, 5]]
    np.testing.assert_allclose(change, -STEP * pull / [2, 2, 0.005], atol=1e-12)
    moved = ready.servo.scene.qvel - [0.1, 0.0, 1.0]
    np.testing.assert_allclose(moved, STEP * pull / [2, 2, 0.005], atol=1e-12)


def test_an_impedance_hand_is_a_spring_and_a_damper_to_its_target() -> None:
    hand = Impedance(target=(0.05, -0.03), stiffness=200.0, damping=3.0)
    ready = start(corner(), hand)
    state = ready.servo.port.state
    state.true_twist[:] = (0.1, -0.2, 0, 0, 0, 0.3)
    pose = state.true_pose.copy()
    row = advance(ready, 1)[0]
    want = 200.0 * (np.array([0.05, -0.03]) - pose[:2]) - 3.0 * np.array([0.1, -0.2])
    np.testing.assert_allclose(row["hand_wrench"][:2], want, atol=1e-12)
    assert row["hand_wrench"][5] == pytest.approx(-hand.rotational_damping * 0.3)


def test_adaptive_damping_is_by_the_force_alone() -> None:
    """TH D.6 with |f_env|: a torque does not make it stronger, nor does it act on rotation."""
    coupling = FourChannel((0, 0, 0), (0, 0, 0), adaptive_damping=10.0)
    world = World.from_string(scene(PEG))
    pulls = []
    for torque in (0.0, 5.0):
        s = start(Session(world, coupling=coupling, device=IDEAL)).servo
        for place in (places.SENSE, places.APPROACH):
            s.port.state.twist[:] = (0.1, -0.2, 0, 0, 0, 0.7)
            s.device.environment[:] = (0.3, 0.4, 0, 0, 0, torque)
            run_stage(s, place)
        pulls.append(s.motion.on_tool.copy())
    np.testing.assert_allclose(pulls[0], [0.5, -1.0, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_array_equal(pulls[0], pulls[1])


def test_a_tick_takes_what_was_published_last() -> None:
    """Parameters and targets, the newest of each; what was read is not read again."""
    hand = Impedance(target=(0.05, -0.03), stiffness=200.0)
    ready = start(corner(), hand)
    s = ready.servo
    for x in (0.06, 0.07):
        target = s.target.copy()
        target[0] = x
        publish(s.targets, target.view(np.uint8))
    parameters = s.parameters.copy()
    parameters["hand_k"][0, 0] = 300.0
    publish(s.commands, parameters.view(np.uint8).reshape(-1))
    advance(ready, 1)
    assert s.target[0] == 0.07 and s.parameters["hand_k"][0, 0] == 300.0
    s.target[0] = 0.01
    advance(ready, 1)
    assert s.target[0] == 0.01


# --- an admittance


def test_the_reference_is_the_held_link_and_its_acceleration() -> None:
    s = start(corner(coupling=Admittance()), qvel=[0.1, -0.2, 0.5]).servo
    for place in (places.SENSE, places.APPROACH):
        run_stage(s, place)
    s.lead.twist[:] = earlier = np.array([0.02, 0.01, 0, 0, 0, 0.3])
    run_stage(s, places.LEAD)
    np.testing.assert_allclose(s.lead.feedforward, (s.motion.twist - earlier) / STEP, atol=1e-9)
    np.testing.assert_array_equal(s.lead.twist, s.motion.twist)
    np.testing.assert_array_equal(s.lead.reference[:3], s.motion.point)


def test_feedback_is_proportional_integral_and_derivative() -> None:
    """S2 eq. 17, with full matrices; what lies outside the device's subspace counts nothing."""
    rng = np.random.default_rng(1)
    s = start(corner(coupling=Admittance())).servo
    le, state, mask = s.lead, s.port.state, s.device.mask
    le.gains[:] = rng.standard_normal(le.gains.shape)
    le.sum[:] = earlier = mask * rng.standard_normal(6)
    le.reference[:3] = rng.standard_normal(3)
    turn = np.array([0.0, 0.0, 0.2])
    le.reference[3:] = Rotation.from_rotvec(turn).as_quat(scalar_first=True)
    state.quaternion[:] = (1, 0, 0, 0)
    le.twist[:], state.twist[:] = rng.standard_normal((2, 6))
    compare(le, state, s.device, STEP)
    error = mask * np.concatenate([le.reference[:3] - state.position, turn])
    rate, total = mask * (le.twist - state.twist), earlier + STEP * error
    np.testing.assert_allclose(le.error, [error, rate], atol=1e-12)
    np.testing.assert_allclose(le.sum, total, atol=1e-15)
    want = le.gains[0] @ error + le.gains[1] @ total + le.gains[2] @ rate
    np.testing.assert_allclose(le.feedback, want, atol=1e-12)
    for senses in (0, 1):
        le.feedforward[:], le.senses[0] = rng.standard_normal(6), senses
        command_motion(s)
        asked = le.feedback + senses * le.feedforward
        np.testing.assert_allclose(s.device.raw, s.device.mass @ asked, atol=1e-12)
