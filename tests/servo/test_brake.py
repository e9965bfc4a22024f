"""What sticks is held at once and as a whole: a block under a load, for a few ticks."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Friction, World
from detent.hands import Constant
from detent.setup.prepared import Prepared
from lab import advance, loose, scene, start

MASS, GRAVITY, MU, STIFFNESS = 2.0, 10.0, 0.5, 5000.0
FLOOR = '<geom name="floor" type="plane" size="3 3 .1"/>'
BLOCK = """<body name="block" pos="0 0 {0}"><freejoint/>
  <geom type="box" size=".05 .04 .01" mass="2"/></body>"""


def block(load: np.ndarray) -> Prepared:
    """At rest on its four vertices, with a load from the first tick on."""
    height = 0.01 - MASS * GRAVITY / (4 * STIFFNESS)
    xml = scene(FLOOR + BLOCK.format(height), f'gravity="0 0 {-GRAVITY}"')
    world = World.from_string(xml, point=(0.0, 0.0, -0.01))  # at its base: it does not rock
    contact = Contact(STIFFNESS, 50.0, mode="penalty", friction=Friction(MU, 0.8 * MU))
    return start(loose(world, contact), Constant(force=tuple(load)))


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.4, -1.9])
@pytest.mark.parametrize("share", [0.2, 0.9])
def test_a_load_below_the_cone_moves_nothing(share: float, angle: float) -> None:
    """Friction is as large as the load, and opposite to it, in whatever direction."""
    way = np.array([np.cos(angle), np.sin(angle), 0.0])
    ready = block(share * MU * MASS * GRAVITY * way)
    rows = advance(ready, 8)
    assert np.abs(ready.servo.scene.qvel[:2]).max() < 1e-4  # free it would have 8 to 36 mm/s
    assert np.abs(ready.servo.scene.qpos[:2]).max() < 1e-6
    felt = ready.servo.rows.rub[:4].sum(axis=0)
    np.testing.assert_allclose(felt, -share * MU * MASS * GRAVITY * way, rtol=0.02, atol=0.02)
    assert rows["contacts"][-1] == 4


@pytest.mark.parametrize("angle", [0.0, 2.4])
def test_a_load_beyond_the_cone_is_braked_by_kinetic_friction(angle: float) -> None:
    way = np.array([np.cos(angle), np.sin(angle), 0.0])
    ready = block(1.5 * MU * MASS * GRAVITY * way)
    advance(ready, 20)
    before = ready.servo.scene.qvel[:3].copy()
    advance(ready, 20)
    gained = (ready.servo.scene.qvel[:3] - before) @ way / 0.02
    assert gained == pytest.approx((1.5 - 0.8) * MU * GRAVITY, rel=0.05)


def test_what_slides_stops_and_stays() -> None:
    """Without a load; backwards at most by what friction does in the tick in which it stops."""
    ready = block(np.zeros(3))
    ready.servo.scene.qvel[:2] = 0.02, -0.01
    speeds = []
    for _ in range(12):
        advance(ready, 1)
        v, w = ready.servo.scene.qvel[:3], ready.servo.scene.qvel[3:]
        base = v + np.cross(w, (0.0, 0.0, -0.01))
        speeds.append(float(base @ (2.0, -1.0, 0.0)) / np.sqrt(5.0))
    assert speeds[0] > 0.01 and min(speeds) > -0.8 * MU * GRAVITY * 1e-3
    assert max(np.abs(speeds[-4:])) < 1e-3  # it rocks a little as it stops
