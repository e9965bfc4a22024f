"""A device that is mapped: scale, rotation, clutch, dead-man, rate zone."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from detent import Contact, ForcePath, FourChannel, Session, World
from detent.app.actuators import Actuators
from detent.devices import AdmittanceDisplay, Gripper, Inertial, Mapped, Preset, preset
from detent.devices.port import BUTTONS, DEAD_MAN, FLAGS
from detent.errors import ParameterError, UnknownNameError
from detent.hands import Constant, Guided
from detent.kernels.jit import JIT_ENABLED
from detent.record.trace import Trace
from detent.servo.loop.loop import run_lockstep
from waiting import wait_for

HALF = np.sqrt(0.5)
QUARTER = (HALF, 0.0, 0.0, HALF)  # a quarter turn about z
BALL = World.from_string(
    '<mujoco><option gravity="0 0 0"/><worldbody>'
    '<geom type="box" pos="0.12 0 0" size="0.1 0.5 0.5"/>'
    '<body name="ball"><freejoint/><geom size="0.005" mass="0.1"/></body></worldbody></mujoco>'
)  # 15 mm to go
PUSH = Constant(force=(0.3, 0.05, -0.02), torque=(0.0, 0.001, 0.002))


def pushed(device: Any, seconds: float = 0.4) -> Trace:
    return Session(BALL, Contact(2000, 10), FourChannel(), device).run(seconds, PUSH)


@pytest.mark.parametrize(
    ("scale", "rotation"), [(1.0, QUARTER), (3.0, QUARTER), (0.2, (1, 0, 0, 0))]
)
def test_a_mapped_mass_is_a_mass_of_another_size(scale: float, rotation: Any) -> None:
    """m/s² in the world, with b/s² and c/s: the same run, tick by tick, through contact."""
    own = Inertial(
        mass=0.2, rotational_inertia=1e-4, friction=(0.05, 1e-4), damping=(0.4, 1e-4), delay_ticks=2
    )
    there = Inertial(
        mass=0.2 / scale**2, rotational_inertia=1e-4, friction=(0.05 / scale, 1e-4),
        damping=(0.4 / scale**2, 1e-4), delay_ticks=2,
    )  # fmt: skip
    mapped, plain = pushed(Mapped(own, scale=scale, rotation=rotation)), pushed(there)
    assert plain["contacts"].max() > 0
    for column in ("device_position", "device_twist", "device_wrench", "tool_position"):
        size = np.abs(plain[column]).max()
        assert np.allclose(mapped[column], plain[column], rtol=0.0, atol=1e-9 * max(size, 1.0))


def test_the_same_energy_goes_in_and_out() -> None:
    """∫F·dx at the device is that in the world, unless another factor of force is asked for."""
    for force, share in ((None, 1.0), (4.0, 4.0 / 2.5)):
        session = Session(
            BALL, Contact(2000, 10), FourChannel(), Mapped(Inertial(mass=0.2), 2.5, QUARTER, force)
        )
        ready = session.prepare(PUSH, 1000.0, 8)
        outer, inner = ready.adapter.port, ready.adapter.inner
        assert inner is not None
        work = np.zeros(2)
        for _ in range(300):
            before = [p.state.true_pose.copy() for p in (outer, inner.port)]
            run_lockstep(ready.servo, 1)
            for k, port in enumerate((outer, inner.port)):
                moved = port.state.true_pose[:3] - before[k][:3]
                work[k] += port.command.wrench[:3] @ moved
        assert abs(work[0]) > 1e-5
        assert work[1] == pytest.approx(share * work[0], rel=1e-9)
        assert any("power-consistent" in note for note in ready.notes) == (force is not None)


def test_caps_are_those_of_the_device() -> None:
    """A Touch on a world of ten times its size: 3.3 N at the handle are 0.33 N there."""
    small = Mapped(preset("touch"), scale=10.0, rotation=QUARTER)
    assert small.cap()[0] == pytest.approx(0.33)
    assert small.safety.length[0] == pytest.approx(0.33)
    assert small.safety.reach == pytest.approx(0.75)
    session = Session(BALL, device=small, force_path=ForcePath(ramp=0.0))
    ready = session.prepare(Constant(force=(0.5, 0.0, 0.0)), 1000.0, 8)
    inner, most = ready.adapter.inner, 0.0
    assert inner is not None
    for _ in range(100):
        run_lockstep(ready.servo, 1)
        most = max(most, float(np.linalg.norm(inner.port.command.wrench[:3])))
    assert 1.0 < most <= 3.3 * (1 + 1e-12)


def test_the_fitting_coupling_holds_as_stiffly_at_the_device() -> None:
    from detent.coupling import UnilateralCoupler

    plain, large = Session(BALL, device=preset("omega.3")), Session(
        BALL, device=Mapped(preset("omega.3"), scale=2.0)
    )  # fmt: skip
    assert isinstance(plain.coupling, UnilateralCoupler)
    assert isinstance(large.coupling, UnilateralCoupler)
    one, other = np.array(plain.coupling.stiffness), np.array(large.coupling.stiffness)
    assert other[:3] == pytest.approx(one[:3] / 4.0)
    assert other[3:] == pytest.approx(one[3:])


def led(ready: Any, target: float, ticks: int) -> None:
    """A hand leads the device along x."""
    ready.servo.target[:3] = target, 0.0, 0.0
    run_lockstep(ready.servo, ticks)


def test_a_clutched_device_moves_alone_and_goes_on_from_there() -> None:
    hand = Guided(path=[(0.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)], stiffness=300.0, damping=10.0)
    device = Mapped(Inertial(mass=0.1, rotational_inertia=1e-4), clutch=1)
    ready = Session(BALL, Contact(2000, 10), device=device).prepare(hand, 1000.0, 8)
    outer, inner = ready.adapter.port, ready.adapter.inner
    assert inner is not None
    led(ready, 0.01, 400)
    assert outer.state.position[0] == pytest.approx(0.01, abs=2e-3)
    inner.port.state.counts[BUTTONS] = 0b10
    run_lockstep(ready.servo, 1)
    seen, alone = outer.state.position.copy(), inner.port.state.position[0]
    led(ready, -0.02, 400)
    assert (outer.state.position == seen).all()
    assert (outer.state.twist == 0.0).all()
    assert (outer.command.wrench == 0.0).all()
    assert not outer.state.counts[FLAGS] & DEAD_MAN
    assert inner.port.state.position[0] < alone - 0.02
    inner.port.state.counts[BUTTONS] = 0
    run_lockstep(ready.servo, 1)
    assert np.abs(outer.state.position - seen).max() < 1e-3
    assert ready.servo.clock.counts[0] > 0
    led(ready, 0.0, 400)
    assert inner.port.state.position[0] < -0.01  # indexed: the world is where it was


@pytest.mark.live
@pytest.mark.skipif(not JIT_ENABLED, reason="a live servo needs the compiler")
def test_a_button_lets_the_hand_take_the_next_link_and_goes_on_there() -> None:
    """The world stays where it was; nothing pushes in between."""
    device = Mapped(Inertial(mass=0.1, rotational_inertia=1e-4), grab=2)
    session = Session(World.builtin("two-link"), device=device)
    links = [session.world.body_name(body) for body in session.world.holdable]
    held = session.world.body_name(session.world.held)
    with session.live(rate=500.0) as live:
        assert session.grabbed(live) is None
        inner = live._ready.adapter.inner  # type: ignore[attr-defined]
        inner.port.state.counts[BUTTONS] = 0b100
        assert wait_for(lambda: session.grabbed(live) is not None)
        taken = session.grabbed(live)
        live.stop()
    assert taken is not None and taken != held and taken in links
    following = session.continued(live, taken)
    np.testing.assert_array_equal(following.world.qpos, live.configuration()[0])
    assert following.world.body_name(following.world.held) == taken
    assert following.device is device
    with pytest.raises(ParameterError, match="grab"):
        Mapped(Inertial(), grab=99)


def test_force_needs_the_button_that_engages() -> None:
    device = Mapped(Inertial(mass=0.1, rotational_inertia=1e-4), engage=0)
    ready = Session(BALL, Contact(2000, 10), device=device).prepare(PUSH, 1000.0, 8)
    inner = ready.adapter.inner
    assert inner is not None
    for pressed in (0, 1):
        inner.port.state.counts[BUTTONS] = pressed
        run_lockstep(ready.servo, 200)
        assert (ready.adapter.port.command.wrench != 0.0).any() == bool(pressed)


def test_beyond_the_rim_the_tool_is_driven_on() -> None:
    hand = Guided(path=[(0.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)], stiffness=300.0, damping=10.0)
    device = Mapped(Inertial(mass=0.1, rotational_inertia=1e-4), rate_zone=(0.02, 2.0))
    ready = Session(World.from_string(EMPTY), device=device).prepare(hand, 1000.0, 8)
    inner = ready.adapter.inner
    assert inner is not None
    far = []
    for _ in range(400):  # a hand that holds the device 30 mm from home, wherever the world is
        inner.port.state.true_pose[0], inner.port.state.true_twist[0] = 0.03, 0.0
        inner.port.state.position[0] = 0.03
        run_lockstep(ready.servo, 1)
        far.append(ready.adapter.port.state.position[0])
    pace = (far[-1] - far[100]) / 0.299
    assert pace == pytest.approx(2.0 * 0.01, rel=0.05)


EMPTY = (
    '<mujoco><option gravity="0 0 0"/><worldbody><body name="t"><freejoint/>'
    '<geom size=".01" mass=".1"/></body></worldbody></mujoco>'
)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scale": 0.0}, "scale"),
        ({"clutch": 40}, "a button"),
        ({"rate_zone": (0.01, -1.0)}, "rate_zone"),
        ({"force": -1.0}, "force"),
        ({"rotation": (0.0, 0.0, 0.0, 0.0)}, "rotation"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Mapped(Inertial(), **given)


def test_what_cannot_be_mapped_is_refused() -> None:
    with pytest.raises(ParameterError, match="takes a wrench"):
        Mapped(AdmittanceDisplay())
    upright = Mapped(Preset(preset("2diy").sheet), rotation=(HALF, HALF, 0.0, 0.0))
    with pytest.raises(ParameterError, match="same subspace"):
        upright.mask(np.ones(6))


CLAW = """<mujoco><option gravity="0 0 0"/><worldbody>
  <geom name="stone" type="box" pos="0.025 0 0" size="0.01 0.01 0.01"/>
  <body name="palm" pos="0 0.05 0"><freejoint/>
    <geom size="0.01" mass="0.1" contype="0" conaffinity="0"/></body>
  <body name="jaw"><joint name="jaw" type="slide" axis="1 0 0" damping="2"/>
    <geom type="box" size="0.005 0.01 0.01" mass="0.05"/></body>
</worldbody><actuator>
  <position name="claw" joint="jaw" kp="200" ctrlrange="0 0.02"/></actuator></mujoco>"""


def test_a_gripper_drives_an_actuator_and_feels_what_it_meets() -> None:
    """From 30 mm open to closed it sends a jaw 20 mm on; a stone is in its way after 10."""
    grip = Gripper("claw", opening=(0.03, 0.0), control=(0.0, 0.02))
    device = Mapped(preset("omega.7"), gripper=grip, engage=0)
    ready = Session(World.from_string(CLAW, tool="palm"), device=device).prepare(None, 1000.0, 8)
    inner = ready.adapter.inner
    assert inner is not None
    state, told = inner.port.state, inner.port.command.gripper
    state.counts[BUTTONS] = 1
    for opening, control in ((0.03, 0.0), (0.04, 0.0), (0.02, 0.02 / 3)):
        state.gripper[0] = opening
        run_lockstep(ready.servo, 800)
        assert ready.data.ctrl[0] == pytest.approx(control)
        assert abs(told[0]) < 1e-3  # nothing is in its way
    state.gripper[0] = 0.0
    run_lockstep(ready.servo, 800)
    jaw = float(ready.data.qpos[-1])
    assert jaw == pytest.approx(0.01, abs=1e-3)  # at the stone
    assert told[0] == pytest.approx(2.0 / 3.0 * 200.0 * (0.02 - jaw), rel=1e-3)
    assert told[0] > 1.0  # it is pushed open
    state.counts[BUTTONS] = 0
    run_lockstep(ready.servo, 1)
    assert told[0] == 0.0
    state.counts[BUTTONS] = 1
    run_lockstep(ready.servo, 1)
    assert 0.0 < told[0] < 0.1  # it ramps in again
    run_lockstep(ready.servo, 300)
    assert told[0] > 1.0
    ready.servo.device.guard.home[0] += 1.0  # out of reach: no force, nor any grip
    run_lockstep(ready.servo, 1)
    assert told[0] == 0.0 and not inner.port.command.wrench.any()
    ready.release()
    assert told[0] == 0.0


def test_a_gripper_keeps_its_cap_and_names_an_actuator_that_is_there() -> None:
    assert Mapped(preset("omega.7"), gripper=Gripper("claw")).gripper is not None
    weak = Gripper("claw", opening=(0.03, 0.0), control=(0.0, 0.02), force=0.25)
    ready = Session(
        World.from_string(CLAW, tool="palm"), device=Mapped(preset("omega.7"), gripper=weak)
    ).prepare(None, 1000.0, 8)
    inner = ready.adapter.inner
    assert inner is not None
    inner.port.state.gripper[0] = 0.0
    run_lockstep(ready.servo, 800)
    assert inner.port.command.gripper[0] == 0.25
    strong = Gripper("claw", force=100.0)
    assert strong.numbers(8.0)[-1] == 8.0  # the sheet's
    with pytest.raises(UnknownNameError, match="claw"):
        Session(
            World.from_string(CLAW, tool="palm"),
            device=Mapped(preset("omega.7"), gripper=Gripper("hook")),
        ).run(0.01)
    with pytest.raises(ParameterError, match="apart"):
        Gripper("claw", opening=(0.01, 0.01))


@pytest.mark.live
@pytest.mark.skipif(not JIT_ENABLED, reason="a live servo needs the compiler")
def test_what_a_gripper_drives_nobody_else_does() -> None:
    """A slider of the page told the same actuator something else, sixty times a second."""
    world = World.from_string(CLAW, tool="palm")
    grip = Gripper("claw", opening=(0.03, 0.0), control=(0.0, 0.02))
    with Session(world, device=Mapped(preset("omega.7"), gripper=grip)).live(rate=500.0) as live:
        assert live.gripped == 0
        with pytest.raises(ParameterError, match="the device's gripper drives"):
            live.drive(0, 0.01)
        gui = MagicMock()
        Actuators(gui, Session(world), live)
        slider = gui.add_slider
        assert slider.call_args.kwargs["disabled"]
        assert "gripper of the device" in slider.call_args.kwargs["hint"]
        slider.return_value.on_update.assert_not_called()
    with Session(world, device=preset("omega.7")).live(rate=500.0) as live:
        assert live.gripped is None
        live.drive(0, 0.01)
        assert wait_for(lambda: live.controls[0] == 0.01)
