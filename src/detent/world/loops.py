"""Loops of a scene: which equality constraints it has, and what they join."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.errors import SceneError

OPEN = 1e-4  # [m, rad] a loop that is open by more than this cannot start
_BODY, _SITE = int(mujoco.mjtObj.mjOBJ_BODY), int(mujoco.mjtObj.mjOBJ_SITE)
_JOINT = int(mujoco.mjtEq.mjEQ_JOINT)


def active_equalities(model: mujoco.MjModel) -> list[int]:
    """The equality constraints that hold from the start."""
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


def joined_trees(model: mujoco.MjModel) -> np.ndarray:
    """(n, 2) pairs of moving trees that a loop closes over; -1 where a side is static."""
    pairs = []
    for i in active_equalities(model):
        trees = [int(model.body_treeid[b]) for b in _bodies(model, i)]
        if len(trees) == 2:
            pairs.append(trees)
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


def openings(model: mujoco.MjModel, data: mujoco.MjData) -> dict[int, float]:
    """By how much each closure is open in the pose of *data* [m, rad]."""
    _, h = closure_rows(model, data)
    owner = data.efc_id[: len(h)]
    return {i: float(np.linalg.norm(h[owner == i])) for i in active_equalities(model)}


def check_closed(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Refuse a start pose in which a loop is open."""
    for i, gap in openings(model, data).items():
        if gap > OPEN:
            unit = "rad or m" if model.eq_type[i] == _JOINT else "m"
            raise SceneError(
                f"the loop {equality_name(model, i)!r} is open by {gap:.3g} {unit} in the start "
                f"pose; it must close to {OPEN:g}"
            )
