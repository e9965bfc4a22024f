"""Loops of a scene: which equality constraints it has, and what they join."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np

from detent.errors import SceneError

OPEN = 1e-4  # [m, rad] a loop that is open by more than this cannot start
_BODY, _SITE = int(mujoco.mjtObj.mjOBJ_BODY), int(mujoco.mjtObj.mjOBJ_SITE)
_JOINT, _WELD = int(mujoco.mjtEq.mjEQ_JOINT), int(mujoco.mjtEq.mjEQ_WELD)
_TENDON = int(mujoco.mjtEq.mjEQ_TENDON)
_OFF = int(mujoco.mjtDisableBit.mjDSBL_EQUALITY) | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)


def active_equalities(model: mujoco.MjModel) -> list[int]:
    """The equality constraints that hold from the start."""
    if model.opt.disableflags & _OFF:
        return []
    return [i for i in range(model.neq) if model.eq_active0[i]]


def equality_name(model: mujoco.MjModel, equality: int) -> str:
    """The name of an equality constraint, or its number."""
    return model.eq(equality).name or f"#{equality}"


def _bodies(model: mujoco.MjModel, equality: int) -> list[int]:
    ids = [int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])]
    kind = model.eq_objtype[equality]
    if model.eq_type[equality] == _JOINT:
        return [int(model.jnt_bodyid[i]) for i in ids if i >= 0]
    if kind == _SITE:
        return [int(model.site_bodyid[i]) for i in ids]
    return [max(i, 0) for i in ids] if kind == _BODY else []


class Holder(NamedTuple):
    """A closure by which a mocap body, which a program moves and no hand, holds another."""

    equality: int
    mocap: int  # bodies
    held: int


def holders(model: mujoco.MjModel) -> list[Holder]:
    """All closures to mocap bodies that hold from the start."""
    out = []
    for i in active_equalities(model):
        bodies = _bodies(model, i)
        for mocap, held in zip(bodies, reversed(bodies), strict=True):
            if model.body_mocapid[mocap] >= 0 and model.body_treeid[held] >= 0:
                out.append(Holder(i, mocap, held))
    return out


def _trees(model: mujoco.MjModel, equality: int) -> list[int]:
    if model.eq_type[equality] != _TENDON:
        return [int(model.body_treeid[b]) for b in _bodies(model, equality)]
    dofs: list[int] = []
    for tendon in (int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])):
        if tendon >= 0:
            first = model.ten_J_rowadr[tendon]
            dofs += model.ten_J_colind[first : first + model.ten_J_rownnz[tendon]].tolist()
    return sorted({int(model.dof_treeid[j]) for j in dofs})


def joined_trees(model: mujoco.MjModel) -> np.ndarray:
    """(n, 2) pairs of moving trees that a loop closes over; -1 where a side is static."""
    pairs = []
    for i in active_equalities(model):
        trees = _trees(model, i)
        pairs += [[trees[0], other] for other in trees[1:]]
    return np.array(pairs, np.int64).reshape(-1, 2)


def mechanism(model: mujoco.MjModel, tree: int) -> set[int]:
    """A tree and all those that loops tie to it: what moves with the hand."""
    out = {tree}
    pairs = [set(map(int, pair)) - {-1} for pair in joined_trees(model)]
    while True:
        more = set().union(*(pair for pair in pairs if pair & out)) - out
        if not more:
            return out
        out |= more


def closure_rows(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """W and h of all closures in the pose of *data*, by MuJoCo; kinematics must be up to date."""
    mujoco.mj_makeConstraint(model, data)
    count = int(data.ne)
    J = np.zeros((count, model.nv))
    if count and mujoco.mj_isSparse(model):
        mujoco.mju_sparse2dense(
            J, data.efc_J, data.efc_J_rownnz[:count], data.efc_J_rowadr[:count], data.efc_J_colind
        )
    elif count:
        J[:] = data.efc_J.reshape(-1, model.nv)[:count]
    return J, data.efc_pos[:count].copy()


class Tie(NamedTuple):
    """Two frames on two bodies that a closure holds together."""

    body: tuple[int, int]
    point: tuple[np.ndarray, np.ndarray]  # in the frames of the bodies
    quaternion: tuple[np.ndarray, np.ndarray]


def turns(model: mujoco.MjModel, equality: int) -> bool:
    """Whether a closure ties rotations too: a weld with a torque scale."""
    return bool(model.eq_type[equality] == _WELD and model.eq_data[equality, 10] != 0.0)


def tie_of(model: mujoco.MjModel, equality: int) -> Tie:
    """What a connect or a weld holds together, between sites or bodies."""
    ids = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
    data = model.eq_data[equality]
    if model.eq_objtype[equality] == _SITE:
        a, b = ids
        return Tie(
            (int(model.site_bodyid[a]), int(model.site_bodyid[b])),
            (model.site_pos[a], model.site_pos[b]),
            (model.site_quat[a], model.site_quat[b]),
        )
    none = np.array([1.0, 0.0, 0.0, 0.0])
    bodies = ids[0], max(ids[1], 0)
    if model.eq_type[equality] == _WELD:
        return Tie(bodies, (data[3:6], data[0:3]), (data[6:10], none))
    return Tie(bodies, (data[0:3], data[3:6]), (none, none))


def opening(model: mujoco.MjModel, data: mujoco.MjData, equality: int) -> tuple[float, float]:
    """By how much a closure is open in the pose of *data*: [m] and [rad]."""
    if model.eq_type[equality] == _JOINT:
        return _coupling_error(model, data, equality)
    if model.eq_type[equality] == _TENDON:
        return _gear_error(model, data, equality), 0.0
    tie = tie_of(model, equality)
    places, frames = [], []
    for body, point, quaternion in zip(*tie, strict=True):
        places.append(data.xpos[body] + data.xmat[body].reshape(3, 3) @ point)
        frame = np.zeros(4)
        mujoco.mju_mulQuat(frame, data.xquat[body], quaternion)
        frames.append(frame)
    apart = float(np.linalg.norm(places[0] - places[1]))
    alike = min(1.0, abs(float(frames[0] @ frames[1])))
    return apart, 2.0 * math.acos(alike) if turns(model, equality) else 0.0


def _coupling_error(
    model: mujoco.MjModel, data: mujoco.MjData, equality: int
) -> tuple[float, float]:
    first, second = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])

    def offset(joint: int) -> float:
        place = model.jnt_qposadr[joint]
        return float(data.qpos[place] - model.qpos0[place])

    x = offset(second) if second >= 0 else 0.0
    error = abs(offset(first) - float(np.polyval(model.eq_data[equality, 4::-1], x)))
    slides = model.jnt_type[first] == int(mujoco.mjtJoint.mjJNT_SLIDE)
    return (error, 0.0) if slides else (0.0, error)


def _gear_error(model: mujoco.MjModel, data: mujoco.MjData, equality: int) -> float:
    first, second = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
    mujoco.mj_tendon(model, data)
    longer = data.ten_length - model.tendon_length0
    x = longer[second] if second >= 0 else 0.0
    return abs(float(longer[first] - np.polyval(model.eq_data[equality, 4::-1], x)))


def check_closed(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Refuse a start pose in which a loop is open."""
    for i in active_equalities(model):
        apart, turned = opening(model, data, i)
        if max(apart, turned) > OPEN:
            raise SceneError(
                f"the loop {equality_name(model, i)!r} is open by {apart:.3g} m and "
                f"{turned:.3g} rad in the start pose; it must close to {OPEN:g} of each"
            )
