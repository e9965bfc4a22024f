"""Curved shapes: their contact points jump from tick to tick, which is not a collision."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, World
from detent.servo.structs import COLLIDING
from lab import advance, loose, scene, start


def standing(geom: str, height: float, tilt: float) -> World:
    return World.from_string(
        scene(
            f"""<geom type="box" size=".2 .2 .05" pos="0 0 -.05"/>
            <body name="tool" pos="0 0 {height}" euler="0 {tilt} 0"><freejoint/>
            <geom type="{geom}" mass="1"/></body>""",
            'gravity="0 0 -9.81"',
        )
    )


@pytest.mark.parametrize("tilt", [2.0, 8.0])
def test_a_rocking_cylinder_collides_only_where_it_lands(tilt: float) -> None:
    radius, half = 0.03, 0.03
    angle = np.radians(tilt)
    height = half * np.cos(angle) + radius * np.sin(angle) - 1e-5
    world = standing(f'cylinder" size="{radius} {half}', height, tilt)
    rows = advance(start(loose(world, Contact(4000, 30)), ring=3000), 3000)
    colliding = int((rows["state"] == COLLIDING).sum())
    assert (rows["contacts"] > 0).mean() > 0.9
    assert 1 <= colliding <= 40
    assert abs(rows["tool_position"][-1, 2] - half) < 1e-3  # it stands in the end
    assert rows["depth"].max() < 2e-3


def test_a_rolling_cylinder_does_not_collide_at_all() -> None:
    """Lying on its side, pressed by its weight, rolling without friction: resting."""
    world = standing('cylinder" size=".03 .03', 0.03 - 9.81 / 2 / 4000, 90.0)
    rows = advance(start(loose(world, Contact(4000, 30)), qvel=[0.05, 0, 0, 0, 0, 3.0]), 1000)
    assert not (rows["state"] == COLLIDING).any()
    assert np.abs(rows["environment_wrench"][:, :2]).max() < 1e-6


def test_a_ball_at_rest_stays_at_rest() -> None:
    world = standing('sphere" size=".03', 0.03 - 9.81 / 4000, 0.0)
    rows = advance(start(loose(world, Contact(4000, 30))), 1000)
    assert not (rows["state"] == COLLIDING).any()
    assert np.ptp(rows["tool_position"], axis=0).max() < 1e-12
