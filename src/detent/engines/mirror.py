"""What every engine that knows its state in MuJoCo's coordinates can answer alike."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np

from detent.engines.curvature import bend, flat
from detent.engines.giving import few_numbers, held_back
from detent.engines.protocol import Target, Task
from detent.local.constants import GIVES
from detent.local.records import NEAR
from detent.servo.arrays import make_arrays
from detent.servo.contact.rows import gather_contacts
from detent.servo.parameters import PARAMETERS, RIGID
from detent.servo.world.scene import make_scene
from detent.shapes.felt import FeltWorld
from detent.world.contact import Contact
from detent.world.world import PROPERTIES, World

FOLLOW = 100.0  # [rad/s] of the controller that lets the tool follow the proxy
RECENT = 12  # targets over which what the hand pushes is averaged: planes that stay come singly
FADE = 0.7  # weight of a target beside the next one
BRAKE = 0.5  # of the controller's damping, along what the hand pushes through planes that stay
FASTER = 0.01  # [m/s] by which the tool may be faster than such a proxy, unbraked
CAPACITY = 512  # contacts
HOLDABLE = 0.25  # of that, what a step of the engine can hold
BARELY = 1e-4  # [m] nearer than that, what is near may be touched: MuJoCo looks again
SAME = 5e-4  # [m] between two places that are one
TOUCH = 1e-4  # [m] nearer than that, something holds an object back
PLACE, SHAPES = ((NEAR.names or ()).index(name) for name in ("place", "shapes"))


class Mirror:
    """The whole world in MuJoCo's coordinates, beside whoever simulates it."""

    def __init__(self, task: Task) -> None:
        self.task, reach = task, task.local.reach
        self.model = model = copy.deepcopy(task.world.model)
        tool = tool_geoms(task.world)
        self._own_gaps = model.geom_gap.copy(), model.pair_gap.copy()
        model.geom_gap[tool] = np.maximum(model.geom_gap[tool], reach)
        model.pair_gap[:] = np.maximum(model.pair_gap, reach)
        bodies = model.geom_bodyid[tool]  # MuJoCo looks at bodies first, and this far
        model.body_margin[bodies] = np.maximum(model.body_margin[bodies], reach)
        self.data = mujoco.MjData(model)
        self.data.qpos[:], self.data.qvel[:] = task.world.qpos, task.world.qvel
        self.data.ctrl[:], self.data.act[:] = task.world.ctrl, task.world.act
        self.static = model.ntree == len(task.world.trees)
        self.exchanges = task.local.constraints == "inertial"  # forces, not the tool's contacts
        self._drift = np.zeros(model.nv)  # accelerations that the tool's pushes do not explain
        self._loads: deque[np.ndarray] = deque(maxlen=RECENT)
        self._brake = BRAKE if task.local.constraints == "static" else 0.0
        mujoco.mj_forward(model, self.data)
        self._scene = make_scene(task.world, model, self.data)
        self._felt = FeltWorld(task.world, self.data, reach)
        self._motion, self._rows, *_ = make_arrays(model, CAPACITY, 1, 0)
        self._p, self._defaults = survey_parameters(task.contact)

    def place(self, target: Target) -> None:
        """Put the tool where the proxy is."""
        cut = self.task.cut
        self.data.qpos[cut.qpos], self.data.qvel[cut.qvel] = target.qpos, target.qvel
        self.refresh()

    def refresh(self) -> None:
        """Everything that follows from positions and velocities."""
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists of the tool's links."""
        bodies, data = self.task.cut.bodies, self.data
        poses = np.hstack([data.xpos[bodies], data.xquat[bodies]])
        return poses, body_twists(self.model, data, bodies)

    def bodies(self) -> np.ndarray:
        """Poses of all bodies."""
        return np.hstack([self.data.xpos, self.data.xquat])

    def near(self) -> np.ndarray:
        """Contacts of the tool and what is within reach of it; copies and seams are left out."""
        found, gives = [], []
        for one, give in self._survey():
            found.append(one)
            gives.append(give)
        near = np.array(found, NEAR) if found else np.zeros(0, NEAR)
        for tree in set(near["group"].tolist()) - {-1}:
            mine = near["group"] == tree
            near["give"][mine] = few_numbers(np.array(gives)[mine])
        return near

    def _survey(self) -> list[tuple[tuple[object, ...], np.ndarray]]:
        """What is touched, as a world without reach finds it, and what else is within reach.

        MuJoCo gives a few contacts of a pair: looking far, it may leave out one that is touched
        for one that is not, or see as barely apart what is barely touched.
        """
        near, apart = self._look()
        felt = self._look_closely()
        if all(s > BARELY for s in apart):
            return near + felt
        with self._at_hand():
            found, inside = self._look()
        touched = [one for one, s in zip(found, inside, strict=True) if s <= 0.0]
        for one, s in zip(near, apart, strict=True):
            if s > BARELY or (s > 0.0 and not any(_same(one[0], other[0]) for other in touched)):
                touched.append(one)
        return touched + felt

    @contextmanager
    def _at_hand(self) -> Iterator[None]:
        """Contacts without reach; those within it are there again afterwards."""
        model = self.model
        far = model.geom_gap.copy(), model.pair_gap.copy()
        model.geom_gap[:], model.pair_gap[:] = self._own_gaps
        mujoco.mj_collision(model, self.data)
        try:
            yield
        finally:
            model.geom_gap[:], model.pair_gap[:] = far
            mujoco.mj_collision(model, self.data)

    def _look_closely(self) -> list[tuple[tuple[object, ...], np.ndarray]]:
        """The tool's contacts with shapes that are felt as they are; MuJoCo's are left alone."""
        if not self._felt.pairs:
            return []
        before = int(self._scene.ncon[0])
        self._felt.feel()
        try:
            return self._look(felt=True)[0]
        finally:
            self._scene.ncon[0] = before

    def _look(
        self, felt: bool = False
    ) -> tuple[list[tuple[tuple[object, ...], np.ndarray]], list[float]]:
        """The tool's contacts with others, as they are listed now, and their separations.

        What MuJoCo says of the hull of a shape that is felt as it is does not count.
        """
        rows, trees, shapes = self._rows, self.task.world.trees, self.task.world.concave
        gather_contacts(self._scene, self._motion, rows, self._p)
        out, apart = [], []
        for r in range(rows.count[0]):
            sides = [int(tree) in trees for tree in rows.tree[r]]
            own = any(int(geom) in shapes for geom in rows.geom[r])
            if not (rows.patch[r] >= 0 if felt else not own):
                continue
            if sides[0] or sides[1]:  # or both: two links of the tool
                out.append(self._describe(r, 1 if sides[1] else 0))
                apart.append(float(rows.separation[r]))
        return out, apart

    def note_drift(self, before: np.ndarray, pushes: np.ndarray, seconds: float) -> None:
        """What accelerated the world in a frame besides the tool's pushes (nv,) [N, N·m]."""
        if seconds > 0.0:
            response = np.zeros((1, self.model.nv))
            mujoco.mj_solveM(self.model, self.data, response, pushes[None, :])
            self._drift = (self.data.qvel - before) / seconds - response[0]

    def save(self) -> np.ndarray:
        """The state of the world, for an engine that takes over."""
        return np.concatenate([self.data.qpos, self.data.qvel])

    def restore(self, saved: np.ndarray) -> None:
        """Go on from a state that was saved."""
        self.data.qpos[:], self.data.qvel[:] = np.split(saved, [self.model.nq])
        self.refresh()

    def behind(
        self, body: int, place: np.ndarray, normal: np.ndarray
    ) -> tuple[np.ndarray, int, float, np.ndarray]:
        r"""Velocity of a body at a point, its tree, its drift, and how it gives along the normal.

        .. math:: a = D^{-1/2} J^T n

        An object that lies against something else does not give in that direction (`held_back`).
        The drift is the acceleration that the tool's pushes do not explain: that of springs,
        dampers, friction, weight, and of whatever ties the object.
        """
        model, data = self.model, self.data
        tree = int(model.body_treeid[body])
        if tree < 0:
            return np.zeros(3), -1, 0.0, np.zeros(model.nv)
        jac = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jac, None, place, body)
        half = np.zeros((1, model.nv))
        mujoco.mj_solveM2(model, data, half, (normal @ jac)[None, :], np.sqrt(data.qLDiagInv))
        if self.exchanges:
            half[0] = held_back(half[0], self._holds(tree))
        return jac @ data.qvel, tree, float(normal @ jac @ self._drift), half[0]

    def _holds(self, tree: int) -> np.ndarray:
        """(n, nv) D^-½ Jᵀ of what an object touches besides the tool, and of joints at a limit."""
        model, data = self.model, self.data
        rows = []
        trees = model.body_treeid[model.geom_bodyid[data.contact.geom]].reshape(-1, 2)
        tools = np.isin(trees, list(self.task.world.trees)).any(axis=1)
        touching = (trees == tree).any(axis=1) & ~tools & (data.contact.dist < TOUCH)
        for c in np.flatnonzero(touching):
            contact, jac = data.contact[c], np.zeros((2, 3, model.nv))
            for side, geom in enumerate(contact.geom):
                body = int(model.geom_bodyid[geom])
                mujoco.mj_jac(model, data, jac[side], None, contact.pos, body)
            rows.append(contact.frame[:3] @ (jac[1] - jac[0]))
        for joint in np.flatnonzero(model.jnt_limited.astype(bool) & (model.jnt_type >= 2)):
            dof, place = model.jnt_dofadr[joint], data.qpos[model.jnt_qposadr[joint]]
            low, high = model.jnt_range[joint]
            if model.dof_treeid[dof] == tree and not low < place < high:
                rows.append(np.eye(model.nv)[dof] * (1.0 if place <= low else -1.0))
        out = np.zeros((len(rows), model.nv))
        if rows:
            mujoco.mj_solveM2(model, data, out, np.array(rows), np.sqrt(data.qLDiagInv))
        return out

    def number(self, body: int) -> int:
        """The number of a body of the tool as a link."""
        return int(np.searchsorted(self.task.cut.bodies, body))

    def pull(self, last: Target, target: Target, share: float, omega: float) -> np.ndarray:
        r"""(nv,) torques that let the tool follow, part of the way from one target to the next.

        .. math:: \tau = (M \ddot q_p - T_c) + M (\omega^2 \Delta q + 2 \omega \Delta\dot q) + b

        The first part is what the hand did to the proxy: its acceleration without the torques T_c
        of its contacts. The second is S3's "graphics" controller, with K_g and B_g by a frequency;
        b balances bias and passive torques. Where the hand pushes (the direction of -T_c, over the
        last targets) the tool is ahead of a proxy whose planes are late: there the controller never
        pulls back. Where planes stay it brakes a tool that is much faster than the proxy's mean
        velocity, by half of its damping: a proxy that goes by steps would throw the object. What
        that receives is up to the engine's own contact.
        """
        cut, model, data = self.task.cut, self.model, self.data
        error, velocity = self._lag(last, target, share)
        drive = self._times_inertia(omega**2 * error + 2.0 * omega * velocity)
        seconds = target.time - last.time
        if seconds > 0.0:
            if share == 0.0:
                self._loads.appendleft(target.load)
            push = -np.average(self._loads, axis=0, weights=FADE ** np.arange(len(self._loads)))
            hand = self._times_inertia((target.qvel - last.qvel) / seconds) - target.load
            free = self._without_recoil(drive, push)
            if free is not drive:
                slower = self._damping(last, target, omega)
                free = free + self._brake * (slower - self._without_recoil(slower, push))
            drive = hand + free
        out = np.zeros(model.nv)
        out[cut.qvel] = drive + data.qfrc_bias[cut.qvel] - data.qfrc_passive[cut.qvel]
        return out

    def push(self, target: Target, share: float) -> np.ndarray:
        """(nv,) torques of the forces on objects, part of the way to the target."""
        out, jac = np.zeros(self.model.nv), np.zeros((3, self.model.nv))
        for one in target.pushes:
            mujoco.mj_jac(self.model, self.data, jac, None, one.place, one.other)
            out += ((1.0 - share) * one.first + share * one.last) @ jac
        return out

    def lead(self, last: Target, target: Target, share: float) -> None:
        """Put the tool part of the way between two targets; nothing else is touched."""
        cut = self.task.cut
        self.data.qpos[cut.qpos], self.data.qvel[cut.qvel] = self._between(last, target, share)

    def _between(self, last: Target, target: Target, share: float) -> tuple[np.ndarray, np.ndarray]:
        """qpos and qvel of the tool, part of the way between two targets."""
        tool = self.task.cut.world.model
        step, at = np.zeros(tool.nv), last.qpos.copy()
        mujoco.mj_differentiatePos(tool, step, 1.0, last.qpos, target.qpos)
        mujoco.mj_integratePos(tool, at, step, share)
        return at, (1.0 - share) * last.qvel + share * target.qvel

    def _describe(self, r: int, side: int) -> tuple[tuple[object, ...], np.ndarray]:
        """Row r as NEAR, *side* being the tool's, and how the other gives in all coordinates."""
        rows, model = self._rows, self.model
        normal = (2.0 * side - 1.0) * rows.normal[r]
        s = float(rows.separation[r])
        place = rows.point[r] - 0.5 * s * normal
        geoms = int(rows.geom[r, side]), int(rows.geom[r, 1 - side])
        link, other = (int(model.geom_bodyid[geom]) for geom in geoms)
        base = self.number(other) if rows.tree[r, 1 - side] in self.task.world.trees else 0
        curved = bend(model, self.data, geoms, place, normal)
        velocity, tree, drift, give = self.behind(other, place, normal)
        if base != 0:  # it moves with the tool
            curved, velocity, tree, drift = flat(curved), np.zeros(3), -1, 0.0
        given = (getattr(rows, name)[r] for name in PROPERTIES)
        own = (
            np.nan if value == default else value
            for value, default in zip(given, self._defaults, strict=True)
        )
        none = np.zeros(GIVES)
        where = (self.number(link), other, place, normal, geoms, *curved, velocity)
        return (*where, *own, tree, base, drift, none, s), give

    def _lag(self, last: Target, target: Target, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Errors of position and velocity against a point between two targets."""
        cut, data = self.task.cut, self.data
        error = np.zeros(cut.world.model.nv)
        at, velocity = self._between(last, target, share)
        mujoco.mj_differentiatePos(cut.world.model, error, 1.0, data.qpos[cut.qpos], at)
        return error, velocity - data.qvel[cut.qvel]

    def _times_inertia(self, tool: np.ndarray) -> np.ndarray:
        """M v of the tool."""
        whole, out = np.zeros(self.model.nv), np.zeros(self.model.nv)
        whole[self.task.cut.qvel] = tool
        mujoco.mj_mulM(self.model, self.data, out, whole)
        return out[self.task.cut.qvel]

    def _damping(self, last: Target, target: Target, omega: float) -> np.ndarray:
        """Torques towards the mean velocity of the proxy, if the tool is much faster than that."""
        cut, seconds, step = self.task.cut, target.time - last.time, np.zeros(len(last.qvel))
        mujoco.mj_differentiatePos(cut.world.model, step, seconds, last.qpos, target.qpos)
        mean = (target.poses - last.poses)[cut.world.tool, :3] / seconds
        own = body_twists(self.model, self.data, np.array([self.task.world.tool]))[0, :3]
        over = 1.0 - FASTER / max(float(np.linalg.norm(own - mean)), FASTER)
        return over * self._times_inertia(2.0 * omega * (step - self.data.qvel[cut.qvel]))

    def _along(self, drive: np.ndarray, push: np.ndarray) -> np.ndarray:
        """The part of *drive* that works with *push* or against it."""
        whole = np.zeros((1, self.model.nv))
        whole[0, self.task.cut.qvel] = push
        response = np.zeros_like(whole)
        mujoco.mj_solveM(self.model, self.data, response, whole)
        size = float(whole[0] @ response[0])
        share = response[0, self.task.cut.qvel] @ drive / size if size > 0.0 else 0.0
        return np.asarray(share * push)

    def _without_recoil(self, drive: np.ndarray, push: np.ndarray) -> np.ndarray:
        """The part of *drive* that does not work against *push*."""
        along = self._along(drive, push)
        return drive - along if along @ push < 0.0 else drive


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two records of `near` are one contact: its pair of shapes, and its place."""
    apart = np.linalg.norm(one[PLACE] - other[PLACE])
    return bool(one[SHAPES] == other[SHAPES] and apart < SAME)


def tool_geoms(world: World) -> np.ndarray:
    """(ngeom,) which geoms are the tool's."""
    model = world.model
    return np.isin(model.body_treeid[model.geom_bodyid], list(world.trees))


def survey_parameters(contact: Contact) -> tuple[np.ndarray, tuple[float, ...]]:
    """Parameters with which rows also keep what is only near, and the session's properties."""
    p = np.zeros(1, PARAMETERS)
    p["contact_mode"] = RIGID
    friction = contact.rubbing
    defaults = (*contact.gains, contact.restitution, friction.static)
    p["stiffness"], p["damping"], p["restitution"], p["friction_static"] = defaults
    p["friction_scene"] = friction.scene
    return p, (*defaults[:3], np.nan if friction.scene else friction.static)


def substeps(seconds: float, most: float) -> int:
    """Into how many steps, none longer than *most*, a frame is divided evenly."""
    return int(np.ceil(seconds / most - 1e-9))


def body_twists(model: mujoco.MjModel, data: mujoco.MjData, bodies: np.ndarray) -> np.ndarray:
    """(n, 6) velocities of the origins of bodies, linear first, in world axes."""
    out = np.zeros((len(bodies), 6))
    for i, body in enumerate(bodies):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, int(body), out[i], 0)
    return np.hstack([out[:, 3:], out[:, :3]])
