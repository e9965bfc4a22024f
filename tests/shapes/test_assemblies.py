"""Parts that fit: a peg in a hole, a thread, gears. Nothing jams, nothing goes through, no hum."""

from __future__ import annotations

import numpy as np
import pytest

import make_meshes
from detent import Contact, Session, World
from detent.devices import preset
from detent.hands import Guided
from detent.record.trace import Trace
from shapes_lab import Surface, asset, scene_with

PLAY = 0.15e-3  # [m] radial, of peg and hole
RADIUS, DEEP = 0.010, 0.020  # [m] of the peg; how far it goes in
RATES = [1000.0, pytest.param(4000.0, marks=pytest.mark.long)]
DEVICES = ["ideal", pytest.param("omega.7", marks=pytest.mark.long)]


def ring(inner: float, outer: float, height: float) -> Surface:
    """A ring with a round hole along z, from 0 down."""
    turn = 2.0 * np.pi * np.arange(96) / 96
    circle = np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=1)
    corners = [(inner, 0.0), (inner, -height), (outer, -height), (outer, 0.0)]
    return make_meshes.shell(np.array([r * circle + (0.0, 0.0, z) for r, z in corners]))


def peg_over_hole() -> World:
    bodies = f"""<geom name="ring" type="mesh" mesh="ring"/>
      <body name="peg" pos="0.0001 0 0.021"><freejoint/>
      <geom type="cylinder" size="{RADIUS} 0.02" mass="0.2"/></body>"""
    mesh = asset("ring", ring(RADIUS + PLAY, 0.02, 0.03))
    return World.from_string(scene_with(mesh, bodies), tool="peg", concave=["ring"])


def held(world: World, rate: float, device: str, hand: Guided, seconds: float) -> Trace:
    real = {} if device == "ideal" else {"device": preset(device)}
    contact = Contact(stiffness=4000.0, damping=10.0)
    return Session(world, contact, rate=rate, **real).run(seconds, hand)


def hum(trace: Trace, ticks: int = 200) -> float:
    """[N] By how much the force swings at the end, when nothing moves any more."""
    last = trace.rows["device_wrench"][-ticks:, :3]
    return float(np.linalg.norm(last.std(axis=0)))


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("device", DEVICES)
def test_a_peg_goes_into_a_hole_with_little_play(rate: float, device: str) -> None:
    path = [(0.0, 0, 0, 0.021), (0.8, 1e-4, 0, 0.021 - DEEP), (1.2, 3e-3, 0, 0.021 - DEEP)]
    hand = Guided(stiffness=400.0, damping=8.0, rotational_damping=2e-3, path=path)
    trace = held(peg_over_hole(), rate, device, hand, 1.8)
    place, depth = trace.rows["tool_position"], trace.rows["depth"]
    assert place[-1, 2] < 0.021 - 0.9 * DEEP  # it does not jam
    assert 0.9 * PLAY < place[-1, 0] < PLAY + 2e-4  # and leans on the wall, with 1 N
    assert trace.rows["contacts"][-1] > 0 and depth.max() < 2e-4
    assert hum(trace) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("device", ["ideal", "omega.7"])
@pytest.mark.parametrize("rate", RATES)
def test_gears_go_round_once_and_then_rest(rate: float, device: str) -> None:
    """The hand leads a point of the first gear, and turns with it; omega.7 without torques."""
    turn = 2.0 * np.pi * np.arange(65) / 64
    path = [
        (0.2 + 2.6 * i / 64, -0.03 * np.cos(a), -0.03 * np.sin(a), 0.0, np.cos(a / 2), 0, 0,
         np.sin(a / 2))
        for i, a in enumerate(turn)
    ]  # fmt: skip
    hand = Guided(stiffness=400.0, damping=8.0, rotational_damping=1e-3, path=path)
    trace = held(World.builtin("gears"), rate, device, hand, 3.6)
    place = trace.rows["tool_position"]
    angle = np.unwrap(np.arctan2(-place[:, 1], -place[:, 0]))
    assert angle[-1] == pytest.approx(2.0 * np.pi, abs=0.02)  # it does not jam
    assert trace.rows["contacts"].max() > 0 and trace.rows["depth"].max() < 3e-4  # nor skip a tooth
    assert hum(trace, round(0.1 * rate)) < 0.01


@pytest.mark.long
@pytest.mark.parametrize("rate", [1000.0, 4000.0])
def test_a_bolt_turned_in_its_nut_travels_by_the_pitch(rate: float) -> None:
    half = np.pi * np.arange(9) / 8
    path = [(0.6 + 0.2 * i, 0, 0, -0.008, np.cos(a), 0, 0, np.sin(a)) for i, a in enumerate(half)]
    hand = Guided(rotational_stiffness=0.5, rotational_damping=4e-3, path=path)
    trace = Session(World.builtin("bolt-and-nut"), rate=rate).run(3.0, hand)
    height = trace.rows["tool_position"][:, 2]
    begin = height[round(0.6 * rate)]
    assert abs(abs(height[-1] - begin) - 0.004) < 5e-4  # the play is 0.3 mm
    assert trace.rows["depth"].max() < 3e-4
