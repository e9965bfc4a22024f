"""Bullet as the engine, through PyBullet: the scene is built from MuJoCo's compiled model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from detent.engines.hush import quiet
from detent.engines.mirror import FOLLOW, HOLDABLE, Mirror, substeps
from detent.engines.protocol import Target, Task
from detent.engines.urdf import hull_file, is_free, rotate, tree_urdf
from detent.errors import EngineError, SceneError

DIVERGED = 1e6  # [m/s, rad/s]
SUBSTEP = 1.0 / 240.0  # [s] Bullet's own
_GEOM = mujoco.mjtGeom


class BulletEngine(Mirror):
    """The scene in Bullet: free bodies, and trees of hinges and slides.

    Bullet knows neither tendons, loop closures nor actuators of MJCF: a scene that has them is
    refused. Bodies move and collide as Bullet says; what is near the tool is then read from
    MuJoCo's copy of the scene in Bullet's state, because Bullet reports one pair of nearest points
    for each pair of bodies, where a face needs all its corners.
    """

    def __init__(self, task: Task) -> None:
        model = task.world.model
        _check_scene(model)
        super().__init__(task)
        self._omega = min(FOLLOW, HOLDABLE / SUBSTEP)
        self._good = self.data.qpos.copy()
        self._begin()

    def _begin(self) -> None:
        """A new Bullet world, in the state of the mirror."""
        self._client = connect()
        self._client.setGravity(*self.model.opt.gravity)
        self._link: dict[int, tuple[int, int]] = {}  # body -> unique id and link
        self._joint: dict[int, tuple[int, int]] = {}  # joint -> unique id and index
        with tempfile.TemporaryDirectory() as folder:
            self._build(Path(folder))
        if self.exchanges:
            self._silence()
        self._last: Target | None = None
        self._write(range(self.model.ntree))
        self.refresh()

    def advance(self, target: Target, seconds: float) -> None:
        """Simulate, the tool following the target."""
        if self.static:
            self.place(target)
            self._write(self.task.world.trees)
        else:
            self._step(target, seconds)
        self._last = target
        state = self.data.qvel
        if not np.isfinite(self.data.qpos).all() or not np.abs(state).max(initial=0.0) < DIVERGED:
            self.data.qpos[:], self.data.qvel[:] = self._good, 0.0
            self._begin()
            raise EngineError("the world diverged in Bullet; it goes on from rest")
        self._good = self.data.qpos.copy()

    def restore(self, saved: np.ndarray) -> None:
        """Go on from a state that was saved."""
        super().restore(saved)
        self._write(range(self.model.ntree))

    def _step(self, target: Target, seconds: float) -> None:
        if self._last is None:
            self.place(target)
            self._write(self.task.world.trees)
        elif not self.exchanges:  # the tool's own place, which is not that of the proxy
            self._read()
            self.refresh()
        last = self._last or target
        before, pushed = self.data.qvel.copy(), np.zeros(self.model.nv)
        steps = substeps(seconds, SUBSTEP)
        if steps:
            self._client.setTimeStep(seconds / steps)
        for k in range(steps):
            if self.exchanges:
                self.lead(last, target, k / steps)
                self._write(self.task.world.trees)
                push = self.push(target, (k + 0.5) / steps)
                pushed += push / steps
                self._apply(push)
            else:
                self._apply(self.pull(last, target, k / steps, self._omega))
            self._client.stepSimulation()
            self._read()
            if self.exchanges:
                self.lead(last, target, (k + 1) / steps)
            self.refresh()
        self._write(self.task.world.trees if self.exchanges else ())
        self.note_drift(before, pushed, seconds)
        if not self.exchanges:
            self.place(target)  # what is near is seen from the proxy

    def _build(self, folder: Path) -> None:
        model = self.model
        for tree in range(model.ntree):
            bodies = [int(b) for b in np.nonzero(model.body_treeid == tree)[0]]
            path = folder / f"tree{tree}.urdf"
            path.write_text(tree_urdf(model, bodies, folder))
            flags = self._client.URDF_USE_INERTIA_FROM_FILE
            fixed = not is_free(model, bodies[0])
            uid = self._client.loadURDF(str(path), useFixedBase=fixed, flags=flags)
            self._index(uid, bodies, fixed)
        for geom in range(model.ngeom):
            collides = model.geom_contype[geom] or model.geom_conaffinity[geom]
            if model.body_treeid[model.geom_bodyid[geom]] < 0 and collides:
                self._add_static(geom, folder)

    def _silence(self) -> None:
        """Contacts of the tool are seen, but do not act."""
        tools = [self._link[b] for b in self.task.world.tool_bodies if b in self._link]
        for uid, link in tools:
            for other in range(self._client.getNumBodies()):
                for end in range(-1, self._client.getNumJoints(other)):
                    if (other, end) not in tools:
                        self._client.setCollisionFilterPair(uid, other, link, end, 0)

    def _index(self, uid: int, bodies: list[int], fixed: bool) -> None:
        client = self._client
        for b in [] if fixed else bodies[:1]:
            self._link[b] = (uid, -1)
        for index in range(client.getNumJoints(uid)):
            info = client.getJointInfo(uid, index)
            joint, link = info[1].decode(), info[12].decode()
            if link.startswith("b"):
                self._link[int(link[1:])] = (uid, index)
            if joint.startswith("j"):
                self._joint[int(joint[1:])] = (uid, index)
                client.setJointMotorControl2(uid, index, self._client.VELOCITY_CONTROL, force=0.0)
        for b in bodies:
            first = self.model.body_geomadr[b]
            if first >= 0:
                self._rub(*self._link[b], int(first))
        for index in range(-1, client.getNumJoints(uid)):
            client.changeDynamics(uid, index, linearDamping=0.0, angularDamping=0.0)

    def _rub(self, uid: int, link: int, geom: int) -> None:
        friction = float(self.model.geom_friction[geom, 0])
        self._client.changeDynamics(uid, link, lateralFriction=friction, collisionMargin=0.0)

    def _add_static(self, geom: int, folder: Path) -> None:
        model, data, client = self.model, self.data, self._client
        mujoco.mj_kinematics(model, data)
        size, kind = model.geom_size[geom], _GEOM(int(model.geom_type[geom]))
        turn = np.zeros(4)
        mujoco.mju_mat2Quat(turn, data.geom_xmat[geom])
        if kind == _GEOM.mjGEOM_PLANE:
            normal = data.geom_xmat[geom].reshape(3, 3)[:, 2]
            shape = client.createCollisionShape(
                self._client.GEOM_PLANE, planeNormal=normal.tolist()
            )
            turn = np.array([1.0, 0.0, 0.0, 0.0])
        elif kind == _GEOM.mjGEOM_BOX:
            shape = client.createCollisionShape(self._client.GEOM_BOX, halfExtents=size.tolist())
        elif kind == _GEOM.mjGEOM_SPHERE:
            shape = client.createCollisionShape(self._client.GEOM_SPHERE, radius=size[0])
        elif kind in (_GEOM.mjGEOM_CAPSULE, _GEOM.mjGEOM_CYLINDER):
            capsule = kind == _GEOM.mjGEOM_CAPSULE
            name = self._client.GEOM_CAPSULE if capsule else self._client.GEOM_CYLINDER
            shape = client.createCollisionShape(name, radius=size[0], height=2.0 * size[1])
        elif kind == _GEOM.mjGEOM_MESH:
            file = str(hull_file(model, geom, folder))
            shape = client.createCollisionShape(self._client.GEOM_MESH, fileName=file)
        else:
            raise SceneError(f"geom {geom} is of a shape that Bullet does not know")
        uid = client.createMultiBody(
            0.0, shape, basePosition=data.geom_xpos[geom].tolist(), baseOrientation=_xyzw(turn)
        )
        self._rub(uid, -1, geom)

    def _write(self, trees: Any) -> None:
        """The state of these trees into Bullet."""
        model, data = self.model, self.data
        for joint, (uid, index) in self._joint.items():
            if int(model.body_treeid[model.jnt_bodyid[joint]]) in trees:
                q = data.qpos[model.jnt_qposadr[joint]] - model.qpos0[model.jnt_qposadr[joint]]
                self._client.resetJointState(uid, index, q, data.qvel[model.jnt_dofadr[joint]])
        for body, (uid, link) in self._link.items():
            if link == -1 and int(model.body_treeid[body]) in trees:
                self._write_free(body, uid)

    def _write_free(self, body: int, uid: int) -> None:
        model, data = self.model, self.data
        adr, dof = model.jnt_qposadr[model.body_jntadr[body]], model.body_dofadr[body]
        at, turn = data.qpos[adr : adr + 3], data.qpos[adr + 3 : adr + 7]
        inertial = np.zeros(4)
        mujoco.mju_mulQuat(inertial, turn, model.body_iquat[body])
        arm = rotate(turn, model.body_ipos[body])
        self._client.resetBasePositionAndOrientation(uid, (at + arm).tolist(), _xyzw(inertial))
        spin = rotate(turn, data.qvel[dof + 3 : dof + 6])
        moving = data.qvel[dof : dof + 3] + np.cross(spin, arm)
        self._client.resetBaseVelocity(uid, moving.tolist(), spin.tolist())

    def _read(self) -> None:
        """Bullet's state into MuJoCo's coordinates."""
        model, data = self.model, self.data
        for joint, (uid, index) in self._joint.items():
            q, v = self._client.getJointState(uid, index)[:2]
            adr = model.jnt_qposadr[joint]
            data.qpos[adr], data.qvel[model.jnt_dofadr[joint]] = q + model.qpos0[adr], v
        for body, (uid, link) in self._link.items():
            if link == -1:
                self._read_free(body, uid)

    def _read_free(self, body: int, uid: int) -> None:
        model, data = self.model, self.data
        adr, dof = model.jnt_qposadr[model.body_jntadr[body]], model.body_dofadr[body]
        at, orientation = self._client.getBasePositionAndOrientation(uid)
        moving, spin = (np.array(v) for v in self._client.getBaseVelocity(uid))
        inverse, turn = np.zeros(4), np.zeros(4)
        mujoco.mju_negQuat(inverse, model.body_iquat[body])
        mujoco.mju_mulQuat(turn, np.array(orientation)[[3, 0, 1, 2]], inverse)
        arm = rotate(turn, model.body_ipos[body])
        back = np.zeros(4)
        mujoco.mju_negQuat(back, turn)
        data.qpos[adr : adr + 3], data.qpos[adr + 3 : adr + 7] = np.array(at) - arm, turn
        data.qvel[dof : dof + 3] = moving - np.cross(spin, arm)
        data.qvel[dof + 3 : dof + 6] = rotate(back, spin)

    def _apply(self, torque: np.ndarray) -> None:
        """Generalised torques on joints and free bodies, for the next step."""
        model, data, client = self.model, self.data, self._client
        for joint, (uid, index) in self._joint.items():
            value = float(torque[model.jnt_dofadr[joint]])
            if value != 0.0:
                client.setJointMotorControl2(uid, index, self._client.TORQUE_CONTROL, force=value)
        for body, (uid, link) in self._link.items():
            if link != -1:
                continue
            own = torque[model.body_dofadr[body] : model.body_dofadr[body] + 6]
            if own.any():
                turn = rotate(data.xquat[body], own[3:])
                frame = self._client.WORLD_FRAME
                client.applyExternalForce(
                    uid, -1, own[:3].tolist(), data.xpos[body].tolist(), frame
                )
                client.applyExternalTorque(uid, -1, turn.tolist(), frame)


def connect() -> Any:
    """A Bullet world of our own; its constants are attributes of the client."""
    with quiet():
        import pybullet
        from pybullet_utils.bullet_client import BulletClient

        return BulletClient(connection_mode=pybullet.DIRECT)


def _check_scene(model: mujoco.MjModel) -> None:
    for what, count in (("tendons", model.ntendon), ("loop closures", model.neq),
                        ("actuators", model.nu)):  # fmt: skip
        if count:
            raise SceneError(f"the scene has {what}, which the bullet engine does not know")


def _xyzw(quaternion: np.ndarray) -> list[float]:
    return [float(quaternion[k]) for k in (1, 2, 3, 0)]
