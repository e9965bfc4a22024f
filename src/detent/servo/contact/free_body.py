r"""Rows of a free body against the static world, the commonest contacts of all, in closed form.

The six columns of a tree that is one free body are three along the axes of the world and three
about axes of its own: with n against the body, and r from the middle of MuJoCo's tree,

.. math:: J = (n^T, \; \omega_k^T (r \times n) + v_k^T n), \quad k = 1, 2, 3

No chain of joints is followed. The numbers are those of `rows.write_one_sided_row`, to the bit
(tests/servo/test_free_body.py).
"""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, cross
from detent.servo.structs import Rows, Scene


@kernel
def is_free(sc: Scene, rows: Rows, r: int) -> bool:
    """Whether row r is between one free body and the static world."""
    one, two = rows.tree[r, 0], rows.tree[r, 1]
    return min(one, two) < 0 and sc.tree_free[max(one, two)] != 0


@kernel
def write_free_row(sc: Scene, rows: Rows, r: int, n: Triple, p: Triple, out: np.ndarray) -> None:
    """out ← nᵀ(J₂ − J₁) at p, in the columns of row r, which `is_free`."""
    side = 1 if rows.tree[r, 1] >= 0 else 0
    sign, first, cdof = 2.0 * side - 1.0, rows.span[r, 0, 0], sc.cdof
    centre, root = sc.subtree_com, sc.body_root[rows.body[r, side]]
    x, y, z = 0.0 + sign * n[0], 0.0 + sign * n[1], 0.0 + sign * n[2]  # and no zero below zero
    arm = (p[0] - centre[root, 0], p[1] - centre[root, 1], p[2] - centre[root, 2])
    mx, my, mz = cross(arm, (x, y, z))
    out[0], out[1], out[2] = x, y, z
    for k in range(3):
        j = first + 3 + k
        turned = cdof[j, 0] * mx + cdof[j, 1] * my + cdof[j, 2] * mz
        out[3 + k] = turned + (cdof[j, 3] * x + cdof[j, 4] * y + cdof[j, 5] * z)
