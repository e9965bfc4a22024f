"""Forces of resting contacts for a few ticks, in closed form."""

from __future__ import annotations

import pytest

from detent import Contact, World
from lab import PLANAR, advance, loose, scene, start

WALL = '<geom name="wall" type="box" size="1 .1 1" pos="0 -.1 0"/>'
PEG = f'<body name="peg">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
STIFFNESS, SPEED, GAP = 2000.0, 0.2, 1e-4  # [N/m, m/s, m]


def after_a_collision(limit: str) -> tuple[float, float]:
    """Depth and force of a peg that was stopped inside a wall."""
    world = World.from_string(scene(WALL + PEG)).placed((0, 0.01 + GAP, 0))
    contact = Contact(STIFFNESS, 0.0, restitution=0.0, strategy="scale", limit=limit)
    ready = start(loose(world, contact), qvel=[0.0, -SPEED, 0.0])
    advance(ready, 2)  # it goes in, and is stopped
    depth = 0.01 - ready.servo.scene.qpos[1]
    assert abs(ready.servo.scene.qvel[1]) < 1e-9
    return float(depth), float(advance(ready, 1)[0]["environment_wrench"][1])


@pytest.mark.parametrize("limit", ["total", "collision_only"])
def test_a_contact_pushes_with_its_stiffness_times_its_depth(limit: str) -> None:
    depth, force = after_a_collision(limit)
    assert depth == pytest.approx(1e-3 * SPEED - GAP, rel=1e-6)
    assert force == pytest.approx(2 * STIFFNESS * depth, rel=1e-6)  # at two vertices


def test_a_spring_that_is_zeroed_again_begins_where_the_collision_ended() -> None:
    """Errata E9: what the collision took is not pushed back."""
    depth, force = after_a_collision("rezero")
    assert depth > 5e-5
    assert force == pytest.approx(0.0, abs=1e-9)
