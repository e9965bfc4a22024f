"""From forces at contacts to torques of the bodies."""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel
from detent.servo.structs import Rows, Scene
from detent.servo.world.axes import add_wrench


@kernel
def add_forces(
    sc: Scene, rows: Rows, count: int, side: int, forces: np.ndarray, out: np.ndarray
) -> None:
    """out += the torques of forces (cap, 3) of the rubbing rows on the bodies of one side.

    Contacts of one body mostly follow each other: their wrench is summed up first.
    """
    rubbing, bodies, point = rows.rubbing, rows.body, rows.point
    centre, sign, body, root = sc.subtree_com, 1.0 if side == 1 else -1.0, -1, 0
    mx, my, mz, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        r = rubbing[i]
        if bodies[r, side] < 0:
            continue
        if bodies[r, side] != body:
            if body >= 0:
                add_wrench(sc, body, (mx, my, mz), (x, y, z), 0, out)
            body = bodies[r, side]
            root = sc.body_root[body]
            mx, my, mz, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        fx, fy, fz = sign * forces[r, 0], sign * forces[r, 1], sign * forces[r, 2]
        rx, ry = point[r, 0] - centre[root, 0], point[r, 1] - centre[root, 1]
        rz = point[r, 2] - centre[root, 2]
        mx, my, mz = mx + ry * fz - rz * fy, my + rz * fx - rx * fz, mz + rx * fy - ry * fx
        x, y, z = x + fx, y + fy, z + fz
    if body >= 0:
        add_wrench(sc, body, (mx, my, mz), (x, y, z), 0, out)
