"""An engine beside the servo in virtual time: frames, delays and losses from a seed."""

from __future__ import annotations

import heapq

import numpy as np

from detent.engines.frame import Frames
from detent.local.pace import Pace
from detent.servo.loop.exchange import latest, publish
from detent.servo.structs import Servo


class Lockstep:
    """Plays an engine to a servo that runs in virtual time."""

    def __init__(self, frames: Frames, pace: Pace, servo: Servo, rate: float) -> None:
        self._frames, self._pace, self._servo, self._rate = frames, pace, servo, rate
        self._newest = np.zeros(servo.states.buffers.shape[1], np.uint8)
        self._rng = np.random.default_rng(pace.seed)
        self._deliveries: list[tuple[int, int, np.ndarray]] = []
        self._next_frame = pace.period
        first = frames.make(self._state())  # a session begins with a look
        if first is not None:
            publish(servo.updates, first)

    def said(self) -> list[str]:
        """A note, if the engine had something to say of itself."""
        trouble = self._frames.trouble
        return [f"the engine said: {trouble}"] if trouble else []

    def poses(self) -> np.ndarray:
        """(nbody, 7) of the whole world, as the engine has it."""
        return np.array(self._frames.engine.bodies())

    def until_event(self, tick: int) -> int:
        """Act on what is due at this tick; how many ticks until something is due again."""
        while self._tick_of(self._next_frame) <= tick:
            self._make_frame(tick)
        while self._deliveries and self._deliveries[0][0] <= tick:
            publish(self._servo.updates, heapq.heappop(self._deliveries)[2])
        due = [self._tick_of(self._next_frame)] + [one[0] for one in self._deliveries[:1]]
        return max(min(due) - tick, 1)

    def _tick_of(self, time: float) -> int:
        return int(np.ceil(time * self._rate - 1e-9))

    def _state(self) -> np.ndarray:
        if latest(self._servo.states, self._newest):
            return self._newest.view(np.float64).copy()
        scene, state = self._servo.scene, self._newest.view(np.float64)
        state[1 : 1 + len(scene.qpos) + scene.nv] = np.concatenate([scene.qpos, scene.qvel])
        return state.copy()  # the servo has not spoken yet

    def _varied(self, seconds: float) -> float:
        return seconds * (1.0 + self._pace.jitter * self._rng.uniform(-1.0, 1.0))

    def _make_frame(self, tick: int) -> None:
        update = self._frames.make(self._state())
        arrival = self._next_frame + self._varied(self._pace.delay)
        if self._rng.uniform() >= self._pace.loss and update is not None:
            due = max(self._tick_of(arrival), tick)
            heapq.heappush(self._deliveries, (due, self._frames.sequence, update))
        self._next_frame += max(self._varied(self._pace.period), 1.0 / self._rate)
