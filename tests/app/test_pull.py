"""Who leads the hand, and where to."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Session, World
from detent.app.pull import REACH, STAY, Pull, write_script
from detent.app.stage import Stage, set_stage
from detent.devices import preset

PEG = np.array([0.0105, 0.021])  # [m] half sizes


@pytest.fixture(scope="module")
def stage() -> Stage:
    return set_stage(Session(World.builtin("peg-in-hole")))


def follow(pull: Pull, seconds: float, start: float = 0.0) -> np.ndarray:
    steps = int(60 * seconds)
    return np.array([pull.advance(start + i / 60, 1 / 60) for i in range(steps)])


def test_the_script_leads_into_every_wall(stage: Stage) -> None:
    script = write_script(stage)
    path = np.array([script.pose(t)[:2] for t in np.linspace(0.0, 60.0, 3000)])
    assert (path.max(axis=0) > np.array([0.08, 0.08]) - 0.5 * PEG).all()  # right, ceiling
    assert (path.min(axis=0) < np.array([-0.08, -0.03]) + 0.5 * PEG).all()  # left, floor
    assert (np.abs(path) < 0.1).all()  # and not beyond them


def test_the_script_stays_in_the_device_s_directions(stage: Stage) -> None:
    poses = follow(Pull(stage), 20.0)
    np.testing.assert_array_equal(poses[:, 2], 0.0)
    np.testing.assert_allclose(poses[:, 4:6], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(poses[:, 3:], axis=1), 1.0)


def test_the_target_starts_where_the_tool_is_and_never_jumps(stage: Stage) -> None:
    poses = follow(Pull(stage), 10.0)
    assert np.linalg.norm(poses[0, :3] - stage.start.position) < 0.005
    assert np.linalg.norm(np.diff(poses[:, :3], axis=0), axis=1).max() < 0.01


def test_the_pointer_takes_over_and_gives_back(stage: Stage) -> None:
    pull = Pull(stage)
    follow(pull, 1.0)
    assert pull.scripted
    pull.take(np.array([0.05, 0.04, 0.7]))
    assert not pull.scripted
    poses = follow(pull, 1.0, 1.0)
    np.testing.assert_allclose(poses[-1, :3], [0.05, 0.04, 0.0], atol=1e-6)  # z is not free
    pull.give_back()
    assert pull.scripted
    assert np.linalg.norm(follow(pull, 2.0, 2.0)[-1, :2] - [0.05, 0.04]) > 0.005


def test_hold_stays(stage: Stage) -> None:
    pull = Pull(stage)
    here = follow(pull, 1.0)[-1]
    pull.hold()
    np.testing.assert_allclose(follow(pull, 1.0, 1.0)[-1], here, atol=1e-9)


def test_a_target_that_is_not_finite_is_ignored(stage: Stage) -> None:
    pull = Pull(stage)
    pull.take(np.array([np.nan, 0.0, 0.0]))
    assert pull.scripted


def test_a_rotation_that_is_none_is_ignored_and_others_are_normalised(stage: Stage) -> None:
    pull = Pull(stage)
    for none in (np.zeros(4), np.full(4, np.nan), np.full(4, 1e9)):
        pull.take(np.array([0.0, 0.03, 0.0]), none)
    assert pull.scripted
    pull.take(np.array([0.0, 0.03, 0.0]), 1.01 * stage.start.quaternion)
    np.testing.assert_allclose(pull._wanted[3:], stage.start.quaternion)


def test_the_pointer_leads_no_farther_than_the_world_s_neighbourhood(stage: Stage) -> None:
    pull = Pull(stage)
    pull.take(np.array([1e6, -1e6, 0.0]))
    edge = stage.centre[:2] + REACH * stage.size * np.array([1.0, -1.0])
    np.testing.assert_allclose(pull._wanted[:2], edge)


def test_the_shorter_way_round_is_taken(stage: Stage) -> None:
    pull = Pull(stage)
    pull.take(np.array([0.0, 0.03, 0.0]), -stage.start.quaternion)  # the same rotation
    poses = follow(pull, 0.5)
    np.testing.assert_allclose(poses[:, 3:], [stage.start.quaternion] * len(poses), atol=1e-12)


def test_without_walls_the_script_still_moves() -> None:
    body = "<body name='b'><freejoint/><geom type='sphere' size='.01'/></body>"
    world = World.from_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    script = write_script(set_stage(Session(world)))
    assert (script.amplitude > 0.0).all()


def test_nobody_is_led_out_of_the_reach_of_a_device_or_out_of_a_plane() -> None:
    """A large world on a device of 80 mm; a plane on one that also moves in z and turns."""
    wide = World.from_string(
        '<mujoco><option gravity="0 0 0"/><worldbody><geom type="box" pos="0 0 -1" size="1 1 .1"/>'
        '<body name="ball"><freejoint/><geom size=".02" mass=".1"/></body></worldbody></mujoco>'
    )
    session = Session(wide, device=preset("omega.3"))
    pull, reach = Pull(set_stage(session)), session.device.safety.reach
    path = follow(pull, 30.0)[:, :3]
    assert np.linalg.norm(path, axis=1).max() <= reach
    assert np.ptp(path, axis=0).min() > 0.5 * reach  # and yet it moves about
    pull.take(np.array([5.0, 0.0, 0.0]))
    assert follow(pull, 2.0)[-1, 0] == pytest.approx(STAY * reach)
    for name in ("omega.3", "touch"):
        flat = set_stage(Session(World.builtin("corner"), device=preset(name)))
        assert flat.planar
        assert (follow(Pull(flat), 5.0)[:, 2] == flat.start.position[2]).all()
