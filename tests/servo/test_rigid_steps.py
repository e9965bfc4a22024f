"""Rigid contact for a few ticks, in closed form (M16); what lasts is in test_rigid_friction.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from detent import Contact, Friction, World
from detent.kernels.constants import MEMORY_FRICTION
from detent.servo.constants import CREEP_BACK
from detent.servo.contact.rigid import bound_velocity, keep_grip, press_as_before
from detent.servo.structs import FREE, RESTING
from lab import PLANAR, advance, loose, scene, start

FLOOR = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
PEG = f'<body name="peg">{PLANAR}<geom type="box" size=".021 .0105 .01"/></body>'
MASS, GRAVITY, STEP, MU = 2.0, 10.0, 1e-3, 0.4
HALF = 0.0105  # [m] of the peg's height


def peg(gap: float, weight: bool = True) -> World:
    """Flat above a floor."""
    option = f'gravity="0 {-GRAVITY if weight else 0} 0"'
    return World.from_string(scene(FLOOR + PEG, option)).placed((0, HALF + gap, 0))


def rigid(mu: float = 0.0, e: float = 0.0) -> Contact:
    contact = Contact(mode="rigid", restitution=e)
    return replace(contact, friction=Friction(mu, mu)) if mu else contact


@pytest.mark.parametrize("mu", [0.0, MU])
def test_a_gap_is_closed_in_a_step_and_not_passed(mu: float) -> None:
    """v⁺ = −s/T where it would be faster, and as it was where it would not."""
    for speed, want in ((0.3, -0.2), (0.1, -0.1)):
        ready = start(loose(peg(2e-4, weight=False), rigid(mu)), qvel=[0.0, -speed, 0.0])
        row = advance(ready, 1)[0]
        np.testing.assert_allclose(ready.servo.scene.qvel, [0.0, want, 0.0], atol=1e-6)
        lost = MASS * (speed + want) / STEP  # the force that took it
        assert row["environment_wrench"][1] == pytest.approx(lost, rel=1e-6, abs=1e-9)
    advance(ready, 3)
    assert ready.servo.scene.qpos[1] == pytest.approx(HALF, abs=1e-9)


@pytest.mark.parametrize("mu", [0.0, MU])
@pytest.mark.parametrize("e", [0.5, 1.0])
def test_a_contact_that_would_close_bounces(e: float, mu: float) -> None:
    ready = start(loose(peg(2e-4, weight=False), rigid(mu, e)), qvel=[0.0, -0.3, 0.0])
    advance(ready, 1)
    assert ready.servo.scene.qvel[1] == pytest.approx(0.3 * e, rel=1e-5)


def test_rigid_contacts_touch_within_round_off() -> None:
    """A gap of less than a nanometre is none, a larger one is."""
    for gap, state in ((5e-10, RESTING), (5e-9, FREE)):
        assert advance(start(loose(peg(gap, weight=False), rigid())), 1)["state"][0] == state


def test_a_floor_carries_the_weight() -> None:
    ready = start(loose(peg(0.0), rigid()))
    felt = advance(ready, 5)["environment_wrench"]
    np.testing.assert_allclose(felt, 0.0, atol=1e-9)  # weight and floor
    rows = ready.servo.rows
    assert rows.force[: int(rows.count[0])].sum() == pytest.approx(MASS * GRAVITY, rel=1e-9)
    np.testing.assert_allclose(ready.servo.scene.qvel, 0.0, atol=1e-12)


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_what_slides_is_slowed_by_mu_g(way: float) -> None:
    ready = start(loose(peg(0.0), rigid(MU)), qvel=[0.2 * way, 0.0, 0.0])
    rows = advance(ready, 10)
    left = 0.2 - 10 * MU * GRAVITY * STEP
    np.testing.assert_allclose(ready.servo.scene.qvel, [left * way, 0, 0], atol=1e-5)
    drag = -way * MU * MASS * GRAVITY
    np.testing.assert_allclose(rows["environment_wrench"][:, 0], drag, rtol=1e-3)


def test_what_friction_can_stop_within_a_step_rests() -> None:
    ready = start(loose(peg(0.0), rigid(MU)), qvel=[0.5 * MU * GRAVITY * STEP, 0.0, 0.0])
    advance(ready, 3)
    np.testing.assert_allclose(ready.servo.scene.qvel, 0.0, atol=1e-5)


def test_a_box_in_space_slides_straight_in_any_direction() -> None:
    box = """<geom type="plane" size="1 1 .1"/><body name="box" pos="0 0 .01"><freejoint/>
      <geom type="box" size=".05 .05 .01" mass="2"/></body>"""
    for angle in np.linspace(0.1, 6.0, 5):
        along = np.array([np.cos(angle), np.sin(angle), 0.0])
        world = World.from_string(scene(box, f'gravity="0 0 {-GRAVITY}"'))
        ready = start(loose(world, rigid(MU)), qvel=[*(0.2 * along), 0.0, 0.0, 0.0])
        advance(ready, 5)
        left = 0.2 - 5 * MU * GRAVITY * STEP
        np.testing.assert_allclose(ready.servo.scene.qvel[:3], left * along, atol=2e-3 * left)


def test_what_was_cut_short_comes_out_as_fast_as_it_went_in_or_creeps() -> None:
    """Of a wall that yields: to its surface in a step at most, and no slower than it creeps."""
    ready = start(loose(peg(0.0), rigid()))
    rows, p = ready.servo.rows, ready.servo.parameters
    rows.yields[0], rows.velocity[0], rows.restitution[0] = 1, 0.0, 0.0
    for depth, speed, want in (
        (1e-3, 0.0, CREEP_BACK),
        (1e-3, 0.1, 0.1),
        (1e-3, 5.0, 1.0),  # the surface is reached in this step
        (1e-7, 0.0, 1e-4),
    ):
        rows.separation[0], rows.yielded[2] = -depth, speed
        assert bound_velocity(rows, 0, p) == pytest.approx(want)
    rows.yields[0] = 0
    assert bound_velocity(rows, 0, p) == pytest.approx(1e-4)


@pytest.mark.parametrize(("impulse", "smooth"), [(0.2, 0.0), (0.0, 0.3), (0.2, 0.3), (0.0, 0.0)])
def test_a_step_begins_with_the_forces_of_the_last_one(impulse: float, smooth: float) -> None:
    """Where there were any, or would have been without friction; elsewhere with none."""
    ready = start(loose(peg(0.0), rigid(MU)))
    rows = ready.servo.rows
    rows.count[0], rows.hit_row[0], rows.normal[0] = 1, 0, (0.0, 1.0, 0.0)
    rows.hit_impulse[0], rows.hit_slide[0] = impulse, (0.01, -0.02)
    keep_grip(rows, 0, smooth, STEP)
    press_as_before(rows, STEP)
    assert rows.force[0] == pytest.approx(impulse / STEP)
    remembered = rows.memory[0, MEMORY_FRICTION + 4] != 0.0
    assert remembered == (impulse > 0.0 or smooth > 0.0)
    assert np.linalg.norm(rows.rub[0]) * STEP == pytest.approx(np.hypot(0.01, 0.02))
    assert rows.rub[0] @ rows.normal[0] == pytest.approx(0.0, abs=1e-12)
