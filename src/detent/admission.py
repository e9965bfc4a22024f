"""From a mechanism, a device and a coupling to what the admittance tick works on."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import mujoco
import numpy as np

from detent.assembly import MOST_DAMPING, MOST_STIFFNESS, aim, fill_hand
from detent.coupling.admittance import INTEGRATORS, Admittance
from detent.coupling.gains import six
from detent.devices.admittance import AdmittanceDisplay
from detent.devices.protocol import ImpedanceDevice
from detent.errors import MechanismError
from detent.hands import Hand, Playback
from detent.kernels.advance import RUNGE_KUTTA
from detent.kernels.mechanics import Mechanics, make_mechanics
from detent.kernels.stages import run_stage, stage_address
from detent.mechanism.build import build, mark_built
from detent.mechanism.mechanism import Mechanism, Orientation
from detent.servo import records
from detent.servo.admit import ADMIT_ROW, AdmitServo, Drawn
from detent.servo.arrays import make_clock, make_device
from detent.servo.display import MOTION, NOISE_LENGTH, WRENCH, Display, make_display
from detent.servo.exchange import make_slot
from detent.servo.start import ToolStart
from detent.world.world import World

_PLANE = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
SATISFIED = 1e-6  # [m, rad] how well the start must keep the constraints
BESIDE = 0.05  # [-] how far from the start, in z, ψ is tried again
SINGULAR = 1e-9  # of the largest singular value
_NOTHING = """<mujoco><option gravity="0 0 0"/><worldbody><body name="handle"><freejoint/>
  <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
  <geom type="sphere" size="0.02" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""


@dataclass(frozen=True)
class Plan:
    """A mechanism that is derived and checked, with what its sessions share."""

    mechanism: Mechanism
    module: ModuleType
    world: World  # to draw
    start: ToolStart

    def mechanics(self) -> Mechanics:
        """A new state at the start."""
        return _mechanics(self.mechanism, self.module)

    def trimmed(self, rows: np.ndarray) -> np.ndarray:
        """Rows with as many columns as the mechanism has coordinates and constraints."""
        sizes = self.module.SIZES
        width = {
            "coordinates": sizes["nq"],
            "velocities": sizes["nv"],
            "multipliers": sizes["rows"] + sizes["stops"],
            "part_energies": sizes["energies"],
        }
        kept = [name for name in rows.dtype.names or () if width.get(name, 1) > 0]
        kinds = [(n, rows.dtype[n].base, *_shape(rows.dtype[n], width.get(n))) for n in kept]
        out = np.zeros(len(rows), np.dtype(kinds))
        for name in kept:
            value = rows[name]
            out[name] = value[:, : width[name]] if name in width else value
        return out


def _shape(kind: np.dtype, width: int | None) -> tuple[Any, ...]:
    if kind.shape == ():
        return ()
    return ((width,),) if width is not None else (kind.shape,)


def make_plan(mechanism: Mechanism) -> Plan:
    """Derive and compile a mechanism, or take it from the cache; check its start."""
    module = build_with_bar(mechanism)
    me = _mechanics(mechanism, module)
    run_stage(me.dynamics, me)
    run_stage(me.observe, me)
    _check_start(mechanism, me)
    return Plan(mechanism, module, _drawn_world(mechanism, me), _start(me))


def build_with_bar(mechanism: Mechanism) -> ModuleType:
    """The compiled module; says so if that takes a while."""
    from detent.mechanism.build import is_built
    from detent.warmup import telling

    if is_built(mechanism):
        return build(mechanism)
    with telling(f"deriving and compiling the mechanism {mechanism.name!r}") as progress:
        module = build(mechanism, progress)
        _mechanics(mechanism, module)
        progress(1.0)
    mark_built(mechanism)
    return module


def _mechanics(m: Mechanism, module: ModuleType) -> Mechanics:
    plain, turns, a, b = [], [], 0, 0
    for c in m.coordinates:
        if isinstance(c, Orientation):
            turns.append((a, b))
            a, b = a + 4, b + 3
        else:
            plain.append((a, b))
            a, b = a + 1, b + 1
    places = [np.array(p, np.int64).reshape(-1, 2) for p in (plain, turns)]
    me = make_mechanics(module.SIZES, module.COLUMNS, *places)
    me.c[:] = list(m.constants.values())
    me.q[:] = m.start
    me.u[:] = m.start_velocity or 0.0
    me.z[:] = m.start_parameters or 0.0
    me.identity[0] = not m.task
    me.restitution[0] = m.restitution
    me.integrator[0] = RUNGE_KUTTA
    for damper in m.body_dampers:
        me.dampers[:] += damper.damping, damper.rotational_damping
    springs = [
        (s.stiffness, s.rotational_stiffness, *s.position, *s.quaternion) for s in m.body_springs
    ]
    fields = {name: getattr(me, name) for name in Mechanics.__annotations__}
    fields["springs"] = np.array(springs, float).reshape(-1, 9)
    fields["dynamics"] = stage_address(module.dynamics, me)
    fields["chart"] = stage_address(module.chart, me)
    fields["observe"] = stage_address(module.observe, me)
    out = Mechanics(**fields)
    if m.parametrisation is not None:
        _find_parameters(m, out)
    return out


def _find_parameters(m: Mechanism, me: Mechanics) -> None:
    """z and ż of the start, by Newton's method; q then follows ψ(z)."""
    run_stage(me.dynamics, me)
    for _ in range(20):
        run_stage(me.chart, me)
        x = me.q if me.identity[0] else me.phi
        step = np.linalg.lstsq(me.J_psi, x - me.psi, rcond=None)[0]
        me.z[:] += step
        if np.abs(step).max(initial=0.0) < 1e-14:
            break
    run_stage(me.chart, me)
    speed = me.u if me.identity[0] else me.J_phi @ me.u
    me.w[:] = np.linalg.lstsq(me.J_psi, speed, rcond=None)[0]
    off = (me.q if me.identity[0] else me.phi) - me.psi
    worst = int(np.abs(off).argmax())
    if not abs(off[worst]) < SATISFIED:
        raise MechanismError(
            "ψ(z)", m.psi[worst], f"misses φ(q) by {off[worst]:.3g} at the start, z = {me.z}"
        )
    _check_chart(m, me)


def _check_chart(m: Mechanism, me: Mechanics) -> None:
    """Refuse a ψ that does not cover the constraint manifold at the start, or leaves it."""
    run_stage(me.dynamics, me)
    held, nx = len(m.holonomic), len(m.psi)
    if len(m.z) != nx - held:
        raise MechanismError(
            "ψ(z)", m.psi, f"has {len(m.z)} parameters where the constraints leave {nx - held}"
        )
    _check_rank("the parameter", m.z, me.J_psi.T, len(m.z), "moves nothing on its own at the start")
    along = me.J_psi if me.identity[0] else np.linalg.pinv(me.J_phi) @ me.J_psi
    leaves = np.abs(me.A[:held] @ along).max(axis=1, initial=0.0)
    for expression, rate in zip(m.holonomic, leaves, strict=True):
        if not rate < SATISFIED:
            raise MechanismError("ψ(z)", m.psi, f"leaves the constraint {expression} = 0")
    if me.identity[0] != 0:
        _check_beside(m, me)


def _check_beside(m: Mechanism, me: Mechanics) -> None:
    """Refuse a ψ that only touches the manifold at the start."""
    q, z = me.q.copy(), me.z.copy()
    me.z[:] += BESIDE
    run_stage(me.chart, me)
    me.q[:] = me.psi
    run_stage(me.dynamics, me)
    values = me.h.copy()
    me.q[:], me.z[:] = q, z
    run_stage(me.chart, me)
    for expression, value in zip(m.holonomic, values, strict=True):
        if not abs(value) < SATISFIED:
            raise MechanismError(
                "ψ(z)", m.psi, f"leaves the constraint {expression} = 0: it is {value:.3g} "
                f"where z is {BESIDE} further"
            )  # fmt: skip


def _check_start(m: Mechanism, me: Mechanics) -> None:
    for expression, value in zip(m.holonomic, me.h, strict=True):
        if not abs(value) < SATISFIED:
            raise MechanismError(
                "the constraint", expression, f"is not satisfied at the start: it is {value:.6g}"
            )
    for expression, value in zip(m.stops, me.stop, strict=True):
        if not value > -SATISFIED:
            raise MechanismError("the stop", expression, f"is passed at the start: {value:.6g}")
    M = dense_inertia(me)
    least = np.linalg.eigvalsh(M).min() if np.isfinite(M).all() else np.nan
    if not least > 0.0:
        what = m.inertia if m.inertia is not None else m.kinetic_energy
        raise MechanismError("the inertia of", what, "is not positive definite at the start")
    if m.task:
        _check_rank("φ(q)", m.kinematics, me.J_phi, min(me.J_phi.shape), "is singular at the start")
    rows = [*m.holonomic, *(list(row) for row in m.pfaffian)]
    for expression, rate in zip(rows, me.A @ me.u, strict=True):
        if not abs(rate) < SATISFIED:
            raise MechanismError(
                "the constraint", expression, f"forbids start_velocity: its rate is {rate:.3g}"
            )
    _check_rank("the constraint", rows, me.A, len(rows), "follows from those before it")


def _check_rank(what: str, names: Any, rows: np.ndarray, wanted: int, problem: str) -> None:
    """Refuse dependent rows, and name the first that adds nothing."""
    if np.linalg.matrix_rank(rows, SINGULAR * max(np.abs(rows).max(initial=0.0), 1e-300)) == wanted:
        return
    rank = 0
    for i in range(len(rows)):
        now = np.linalg.matrix_rank(rows[: i + 1], SINGULAR * max(np.abs(rows).max(), 1e-300))
        if now == rank:
            raise MechanismError(what, names[i], problem)
        rank = int(now)
    raise MechanismError(what, names, problem)


def dense_inertia(me: Mechanics) -> np.ndarray:
    """M as a full matrix."""
    n, inertia = len(me.u), me.inertia
    out = np.zeros((n, n))
    out[np.repeat(np.arange(n), inertia.rownnz), inertia.colind] = me.M
    return out + np.tril(out, -1).T


def _start(me: Mechanics) -> ToolStart:
    """The handle at the start, with the inertia that the constraints leave it."""
    factor = np.linalg.cholesky(dense_inertia(me))
    white = np.linalg.solve(factor, me.J.T).T
    if len(me.A):
        rows = np.linalg.solve(factor, me.A.T).T
        _, _, Q = np.linalg.svd(rows, full_matrices=False)
        white = white - white @ Q.T @ Q
    mobility = white @ white.T
    moves = np.array([np.linalg.eigvalsh(mobility[p, p]).max() for p in (slice(3), slice(3, 6))])
    mass = 1.0 / moves[0] if moves[0] > 1e-12 else 1.0
    turning = 1.0 / moves[1] if moves[1] > 1e-12 else mass * 0.05**2
    planar = not np.abs(me.J[[2, 3, 4]]).max() > 1e-12
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, me.rotation.reshape(-1))
    return ToolStart(
        me.position.copy(),
        quaternion,
        mobility,
        np.diag(np.repeat([mass, turning], 3)),
        _PLANE.copy() if planar else np.ones(6),
        me.J @ me.u,
    )


def _drawn_world(m: Mechanism, me: Mechanics) -> World:
    """The scene of the mechanism, its bodies where they start."""
    names = list(m.bodies) or ["handle"]
    world = World.from_string(m.scene or _NOTHING, tool=names[0], point=(0, 0, 0), name=m.name)
    qpos = world.qpos.copy()
    quaternion = np.zeros(4)
    for i, name in enumerate(names):
        body = world.model.body(name)
        place = me.body_position[i] if m.bodies else me.position
        turn = me.body_rotation[i] if m.bodies else me.rotation
        mujoco.mju_mat2Quat(quaternion, turn.reshape(-1))
        joint = int(body.jntadr[0])
        first = int(world.model.jnt_qposadr[joint])
        if world.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            qpos[first : first + 7] = *place, *quaternion
        else:  # slide, slide, hinge
            qpos[first : first + 3] = place[0], place[1], np.arctan2(turn[1, 0], turn[0, 0])
    return world.placed(qpos)


def fill_display(
    di: Display,
    device: ImpedanceDevice,
    coupling: Admittance,
    de: records.Device,
    mobility: np.ndarray,
    step: float,
    notes: list[str],
) -> None:
    """A display (or the model of an impedance device) at the start pose in *de*."""
    moves = isinstance(device, AdmittanceDisplay)
    di.kind[0] = MOTION if moves else WRENCH
    di.origin[:] = di.seen[:] = di.last[:] = np.concatenate([de.position, de.quaternion])
    di.position[:], di.quaternion[:] = de.position, de.quaternion
    di.speed[:] = de.twist
    gains = [six(n, getattr(coupling, n)) for n in ("stiffness", "integral", "damping")]
    ratio = 1.0
    if not moves:  # the mechanism gives way, too
        ratio += float(np.linalg.eigvals(de.mass @ mobility).real.max())
    soft = _bounded(gains[0].max() * ratio, 2.0 * MOST_STIFFNESS / step**2)
    ease = _bounded(gains[2].max() * ratio, 2.0 * MOST_DAMPING / step)
    if soft < 1.0 or ease < 1.0:
        notes.append(
            f"the admittance's gains were bounded by the step of {1e3 * step:.3g} ms: "
            f"stiffness to {100 * soft:.3g} %, damping to {100 * ease:.3g} %"
        )
    joints = np.eye(6)
    if coupling.space == "joint" and isinstance(device, AdmittanceDisplay):
        joints = device.joint_map()
    for i, (gain, factor) in enumerate(zip(gains, (soft, soft, ease), strict=True)):
        di.gains[i] = np.linalg.solve(joints, np.diag(factor * gain) @ joints)
    di.resolution[:] = getattr(device, "resolution", 0.0) * np.ones(2) if moves else (
        getattr(device, "resolution", 0.0), 0.0
    )  # fmt: skip
    if isinstance(device, AdmittanceDisplay):
        fill_model(di, device, coupling.compensate, step, notes)


def fill_model(
    di: Display, device: AdmittanceDisplay, compensate: bool, step: float, notes: list[str]
) -> None:
    """The imperfections of an admittance display."""
    bandwidth = min(device.bandwidth, MOST_DAMPING / (step * device.damping_ratio))
    if bandwidth < device.bandwidth:
        notes.append(
            f"the inner loop was bounded by the step of {1e3 * step:.3g} ms: {bandwidth:.3g} rad/s"
        )
    di.loop[:] = bandwidth, device.damping_ratio
    di.compliance[:] = device.compliance()
    di.friction[:] = device.friction
    di.noise[:] = device.noises(len(di.noise))
    di.bias[:] = device.bias
    di.quantum[:] = device.quantum
    di.effector[:] = device.effector, *device.gravity, compensate


def _bounded(value: float, most: float) -> float:
    return min(1.0, most / value) if value > 0.0 else 1.0


def allocate_mechanism(
    plan: Plan,
    device: ImpedanceDevice,
    coupling: Admittance,
    hand: Hand | None,
    rate: float,
    ring: int,
    fill_path: Any,
) -> tuple[AdmitServo, list[str]]:
    """A servo for a mechanism, filled but not compiled, and what is to be said about it."""
    from detent.assembly import fill_device, fill_limits
    from detent.world.contact import Contact

    notes: list[str] = []
    me = plan.mechanics()
    me.step[0] = 1.0 / rate
    me.integrator[0] = INTEGRATORS.index(coupling.integrator)
    p = np.zeros(1, records.PARAMETERS)
    p["step"] = 1.0 / rate
    de = make_device()
    fill_device(de, device, plan.start)
    if isinstance(device, AdmittanceDisplay):
        p["limit"] = p["cap"] = device.cap()
    else:
        fill_limits(p, Contact(), device)
    display = make_display(NOISE_LENGTH)
    fill_display(display, device, coupling, de, plan.start.mobility, 1.0 / rate, notes)
    fill_hand(p, hand)
    fill_path(p)
    target = np.concatenate([de.position, de.quaternion])
    aim(target, hand)
    script = hand.sampled(rate) if isinstance(hand, Playback) else np.zeros((0, 6))
    model = plan.world.model
    ids = [model.body(name).id for name in plan.mechanism.bodies]
    servo = make_servo(me, display, de, p, target, script, model.nbody, ids, ring)
    return servo, notes


def make_servo(
    me: Mechanics,
    display: Display,
    device: records.Device,
    p: np.ndarray,
    target: np.ndarray,
    script: np.ndarray,
    nbody: int,
    ids: list[int],
    ring: int,
) -> AdmitServo:
    """All arrays of a servo together."""
    poses = np.zeros((nbody, 7))
    xquat = np.zeros((nbody, 4))
    xquat[:, 0] = 1.0
    body = np.array(ids, np.int64)
    rows = np.zeros(ring, ADMIT_ROW)
    whole = np.int64
    return AdmitServo(
        scene=Drawn(np.zeros((nbody, 3)), xquat, me.q, me.u, body),
        mechanics=me,
        display=display,
        device=device,
        clock=make_clock(),
        parameters=p,
        parameter_bytes=p.view(np.uint8),
        target=target,
        target_bytes=target.view(np.uint8),
        script=script,
        poses=poses,
        pose_bytes=poses.reshape(-1).view(np.uint8),
        commands=make_slot(p.nbytes),
        targets=make_slot(target.nbytes),
        views=make_slot(poses.nbytes + ADMIT_ROW.itemsize),
        ring=rows,
        ring_bytes=rows.view(np.uint8).reshape(ring, -1),
        written=np.zeros(1, whole),
        stages=np.zeros(records.STAGES, whole),
        work=np.zeros((4, 6, 6)),
    )  # fmt: skip


def blank_servo() -> AdmitServo:
    """The smallest servo there can be: for its type, by which stages are compiled."""
    names = ("nq", "nv", "nz", "nc", "rows", "holonomic", "phi", "psi", "stops", "energies")
    sizes = dict.fromkeys((*names, "bodies", "track"), 0) | {"nq": 1, "nv": 1}
    places = np.zeros((1, 2), np.int64), np.zeros((0, 2), np.int64)
    columns = {"M": [[0]], "psi_gram": [], "J_gram": [[0]]}
    me = make_mechanics(sizes, columns, *places)
    p = np.zeros(1, records.PARAMETERS)
    return make_servo(me, make_display(), make_device(), p, np.zeros(7), np.zeros((0, 6)), 1, [], 1)


def described(plan: Plan) -> dict[str, Any]:
    """A mechanism in plain values, for the head of a trace."""
    m = plan.mechanism
    return {
        "name": m.name,
        "coordinates": [str(s) for s in m.q],
        "velocities": [str(s) for s in m.u],
        "constraints": [str(e) for e in m.holonomic] + [str(list(r)) for r in m.pfaffian],
        "constants": {str(k): float(v) for k, v in m.constants.items()},
        "parts": list(m.energies),
        "start": [float(v) for v in m.start],
        "start_velocity": [float(v) for v in m.start_velocity],
    }
