"""Where a polyhedron is nearest to the axis of a rod: its shadow along that axis, in the plane."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, inner

ROUNDS = 24  # each takes one more corner of the shadow into account; a sliver needs five
CONVERGED = 1e-10  # [m] nothing of the shadow is nearer by more than this


@kernel
def corner(corners: np.ndarray, i: int, turn: np.ndarray, from_axis: Triple) -> Triple:
    """Corner i in the world, seen from a point of the axis (``from_axis`` is the body's origin)."""
    x, y, z = corners[i, 0], corners[i, 1], corners[i, 2]
    return (
        from_axis[0] + turn[0] * x + turn[1] * y + turn[2] * z,
        from_axis[1] + turn[3] * x + turn[4] * y + turn[5] * z,
        from_axis[2] + turn[6] * x + turn[7] * y + turn[8] * z,
    )


@kernel
def lowest_corner(
    corners: np.ndarray, first: int, end: int, turn: np.ndarray, from_axis: Triple, way: Triple
) -> Triple:
    """The corner that is least far along *way*: what supports the polyhedron there."""
    best, least = (0.0, 0.0, 0.0), math.inf
    for i in range(first, end):
        at = corner(corners, i, turn, from_axis)
        height = inner(way, at)
        if height < least:
            best, least = at, height
    return best


@kernel
def across(v: Triple, axis: Triple) -> Triple:
    """The part of v across the axis: its shadow."""
    along = inner(v, axis)
    return v[0] - along * axis[0], v[1] - along * axis[1], v[2] - along * axis[2]


@kernel
def nearest_on_segment(a: Triple, b: Triple, axis: Triple) -> Triple:
    """The point between a and b that is nearest to the axis."""
    p, q = across(a, axis), across(b, axis)
    e = (q[0] - p[0], q[1] - p[1], q[2] - p[2])
    size = inner(e, e)
    t = min(max(-inner(p, e) / size, 0.0), 1.0) if size > 0.0 else 0.0
    return a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])


@kernel
def nearest_to_axis(
    corners: np.ndarray,
    first: int,
    end: int,
    turn: np.ndarray,
    from_axis: Triple,
    axis: Triple,
    way: Triple,
) -> tuple[bool, Triple]:
    r"""The point of a polyhedron nearest to an axis, and whether there is one outside of it.

    .. math:: \min_{x \in P} |(1 - a a^T) x|

    Gilbert, Johnson and Keerthi's search for the point of a convex set nearest to the origin
    (IEEE J. Robot. Autom. 4, 1988), for the shadow of the polyhedron along a. It is exact for
    corners, where a search in space for the depth of round things is not.

    Args:
        corners: of all polyhedra, in their own frames; *first* to *end* are this one's.
        turn: (9,) its orientation, row by row.
        from_axis: its origin, from a point of the axis.
        axis: a, of unit length.
        way: roughly from the axis to the polyhedron.
    """
    a = lowest_corner(corners, first, end, turn, from_axis, across(way, axis))
    b, p = a, a
    for _ in range(ROUNDS):
        flat = across(p, axis)
        size = math.sqrt(inner(flat, flat))
        if size <= CONVERGED:
            return False, p
        c = lowest_corner(corners, first, end, turn, from_axis, flat)
        if size - inner(flat, c) / size <= CONVERGED:
            return True, p
        q, r = nearest_on_segment(a, c, axis), nearest_on_segment(b, c, axis)
        left, right = across(q, axis), across(r, axis)
        if inner(left, left) <= inner(right, right):
            b, p = c, q
        else:
            a, p = c, r
    return False, p
