"""What the tests of the servo share: a prepared servo, its stages, small worlds, their physics."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from detent import Contact, FourChannel, Session, World
from detent.hands import Hand
from detent.kernels import stages
from detent.servo import places
from detent.servo.loop.loop import run_lockstep
from detent.servo.structs import Servo
from detent.setup.prepared import Prepared

#: forces only: nothing ties the positions of tool and device
LOOSE = FourChannel(stiffness=0.0, damping=0.0, topology=None)

PLANAR = """
  <joint type="slide" axis="1 0 0"/>
  <joint type="slide" axis="0 1 0"/>
  <joint type="hinge" axis="0 0 1"/>
  <inertial pos="0 0 0" mass="2" diaginertia="0.005 0.005 0.005"/>"""


def scene(bodies: str, option: str = 'gravity="0 0 0"', more: str = "") -> str:
    """MJCF text of a scene whose geoms do not rub, unless the session says so."""
    smooth = '<custom><text name="detent.friction" data="none"/></custom>'
    return f"<mujoco>{smooth}<option {option}/><worldbody>{bodies}</worldbody>{more}</mujoco>"


def loose(world: World, contact: Contact | None = None, rate: float = 1000.0) -> Session:
    """A session whose tool moves as if nobody held it."""
    return Session(world, contact=contact, coupling=LOOSE, rate=rate)


def start(
    session: Session,
    hand: Hand | None = None,
    qvel: Sequence[float] | None = None,
    ring: int = 4096,
) -> Prepared:
    """A servo ready to run in lockstep, with an initial velocity."""
    ready = session.prepare(hand, session.rate, ring)
    if qvel is not None:
        ready.servo.scene.qvel[:] = qvel
    return ready


def advance(ready: Prepared, ticks: int) -> np.ndarray:
    """Tick in lockstep; the rows written."""
    first = int(ready.servo.written[0])
    done = run_lockstep(ready.servo, ticks)
    return ready.servo.ring[np.arange(first, first + done) % len(ready.servo.ring)].copy()


def run_stage(servo: Servo, place: int) -> None:
    """Run one stage of the tick, as compiled."""
    stages.run_stage(int(servo.stages[place]), servo)


def put_device(ready: Prepared, pose: np.ndarray) -> None:
    """Put a simulated device somewhere (7,), and let the port see it there."""
    ready.servo.port.state.true_pose[:] = pose
    stages.run_stage(int(ready.servo.stages[places.READ]), ready.adapter.struct)


def full_inertia(ready: Prepared) -> np.ndarray:
    """D of the present state, from MuJoCo's Python API."""
    dense = np.zeros((ready.model.nv, ready.model.nv))
    mujoco.mj_fullM(ready.model, ready.data, dense)
    return dense


def full_rows(ready: Prepared, rows: np.ndarray) -> np.ndarray:
    """Rows of this tick over all dofs, from those over the spans of each."""
    spans, count = ready.servo.rows.span, int(ready.servo.rows.count[0])
    out = np.zeros((count, ready.model.nv))
    for r in range(count):
        column = 0
        for first, size in spans[r]:
            out[r, first : first + size] = rows[r, column : column + size]
            column += size
    return out


def mirror(ready: Prepared) -> mujoco.MjData:
    """The servo's present state in a fresh mjData, as MuJoCo's Python API sees it."""
    data = mujoco.MjData(ready.model)
    data.qpos[:], data.qvel[:] = ready.servo.scene.qpos, ready.servo.scene.qvel
    data.ctrl[:] = ready.data.ctrl
    flags = ready.model.opt.enableflags
    ready.model.opt.enableflags = 0  # nobody sleeps there
    mujoco.mj_forward(ready.model, data)
    ready.model.opt.enableflags = flags
    return data


def inertia_of(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """D, from MuJoCo's Python API."""
    dense = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, dense)
    return dense


def closures_of(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """W and h of all loops: MuJoCo's own rows of its equality constraints."""
    count = int(data.ne)
    return data.efc_J.reshape(-1, model.nv)[:count].copy(), data.efc_pos[:count].copy()


def hand_of(world: World, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """The hand point and its Jacobian, from MuJoCo's Python API."""
    point = data.xpos[world.held] + data.xmat[world.held].reshape(3, 3) @ world.point
    jac = np.zeros((6, world.model.nv))
    mujoco.mj_jac(world.model, data, jac[:3], jac[3:], point, world.held)
    return point, jac


def null_space(A: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what A maps to zero, as columns."""
    _, values, V = np.linalg.svd(A)
    return V[int((values > 1e-9 * values.max(initial=0.0)).sum()) :].T


def tangent_space(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Velocities that keep all loops closed, as columns."""
    W, _ = closures_of(model, data)
    return null_space(W) if len(W) else np.eye(model.nv)


def closed_pose(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    """The pose with all loops closed that Newton's method finds from *qpos*."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    for _ in range(30):
        mujoco.mj_forward(model, data)
        W, h = closures_of(model, data)
        if np.abs(h).max(initial=0.0) < 1e-15:
            break
        mujoco.mj_integratePos(model, data.qpos, -np.linalg.pinv(W, rcond=1e-8) @ h, 1.0)
    return data.qpos.copy()


def wander(
    model: mujoco.MjModel, qpos: np.ndarray, rng: np.random.Generator, size: float
) -> np.ndarray:
    """A random pose near *qpos* with all loops closed: along their manifold, step by step."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    aim = rng.standard_normal(model.nv)
    for _ in range(10):
        mujoco.mj_forward(model, data)
        Z = tangent_space(model, data)
        mujoco.mj_integratePos(model, data.qpos, 0.1 * size * Z @ (Z.T @ aim), 1.0)
        data.qpos[:] = closed_pose(model, data.qpos)
    return data.qpos.copy()


def link(name: str, length: float, inner: str = "", joint: str = "", at: str = "0 0 0") -> str:
    """A planar link along x; its joint is at its beginning."""
    return f"""<body name="{name}" pos="{at}"><joint name="{name}" axis="0 0 1" {joint}/>
      <inertial pos="{length / 2} 0 0" mass="1" diaginertia=".001 .001 .001"/>
      <geom type="capsule" size=".004" fromto="0 0 0 {length} 0 0" contype="1" conaffinity="0"/>
      {inner}</body>"""


#: crank, coupler and rocker: 1 degree of freedom
ROCKER = scene(
    link("crank", 0.04, link("coupler", 0.09,
         link("rocker", 0.06, '<site name="end" pos=".06 0 0"/>', at=".09 0 0"), at=".04 0 0"))
    + '<site name="pivot" pos=".1 0 0"/>',
    more='<equality><connect name="cut" site1="end" site2="pivot"/></equality>',
)  # fmt: skip
ROCKER_POSE = np.array([1.0, -0.7, -2.0])  # nearly closed

_AXES = ("0 0 1", "0 1 0", "1 0 .3", "0 1 .2", "1 .4 0", "0 .3 1", "1 0 0")
_RING = ""
for _i, _axis in reversed(list(enumerate(_AXES))):
    _RING = f"""<body name="ring{_i}" pos="{0 if _i == 0 else 0.06} {0.01 * _i} 0">
      <joint axis="{_axis}" damping="{0.001 * (_i % 3)}"/>
      <geom type="capsule" size=".01" fromto="0 0 0 .06 .01 0" mass=".3" contype="0"
        conaffinity="0"/>{_RING}</body>"""
#: seven hinges, the last link welded to the world: 1 degree of freedom
WELDED = scene(
    _RING, more='<equality><weld name="cut" body1="ring6" anchor=".02 .01 .03"/></equality>'
)


def unlimited(world: World) -> World:
    """The same world without joint limits."""
    spec = world.spec.copy()
    for joint in spec.joints:
        joint.limited = 0
    held = world.body_name(world.held)
    return World(spec, tool=held, point=world.point).placed(world.qpos)


def multiplier_system(
    D: np.ndarray, W: np.ndarray, torque: np.ndarray, wanted: np.ndarray | None = None
) -> np.ndarray:
    """q̈ of the full system of S3 eq. 4, by least squares: closures may be redundant."""
    n, m = len(D), len(W)
    size = np.linalg.norm(W, axis=1, keepdims=True)
    rows = W / np.where(size > 1e-12, size, 1.0)
    scale = np.abs(D).max()
    system = np.block([[D / scale, rows.T], [rows, np.zeros((m, m))]])
    right = np.zeros((n + m, *torque.shape[1:]))
    right[:n] = torque / scale
    if wanted is not None:
        right[n:] = wanted / np.where(size[:, 0] > 1e-12, size[:, 0], 1.0)
    return np.linalg.lstsq(system, right, rcond=1e-11)[0][:n]
