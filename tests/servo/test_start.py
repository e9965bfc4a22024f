"""A session begins without a push: forces come in within 0.2 s, for tool and device alike."""

from __future__ import annotations

import numpy as np
import pytest

from detent import AT_ONCE, Contact, ForcePath, Passivity, Session, World
from detent.devices import Inertial, preset
from detent.errors import ParameterError
from detent.hands import Constant, Impedance
from lab import scene

pytestmark = pytest.mark.ramped
GRAVITY = 'gravity="0 0 -9.81"'
BALL = """<geom type="plane" size="1 1 .1"/>
  <body name="t" pos="0 0 {}"><freejoint/><geom size=".05" mass="1"/></body>"""
SPRING = """<body name="t"><joint type="slide" axis="1 0 0" stiffness="5000" springref="1"
  damping="5"/><geom size=".05" mass="1" contype="0" conaffinity="0"/></body>"""


def stretched() -> World:
    """A spring of 5 kN/m that is stretched by a metre."""
    return World.from_string(scene(SPRING), tool="t")


def test_kilonewtons_at_the_start_come_in_linearly_for_tool_and_device() -> None:
    trace = Session(stretched(), device=Inertial()).run(0.1, None)
    assert abs(trace["environment_wrench"][0, 0]) > 4900.0
    share = np.arange(1, 101) / 200.0
    np.testing.assert_allclose(
        trace["device_wrench"][:, 0], share * trace["raw_wrench"][:, 0], rtol=1e-9
    )
    assert abs(trace["device_wrench"][0, 0]) < 26.0
    # the tool's: its first velocity is that of the same share of the spring
    assert trace["tool_twist"][1, 0] == pytest.approx(5000.0 / 200.0 * 1e-3, rel=0.25)
    apart = np.abs(trace["tool_position"] - trace["device_position"])
    assert apart.max() < 0.01 * np.abs(trace["tool_position"]).max()


def test_a_ramp_of_nothing_is_at_once() -> None:
    for path in (AT_ONCE, ForcePath(ramp=0.0)):
        trace = Session(stretched(), force_path=path).run(0.01)
        assert abs(trace["device_wrench"][0, 0]) > 4900.0


@pytest.mark.parametrize("mode", ["impulse", "penalty", "rigid"])
def test_what_rests_at_the_start_stays_at_rest(mode: str) -> None:
    """A ball whose weight its contact holds: as deep as that takes, and nothing moves."""
    stiffness = 20_000.0
    deep = 9.81 / stiffness if mode != "rigid" else 0.0
    world = World.from_string(scene(BALL.format(0.05 - deep), GRAVITY))
    trace = Session(world, Contact(stiffness, 200.0, mode=mode)).run(0.5)
    assert np.abs(trace["device_wrench"]).max() < 1e-6
    assert np.abs(trace["device_position"] - trace["device_position"][0]).max() < 1e-9


@pytest.mark.parametrize("mode", ["impulse", "rigid"])
def test_a_first_impulse_comes_in_too_and_gives_nothing_from_nowhere(mode: str) -> None:
    """A ball strikes 5 ms after the start: it is stopped by shares, and is not thrown."""
    speed = 0.5
    world = World.from_string(scene(BALL.format(0.05 + 5.5e-3 * speed)))
    world = world.placed((0, 0, 0.05 + 5.5e-3 * speed, 1, 0, 0, 0), (0, 0, -speed, 0, 0, 0))
    trace = Session(world, Contact(mode=mode)).run(2.0)
    struck = int(np.argmax(trace["contacts"] > 0))
    assert struck in (5, 6)
    whole = 1.0 * speed / 1e-3  # [N] in one tick
    assert np.abs(trace["device_wrench"][struck, 2]) < 0.04 * whole
    after = trace["tool_energy"][int(np.argmax(trace["depth"])) :]
    assert after.max() < 0.1 * trace["tool_energy"][0]
    held = Session(world, Contact(mode=mode)).run(2.5, Constant((0.0, 0.0, -1.0)))
    assert held["depth"][-1] < 1e-3 and held["yielded"][-1] == 0.0


def test_a_run_that_no_memory_holds_is_refused_before_it_begins() -> None:
    session = Session(World.builtin("corner"))
    with pytest.raises(ParameterError, match=r"GiB of the machine's"):
        session.run(1e9)


FOOT = """<geom type="plane" size="1 1 .1"/><body name="t" pos="0 0 .100001"><joint type="slide"
  axis="0 0 1"/><joint type="slide" axis="1 0 0"/><joint type="hinge" axis="0 1 0"/>
  <geom type="box" size=".1 .05 .1" mass="{mass}"/></body>"""


def test_what_stands_up_during_the_ramp_does_not_sink_and_jump_when_it_ends() -> None:
    """A foot of 28 kg, a micrometre above the floor: it sank by g T in each tick, 1.9 mm."""
    world = World.from_string(scene(FOOT.format(mass=28), GRAVITY))
    trace = Session(world).run(1.0, Constant((2.0, 0.0, 0.0)))
    assert trace["depth"].max() < 5e-4
    assert np.abs(trace["device_wrench"][:, :3]).max() < 28.0 * 9.81
    assert np.abs(trace["device_wrench"][-1]).max() < 5.0


def test_a_scripted_hand_takes_hold_as_the_session_ramps_in() -> None:
    """It lifts with less than the weight, and so never lifts, though weight comes in slowly."""
    world = World.from_string(scene(BALL.format(0.05), GRAVITY))
    trace = Session(world).run(0.5, Constant((0.0, 0.0, 9.0)))
    assert trace["tool_position"][:, 2].max() < 0.05 + 1e-6
    np.testing.assert_allclose(trace["hand_wrench"][:200, 2], 9.0 * np.arange(1, 201) / 200.0)
    assert (trace["hand_wrench"][200:, 2] == 9.0).all()


def test_the_default_device_gives_what_a_hand_may_bear_and_says_what_it_cut() -> None:
    session = Session(stretched())
    trace = session.run(0.3)
    assert np.abs(trace["raw_wrench"][:, 0]).max() > 2000.0
    assert 499.0 < np.abs(trace["device_wrench"][:, 0]).max() <= 500.0
    assert any("500 N" in note for note in trace.meta["notes"])
    ideal = Session(stretched(), device=Inertial()).run(0.3)
    assert np.abs(ideal["device_wrench"][:, 0]).max() > 2000.0


def test_an_impulse_is_given_whole_in_its_tick() -> None:
    """Two kilograms at 0.5 m/s against a wall: 1 kN in one tick, and no such force beside it."""
    world = World.from_string(scene(BALL.format(0.5)))
    world = world.placed((0, 0, 0.5, 1, 0, 0, 0), (0, 0, -1.0, 0, 0, 0))
    trace = Session(world, Contact(mode="impulse")).run(1.0)
    sizes = np.abs(trace["device_wrench"][:, 2])
    assert sizes.max() == pytest.approx(1000.0, rel=0.01)
    assert sizes[trace["collisions"] == 0].max() <= 500.0


@pytest.mark.parametrize("stiffness", [300.0, 800.0])
def test_a_display_goes_with_its_tool_while_forces_come_in(stiffness: float) -> None:
    """A hand that pulled the tool at once left the display behind, which shot after it: 1.5 J."""
    contact = Contact(3e4, 5.0, mode="penalty", strategy="saturate")
    world, display = World.builtin("corner-3d"), preset("hapticmaster")
    session = Session(world, contact, device=display, rate=2500.0, passivity=Passivity("observe"))
    trace = session.run(0.5, Impedance(target=(0.03, -0.03, -0.03), stiffness=stiffness, damping=5))
    assert trace["port_energy"].min() > -2e-3
    apart = np.abs(trace["tool_position"] - trace["device_position"]).max()
    assert apart < 2e-3
