"""Polyhedra on the round side of a cylinder: where they touch, and along which normal.

MuJoCo turns the normal of such a contact to that of a face, which may be 45 degrees from the
truth at a corner; its depth is then off by tenths of a millimetre, and jumps as the tool slides.
"""

from __future__ import annotations

import math

from detent.kernels.contact import GEOM_CYLINDER, column
from detent.kernels.jit import kernel
from detent.kernels.shadow import across, nearest_to_axis
from detent.kernels.vectors import inner, plus
from detent.servo.structs import Rows, Scene


@kernel
def meet_rod(sc: Scene, rows: Rows, c: int, r: int) -> None:
    r"""Normal, point and separation of row r, if contact c is a polyhedron's with a cylinder.

    .. math:: n = \pm d / |d|, \qquad s = |d| - r

    with the way d from the axis to the nearest point of the polyhedron. Where that is beyond the
    cylinder's ends, or nearer to one of them than to the side, or inside of its axis, the contact
    stays as MuJoCo has it. Several contacts of a pair differ in depth as they do there.
    """
    for side in range(2):
        rod, other = rows.geom[r, side], rows.geom[r, 1 - side]
        first, end = sc.corner_start[other], sc.corner_start[other + 1]
        if sc.geom_type[rod] != GEOM_CYLINDER or first == end:
            continue
        sign = 1.0 - 2.0 * side  # the row's normal leads from geom 1 to geom 2
        middle, x, at = sc.geom_xpos[rod], sc.geom_xpos[other], rows.point[r]
        axis, long = column(sc.geom_xmat[rod], 2), sc.geom_size[rod, 1]
        n = (sign * rows.normal[r, 0], sign * rows.normal[r, 1], sign * rows.normal[r, 2])
        height = inner(axis, (at[0] - middle[0], at[1] - middle[1], at[2] - middle[2]))
        from_axis = (x[0] - middle[0], x[1] - middle[1], x[2] - middle[2])
        turn = sc.geom_xmat[other]
        found, p = nearest_to_axis(sc.corners, first, end, turn, from_axis, axis, n)
        way = across(p, axis)
        size = math.sqrt(inner(way, way))
        left = long - abs(inner(p, axis))  # to the nearer end, by which it could leave as well
        inside = abs(height) < long and left > max(0.0, sc.geom_size[rod, 0] - size)
        if not found or not inside or inner(way, n) <= 0.0:
            continue
        n = (way[0] / size, way[1] / size, way[2] / size)
        s = size - sc.geom_size[rod, 0] + above_deepest(sc, c)
        foot = plus((middle[0], middle[1], middle[2]), height, axis)
        place = plus(foot, sc.geom_size[rod, 0] + 0.5 * s, n)
        rows.separation[r] = s
        for k in range(3):
            rows.normal[r, k], rows.point[r, k] = sign * n[k], place[k]


@kernel
def above_deepest(sc: Scene, c: int) -> float:
    """How much less deep contact c is than the deepest of its pair, which are neighbours [m]."""
    geom, dist = sc.contact["geom"], sc.contact["dist"]
    one, two, least = geom[c, 0], geom[c, 1], dist[c]
    for way in (-1, 1):
        i = c + way
        while 0 <= i < sc.ncon[0] and geom[i, 0] == one and geom[i, 1] == two:
            least = min(least, dist[i])
            i += way
    return dist[c] - least
