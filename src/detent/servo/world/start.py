"""The tool at the start of a run: where the hand holds it, and what inertia it has there."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from detent.kernels.constants import DEPENDENT, ROUND_OFF
from detent.servo.constants import LEAST_MOBILITY
from detent.world.loops import check_closed, closure_rows
from detent.world.world import World

_PLANE = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])


class ToolStart(NamedTuple):
    """The held link at the start."""

    position: np.ndarray  # (3,) hand point
    quaternion: np.ndarray  # (4,) of the held link
    mobility: np.ndarray  # (6, 6) Λ_h⁻¹ = J_h D⁻¹ J_hᵀ
    open: np.ndarray  # (6, 6) the same if loops were cut
    link: np.ndarray  # (6, 6) M_hl, the inertia of the held link alone
    mask: np.ndarray  # (6,) the tool's motion subspace: planar or full
    twist: np.ndarray  # (6,) of the hand point


def tool_at_start(world: World, model: mujoco.MjModel, data: mujoco.MjData) -> ToolStart:
    """Kinematics and inertia of the held link in the state of *data*."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_makeM(model, data)
    point = data.xpos[world.held] + data.xmat[world.held].reshape(3, 3) @ world.point
    jac = np.zeros((6, model.nv))
    mujoco.mj_jac(model, data, jac[:3], jac[3:], point, world.held)
    check_closed(model, data)
    outside = jac[[2, 3, 4]]
    planar = np.abs(outside).max(initial=0.0) < 1e-9 * np.abs(jac).max(initial=1e-300)
    return ToolStart(
        point,
        data.xquat[world.held].copy(),
        *closed_mobility(model, data, jac),
        link_inertia(model, data, world.held, point),
        _PLANE.copy() if planar else np.ones(6),
        jac @ data.qvel,
    )


def closed_mobility(
    model: mujoco.MjModel, data: mujoco.MjData, jac: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Λ_h⁻¹ = J D_c⁻¹ Jᵀ with all loops closed (S3 eq. 9), and cut; see `kernels.loops`."""
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    factor = np.linalg.cholesky(inertia)
    white = np.linalg.solve(factor, jac.T).T
    W, _ = closure_rows(model, data)
    apart = white @ white.T
    if len(W):
        rows = np.linalg.solve(factor, W.T).T
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(size > DEPENDENT**2 * size.max(), size, np.inf)
        _, values, Q = np.linalg.svd(rows, full_matrices=False)
        Q = Q[values > DEPENDENT]
        white = white - white @ Q.T @ Q
    return white @ white.T, apart


def link_inertia(
    model: mujoco.MjModel, data: mujoco.MjData, body: int, point: np.ndarray
) -> np.ndarray:
    """(6, 6) M_hl: a link alone, at a point, in world axes."""
    mass, axes = model.body_mass[body], data.ximat[body].reshape(3, 3)
    x, y, z = data.xipos[body] - point
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turning = axes * model.body_inertia[body] @ axes.T - mass * cross @ cross
    return np.block([[mass * np.eye(3), -mass * cross], [mass * cross, turning]])


def inertia_from(start: ToolStart) -> np.ndarray:
    """Λ_h in the tool's subspace, finite also where the tool cannot move.

    Mobilities are compared in the metric of the held link's own inertia, as `kernels.mapping`
    does: a tool that only slides has no other measure for rotations.
    """
    inside = np.ix_(start.mask > 0.0, start.mask > 0.0)
    L = np.linalg.cholesky(start.link[inside])
    values, vectors = np.linalg.eigh(L.T @ start.mobility[inside] @ L)
    apart = np.trace(L.T @ start.open[inside] @ L) / len(values)
    if values.max() <= max(ROUND_OFF, LEAST_MOBILITY**2 * apart):  # loops lock it: the link alone
        values = np.ones(len(values))
    values = np.maximum(values, LEAST_MOBILITY * values.max())
    out = np.zeros((6, 6))
    out[inside] = L @ (vectors / values) @ vectors.T @ L.T
    return out


def spans(mobility: np.ndarray, mask: np.ndarray) -> bool:
    """Whether the held link moves in all directions of a subspace."""
    inner = mobility[np.ix_(mask > 0.0, mask > 0.0)]
    scale = 1.0 / np.sqrt(np.maximum(np.diag(inner), 1e-300))
    return bool(np.linalg.matrix_rank(inner * np.outer(scale, scale), 1e-9) == len(inner))


def inverse_within(matrix: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The inverse within a subspace, zero outside."""
    inside = mask > 0.0
    out = np.zeros((6, 6))
    out[np.ix_(inside, inside)] = np.linalg.inv(matrix[np.ix_(inside, inside)])
    return out
