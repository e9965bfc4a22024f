"""Rows of Jacobians from MuJoCo's spatial axes and from tendons."""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector, largest
from detent.servo.constants import LEVER
from detent.servo.structs import Scene

Vector = np.ndarray | tuple[float, float, float]


@kernel
def add_point_row(
    sc: Scene,
    body: int,
    point: np.ndarray,
    direction: Vector,
    sign: float,
    shift: int,
    out: np.ndarray,
) -> None:
    r"""out += sign · directionᵀ J of a point of a body, from MuJoCo's spatial axes.

    Dof j is in column j − *shift*.

    .. math:: d^T J_j = d^T (v_j + \omega_j \times r) = d^T v_j + \omega_j^T (r \times d)
    """
    centre, root = sc.subtree_com, sc.body_root[body]
    rx, ry, rz = point[0] - centre[root, 0], point[1] - centre[root, 1], point[2] - centre[root, 2]
    x, y, z = sign * direction[0], sign * direction[1], sign * direction[2]
    turn = (ry * z - rz * y, rz * x - rx * z, rx * y - ry * x)
    add_wrench(sc, body, turn, (x, y, z), shift, out)


@kernel
def add_wrench(
    sc: Scene, body: int, turn: Vector, push: Vector, shift: int, out: np.ndarray
) -> None:
    """out += the torques of a moment and a force on a body, about MuJoCo's centre of its tree."""
    cdof, parent = sc.cdof, sc.dof_parent  # read once: what is written might be the table itself
    mx, my, mz, x, y, z = turn[0], turn[1], turn[2], push[0], push[1], push[2]
    j = sc.body_last_dof[body]
    while j >= 0:
        rotation = cdof[j, 0] * mx + cdof[j, 1] * my + cdof[j, 2] * mz
        out[j - shift] += rotation + (cdof[j, 3] * x + cdof[j, 4] * y + cdof[j, 5] * z)
        j = parent[j]


@kernel
def forget_round_off(row: np.ndarray) -> None:
    """Clear the row of a contact or closure that no joint moves: what is left is round-off."""
    if largest(row) <= LEVER:
        clear_vector(row)


@kernel
def add_tendon_row(sc: Scene, tendon: int, factor: float, shift: int, out: np.ndarray) -> None:
    """out += factor · the derivative of a tendon's length; dof j is in column j − shift."""
    start = sc.tendon_start[tendon]
    for k in range(start, start + sc.tendon_count[tendon]):
        out[sc.tendon_dof[k] - shift] += factor * sc.tendon_jac[k]
