"""Defaults that serve a hand: what a device can render, walls that hold."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Session, Wall, World
from detent.cli.play import parse_wall
from detent.devices import Inertial
from detent.errors import ParameterError
from detent.hands import Constant, Guided
from lab import scene

BALL = """<geom type="plane" size="1 1 .1"/>
  <body name="ball" pos="0 0 .05"><freejoint/><geom size=".05" mass="1"/></body>"""


def ball(**options: float) -> World:
    """A ball on a plane: one contact. It has no weight."""
    return World.from_string(scene(BALL, **options))


@pytest.mark.parametrize("limits", [(5.0, 5.0, 5.0), (5.0, 5.0, 5.0, 1.0, 1.0, 1.0)])
def test_three_limits_of_a_translational_device_limit_z_too(limits: tuple[float, ...]) -> None:
    device = Inertial(1.0, subspace="translational", limits=limits)
    trace = Session(ball(), Contact(mode="penalty"), device=device).run(
        0.5, Constant((0.0, 0.0, -200.0))
    )
    assert 4.9 < np.abs(trace["device_wrench"][:, 2]).max() <= 5.0 + 1e-9


def test_three_limits_are_refused_where_they_do_not_say_which() -> None:
    with pytest.raises(ParameterError, match="six numbers with this tool; three are x, y, θ"):
        Session(ball(), device=Inertial(limits=(5.0, 5.0, 5.0))).run(0.01)
    Session(World.builtin("corner"), device=Inertial(limits=(5.0, 5.0, 5.0))).run(0.01)


@pytest.mark.parametrize("cap", [3.3, np.inf])
@pytest.mark.parametrize("mode", ["impulse", "penalty"])
def test_a_hysteretic_wall_holds_two_newtons_on_one_contact(mode: str, cap: float) -> None:
    """It sank to 83 mm in 5 s."""
    device = Inertial(1.0, 1e-3, limits=(cap,) * 6)
    contact = Contact(4000.0, 30.0, mode=mode, wall=Wall("hysteretic"))
    trace = Session(ball(), contact, device=device).run(5.0, Constant((0.0, 0.0, -2.0)))
    assert trace["depth"].max() < 1.5e-3


def test_the_blocks_of_a_wall_can_be_set_from_the_command_line() -> None:
    assert parse_wall("hysteretic,0.5") == Wall("hysteretic", breakaway=0.5)
    assert parse_wall("seh") == Wall("seh")
    with pytest.raises(ParameterError, match="hysteretic,N"):
        parse_wall("hysteretic,soft")


WALKER = """<geom type="plane" size="9 9 .1"/>
  <body name="torso" pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .2" mass="{}"/>
    <geom type="capsule" fromto=".1 0 -.2 -.1 0 -.2" size=".1" mass=".1"/></body>"""
GRAVITY = 'gravity="0 0 -9.81"'


@pytest.mark.parametrize("mass", [1.0, 7.0, 42.0])
@pytest.mark.parametrize("rate", [1000.0, 4000.0])
def test_the_default_stiffness_holds_the_weight_within_half_a_millimetre(
    mass: float, rate: float
) -> None:
    """Walkers and humanoids rested 9 to 38 mm deep."""
    world = World.from_string(scene(WALKER.format(mass), GRAVITY))
    session = Session(world, rate=rate)
    trace = session.run(1.5)
    assert trace["depth"][-100:].max() < 5e-4
    assert not any("deep" in note for note in trace.meta["notes"])
    assert session.contact.stiffness == pytest.approx((mass + 0.1) * 9.81 / 5e-4)


def test_a_stiffness_that_was_chosen_and_sinks_is_noted_with_one_that_would_do() -> None:
    world = World.from_string(scene(WALKER.format(42.0), GRAVITY))
    notes = Session(world, Contact(4000.0, 300.0)).run(3.0).meta["notes"]
    (note,) = (note for note in notes if "deep" in note)
    assert "4000 N/m is soft for torso, which weighs 413 N: 8.26e+05 N/m" in note
    pushed = Session(ball(), Contact(500.0)).run(3.0, Constant((0.0, 0.0, -5.0)))
    assert not any("deep" in note for note in pushed.meta["notes"])  # nobody weighs anything


def test_what_has_no_weight_to_hold_has_the_usual_gains() -> None:
    assert Session(ball()).contact.gains == (4000.0, 30.0)
    assert Session(World.builtin("corner")).contact.gains == (4000.0, 30.0)
    compensated = World.from_string(scene(WALKER.format(42.0), GRAVITY), gravity=False)
    assert Session(compensated).contact.gains == (4000.0, 30.0)
    chosen = Session(World.from_string(scene(WALKER.format(42.0), GRAVITY)), Contact(9e3))
    assert chosen.contact.gains == (9e3, 30.0)
    assert chosen.changed(stiffness=None).contact.stiffness == pytest.approx(42.1 * 9.81 / 5e-4)


@pytest.mark.parametrize(("cap", "words"), [(3.3, "leaves 0.0627 N"), (2.0, "leaves nothing")])
def test_a_tool_that_weighs_most_of_the_cap_is_noted(cap: float, words: str) -> None:
    world = World.from_string(scene(BALL.replace('mass="1"', 'mass="0.33"'), GRAVITY))
    notes = Session(world, device=Inertial(limits=(cap,) * 6)).run(0.01).meta["notes"]
    assert any(words in note and "gravity=False" in note for note in notes)
    assert not any("weighs" in n for n in Session(world).run(0.01).meta["notes"])


def wheel(radius: float) -> World:
    """0.3 kg on an axle through its middle, held so far from it. Nothing to touch."""
    body = """<body name="wheel"><joint type="hinge" axis="0 0 1"/>
      <geom type="cylinder" size="0.05 0.01" mass="0.3" contype="0" conaffinity="0"/></body>"""
    return World.from_string(scene(body), tool="wheel", point=(-radius, 0.0, 0.0))


@pytest.mark.parametrize("rate", [1000.0, 4000.0])
@pytest.mark.parametrize("radius", [0.005, 0.03, 0.2])
def test_a_wheel_on_its_axle_is_turned_once_round(radius: float, rate: float) -> None:
    """Its default device was a hundred times as heavy, fell 30° behind, and stopped at 1e6 N."""
    turn = 2.0 * np.pi * np.arange(65) / 64
    path = [
        (0.2 + 2.6 * i / 64, -radius * np.cos(a), -radius * np.sin(a), 0.0, np.cos(a / 2), 0, 0,
         np.sin(a / 2))
        for i, a in enumerate(turn)
    ]  # fmt: skip
    hand = Guided(stiffness=400.0, damping=8.0, rotational_damping=0.02, path=path)
    trace = Session(wheel(radius), rate=rate).run(3.5, hand)
    place = trace["tool_position"]
    angle = np.unwrap(np.arctan2(-place[:, 1], -place[:, 0]))
    assert angle[-1] == pytest.approx(2.0 * np.pi, abs=0.02)
    assert np.linalg.norm(trace["device_position"] - place, axis=1).max() < 0.05 * radius + 2e-4
    assert np.abs(trace["device_wrench"][:, :3]).max() < 3.0
