"""The hand point: where it is, its Jacobian, and what inertia it has."""

from __future__ import annotations

import numpy as np

from detent.kernels.inertia import project_on_closures, whiten_block_rows
from detent.kernels.jit import kernel
from detent.kernels.so3 import rotate
from detent.kernels.vectors import cross, plus
from detent.servo.structs import Motion, Scene


@kernel
def update_hand_point(sc: Scene, mo: Motion) -> None:
    r"""The hand point in the world, its Jacobian and its twist (TH 5.16).

    .. math:: J_j = (v_j + \omega_j \times r, \, \omega_j)

    from MuJoCo's spatial axes. Columns of what does not move the hand stay zero.
    """
    rotate(sc.xquat[sc.held_body], sc.hand_point, mo.point)
    for k in range(3):
        mo.point[k] += sc.xpos[sc.held_body, k]
    centre, root, cdof, jac = sc.subtree_com, sc.body_root[sc.held_body], sc.cdof, mo.jac
    rx, ry = mo.point[0] - centre[root, 0], mo.point[1] - centre[root, 1]
    rz = mo.point[2] - centre[root, 2]
    speed, turn = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    j = sc.body_last_dof[sc.held_body]
    while j >= 0:
        axis = (cdof[j, 0], cdof[j, 1], cdof[j, 2])
        line = plus((cdof[j, 3], cdof[j, 4], cdof[j, 5]), 1.0, cross(axis, (rx, ry, rz)))
        jac[0, j], jac[1, j], jac[2, j] = line
        jac[3, j], jac[4, j], jac[5, j] = axis
        speed, turn = plus(speed, sc.qvel[j], line), plus(turn, sc.qvel[j], axis)
        j = sc.dof_parent[j]
    mo.twist[0], mo.twist[1], mo.twist[2] = speed
    mo.twist[3], mo.twist[4], mo.twist[5] = turn


@kernel
def update_mobility(sc: Scene, mo: Motion) -> None:
    """Λ_h⁻¹ = J_h D⁻¹ J_hᵀ, and J_h whitened (TH 5.16, S3 9); mo.open as if loops were cut."""
    for i in range(6):
        for j in range(sc.tool_first, sc.tool_end):
            mo.jac_white[i, j] = mo.jac[i, j]
    whiten_block_rows(mo.inertia, 0, 6, sc.tool_first, sc.tool_end, 0, mo.jac_white)
    if mo.inertia.closed[0] > 0:
        multiply_white(sc, mo, mo.open)
        for i in range(6):
            project_on_closures(mo.inertia, mo.jac_white[i])
    multiply_white(sc, mo, mo.mobility)


@kernel
def multiply_white(sc: Scene, mo: Motion, out: np.ndarray) -> None:
    """The products of the rows of J_h, as they are whitened now."""
    for i in range(6):
        for k in range(i + 1):
            total = 0.0
            for j in range(sc.tool_first, sc.tool_end):
                total += mo.jac_white[i, j] * mo.jac_white[k, j]
            out[i, k] = total
            out[k, i] = total


@kernel
def update_free_mobility(sc: Scene, mo: Motion) -> None:
    r"""The same of a free body of mass m and inertia I, whose middle is r behind the hand point.

    .. math:: \Lambda_h^{-1} = \begin{pmatrix} 1/m - [r] I^{-1} [r] & -[r] I^{-1} \\
              I^{-1} [r] & I^{-1} \end{pmatrix}
    """
    body, R, out = sc.held_body, sc.ximat, mo.mobility
    r = (
        mo.point[0] - sc.xipos[body, 0],
        mo.point[1] - sc.xipos[body, 1],
        mo.point[2] - sc.xipos[body, 2],
    )
    a, b = 1.0 / sc.body_inertia[body, 0], 1.0 / sc.body_inertia[body, 1]
    c, lift = 1.0 / sc.body_inertia[body, 2], 1.0 / sc.body_mass[body]
    for k in range(3):
        x, y, z = a * R[body, 3 * k], b * R[body, 3 * k + 1], c * R[body, 3 * k + 2]
        turn = (
            R[body, 0] * x + R[body, 1] * y + R[body, 2] * z,
            R[body, 3] * x + R[body, 4] * y + R[body, 5] * z,
            R[body, 6] * x + R[body, 7] * y + R[body, 8] * z,
        )
        out[3, 3 + k], out[4, 3 + k], out[5, 3 + k] = turn
        slip = cross(turn, r)  # −[r] I⁻¹
        out[0, 3 + k], out[1, 3 + k], out[2, 3 + k] = slip
        out[3 + k, 0], out[3 + k, 1], out[3 + k, 2] = slip
    for k in range(3):
        line = cross((out[k, 3], out[k, 4], out[k, 5]), r)  # −[r] of a row, by symmetry
        out[k, 0], out[k, 1], out[k, 2] = line
        out[k, k] += lift


@kernel
def add_hand_torque(mo: Motion, wrench: np.ndarray, nv: int, out: np.ndarray) -> None:
    """out += J_hᵀ wrench."""
    for i in range(6):
        if wrench[i] != 0.0:
            for j in range(nv):
                out[j] += mo.jac[i, j] * wrench[i]
