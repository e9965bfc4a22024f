"""Gymnasium's own checker, the physics of an action, and a hand that finds a wall."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, LocalModel, Session, World
from detent.devices import Inertial
from detent.errors import DetentError, ParameterError, UnknownNameError
from detent.hands import Constant, Impedance

gymnasium = pytest.importorskip("gymnasium")


def corner(**options: object) -> Session:
    return Session(World.builtin("corner"), Contact(4000, 30), device=Inertial(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("action", ["wrench", "target"])
@pytest.mark.filterwarnings("ignore:.*")  # of infinite bounds: nobody knows how far a hand goes
def test_gymnasium_finds_nothing_wrong(action: str) -> None:
    from gymnasium.utils.env_checker import check_env

    from detent.envs import HapticEnv

    check_env(HapticEnv(corner(), action), skip_render_check=True)


def test_an_episode_is_the_run_of_the_same_hand() -> None:
    from detent.envs import HapticEnv

    session = corner()
    env = HapticEnv(session, ticks=10, seconds=0.5, most=(2.0, 0.1))
    env.reset(seed=1)
    seen = None
    ends = []
    for _ in range(50):
        seen, _, _, truncated, info = env.step(np.array([1.0, -0.5, 0.0, 0.0, 0.0, 0.0]))
        ends.append(truncated)
    assert seen is not None and ends == [False] * 49 + [True]
    run = session.run(0.501, Constant(force=(2.0, -1.0)))
    # the first tick of an episode is without a push: one tick later it is the same motion
    np.testing.assert_allclose(seen["pose"][:3], run["device_position"][-2], atol=1e-12)
    assert info["row"]["time"] == run["time"][-1]


def test_a_target_beyond_a_wall_is_felt() -> None:
    from detent.envs import HapticEnv

    wall = {"force": 0.0}

    def reward(seen: dict[str, np.ndarray]) -> float:
        wall["force"] = float(-seen["wrench"][0])
        return wall["force"]

    def done(seen: dict[str, np.ndarray]) -> bool:
        return bool(seen["wrench"][0] < -5.0)

    hand = Impedance(200.0, 30.0)
    env = HapticEnv(
        corner(), "target", hand=hand, seconds=5.0, reach=0.12, reward=reward, done=done
    )
    env.reset()
    for _ in range(500):
        _, got, terminated, truncated, _ = env.step(np.array([1.0, 0.0, 0.0]))
        assert got == wall["force"] and not truncated
        if terminated:
            break
    assert terminated and wall["force"] > 5.0


def test_what_cannot_be_an_environment_is_said() -> None:
    from detent.envs import HapticEnv

    with pytest.raises(UnknownNameError, match="'dance'; known: target, wrench"):
        HapticEnv(corner(), "dance")
    with pytest.raises(ParameterError, match="ticks = 0"):
        HapticEnv(corner(), ticks=0)
    with pytest.raises(ParameterError, match="without local"):
        HapticEnv(Session(World.builtin("corner"), local=LocalModel()))
    with pytest.raises(DetentError, match="not reset"):
        HapticEnv(corner()).step(np.zeros(6))
