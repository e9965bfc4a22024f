"""A mechanism derived, compiled and checked: what all of its sessions share."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import mujoco
import numpy as np

from detent.errors import MechanismError
from detent.kernels.advance import RUNGE_KUTTA
from detent.kernels.mechanics import Mechanics, make_mechanics
from detent.kernels.stages import run_stage, stage_address
from detent.mechanism.build import build, is_built, mark_built
from detent.mechanism.mechanism import Mechanism
from detent.mechanism.rotations import Orientation
from detent.servo.world.start import ToolStart
from detent.setup.constants import BESIDE, DEPENDENT_ROWS, SATISFIED
from detent.setup.progress import telling
from detent.world.world import World

_PLANE = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])


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
            "near_body": 0,  # no local model
            "near_pose": 0,
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
    least = DEPENDENT_ROWS * max(np.abs(rows).max(initial=0.0), 1e-300)
    if np.linalg.matrix_rank(rows, least) == wanted:
        return
    rank = 0
    for i in range(len(rows)):
        now = np.linalg.matrix_rank(rows[: i + 1], least)
        if now == rank and what == "the constraint" and not np.abs(rows[i]).max() > least:
            raise MechanismError(what, names[i], "changes with nothing at the start: it is flat")
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
