"""What Detent asks of a physics engine: four methods (M27)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from detent.local.model import LocalModel
from detent.local.proxy import Cut
from detent.world.contact import Contact
from detent.world.world import World


@dataclass(frozen=True)
class Task:
    """What an engine is made for."""

    world: World
    cut: Cut  # the tool alone, as the servo knows it
    local: LocalModel
    contact: Contact


class Push(NamedTuple):
    """A force on an object that changes evenly while the engine goes to its next target."""

    other: int  # as the engine called it in `near`
    place: np.ndarray  # (3,) [m]
    first: np.ndarray  # (3,) [N] at the last target
    last: np.ndarray  # (3,) [N] at this one


class Target(NamedTuple):
    """The proxy, which the engine's tool is to follow."""

    time: float  # [s] of the servo
    qpos: np.ndarray  # (nq,) of the cut world
    qvel: np.ndarray  # (nv,)
    poses: np.ndarray  # (links, 7) position and quaternion of its bodies
    twists: np.ndarray  # (links, 6) [m/s, rad/s] of their origins
    load: np.ndarray  # (nv,) mean torque of its contacts since the last target
    pushes: tuple[Push, ...]  # what objects received since then, with inertial constraints


@runtime_checkable
class Later(Protocol):
    """An answer that is still under way, such as a `concurrent.futures.Future`."""

    def done(self) -> bool:
        """Whether it is there."""
        ...

    def result(self) -> np.ndarray:
        """The answer; raises what went wrong."""
        ...


class Engine(Protocol):
    """A world outside the servo. An adapter is a class that takes a `Task` and has these.

    A *link* is a body of the cut world, by its number there; its frame is MuJoCo's body frame.
    """

    def __init__(self, task: Task) -> None: ...

    def advance(self, target: Target, seconds: float) -> None:
        """Simulate that long, while the tool follows the target; raise EngineError if lost."""
        ...

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        """(links, 7) poses and (links, 6) twists of the tool's links, as they are here."""
        ...

    def near(self) -> np.ndarray | Later:
        """(n,) NEAR: all that is within `LocalModel.reach` of the tool, now or later.

        An answer that comes later is of the world as it is now; the next `advance` does not wait.
        """
        ...

    def bodies(self) -> np.ndarray:
        """(nbody, 7) poses of the whole world, for pictures."""
        ...

    # Two more are called if they are there: `save() -> array` of nq + nv numbers, and
    # `restore(array)`, with which a new process takes over the world of one that died.
