"""One frame of an engine: from the newest state of the proxy to an update."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import mujoco
import numpy as np

from detent.engines.mirror import body_twists
from detent.engines.protocol import Engine, Later, Push, Target, Task
from detent.errors import EngineError
from detent.local.records import DIVERGED, NEAR, PUSH
from detent.local.update import check_links, check_near, pack_update, tool_points

PATIENT = 64  # answers that may be under way
SAME = 1e-6  # [m, -] rows that agree to this are copies
ASKEW = np.array([0.36, 0.48, 0.8])  # no direction that a scene is built along


class Look(NamedTuple):
    """What an engine was asked: the tool as it was then, and the answer, perhaps still to come."""

    near: np.ndarray | Later
    poses: np.ndarray
    twists: np.ndarray
    sequence: int
    time: float
    qpos: np.ndarray  # (nq,) of the proxy
    bodies: np.ndarray  # (nbody, 7) of the whole world


class Frames:
    """An engine at work, frame by frame.

    Args:
        engine: the adapter.
        task: what it was made for.
        most: [s] of the world's time in a frame: an engine that is slower falls behind, instead
            of taking ever longer for a frame.
    """

    def __init__(self, engine: Engine, task: Task, most: float = math.inf) -> None:
        self._most = most
        self.engine, self._local = engine, task.local
        self._model = task.cut.world.model
        self._data = mujoco.MjData(self._model)
        whole = task.world.model
        self._moves = (whole.body_treeid >= 0) & ~np.isin(whole.body_treeid, list(task.world.trees))
        self._last: np.ndarray | None = None
        self._asked: deque[Look] = deque(maxlen=PATIENT)
        self.sequence = 0
        self.trouble = ""  # what the engine last said of itself

    def resume(self, state: np.ndarray, sequence: int) -> None:
        """Go on after the frame of that number, made by another process from that state.

        So what pushed the world since then is known in the first frame, too.
        """
        self._last, self.sequence = state, sequence

    def make(self, state: np.ndarray) -> np.ndarray | None:
        """Advance to a state of the proxy: time, qpos, qvel, impulses; the newest answer, if any.

        The bytes of an update: for this state, or for an earlier one if `near` answers late.
        """
        seconds = 0.0 if self._last is None else float(state[0] - self._last[0])
        target = self.target(state, seconds)
        self._last = state
        self.sequence += 1
        advanced = min(max(seconds, 0.0), self._most)
        if advanced < seconds:  # the world falls behind, but it receives the whole impulse
            target = target._replace(pushes=stronger(target.pushes, seconds / advanced))
        try:
            self.engine.advance(target, advanced)
            near = self.engine.near()
            poses, twists = self.engine.links()
            check_links(poses, twists, self._model.nbody)
        except EngineError as error:
            self._asked.clear()
            return self._lost(error, target.poses, target.twists, target.time)
        seen = np.array(poses), np.array(twists), self.sequence, target.time, target.qpos
        self._asked.append(Look(near, *seen, np.array(self.engine.bodies())))
        return self.answer()

    @property
    def waits(self) -> bool:
        """Whether an answer is under way."""
        return len(self._asked) > 0

    def answer(self) -> np.ndarray | None:
        """The bytes of the newest update that is ready and was not given yet."""
        ready = [
            look for look in self._asked if not isinstance(look.near, Later) or look.near.done()
        ]
        if not ready:
            return None
        look = ready[-1]
        while self._asked and self._asked[0].sequence <= look.sequence:
            self._asked.popleft()
        try:
            near = look.near.result() if isinstance(look.near, Later) else look.near
            check_near(near, self._model.nbody)
        except EngineError as error:
            return self._lost(error, look.poses, look.twists, look.time)
        self._place(look.qpos)
        near = self._drop_copies(near)
        return pack_update(near, look.poses, look.twists, self._local, look.sequence, look.time,
                           objects=self._objects(near, look.bodies))  # fmt: skip

    def _objects(self, near: np.ndarray, bodies: np.ndarray) -> np.ndarray:
        """(n, 8) What moves near the tool, nearest first: its number in the scene, and its pose.

        Of engines that number bodies as the scene does; others have objects that it lacks.
        """
        if len(bodies) != len(self._moves):
            return np.zeros((0, 8))
        near = near[np.argsort(near["separation"], kind="stable")]
        others = [int(b) for b in dict.fromkeys(near["other"].tolist()) if 0 <= b < len(bodies)]
        return np.array([(b, *bodies[b]) for b in others if self._moves[b]]).reshape(-1, 8)

    def _lost(
        self, error: EngineError, poses: np.ndarray, twists: np.ndarray, time: float
    ) -> np.ndarray:
        """An update that says that there is none."""
        self.trouble = str(error)
        nothing = np.zeros(0, NEAR)
        return pack_update(nothing, poses, twists, self._local, self.sequence, time, DIVERGED)

    def _place(self, qpos: np.ndarray) -> None:
        """The proxy as it was when the engine was asked."""
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)

    def _drop_copies(self, near: np.ndarray) -> np.ndarray:
        """Contacts that are one constraint: equal rows, equal separations (planar tools).

        Of two copies the one is kept that lies farther along a direction of the tool that nothing
        else has: so it is the same one in the next frame, whatever the engine's order.
        """
        near = near[np.argsort(-(self._on_tool(near) @ ASKEW), kind="stable")]
        rows = np.zeros((len(near), self._model.nv + 1))
        jac = np.zeros((3, self._model.nv))
        for row, one in zip(rows, near, strict=True):
            at = one["place"] + one["separation"] * one["normal"]
            mujoco.mj_jac(self._model, self._data, jac, None, at, int(one["link"]))
            row[:-1], row[-1] = one["normal"] @ jac, one["separation"]
        pairs = np.column_stack([near["link"], near["other"], near["shapes"]])
        kept: list[int] = []
        for i in range(len(near)):
            same = (pairs[kept] == pairs[i]).all(axis=1)
            if not (same & (np.abs(rows[kept] - rows[i]).max(axis=1, initial=0.0) < SAME)).any():
                kept.append(i)
        return near[kept]

    def _on_tool(self, near: np.ndarray) -> np.ndarray:
        """(n, 3) where contacts are on the links of the proxy."""
        data, link = self._data, near["link"]
        return tool_points(near, np.hstack([data.xpos, data.xquat])[link])

    def target(self, state: np.ndarray, seconds: float) -> Target:
        """The state with the poses and twists that it means, *seconds* after the last one."""
        model, data = self._model, self._data
        plain = 1 + model.nq + 2 * model.nv
        parts = np.split(state[1:plain], [model.nq, model.nq + model.nv])
        data.qpos[:], data.qvel[:], impulse = parts
        load = np.zeros(model.nv)
        pushes: tuple[Push, ...] = ()
        if self._last is not None and seconds > 0.0:
            load = (impulse - self._last[plain - model.nv : plain]) / seconds
            pushes = tuple(
                find_pushes(self._last[plain:].view(PUSH), state[plain:].view(PUSH), seconds)
            )
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        return Target(
            float(state[0]),
            data.qpos.copy(),
            data.qvel.copy(),
            np.hstack([data.xpos, data.xquat]),
            body_twists(model, data, np.arange(model.nbody)),
            load,
            pushes,
        )


def stronger(pushes: tuple[Push, ...], times: float) -> tuple[Push, ...]:
    """The same impulses within less time."""
    return tuple(p._replace(first=times * p.first, last=times * p.last) for p in pushes)


def find_pushes(before: np.ndarray, now: np.ndarray, seconds: float) -> Iterator[Push]:
    r"""What each constraint did between two states, as a force that changes evenly.

    With the right impulse p and the right displacement, m = ∫∫ f dt²:

    .. math:: f(t) = a + b t, \quad p = aT + \tfrac12 bT^2, \quad m = \tfrac12 aT^2 + \tfrac16 bT^3
    """
    for old, new in zip(before, now, strict=True):
        same = old["serial"] == new["serial"]
        start = old["impulse"] if same else np.zeros(3)
        p = new["impulse"] - start
        if not p.any():
            continue
        m = new["moment"] - (old["moment"] if same else 0.0) - start * seconds
        slope = 6.0 * (p * seconds - 2.0 * m) / seconds**3
        first = p / seconds - 0.5 * slope * seconds
        yield Push(int(new["other"]), new["place"].copy(), first, first + slope * seconds)
