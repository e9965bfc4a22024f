"""MuJoCo as the engine: the whole scene, stepped as its author meant it."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from detent.engines.mirror import FOLLOW, HOLDABLE, Mirror, substeps
from detent.engines.protocol import Target, Task
from detent.errors import EngineError
from detent.local.records import NEAR
from detent.servo import records
from detent.servo.scene import make_arrays, make_scene
from detent.servo.sense import gather_contacts
from detent.world.contact import Contact
from detent.world.world import PROPERTIES

CAPACITY = 512  # contacts
SILENT = 1.0  # [m] by which a contact must be deep to act
_BAD = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


class MuJoCoEngine(Mirror):
    """The scene in MuJoCo.

    The tool follows the proxy by a critically damped controller (100 rad/s, or what the scene's
    step can hold), so it pushes other objects with forces, as a hand does. In a static world,
    where nothing can be pushed, it is placed there; and also with inertial constraints, where its
    contacts do not act here, and objects get the forces of the local model instead.
    """

    def __init__(self, task: Task) -> None:
        world, reach = task.world, task.local.reach
        model = copy.deepcopy(world.model)
        tool = np.isin(model.body_treeid[model.geom_bodyid], list(world.trees))
        model.geom_gap[tool] = np.maximum(model.geom_gap[tool], reach)
        model.pair_gap[:] = np.maximum(model.pair_gap, reach)
        super().__init__(task, model)
        if self.exchanges:  # contacts of the tool are seen, but do not act
            model.geom_margin[tool] -= SILENT
            model.geom_gap[tool] += SILENT
        self._omega = min(FOLLOW, HOLDABLE / model.opt.timestep)
        self._most = float(model.opt.timestep)
        self._last: Target | None = None
        mujoco.mj_forward(model, self.data)
        self._good = self.data.qpos.copy()
        self._scene = make_scene(world, model, self.data)
        self._motion, self._rows, *_ = make_arrays(model, CAPACITY, 0)
        self._p, self._defaults = survey_parameters(task.contact)

    def advance(self, target: Target, seconds: float) -> None:
        """Simulate, the tool following the target."""
        if self.static:
            self.place(target)
        else:
            self._step(target, seconds)
        self._last = target
        self._look_for_reset()

    def near(self) -> np.ndarray:
        """Contacts of the tool and what is within reach of it; copies and seams are left out."""
        rows, trees = self._rows, self.task.world.trees
        gather_contacts(self._scene, self._motion, rows, self._p)
        found = []
        for r in range(rows.tally[0]):
            sides = [int(tree) in trees for tree in rows.tree[r]]
            if sides[0] != sides[1]:
                found.append(self._describe(r, 1 if sides[1] else 0))
        return np.array(found, NEAR) if found else np.zeros(0, NEAR)

    def _step(self, target: Target, seconds: float) -> None:
        """Step the scene; the tool is pulled along between the last target and this one."""
        model, data = self.model, self.data
        last = self._last or target
        steps = substeps(seconds, self._most)
        model.opt.timestep = seconds / max(steps, 1)
        for k in range(steps):
            if self.exchanges:
                self.lead(last, target, k / steps)
            mujoco.mj_step1(model, data)
            if self.exchanges:
                data.qfrc_applied[:] = self.push(target, (k + 0.5) / steps)
            else:
                data.qfrc_applied[:] = self.pull(last, target, k / steps, self._omega)
            mujoco.mj_step2(model, data)
        if self.exchanges:
            self.lead(last, target, 1.0)
        self.refresh()

    def _look_for_reset(self) -> None:
        """MuJoCo resets a world that diverged, silently but for its counters."""
        data = self.data
        if any(data.warning[kind].number for kind in _BAD) or not np.isfinite(data.qpos).all():
            mujoco.mj_resetData(self.model, data)
            data.qpos[:], data.ctrl[:] = self._good, self.task.world.ctrl
            mujoco.mj_forward(self.model, data)
            raise EngineError("the world diverged in MuJoCo; it goes on from rest")
        self._good = data.qpos.copy()

    def _describe(self, r: int, side: int) -> tuple[object, ...]:
        """Row r as NEAR; *side* is the tool's."""
        rows, model = self._rows, self.model
        normal = rows.normal[r] if side == 1 else -rows.normal[r]
        s = float(rows.separation[r])
        place = rows.point[r] - 0.5 * s * normal
        link, other = (int(model.geom_bodyid[rows.geom[r, k]]) for k in (side, 1 - side))
        velocity, *gives = self.behind(other, place, normal)
        given = (getattr(rows, name)[r] for name in PROPERTIES)
        own = (
            np.nan if value == default else value
            for value, default in zip(given, self._defaults, strict=True)
        )
        return (self.number(link), other, place, normal, velocity, *own, *gives, s)


def survey_parameters(contact: Contact) -> tuple[np.ndarray, tuple[float, ...]]:
    """Parameters with which rows also keep what is only near, and the session's properties."""
    p = np.zeros(1, records.PARAMETERS)
    p["contact_mode"] = records.RIGID
    defaults = (contact.stiffness, contact.damping, contact.restitution, contact.friction.static)
    p["stiffness"], p["damping"], p["restitution"], p["friction_static"] = defaults
    return p, defaults
