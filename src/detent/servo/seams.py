"""Seams: faces between static geoms that touch, where nothing can be felt."""

from __future__ import annotations

import numpy as np

from detent.kernels.contact import (
    GEOM_BOX,
    GEOM_PLANE,
    exit_of_bounds,
    exit_of_box,
    exit_of_plane,
    in_box,
    within,
)
from detent.kernels.jit import kernel
from detent.servo.records import Rows, Scene

SEAM_STEP = 1e-5  # [m] how far outside a face the seam test looks
SEAM_ROUNDS = 3  # how often each neighbour is asked
SEAM_TOLERANCE = 1e-6  # [m] two faces this close to one plane are one surface


@kernel
def is_seam(sc: Scene, rows: Rows, r: int, scratch: np.ndarray) -> bool:
    """Whether this contact is with an inner face, between two touching static geoms.

    The point just outside the face lies inside another static geom. That alone also
    holds in any corner; so the point is moved out of all other geoms, and the face is an
    inner one only if it does not go on there.
    """
    for side in range(2):
        if rows.tree[r, side] >= 0:
            continue
        face = rows.geom[r, side]
        if sc.seam_start[face] == sc.seam_start[face + 1] or sc.geom_type[face] != GEOM_BOX:
            continue
        outward = 1.0 if side == 0 else -1.0  # n points from geom 1 to geom 2
        n, p, way = scratch[0], scratch[1], scratch[2]
        for k in range(3):
            n[k] = outward * rows.normal[r, k]
            p[k] = rows.point[r, k] + n[k] * (0.5 * abs(rows.separation[r]) + SEAM_STEP)
        keep_on_face(sc, face, n, p)
        if leave_neighbours(sc, face, n, p, way):
            for k in range(3):
                p[k] -= 2.0 * SEAM_STEP * n[k]
            if not in_static_box(sc, face, p):
                return True
    return False


@kernel
def leave_neighbours(sc: Scene, face: int, n: np.ndarray, p: np.ndarray, way: np.ndarray) -> bool:
    """Move p out of the static geoms that touch *face*; False if it was in none.

    The way out of one may lead into another: all others are asked again, round and round.
    """
    first, end = sc.seam_start[face], sc.seam_start[face + 1]
    moved, left, i = False, end - first, first
    for _ in range(SEAM_ROUNDS * (end - first)):
        if left == 0:
            break
        left -= 1
        other = sc.seam_geom[i]
        if within(p, sc.geom_bounds[other], SEAM_TOLERANCE) and leave_geom(sc, other, n, p, way):
            moved, left = True, end - first - 1
        i = i + 1 if i + 1 < end else first
    return moved


@kernel
def keep_on_face(sc: Scene, box: int, n: np.ndarray, p: np.ndarray) -> None:
    """Move a point above a face sideways, off the edges of the face and onto it.

    At an edge or a corner, where several geoms meet, it would lie in all of them.
    """
    if sc.geom_upright[box] != 0:
        keep_within(n, sc.geom_bounds[box], p)
        return
    R, centre, half = sc.geom_xmat[box], sc.geom_xpos[box], sc.geom_size[box]
    for axis in range(3):
        if abs(R[axis] * n[0] + R[3 + axis] * n[1] + R[6 + axis] * n[2]) > 0.5:
            continue
        local = 0.0
        for k in range(3):
            local += R[3 * k + axis] * (p[k] - centre[k])
        room = max(half[axis] - 2.0 * SEAM_STEP, 0.0)
        beyond = local - min(max(local, -room), room)
        if beyond != 0.0:
            for k in range(3):
                p[k] -= beyond * R[3 * k + axis]


@kernel
def keep_within(n: np.ndarray, bounds: np.ndarray, p: np.ndarray) -> None:
    """`keep_on_face` of an upright box."""
    for k in range(3):
        if abs(n[k]) <= 0.5:
            room = min(2.0 * SEAM_STEP, 0.5 * (bounds[3 + k] - bounds[k]))
            p[k] = min(max(p[k], bounds[k] + room), bounds[3 + k] - room)


@kernel
def in_static_box(sc: Scene, geom: int, p: np.ndarray) -> bool:
    """Whether a point lies in a static box."""
    if sc.geom_upright[geom] != 0:
        return within(p, sc.geom_bounds[geom], 0.0)
    return in_box(p, sc.geom_xpos[geom], sc.geom_xmat[geom], sc.geom_size[geom])


@kernel
def leave_geom(sc: Scene, geom: int, n: np.ndarray, p: np.ndarray, way: np.ndarray) -> bool:
    """Move p out of a static geom, not against n; False if it was not inside."""
    centre, R = sc.geom_xpos[geom], sc.geom_xmat[geom]
    if sc.geom_upright[geom] != 0:
        depth = exit_of_bounds(p, n, sc.geom_bounds[geom], way)
    elif sc.geom_type[geom] == GEOM_PLANE:
        depth = exit_of_plane(p, centre, R, SEAM_TOLERANCE, way)
    else:
        depth = exit_of_box(p, n, centre, R, sc.geom_size[geom], SEAM_TOLERANCE, way)
    if depth < 0.0:
        return False
    for k in range(3):
        p[k] += (depth + SEAM_STEP) * way[k]
    return True
