"""Walls on a device with a cap: nothing is thrown back, and the wall comes back to its place."""

from __future__ import annotations

import numpy as np
import pytest

from detent import AT_ONCE, Contact, Session, Trace, World
from detent.devices import Inertial
from detent.devices.safety import Safety
from detent.hands import Constant, Hand
from lab import scene

HALF = 0.02  # [m]
SHAPES = {"ball": '<geom size=".02" mass="{}"/>',
          "box": '<geom type="box" size=".02 .02 .02" mass="{}"/>'}  # fmt: skip
CAPS = (3.3, 8.0, 12.0, 23.0, np.inf)  # [N]
SPEEDS = (0.05, 0.2, 1.0)  # [m/s]


def hit(
    shape: str, cap: float, speed: float, hand: Hand | None = None, mass: float = 2.0, **law: str
) -> Trace:
    """A tool meets a wall below it, half a tick after the start; there is no gravity."""
    body = f'<body name="t" pos="0 0 .02"><freejoint/>{SHAPES[shape].format(mass)}</body>'
    wall = '<geom name="wall" type="box" size="1 1 1" pos="0 0 -1"/>'
    world = World.from_string(scene(wall + body))
    world = world.placed((0, 0, HALF + 5e-4 * speed, 1, 0, 0, 0), (0, 0, -speed, 0, 0, 0))
    device = Inertial(limits=None if np.isinf(cap) else (cap,) * 6)
    session = Session(world, Contact(**law), device=device, force_path=AT_ONCE)
    least = min(cap, 100.0) * (1.0 if hand is None else 0.5)
    depth = mass * speed**2 / 2.0 / least
    return session.run(0.7 + 2.0 * mass * speed / least + 1.3 * depth / 0.05, hand)


def depths(trace: Trace) -> np.ndarray:
    """Of the device in the wall [m]."""
    return HALF - trace["device_position"][:, 2]


def returned(trace: Trace) -> float:
    """Energy after the deepest point, of tool or device, over what it brought."""
    deepest = int(np.argmax(depths(trace)))
    return max(
        float(trace[name][deepest:].max()) / float(trace[name][0])
        for name in ("tool_energy", "device_energy")
    )


@pytest.mark.parametrize("mode", ["impulse", "rigid"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cap", CAPS)
def test_a_plastic_wall_returns_at_most_a_tenth_of_the_energy(
    cap: float, shape: str, mode: str
) -> None:
    """It returned 46 % at 0.05 m/s and 3.3 N, 88 % at 0.2 m/s; rigid contact bounced for 9 s."""
    for speed in SPEEDS:
        trace = hit(shape, cap, speed, mode=mode)
        assert returned(trace) <= 0.1, speed
        stop = 2.0 * speed**2 / 2.0 / cap  # m v² / 2 F
        assert depths(trace).max() == pytest.approx(stop, rel=0.05, abs=1.05e-3 * speed)
        assert trace["taken_energy"].min() > -1e-5


@pytest.mark.parametrize("mode", ["impulse", "rigid"])
@pytest.mark.parametrize("cap", CAPS[:-1])
def test_a_hand_that_stays_is_brought_back_to_the_surface(cap: float, mode: str) -> None:
    """With nearly half the cap: within 0.5 s and its depth at 50 mm/s; re-zeroed it never was."""
    push = 0.49 * cap
    for speed in SPEEDS:
        trace = hit("ball", cap, speed, Constant((0.0, 0.0, -push)), mode=mode)
        depth = depths(trace)
        deepest = int(np.argmax(depth))
        rest = push / 4000.0 if mode == "impulse" else 0.0
        near = 1e-4 + 5e-4 * speed  # half a tick's way, by which the device is behind the tool
        away = np.nonzero(depth[deepest:] > rest + near)[0]
        assert len(away) / 1000.0 <= 0.5 + depth[deepest] / 0.05, speed
        assert depth[-1] == pytest.approx(rest, abs=near)
        assert trace["depth"][-1] == pytest.approx(rest, abs=2e-5)  # the tool: the wall is back
        assert trace["yielded"][-1] == 0.0 and trace["taken_energy"].min() > -1e-5


def test_the_other_limits_are_as_they_were() -> None:
    assert returned(hit("ball", 3.3, 0.2, limit="total")) > 0.6
    rezeroed = hit("ball", 3.3, 0.2, Constant((0.0, 0.0, -1.6)), limit="rezero")
    assert depths(rezeroed)[-1] > 5e-3


SIDE = """<geom name="wall" type="box" size=".5 1 1" pos=".52 0 0"/>
  <body name="t"><freejoint/><geom size=".02" mass=".33"/></body>"""


class Small(Inertial):
    """3.3 N in all directions, also as a vector."""

    @property
    def safety(self) -> Safety:
        return Safety(length=(3.3, 1.0))


def test_contacts_come_first_and_weight_gets_what_is_left() -> None:
    """A tool of 3.24 N on a device of 3.3 N, carried into a wall: it went through."""
    device = Small(limits=(3.3,) * 3 + (1.0,) * 3)
    world = World.from_string(scene(SIDE, 'gravity="0 0 -9.81"'))
    world = world.placed((-1e-4, 0, 0, 1, 0, 0, 0), (0.2, 0, 0, 0, 0, 0))
    carry = Constant((1.0, 0.0, 0.33 * 9.81))
    through, held = (
        Session(world, Contact(limit=limit), device=device, force_path=AT_ONCE).run(0.5, carry)
        for limit in ("total", "plastic")
    )
    stop = 0.33 * 0.2**2 / 2.0 / (3.3 - 1.0)
    assert held["device_position"][:, 0].max() == pytest.approx(stop, rel=0.2)
    assert through["device_position"][:, 0].max() > 2.0 * stop
    assert np.linalg.norm(held["device_wrench"][:, :3], axis=1).max() <= 3.3 + 1e-9
    assert any("gravity=False" in note for note in held.meta["notes"])


@pytest.mark.parametrize("cap", [3.3, 2.0])
def test_a_tool_that_weighs_as_much_as_the_cap_stays_on_the_floor(cap: float) -> None:
    body = '<body name="t" pos="0 0 .025"><freejoint/><geom size=".02" mass=".33"/></body>'
    world = World.from_string(
        scene(f'<geom type="plane" size="1 1 .1"/>{body}', 'gravity="0 0 -9.81"')
    )
    device = Inertial(limits=(cap,) * 6)
    trace = Session(world, device=device, force_path=AT_ONCE).run(2.0)
    assert trace["depth"][-1] < 1e-3
    apart = np.linalg.norm(trace["device_position"] - trace["tool_position"], axis=1)
    assert apart.max() < 1e-3


def test_walls_thinner_than_the_way_of_a_stop_are_noted() -> None:
    body = f'<body name="t" pos="0 0 .2"><freejoint/>{SHAPES["ball"].format(2.0)}</body>'
    thin = (
        '<geom name="lid" type="box" size="1 1 .01"/><geom type="plane" size="1 1 1" pos="0 0 -1"/>'
    )
    world = World.from_string(scene(thin + body))
    notes = Session(world, device=Inertial(limits=(3.3,) * 6)).run(0.01).meta["notes"]
    (note,) = (note for note in notes if "thinner" in note)
    assert "stop the tool (2 kg) within 303 mm" in note and "1 of 2" in note and "lid" in note
    free = Session(world, device=Inertial(limits=(300.0,) * 6)).run(0.01).meta["notes"]
    assert not any("thinner" in note for note in free)
