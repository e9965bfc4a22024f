"""Seams: faces between static geoms that touch, where nothing can be felt."""

from __future__ import annotations

from detent.kernels.contact import (
    GEOM_BOX,
    GEOM_PLANE,
    column,
    exit_of_bounds,
    exit_of_box,
    exit_of_plane,
    in_box,
    within,
)
from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, inner, plus
from detent.servo.constants import SEAM_MOVES, SEAM_STEP, SEAM_TOLERANCE
from detent.servo.structs import Rows, Scene


@kernel
def is_seam(sc: Scene, rows: Rows, r: int) -> bool:
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
        normal, point = rows.normal[r], rows.point[r]
        n = (outward * normal[0], outward * normal[1], outward * normal[2])
        above = 0.5 * abs(rows.separation[r]) + SEAM_STEP
        p = kept_on_face(sc, face, n, plus((point[0], point[1], point[2]), above, n))
        covered, p = leave_neighbours(sc, face, n, p)
        if covered and not in_static_box(sc, face, plus(p, -2.0 * SEAM_STEP, n)):
            return True
    return False


@kernel
def leave_neighbours(sc: Scene, face: int, n: Triple, p: Triple) -> tuple[bool, Triple]:
    """Whether p is in static geoms that touch *face*, and where it is out of them all.

    The way out of one may lead into another: all are asked again.
    """
    covered = False
    for _ in range(SEAM_MOVES):
        inside, p = leave_one(sc, face, n, p)
        if not inside:
            break
        covered = True
    return covered, p


@kernel
def leave_one(sc: Scene, face: int, n: Triple, p: Triple) -> tuple[bool, Triple]:
    """Whether p is in a static geom that touches *face*, and where it is just out of that one."""
    i, end = sc.seam_start[face], sc.seam_start[face + 1]
    while i < end:
        if not within(p, sc.seam_bounds[i], SEAM_TOLERANCE):
            i = sc.seam_skip[i]
            continue
        other = sc.seam_geom[i]
        if other >= 0:
            depth, way = exit_of_geom(sc, other, n, p)
            if depth >= 0.0:
                return True, plus(p, depth + SEAM_STEP, way)
        i += 1
    return False, p


@kernel
def kept_on_face(sc: Scene, box: int, n: Triple, p: Triple) -> Triple:
    """A point above a face, moved sideways off the edges of the face and onto it.

    At an edge or a corner, where several geoms meet, it would lie in all of them.
    """
    if sc.geom_upright[box] != 0:
        ends = sc.geom_bounds
        return (
            kept_off_ends(p[0], n[0], ends[box, 0], ends[box, 3]),
            kept_off_ends(p[1], n[1], ends[box, 1], ends[box, 4]),
            kept_off_ends(p[2], n[2], ends[box, 2], ends[box, 5]),
        )
    centre, half = sc.geom_xpos[box], sc.geom_size[box]
    for axis in range(3):
        e = column(sc.geom_xmat[box], axis)
        x = inner(e, (p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]))
        p = plus(p, kept_off_ends(x, inner(e, n), -half[axis], half[axis]) - x, e)
    return p


@kernel
def kept_off_ends(x: float, facing: float, low: float, high: float) -> float:
    """A coordinate, moved into its range and off its ends, unless the face lies across it."""
    if abs(facing) > 0.5:
        return x
    room = min(2.0 * SEAM_STEP, 0.5 * (high - low))
    return min(max(x, low + room), high - room)


@kernel
def in_static_box(sc: Scene, geom: int, p: Triple) -> bool:
    """Whether a point lies in a static box."""
    if sc.geom_upright[geom] != 0:
        return within(p, sc.geom_bounds[geom], 0.0)
    return in_box(p, sc.geom_xpos[geom], sc.geom_xmat[geom], sc.geom_size[geom])


@kernel
def exit_of_geom(sc: Scene, geom: int, n: Triple, p: Triple) -> tuple[float, Triple]:
    """The way out of a static geom, not against n, and its depth; negative if p is outside."""
    centre, R = sc.geom_xpos[geom], sc.geom_xmat[geom]
    if sc.geom_upright[geom] != 0:
        return exit_of_bounds(p, n, sc.geom_bounds[geom])
    if sc.geom_type[geom] == GEOM_PLANE:
        return exit_of_plane(p, centre, R, SEAM_TOLERANCE)
    return exit_of_box(p, n, centre, R, sc.geom_size[geom], SEAM_TOLERANCE)
