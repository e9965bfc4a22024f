"""Which bodies turn freely, and what their inertia is."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from detent.world.loops import joined_trees

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)


def spinning_bodies(model: mujoco.MjModel) -> dict[str, Any]:
    """Trees of one free or ball joint, with what is welded to the body; none that a loop holds."""
    tied = set(joined_trees(model).reshape(-1).tolist())
    found = []
    for tree in range(model.ntree):
        dof, size = int(model.tree_dofadr[tree]), int(model.tree_dofnum[tree])
        joint = int(model.dof_jntid[dof])
        alone = (int(model.jnt_type[joint]), size) in ((_FREE, 6), (_BALL, 3))
        plain = not model.dof_armature[dof : dof + size].any()
        if alone and plain and tree not in tied:
            found.append((joint, dof))
    free = np.array([model.jnt_type[joint] == _FREE for joint, _ in found], np.int64)
    turning = np.array([dof for _, dof in found], np.int64) + 3 * free
    inertia, middle = _inertias(model, [joint for joint, _ in found], turning)
    return dict(
        spin_dof=turning,
        spin_qpos=np.array([model.jnt_qposadr[joint] for joint, _ in found], np.int64) + 3 * free,
        spin_free=free,
        spin_inertia=inertia,
        spin_inverse=np.linalg.inv(inertia) if len(inertia) else inertia,
        spin_middle=middle,
    )


def _inertias(
    model: mujoco.MjModel, joints: list[int], turning: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of each body about its middle, or about its ball, and where its middle is; body axes."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_makeM(model, data)
    inertia, middle = np.zeros((len(joints), 3, 3)), np.zeros((len(joints), 3))
    for i, (joint, dof) in enumerate(zip(joints, turning, strict=True)):
        for k in range(3):  # a row of the lower triangle, without its zeros
            start = model.M_rowadr[dof + k]
            for a in range(start, start + model.M_rownnz[dof + k]):
                column = model.M_colind[a] - dof
                if column >= 0:
                    inertia[i, k, column] = inertia[i, column, k] = data.M[a]
        if model.jnt_type[joint] == _FREE:
            body = int(model.jnt_bodyid[joint])
            turn = data.xmat[body].reshape(3, 3)
            c = turn.T @ (data.subtree_com[body] - data.xpos[body])
            middle[i] = c
            inertia[i] -= model.body_subtreemass[body] * (c @ c * np.eye(3) - np.outer(c, c))
    return inertia, middle
