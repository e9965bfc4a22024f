"""A hand that does again what was recorded."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from detent.checks import one_of, positive
from detent.errors import ParameterError

INTERPOLATIONS = ("hold", "linear")
SAME_TIME = 1e-6  # of a tick: a sample this little later than a tick belongs to it
MOST_TICKS = 100_000_000  # 4.8 GB


class Recorded(Protocol):
    """What is played back of a trace: its columns."""

    def __getitem__(self, column: str) -> np.ndarray:
        """A column."""
        ...


class Playback:
    """Recorded wrenches of a hand, tick by tick.

    Before the first and after the last sample the hand is not there. Of a trace that was
    recorded at the same rate it makes the same run again, to the bit, whoever held the
    device then: the wrench is given, and no longer answers to the motion.

    Args:
        times: [s] of the samples, increasing; the run begins at 0.
        wrenches: one per sample: six numbers (force [N], torque [N·m]), or three (x, y, θ).
        interpolation: ``"hold"`` each sample until the next one, or ``"linear"`` between them.
    """

    def __init__(self, times: ArrayLike, wrenches: ArrayLike, interpolation: str = "hold") -> None:
        self.times = _numbers("playback times", times)
        if self.times.ndim != 1 or not self.times.size:
            shape = self.times.shape
            raise ParameterError("shape of playback times", shape, "(n,), with n at least 1")
        late = np.nonzero(np.diff(self.times) <= 0.0)[0]
        if late.size:
            before, time = self.times[late[0] : late[0] + 2].tolist()
            raise ParameterError("playback time", time, f"after the one before it, {before}")
        values, count = _numbers("playback wrenches", wrenches), self.times.size
        if values.ndim != 2 or len(values) != count or values.shape[1] not in (3, 6):
            allowed = f"({count}, 6) or ({count}, 3): one wrench per time"
            raise ParameterError("shape of playback wrenches", values.shape, allowed)
        self.wrenches = np.zeros((count, 6))
        self.wrenches[:, [0, 1, 5] if values.shape[1] == 3 else slice(None)] = values
        self.interpolation = one_of("interpolation", interpolation, INTERPOLATIONS)

    @classmethod
    def from_trace(cls, trace: Recorded, interpolation: str = "hold") -> Playback:
        """What the hand did in a trace, from its first row on."""
        return cls(trace["time"] - trace["time"][:1], trace["hand_wrench"], interpolation)

    @property
    def seconds(self) -> float:
        """[s] from the start of the run to the last sample."""
        return float(self.times[-1])

    def sampled(self, rate: float) -> np.ndarray:
        """(ticks, 6) the wrench at each tick of a run, up to the last sample."""
        rate = positive("rate", rate)
        ticks = int(np.floor(self.seconds * rate + SAME_TIME)) + 1
        if ticks > MOST_TICKS:
            raise ParameterError("playback time", self.seconds, f"at most {MOST_TICKS} ticks")
        now = np.arange(max(ticks, 0)) * (1.0 / rate)
        sample = np.searchsorted(self.times, now + SAME_TIME / rate, side="right") - 1
        out = self.wrenches[np.maximum(sample, 0)]
        if self.interpolation == "linear":
            between = [np.interp(now, self.times, axis) for axis in self.wrenches.T]
            out = np.stack(between, axis=1)
        out[sample < 0] = 0.0
        return np.ascontiguousarray(out)

    def describe(self) -> dict[str, Any]:
        """In short, for the head of a trace."""
        return {
            "samples": len(self.times),
            "seconds": self.seconds,
            "interpolation": self.interpolation,
        }


def _numbers(name: str, value: ArrayLike) -> np.ndarray:
    try:
        array = np.array(value, float)
    except (TypeError, ValueError):
        raise ParameterError(name, value, "numbers") from None
    wrong = array[~np.isfinite(array)]
    if wrong.size:
        raise ParameterError(name, float(wrong[0]), "finite")
    return array
