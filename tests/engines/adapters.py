"""Adapters that misbehave, for the tests of the host; another process imports them from here."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from detent.engines.mujoco_engine import MuJoCoEngine
from detent.engines.protocol import Target, Task
from detent.errors import EngineError


class Stubborn(MuJoCoEngine):
    """Does not even start."""

    def __init__(self, task: Task) -> None:
        raise RuntimeError("no licence found")


class Moody(MuJoCoEngine):
    """Raises what it should not after twenty frames."""

    frames = 0

    def advance(self, target: Target, seconds: float) -> None:
        self.frames += 1
        if self.frames > 20:
            raise ZeroDivisionError("a bug of the adapter")
        super().advance(target, seconds)


class Sleepy(MuJoCoEngine):
    """Falls asleep after twenty frames."""

    frames = 0

    def advance(self, target: Target, seconds: float) -> None:
        self.frames += 1
        if self.frames > 20:
            time.sleep(60.0)
        super().advance(target, seconds)


class Wild(MuJoCoEngine):
    """Sends NaN in every second frame."""

    frames = 0

    def near(self) -> np.ndarray:
        self.frames += 1
        out = super().near()
        if self.frames % 2 and len(out):
            out["place"][0, 0] = np.nan
        return out


class Lost(MuJoCoEngine):
    """Says that it diverged, for ever, after twenty frames."""

    frames = 0

    def advance(self, target: Target, seconds: float) -> None:
        self.frames += 1
        if self.frames > 20:
            raise EngineError("the world diverged")
        super().advance(target, seconds)


class Pondering(MuJoCoEngine):
    """Takes long to say what is near, beside its work."""

    seconds = 0.4
    pool = ThreadPoolExecutor(32)

    def near(self) -> Future[np.ndarray]:
        return self.pool.submit(ponder, super().near(), self.seconds)


def ponder(near: np.ndarray, seconds: float) -> np.ndarray:
    time.sleep(seconds)
    return near
