"""The tool at the start of a run: where the hand holds it, and what inertia it has there."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from detent.world.loops import check_closed, closure_rows
from detent.world.world import World

_PLANE = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
LEAST_MOBILITY = 0.1  # of the largest: constrained directions get a finite inertia by it


class ToolStart(NamedTuple):
    """The held link at the start."""

    position: np.ndarray  # (3,) hand point
    quaternion: np.ndarray  # (4,) of the held link
    mobility: np.ndarray  # (6, 6) Λ_h⁻¹ = J_h D⁻¹ J_hᵀ
    mask: np.ndarray  # (6,) the tool's motion subspace: planar or full
    twist: np.ndarray  # (6,) of the hand point


def tool_at_start(world: World, model: mujoco.MjModel, data: mujoco.MjData) -> ToolStart:
    """Kinematics and inertia of the held link in the state of *data*."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_makeM(model, data)
    mujoco.mj_factorM(model, data)
    point = data.xpos[world.held] + data.xmat[world.held].reshape(3, 3) @ world.point
    jac = np.zeros((6, model.nv))
    mujoco.mj_jac(model, data, jac[:3], jac[3:], point, world.held)
    check_closed(model, data)
    outside = jac[[2, 3, 4]]
    planar = np.abs(outside).max(initial=0.0) < 1e-9 * np.abs(jac).max(initial=1e-300)
    return ToolStart(
        point,
        data.xquat[world.held].copy(),
        closed_mobility(model, data, jac),
        _PLANE.copy() if planar else np.ones(6),
        jac @ data.qvel,
    )


def closed_mobility(
    model: mujoco.MjModel, data: mujoco.MjData, jac: np.ndarray, rank_tolerance: float = 1e-6
) -> np.ndarray:
    """Λ_h⁻¹ = J D_c⁻¹ Jᵀ with all loops closed (S3 eq. 9), in NumPy."""
    response = np.zeros_like(jac)
    mujoco.mj_solveM(model, data, response, jac)
    mobility = jac @ response.T
    W, _ = closure_rows(model, data)
    if len(W):
        forced = np.zeros_like(W)
        mujoco.mj_solveM(model, data, forced, W)
        across = forced @ jac.T
        inverse = np.linalg.pinv(forced @ W.T, rcond=rank_tolerance, hermitian=True)
        mobility -= across.T @ inverse @ across
    return mobility


def inertia_from(mobility: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Λ_h within a subspace; directions that the tool cannot move in get a finite inertia."""
    inside = mask > 0.0
    inner = mobility[np.ix_(inside, inside)]
    length = np.ones(int(inside.sum()))
    turning = np.nonzero(inside)[0] >= 3
    if turning.any() and not turning.all():  # make rotations comparable with translations
        straight = np.trace(inner[np.ix_(~turning, ~turning)])
        length[turning] = np.sqrt(
            max(straight, 1e-30) / max(np.trace(inner[turning][:, turning]), 1e-30)
        )
    values, vectors = np.linalg.eigh(inner * np.outer(length, length))
    values = np.maximum(values, LEAST_MOBILITY**2 * values.max())
    out = np.zeros((6, 6))
    out[np.ix_(inside, inside)] = (vectors / values) @ vectors.T * np.outer(length, length)
    return out


def inverse_within(matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The inverse within a subspace, zero outside."""
    inside = mask > 0.0
    out = np.zeros((6, 6))
    out[np.ix_(inside, inside)] = np.linalg.inv(matrix[np.ix_(inside, inside)])
    return out
