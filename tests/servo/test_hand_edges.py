"""The hand in a tick where a case begins or ends: who leads, what is limited, what is over."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent import Admittance, Contact, Session, World
from detent.devices import AdmittanceDisplay, Inertial
from detent.devices.protocol import Device
from detent.servo import places
from detent.servo.hand.lead import know_hand
from detent.servo.hand.limit import share_in_ball
from detent.servo.hand.model import hand_wrench
from detent.servo.hand.topology import still_tied
from detent.servo.parameters import PLAYBACK_HAND, SINUSOID_HAND
from detent.servo.structs import FAULT, Servo
from lab import LOOSE, PLANAR, advance, mirror, run_stage, scene, start

STEP = 1e-3
FLOOR = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
PEG = f'<body name="peg">{PLANAR}<geom type="box" size=".021 .0105 .01"/></body>'
MASS = 2.0  # [kg] of the peg
SOME_FAULT = 1


# --- who leads


def approached(device: Device) -> Servo:
    """A tool that leads a device, which is somewhere else and moves otherwise."""
    world = World.from_string(scene(PEG)).placed((0.04, -0.03, 0.0))
    s = start(Session(world, coupling=Admittance(), device=device), qvel=[0.1, -0.2, 0.5]).servo
    s.port.state.position[:2] += (2e-3, -1e-3)
    s.port.state.twist[:] = (0.05, 0.02, 0, 0, 0, 0.4)
    s.port.state.wrench[:] = (0.3, -0.7, 0, 0, 0, 0.02)
    for place in (places.SENSE, places.APPROACH):
        run_stage(s, place)
    return s


@pytest.mark.parametrize("device", [AdmittanceDisplay(), Inertial()], ids=["display", "impedance"])
def test_a_tool_that_leads_is_compared_in_the_same_tick(device: Device) -> None:
    s = approached(device)
    le, rate = s.lead, np.array([0.05, -0.22, 0, 0, 0, 0.1])
    np.testing.assert_allclose(le.error[0], [-2e-3, 1e-3, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(le.error[1], rate, atol=1e-12)
    want = le.gains[0] @ le.error[0] + le.gains[1] @ (STEP * le.error[0]) + le.gains[2] @ rate
    np.testing.assert_allclose(le.feedback, want, rtol=1e-12, atol=1e-12)
    assert np.abs(want).max() > 0.0


def test_the_hand_on_a_tool_that_leads_is_what_is_sensed_or_what_pulls_the_device() -> None:
    """It acts on the tool: sensed by a display, minus the feedback's force without a sensor."""
    display, plain = approached(AdmittanceDisplay()), approached(Inertial())
    np.testing.assert_array_equal(display.lead.sensed, display.port.state.wrench)
    want = -plain.device.mass @ plain.lead.feedback
    np.testing.assert_allclose(plain.lead.sensed, want, rtol=1e-12)
    for s in (display, plain):
        np.testing.assert_allclose(s.motion.on_tool, s.lead.sensed, rtol=1e-12)
        torque = s.motion.torque - (s.scene.passive + s.scene.actuator - s.scene.bias)
        pushed = s.lead.sensed[[0, 1, 5]]  # the hand holds the middle of the peg
        np.testing.assert_allclose(torque, pushed, rtol=1e-9, atol=1e-12)


def test_what_the_hand_is_known_to_do_follows_the_whole_inertia() -> None:
    rng = np.random.default_rng(3)
    s = approached(Inertial())
    s.device.mass[:] = rng.standard_normal((6, 6))
    s.lead.feedback[:] = rng.standard_normal(6)
    know_hand(s.lead, s.port.state, s.device)
    np.testing.assert_allclose(s.lead.sensed, -s.device.mass @ s.lead.feedback, rtol=1e-12)


def test_smooth_torques_are_all_that_mujoco_knows_and_the_couplings_wrench() -> None:
    """Springs, dampers and motors, less weight and Coriolis terms, and Jᵀ of what pulls it."""
    arm = """<body name="a"><joint name="a" axis="0 1 0" damping=".05" stiffness=".3"/>
      <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>
      <body name="tool" pos=".2 0 0"><joint axis="0 1 0" damping=".02"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/></body></body>"""
    more = '<actuator><position joint="a" kp="2"/></actuator>'
    world = World.from_string(scene(arm, 'gravity="0 0 -9.81"', more), tool="tool")
    world = world.placed((0.4, -0.9))
    ready = start(Session(world), qvel=[2.0, -3.0])
    s = ready.servo
    s.port.state.position[0] += 2e-3
    for place in (places.SENSE, places.APPROACH):
        run_stage(s, place)
    data = mirror(ready)
    want = data.qfrc_passive + data.qfrc_actuator - data.qfrc_bias
    assert np.abs(data.qfrc_actuator).max() > 0.1
    pulled = s.motion.jac.T @ s.motion.on_tool + s.motion.reaction
    np.testing.assert_allclose(s.motion.torque, want + pulled, rtol=1e-9, atol=1e-12)
    assert np.abs(pulled).max() > 1e-3


def test_every_tick_has_one_command_and_a_fault_latches_it() -> None:
    ready = start(Session(World.builtin("corner")))
    for tick in range(1, 4):
        advance(ready, 1)
        command = ready.servo.port.command
        assert (command.sequence[0], command.latched[0]) == (tick, 0)
    ready.servo.clock.counts[FAULT] = SOME_FAULT
    run_stage(ready.servo, places.TICK)
    assert (command.sequence[0], command.latched[0]) == (4, 1)


# --- the model of a hand


def test_a_recording_is_played_to_its_end_and_then_nobody_pushes() -> None:
    s = start(Session(World.builtin("corner"))).servo
    script, mask = np.arange(1.0, 19.0).reshape(3, 6), np.array([1.0, 1, 0, 0, 0, 1])
    s.parameters["hand"] = PLAYBACK_HAND
    for tick in range(5):
        s.port.hand[:] = 7.0
        hand_wrench(s.port, mask, s.target, script, s.parameters, tick)
        want = mask * script[tick] if tick < 3 else np.zeros(6)
        np.testing.assert_array_equal(s.port.hand, want)
    s.parameters["hand"] = -1  # nobody, though there is something to play
    hand_wrench(s.port, mask, s.target, script, s.parameters, 0)
    np.testing.assert_array_equal(s.port.hand, 0.0)


def test_a_wave_has_its_phase_and_its_bias() -> None:
    s = start(Session(World.builtin("corner"))).servo
    p, mask = s.parameters, np.ones(6)
    p["hand"], p["hand_omega"], p["hand_phase"] = SINUSOID_HAND, 40.0, 0.3
    p["hand_bias"], p["hand_amplitude"] = np.arange(6.0), np.arange(6.0, 12.0)
    for tick in (0, 7):
        hand_wrench(s.port, mask, s.target, np.zeros((0, 6)), p, tick)
        wave = np.sin(40.0 * tick * STEP + 0.3)
        np.testing.assert_allclose(s.port.hand, np.arange(6) + wave * np.arange(6, 12), rtol=1e-12)


# --- what is limited


def pressed(depth: float, speed: float, limit: str) -> Session:
    """A peg in a floor of 4 kN/m, on a device of 5 N."""
    world = World.from_string(scene(FLOOR + PEG)).placed((0, 0.0105 - depth, 0), (0, speed, 0))
    contact = Contact(4000, 0, strategy="scale", limit=limit, mode="penalty")
    return Session(world, contact, LOOSE, Inertial(limits=(5.0, 5.0, 1.0)))


@pytest.mark.parametrize(("limit", "felt"), [("total", 5.0), ("collision_only", None)])
def test_a_spring_is_limited_only_where_all_forces_are(limit: str, felt: float | None) -> None:
    """Tool and device have the same, whichever it is; impulses alone leave the spring as it is."""
    ready = start(pressed(5e-3, 0.0, limit))
    row = advance(ready, 1)[0]
    whole = row["environment_wrench"][1]
    if felt is None:
        assert whole > 15.0
    else:
        assert whole == pytest.approx(felt, rel=1e-9)
    assert ready.servo.scene.qvel[1] == pytest.approx(STEP * whole / MASS, rel=1e-9)
    forces = ready.servo.rows.force[: ready.servo.rows.count[0]]
    assert forces.sum() == pytest.approx(whole, rel=1e-9)


def test_what_strikes_the_limited_tool_is_struck_as_little() -> None:
    """Action is reaction: both bodies of the blow, and its row, have the device's 5 N · T."""
    pair = f"""<body name="low" pos="0 .01 0">{PLANAR}<geom type="box" size=".05 .01 .05"/></body>
      <body name="peg" pos="0 .03 0">{PLANAR}<geom type="box" size=".021 .01 .01"/></body>"""
    world = World.from_string(scene(pair), tool="peg")
    world = world.placed((0, 0, 0, 0, -1e-6, 0), (0, 0, 0, 0, -0.1, 0))
    contact = Contact(0, 0, strategy="scale")
    ready = start(Session(world, contact, LOOSE, Inertial(limits=(5.0, 5.0, 1.0))))
    before = MASS * ready.servo.scene.qvel.reshape(2, 3)[:, 1]
    row = advance(ready, 1)[0]
    assert row["environment_wrench"][1] == pytest.approx(5.0, rel=1e-9)
    change = MASS * ready.servo.scene.qvel.reshape(2, 3)[:, 1] - before
    np.testing.assert_allclose(change, [-5.0 * STEP, 5.0 * STEP], rtol=1e-9)
    rows = ready.servo.rows
    assert rows.force[: rows.count[0]].sum() == pytest.approx(5.0, rel=1e-9)


# --- orientation


def test_a_reference_that_is_turned_is_taken_back_about_the_same_axis() -> None:
    world = World.from_string(scene(PEG)).placed((0.0, 0.0, 0.2))
    s = start(Session(world, coupling=Admittance(), device=AdmittanceDisplay())).servo
    turn = Rotation.from_rotvec([0, 0, 0.25]).as_quat(scalar_first=True)
    s.port.state.quaternion[:] = turn
    for place in (places.SENSE, places.APPROACH):
        run_stage(s, place)
    np.testing.assert_allclose(s.lead.error[0], [0, 0, 0, 0, 0, -0.05], atol=1e-12)


def test_what_is_left_of_a_wrench_is_the_most_that_its_lengths_allow() -> None:
    """Force and torque apart: within the ball, and beyond it with a little more."""
    rng = np.random.default_rng(11)
    for _ in range(200):
        other, part = rng.normal(size=6), 3.0 * rng.normal(size=6)
        ball = rng.uniform(1.0, 3.0, 2) * np.linalg.norm(other.reshape(2, 3), axis=1)
        ball *= rng.random(2) < 0.8
        share = share_in_ball(other, part, ball)
        assert 0.0 <= share <= 1.0
        less, more = (
            np.linalg.norm((other + a * part).reshape(2, 3), axis=1)[ball > 0.0] > ball[ball > 0.0]
            for a in (share * (1.0 - 1e-9), share + 1e-6)
        )
        assert share == 0.0 or not less.any()
        assert share == 1.0 or more.any()


def test_a_constraint_is_tied_until_it_has_gone() -> None:
    """While it counts at all, or while a direction is about to be lost; never without easing."""
    mo = start(Session(World.builtin("two-link"))).servo.motion
    for tied, whole, share, want in (
        (0.0, 1, 1.0, False), (0.4, 1, 1.0, True), (0.4, 0, 1.0, True),
        (0.0, 0, 1.0, False), (0.0, 0, 0.7, True), (0.0, 1, 0.7, False),
    ):  # fmt: skip
        mo.tied[:], mo.mapping.whole[0], mo.mapping.share[:] = 0.0, whole, 1.0
        mo.tied[1], mo.mapping.share[0] = tied, share
        assert still_tied(mo, 0.02) == want
        assert not still_tied(mo, 1.0)
