"""Torsional and rolling friction of one contact, in closed form, for a few ticks."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent import Contact, World
from detent.kernels.constants import MEMORY_FRICTION, MEMORY_TURNING
from detent.servo import places
from detent.setup.prepared import Prepared
from lab import loose, run_stage, start

TORSIONAL, ROLLING, RADIUS, DEPTH = 0.01, 0.002, 0.05, 1e-3  # [m]

#: a ball that is pressed into a plate; both are free
BALL = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="plate"><freejoint/>
    <geom type="box" size=".2 .2 .02" mass="3" condim="{condim}" friction=".5 .01 .002"/></body>
  <body name="ball" pos=".01 .02 {height}"><freejoint/>
    <geom size="{radius}" mass="1" condim="{condim}" friction=".5 .01 .002"/></body>
</worldbody></mujoco>"""


def pressed(condim: int, spin: np.ndarray, ticks: int = 1) -> Prepared:
    """The ball turns against the plate; the state is the same in every tick."""
    xml = BALL.format(condim=condim, height=0.02 + RADIUS - DEPTH, radius=RADIUS)
    ready = start(loose(World.from_string(xml, tool="ball"), Contact(2000.0, 0.0, mode="penalty")))
    qpos = ready.servo.scene.qpos.copy()
    for _ in range(ticks):
        ready.servo.scene.qpos[:], ready.servo.scene.qvel[:] = qpos, 0.0
        ready.servo.scene.qvel[9:12] = spin
        for stage in (places.SENSE, places.APPROACH, places.REACT):
            run_stage(ready.servo, stage)
    return ready


def torques(ready: Prepared) -> tuple[np.ndarray, np.ndarray]:
    """[N·m] on plate and ball, about their middles."""
    penalty = ready.servo.motion.penalty
    return penalty[3:6].copy(), penalty[9:12].copy()


def row(ready: Prepared) -> int:
    assert ready.servo.rows.count[0] == 1
    return 0


@pytest.mark.parametrize("ticks", [1, 3])
@pytest.mark.parametrize("spin", [(0, 0, 20.0), (0, 0, -3.0), (5.0, 0, 0), (2.0, -3.0, 4.0)])
def test_what_turns_fast_is_slowed_by_its_coefficients_times_the_force(
    spin: tuple[float, ...], ticks: int
) -> None:
    """Torsional friction about the normal, rolling friction about the axis of rolling."""
    w = np.array(spin)
    smooth, rough = (pressed(condim, w, ticks) for condim in (3, 6))
    force = rough.servo.rows.force[row(rough)]
    assert force == pytest.approx(2000.0 * DEPTH)
    want = np.zeros(3)
    for part, coefficient in (([0, 0, w[2]], TORSIONAL), ([w[0], w[1], 0], ROLLING)):
        if np.any(part):
            want -= coefficient * force * np.array(part) / np.linalg.norm(part)
    plate, ball = (a - b for a, b in zip(torques(rough), torques(smooth), strict=True))
    np.testing.assert_allclose(ball, want, atol=1e-9)
    np.testing.assert_allclose(plate, -want, atol=1e-9)


def test_only_condim_6_resists_rolling() -> None:
    spin = np.array([2.0, -3.0, 4.0])
    smooth, torsional = (torques(pressed(condim, spin))[1] for condim in (3, 4))
    force = 2000.0 * DEPTH
    np.testing.assert_allclose(torsional - smooth, [0, 0, -TORSIONAL * force], atol=1e-9)


def test_each_of_the_two_remembers_whether_it_slips_and_sliding_knows_nothing_of_it() -> None:
    for spin, slips in (((0, 0, 20.0), [1, 0]), ((20.0, 0, 0), [0, 1]), ((0, 0, 1e-4), [0, 0])):
        smooth, rough = (pressed(condim, np.array(spin), 4) for condim in (3, 6))
        memory = rough.servo.rows.memory[row(rough)]
        found = memory[MEMORY_TURNING + 3 : MEMORY_TURNING + 5] != 0.0
        np.testing.assert_array_equal(found, slips)
        sliding = slice(MEMORY_FRICTION, MEMORY_FRICTION + 5)
        np.testing.assert_allclose(
            memory[sliding], smooth.servo.rows.memory[0][sliding], atol=1e-12
        )


def test_a_small_turn_is_held_like_a_spring() -> None:
    """A torque that grows with the angle, against it, and no power beyond that."""
    felt = [torques(pressed(4, np.array([0, 0, 1e-4]), ticks))[1][2] for ticks in (1, 2, 3)]
    assert felt[2] < felt[1] < felt[0] < 0.0
    assert -felt[2] < TORSIONAL * 2000.0 * DEPTH


def test_the_world_is_the_one_that_mujoco_sees() -> None:
    """One contact, of the dimension that was asked for."""
    ready = pressed(6, np.zeros(3))
    data = mujoco.MjData(ready.model)
    data.qpos[:] = ready.servo.scene.qpos
    mujoco.mj_forward(ready.model, data)
    assert [int(c.dim) for c in data.contact] == [6]
