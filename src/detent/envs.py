"""Sessions as Gymnasium environments: an agent is the hand, and feels what a person would.

Needs the extra ``gym``. An observation is what the device reads and is told; an action is a
wrench of the hand, or where a hand of a given stiffness wants to be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from detent.checks import one_of, positive
from detent.errors import MissingExtraError, ParameterError, ServoFault
from detent.hands import Constant, Impedance
from detent.session import Session
from detent.setup.combinations import check_simulated
from detent.setup.prepared import Prepared, advance, raise_fault

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise MissingExtraError("detent.envs", "gym") from None

ACTIONS = ("wrench", "target")
Observation = dict[str, np.ndarray]
Judge = Callable[[Observation], float]


class HapticEnv(gymnasium.Env[Observation, np.ndarray]):
    """The hand of a session, in lockstep.

    Observation: ``pose`` (position [m] and quaternion of the device), ``twist`` ([m/s, rad/s]),
    ``wrench`` that is felt ([N, N·m], the last tick's) and ``tool``, the pose of the held link.
    Everything is in world axes at the hand point.

    Args:
        session: what is felt; its rate is that of the ticks.
        action: ``"wrench"`` (six numbers, parts of *most*) or ``"target"`` (three, parts of *reach*
            from where the device began, for a hand with the gains of *hand*).
        ticks: per step of the environment.
        seconds: [s] after which an episode is truncated.
        most: [N, N·m] largest force and torque of the hand.
        reach: [m] farthest target.
        hand: who follows a target.
        reward: of an observation; 0 unless given.
        done: whether an observation ends an episode; never unless given.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  (as Gymnasium has it)

    def __init__(
        self,
        session: Session,
        action: str = "wrench",
        *,
        ticks: int = 10,
        seconds: float = 5.0,
        most: tuple[float, float] = (10.0, 0.5),
        reach: float = 0.1,
        hand: Impedance | None = None,
        reward: Judge | None = None,
        done: Callable[[Observation], bool] | None = None,
    ) -> None:
        if session.local is not None:
            raise ParameterError("session", "one with an engine", "without local=LocalModel()")
        if not (isinstance(ticks, int) and ticks > 0):
            raise ParameterError("ticks", ticks, "a whole number, at least 1")
        self._session, self._kind = session, one_of("action", action, ACTIONS)
        self._ticks, self._most_ticks = ticks, round(positive("seconds", seconds) * session.rate)
        self._most = np.repeat([positive("force", most[0]), positive("torque", most[1])], 3)
        self._reach = positive("reach", reach)
        self._hand = Constant() if action == "wrench" else hand or Impedance()
        self._reward, self._done = reward, done
        self._ready: Prepared | None = None
        self._began = np.zeros(3)
        size = 6 if action == "wrench" else 3
        self.action_space = spaces.Box(-1.0, 1.0, (size,), np.float64)
        sizes = {"pose": 7, "twist": 6, "wrench": 6, "tool": 7}
        boxes: dict[str, spaces.Space[Any]] = {
            name: spaces.Box(-np.inf, np.inf, (n,), np.float64) for name, n in sizes.items()
        }
        self.observation_space: spaces.Space[Any] = spaces.Dict(boxes)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin where the world starts, at rest. One tick is done, so that there is a reading."""
        super().reset(seed=seed)
        self._ready = self._session.prepare(self._hand, self._session.rate, ring=self._ticks)
        check_simulated(self._session.device, self._ready.adapter)
        self._began = self._ready.servo.target[:3].copy()
        row, self._gone = self._advance(1), 1
        return observed(row, self._session.device.takes_motion), {"row": row}

    def step(self, action: np.ndarray) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Push for some ticks; ``info["row"]`` is the last row of the trace."""
        ready = self._prepared()
        parts = np.clip(np.asarray(action, float), -1.0, 1.0)
        if self._kind == "wrench":
            ready.servo.parameters["hand_bias"] = parts * self._most
        else:
            ready.servo.target[:3] = self._began + self._reach * parts
        row = self._advance(self._ticks)
        self._gone += self._ticks
        seen = observed(row, self._session.device.takes_motion)
        ended = bool(self._done(seen)) if self._done is not None else False
        reward = float(self._reward(seen)) if self._reward is not None else 0.0
        return seen, reward, ended, self._gone >= self._most_ticks, {"row": row}

    def _prepared(self) -> Prepared:
        if self._ready is None:
            raise ServoFault("the environment was not reset before its first step")
        return self._ready

    def _advance(self, ticks: int) -> np.void:
        ready = self._prepared()
        count = advance(ready, None, 0, ticks)
        ready.servo.written[0] = 0
        rows = self._session.subject.kept(ready.servo.ring[:count]).copy()
        raise_fault(ready.servo, rows)
        last: np.void = rows[-1]
        return last


def observed(row: np.void, display: bool = False) -> Observation:
    """What the hand knows of a row; on a *display* it feels what it presses against."""
    return {
        "pose": np.concatenate([row["device_position"], row["device_quaternion"]]),
        "twist": np.array(row["device_twist"]),
        "wrench": np.array(-row["hand_wrench"] if display else row["device_wrench"]),
        "tool": np.concatenate([row["tool_position"], row["tool_quaternion"]]),
    }
