"""Where the hand wants to be: a script says so until a person's pointer takes over."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from detent.app.lead import Lead
from detent.app.stage import Stage

FREQUENCIES = np.array([0.13, 0.19, 0.08])  # [Hz] of x, y, z: slow, and never the same twice
TURN_FREQUENCY, TURN = 0.05, 0.2  # [Hz], [rad] about z
OPEN_WAY = 0.25  # of the world's size, where no wall is in the way
MOST_WAY, LEAST_WAY = 4.0, 0.05  # in reaches of the held link, in sizes of the world
ASIDE = 0.12  # of the world's size: the ways beside the hand point count too, not a hole's
REACH = 1.0  # of the world's size, from its centre: the pointer leads no farther
STAY = 0.85  # of the device's reach: a hand that overshoots stays within it
SCRIPT_LAG, POINTER_LAG = 0.4, 0.03  # [s] with which the target follows


@dataclass(frozen=True)
class Script:
    r"""A Lissajous motion, :math:`x_i = c_i + a_i \sin 2\pi f_i t`, that leads into the walls."""

    centre: np.ndarray  # (3,) [m]
    amplitude: np.ndarray  # (3,) [m]
    turn: float  # [rad] about z
    quaternion: np.ndarray  # (4,) at the start

    def pose(self, time: float) -> np.ndarray:
        """Position and quaternion (7,) at a time [s]."""
        position = self.centre + self.amplitude * np.sin(2.0 * np.pi * FREQUENCIES * time)
        half = 0.5 * self.turn * np.sin(2.0 * np.pi * TURN_FREQUENCY * time)
        quaternion = np.zeros(4)
        turned = np.array([np.cos(half), 0.0, 0.0, np.sin(half)])
        mujoco.mju_mulQuat(quaternion, turned, self.quaternion)
        return np.concatenate([position, quaternion])


def write_script(stage: Stage) -> Script:
    """A script from wall to wall: the hand point is led to where the walls are."""
    low, high = stage.start.position.copy(), stage.start.position.copy()
    for i in np.nonzero(stage.free[:3])[0]:
        low[i] -= _way(stage, -np.eye(3)[i])
        high[i] += _way(stage, np.eye(3)[i])
    turn = TURN if stage.free[5] else 0.0
    return Script(0.5 * (low + high), 0.5 * (high - low), turn, stage.start.quaternion)


def _way(stage: Stage, direction: np.ndarray) -> float:
    """[m] to the nearest wall in a direction, from the hand point and from places beside it."""
    sideways = [axis for axis in np.eye(3)[stage.free[:3]] if not axis @ direction]
    aside = [ASIDE * stage.size * sign * axis for axis in sideways for sign in (-1.0, 1.0)]
    here = stage.start.position
    ways = [stage.free_way(here + offset, direction) for offset in (np.zeros(3), *aside)]
    most = max(MOST_WAY * stage.link_reach, LEAST_WAY * stage.size)
    return min(*ways, most) if min(ways) < stage.size else min(OPEN_WAY * stage.size, most)


class Pull:
    """The target of the hand.

    The page's thread calls `take` and `give_back`, the workbench's calls `advance`; each
    replaces one attribute, so no lock is needed.
    """

    def __init__(self, stage: Stage, script: Lead | None = None) -> None:
        self._start = np.concatenate([stage.start.position, stage.start.quaternion])
        self._free = stage.free
        reach = REACH * stage.size
        self._low = np.minimum(stage.centre - reach, self._start[:3])
        self._high = np.maximum(stage.centre + reach, self._start[:3])
        self._reach = STAY * stage.reach
        self._script = script or write_script(stage)
        self._wanted: np.ndarray | None = None  # by the pointer
        self.still = False  # the script waits: somebody reaches for the tool
        self.pose = self._start.copy()  # (7,) where the hand is led

    @property
    def scripted(self) -> bool:
        """Whether the script leads."""
        return self._wanted is None

    def take(self, position: np.ndarray, quaternion: np.ndarray | None = None) -> None:
        """The pointer leads, along the directions in which the device moves, near the world.

        A pose that is none, with a number that is not finite or no rotation, is ignored.
        """
        turn = self.pose[3:] if quaternion is None else np.asarray(quaternion, float)
        length = float(np.linalg.norm(turn))
        if not (np.isfinite(position).all() and 0.5 < length < 2.0):
            return
        wanted = self.pose.copy() if self._wanted is None else self._wanted.copy()
        near = np.clip(position, self._low, self._high)
        wanted[:3] = np.where(self._free[:3], near, self._start[:3])
        if quaternion is not None and self._free[3:].any():
            wanted[3:] = turn / length
        self._wanted = wanted

    def hold(self) -> None:
        """Nobody leads: stay here."""
        self._wanted = self.pose.copy()

    def give_back(self) -> None:
        """The script leads again."""
        self._wanted, self.still = None, False

    def _within_reach(self, position: np.ndarray) -> np.ndarray:
        """The nearest point [m] at which a hand that holds the device can be."""
        away = position - self._start[:3]
        far = float(np.linalg.norm(away))
        return position if far <= self._reach else self._start[:3] + self._reach / far * away

    def advance(self, time: float, step: float) -> np.ndarray:
        """Follow who leads for a step [s]; returns the new target (7,)."""
        pointer = self._wanted
        if pointer is None and self.still:
            return self.pose
        wanted, lag = (
            (self._script.pose(time), SCRIPT_LAG) if pointer is None else (pointer, POINTER_LAG)
        )
        pose = self.pose.copy()
        near = wanted if wanted[3:] @ pose[3:] >= 0.0 else wanted * np.repeat([1.0, -1.0], [3, 4])
        way = near - pose
        way[:3] = self._within_reach(near[:3]) - pose[:3]
        pose += (1.0 - np.exp(-step / lag)) * way
        pose[3:] /= np.linalg.norm(pose[3:])
        self.pose = pose
        return pose
