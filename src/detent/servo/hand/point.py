"""The hand point: where it is, its Jacobian, and what inertia it has."""

from __future__ import annotations

import numpy as np

from detent.kernels.inertia import project_on_closures, whiten_block_rows
from detent.kernels.jit import kernel
from detent.kernels.so3 import rotate
from detent.servo.structs import Motion, Scene
from detent.world.bridge import mj_jac


@kernel
def update_hand_point(sc: Scene, mo: Motion) -> None:
    """The hand point in the world, its Jacobian, and Λ_h⁻¹ = J_h D⁻¹ J_hᵀ (TH 5.16, S3 9)."""
    rotate(sc.xquat[sc.held_body], sc.hand_point, mo.point)
    for k in range(3):
        mo.point[k] += sc.xpos[sc.held_body, k]
    mj_jac(
        sc.model,
        sc.data,
        mo.jac.ctypes.data,
        mo.jac[3].ctypes.data,
        mo.point.ctypes.data,
        sc.held_body,
    )
    for i in range(6):
        twist = 0.0
        for j in range(sc.tool_first, sc.tool_end):
            mo.jac_white[i, j] = mo.jac[i, j]
            twist += mo.jac[i, j] * sc.qvel[j]
        mo.twist[i] = twist
    whiten_block_rows(mo.inertia, 0, 6, sc.tool_first, sc.tool_end, 0, mo.jac_white)
    if mo.inertia.closed[0] > 0:
        for i in range(6):
            project_on_closures(mo.inertia, mo.jac_white[i])
    for i in range(6):
        for k in range(i + 1):
            total = 0.0
            for j in range(sc.tool_first, sc.tool_end):
                total += mo.jac_white[i, j] * mo.jac_white[k, j]
            mo.mobility[i, k] = total
            mo.mobility[k, i] = total


@kernel
def add_hand_torque(mo: Motion, wrench: np.ndarray, nv: int, out: np.ndarray) -> None:
    """out += J_hᵀ wrench."""
    for i in range(6):
        if wrench[i] != 0.0:
            for j in range(nv):
                out[j] += mo.jac[i, j] * wrench[i]
