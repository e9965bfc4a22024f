"""From the equality constraints of a scene to the closures of its loops."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.errors import SceneError
from detent.servo.structs import Closures
from detent.servo.world.close import COUPLED, GEARED, PIN, ROWS_OF, WELD
from detent.servo.world.spans import distinct, tree_spans
from detent.world.loops import active_equalities, equality_name, joined_trees, tie_of, turns

_HINGE = int(mujoco.mjtJoint.mjJNT_HINGE)

_KINDS = {
    int(mujoco.mjtEq.mjEQ_CONNECT): PIN,
    int(mujoco.mjtEq.mjEQ_WELD): WELD,
    int(mujoco.mjtEq.mjEQ_JOINT): COUPLED,
    int(mujoco.mjtEq.mjEQ_TENDON): GEARED,
}


def make_closures(model: mujoco.MjModel) -> Closures:
    """All closures of a scene; `SceneError` where it has one that Detent does not know."""
    loops = active_equalities(model)
    kinds = [_kind(model, i) for i in loops]
    n, nv = len(loops), model.nv
    first = np.concatenate([[0], np.cumsum([ROWS_OF[k] for k in kinds])]).astype(np.int64)
    rows = int(first[-1])
    trees = joined_trees(model).reshape(-1)
    spans = distinct(tree_spans(model)[trees[trees >= 0]])
    out = Closures(
        kind=np.array(kinds, np.int64),
        body=np.zeros((n, 2), np.int64),
        point=np.zeros((n, 2, 3)),
        quaternion=np.tile([1.0, 0.0, 0.0, 0.0], (n, 2, 1)),
        dof=np.full((n, 2), -1, np.int64),
        qpos=np.zeros((n, 2), np.int64),
        tendon=np.full((n, 2), -1, np.int64),
        reference=np.zeros((n, 2)),
        polynomial=np.zeros((n, 5)),
        first=first,
        W=np.zeros((rows, nv)),
        white=np.zeros((rows, nv)),
        h=np.zeros(rows),
        wanted=np.zeros(rows),
        covered=np.zeros(rows),
        rates=np.zeros(rows),
        turning=np.zeros(rows),
        trust=np.ones(rows),
        angular=np.zeros(rows, np.int64),
        span=spans,
        energy=np.full(len(spans), -1.0),
        jac=np.zeros((2, 6, nv)),
        place=np.zeros((2, 7)),
    )
    for i, equality in enumerate(loops):
        if kinds[i] == COUPLED:
            _couple(model, equality, i, out)
        elif kinds[i] == GEARED:
            _gear(model, equality, i, out)
        else:
            _tie(model, equality, i, out)
        if kinds[i] == COUPLED:
            out.angular[first[i]] = model.jnt_type[model.eq_obj1id[equality]] == _HINGE
        elif kinds[i] == WELD:
            out.angular[first[i] + 3 : first[i + 1]] = 1
    return out


def _kind(model: mujoco.MjModel, equality: int) -> int:
    kind = int(model.eq_type[equality])
    if kind not in _KINDS:
        raise SceneError(
            f"the equality {equality_name(model, equality)!r} is a "
            f"{mujoco.mjtEq(kind).name.removeprefix('mjEQ_').lower()}; Detent closes loops by "
            "connect, weld, joint and tendon"
        )
    if _KINDS[kind] == WELD and not turns(model, equality):
        return PIN  # a torque scale of zero lets the bodies turn
    return _KINDS[kind]


def _tie(model: mujoco.MjModel, equality: int, i: int, out: Closures) -> None:
    tie = tie_of(model, equality)
    out.body[i] = tie.body
    for side in range(2):
        out.point[i, side] = tie.point[side]
        out.quaternion[i, side] = tie.quaternion[side]


def _couple(model: mujoco.MjModel, equality: int, i: int, out: Closures) -> None:
    ids = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
    out.polynomial[i] = model.eq_data[equality, :5]
    for side, joint in enumerate(ids):
        if joint >= 0:
            out.dof[i, side] = model.jnt_dofadr[joint]
            out.qpos[i, side] = model.jnt_qposadr[joint]
            out.reference[i, side] = model.qpos0[model.jnt_qposadr[joint]]


def _gear(model: mujoco.MjModel, equality: int, i: int, out: Closures) -> None:
    ids = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
    out.polynomial[i] = model.eq_data[equality, :5]
    for side, tendon in enumerate(ids):
        if tendon >= 0:
            out.tendon[i, side] = tendon
            out.reference[i, side] = model.tendon_length0[tendon]
