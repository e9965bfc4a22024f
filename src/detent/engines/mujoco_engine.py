"""MuJoCo as the engine: the whole scene, stepped as its author meant it."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.engines.mirror import FOLLOW, HOLDABLE, Mirror, substeps, tool_geoms
from detent.engines.protocol import Target, Task
from detent.errors import EngineError

SILENT = 1.0  # [m] by which a contact must be deep to act
_BAD = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


class MuJoCoEngine(Mirror):
    """The scene in MuJoCo.

    The tool follows the proxy by a critically damped controller (100 rad/s, or what the scene's
    step can hold), so it pushes other objects with forces, as a hand does; but what is near is seen
    from where the proxy is, since the scene's own friction may tip a tool that lags behind. In a
    static world, where nothing can be pushed, it is placed there; and also with inertial
    constraints, where its contacts do not act here, and objects get the forces of the local model
    instead.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        model = self.model
        if self.exchanges:  # contacts of the tool are seen, but do not act
            tool = tool_geoms(task.world)
            model.geom_margin[tool] -= SILENT
            model.geom_gap[tool] += SILENT
            self._own_gaps[0][tool] += SILENT
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_WARMSTART  # it ends at wrong forces
        self._omega = min(FOLLOW, HOLDABLE / model.opt.timestep)
        self._most = float(model.opt.timestep)
        self._last: Target | None = None
        self._own: tuple[np.ndarray, np.ndarray] | None = None
        mujoco.mj_forward(model, self.data)
        self._good = self.data.qpos.copy()

    def advance(self, target: Target, seconds: float) -> None:
        """Simulate, the tool following the target."""
        if self.static:
            self.place(target)
        else:
            self._step(target, seconds)
        self._last = target
        self._look_for_reset()

    def _step(self, target: Target, seconds: float) -> None:
        """Step the scene; the tool is pulled along between the last target and this one."""
        model, data = self.model, self.data
        if self._last is None:
            self.place(target)
        last = self._last or target
        cut = self.task.cut
        if self._own is not None:  # the tool's own place, which is not that of the proxy
            data.qpos[cut.qpos], data.qvel[cut.qvel] = self._own
        steps = substeps(seconds, self._most)
        model.opt.timestep = seconds / max(steps, 1)
        before, pushed = data.qvel.copy(), np.zeros(model.nv)
        for k in range(steps):
            if self.exchanges:
                self.lead(last, target, k / steps)
            mujoco.mj_step1(model, data)
            if self.exchanges:
                data.qfrc_applied[:] = self.push(target, (k + 0.5) / steps)
                pushed += data.qfrc_applied / steps
            else:
                data.qfrc_applied[:] = self.pull(last, target, k / steps, self._omega)
            mujoco.mj_step2(model, data)
        if self.exchanges:
            self.lead(last, target, 1.0)
        self.refresh()
        self.note_drift(before, pushed, seconds)
        if not self.exchanges:
            self._own = data.qpos[cut.qpos].copy(), data.qvel[cut.qvel].copy()
            self.place(target)

    def _look_for_reset(self) -> None:
        """MuJoCo resets a world that diverged, silently but for its counters."""
        data = self.data
        if any(data.warning[kind].number for kind in _BAD) or not np.isfinite(data.qpos).all():
            mujoco.mj_resetData(self.model, data)
            data.qpos[:], data.ctrl[:] = self._good, self.task.world.ctrl
            self._last = self._own = None
            mujoco.mj_forward(self.model, data)
            raise EngineError("the world diverged in MuJoCo; it goes on from rest")
        self._good = data.qpos.copy()
