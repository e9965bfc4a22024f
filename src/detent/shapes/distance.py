r"""Signed distances from a solid: by its field, by its triangles, or by the law of a primitive.

Near the surface of a mesh the field is trilinear between baked distances, with two error bounds per
cell (`detent.shapes.doubt`); elsewhere it is trilinear between distances that are eight cells
apart, of which
:math:`|\hat\phi - \phi| \le H \sqrt{\sum_k t_k (1 - t_k)}`, since a distance changes by no more
than a point moves. Outside the grid it is the distance from the bounds, which is a lower bound.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, cross, inner, plus
from detent.shapes.constants import BAND, BLOCK, NODES
from detent.shapes.primitives import primitive_distance
from detent.shapes.structs import MESH, Solid
from detent.shapes.triangles import (
    CORNER,
    EDGE,
    FACE,
    closest_on_triangle,
    corner,
    minus,
    nearest_triangle,
)


@kernel
def distance(so: Solid, x: float, y: float, z: float) -> tuple[float, float, float]:
    """[m] of a point from a solid, negative inside; how much nearer, and farther, it may be."""
    if so.kind != MESH:
        return primitive_distance(so.kind, so.half, x, y, z), 0.0, 0.0
    origin, index, share = so.origin, so.index, so.share
    u, v, w = (x - origin[0]) * share, (y - origin[1]) * share, (z - origin[2]) * share
    inside = u >= 0.0 and v >= 0.0 and w >= 0.0
    if not (inside and u < index.shape[0] and v < index.shape[1] and w < index.shape[2]):
        return distance_outside(so.bounds, x, y, z), 0.0, math.inf
    i, j, k = int(u), int(v), int(w)
    block = int(index[np.uint64(i), np.uint64(j), np.uint64(k)])
    if block < 0:
        return coarse_distance(so, i, j, k, u - i, v - j, w - k)
    u, v, w = BLOCK * (u - i), BLOCK * (v - j), BLOCK * (w - k)
    i, j, k = min(int(u), BLOCK - 1), min(int(v), BLOCK - 1), min(int(w), BLOCK - 1)
    d = interpolated(so.blocks, ((block * NODES + i) * NODES + j) * NODES + k, u - i, v - j, w - k)
    e, at = so.error, 2 * (((block * BLOCK + i) * BLOCK + j) * BLOCK + k)
    low, high = e[np.uint64(at)], e[np.uint64(at + 1)]
    return d, so.doubt * low * low, so.doubt * high * high


@kernel
def interpolated(f: np.ndarray, at: int, u: float, v: float, w: float) -> float:
    """Between the nodes of a cell of a block, of which *at* is the first. None is negative."""
    a = f[np.uint64(at)] * (1.0 - w) + f[np.uint64(at + 1)] * w
    at += NODES
    b = f[np.uint64(at)] * (1.0 - w) + f[np.uint64(at + 1)] * w
    at += NODES * NODES
    d = f[np.uint64(at)] * (1.0 - w) + f[np.uint64(at + 1)] * w
    at -= NODES
    c = f[np.uint64(at)] * (1.0 - w) + f[np.uint64(at + 1)] * w
    return (a * (1.0 - v) + b * v) * (1.0 - u) + (c * (1.0 - v) + d * v) * u


@kernel
def distance_outside(bounds: np.ndarray, x: float, y: float, z: float) -> float:
    """[m] from the bounds of a solid."""
    a = max(max(bounds[0] - x, x - bounds[3]), 0.0)
    b = max(max(bounds[1] - y, y - bounds[4]), 0.0)
    c = max(max(bounds[2] - z, z - bounds[5]), 0.0)
    return math.sqrt(a * a + b * b + c * c)


@kernel
def coarse_distance(
    so: Solid, i: int, j: int, k: int, u: float, v: float, w: float
) -> tuple[float, float, float]:
    """The same between coarse distances, farther than the band from the surface."""
    f = so.coarse
    near = (f[i, j, k] * (1.0 - w) + f[i, j, k + 1] * w) * (1.0 - v) + (
        f[i, j + 1, k] * (1.0 - w) + f[i, j + 1, k + 1] * w
    ) * v
    far = (f[i + 1, j, k] * (1.0 - w) + f[i + 1, j, k + 1] * w) * (1.0 - v) + (
        f[i + 1, j + 1, k] * (1.0 - w) + f[i + 1, j + 1, k + 1] * w
    ) * v
    d = near * (1.0 - u) + far * u
    error = so.cell * math.sqrt(u * (1.0 - u) + v * (1.0 - v) + w * (1.0 - w))
    least = BAND * so.cell
    if d > 0.0:  # no nearer than the band, whatever interpolation says
        return max(d, least), min(error, max(d - least, 0.0)), error
    return min(d, -least), error, min(error, max(-least - d, 0.0))


@kernel
def gradient(so: Solid, x: float, y: float, z: float) -> Triple:
    """Of the field, by differences at the corners of a tetrahedron: continuous, as the field is."""
    e = so.probe
    share = 0.25 / e
    a, b = distance(so, x + e, y - e, z - e)[0], distance(so, x - e, y - e, z + e)[0]
    c, d = distance(so, x - e, y + e, z - e)[0], distance(so, x + e, y + e, z + e)[0]
    return (a - b - c + d) * share, (c - a - b + d) * share, (b - a - c + d) * share


@kernel
def exact_distance(
    so: Solid, p: Triple, d: float, low: float, high: float, stack: np.ndarray
) -> float:
    """[m] from the triangles of a solid, that are *d* away, *low* nearer or *high* farther."""
    return nearest_distance(so, p, d, low, high, stack)[0]


@kernel
def nearest_distance(
    so: Solid, p: Triple, d: float, low: float, high: float, stack: np.ndarray
) -> tuple[float, int]:
    """The same, and the triangle of it; -1 = none."""
    if so.kind != MESH:
        return d, -1
    within = max(d + high, low - d) * 1.001 + so.skin + 1e-9
    away, t, part = nearest_triangle(p, within, so.triangles, so.boxes, so.box_links, stack)
    if t < 0:  # nothing within the bound: what the field says is far too near
        away, t, part = nearest_triangle(p, math.inf, so.triangles, so.boxes, so.box_links, stack)
    if so.skin > 0.0:
        return away - so.skin, -1  # see `depth_bound`
    if d - low > 0.0 or (d + high >= 0.0 and is_outside(so, p, t, part)):
        return away, t
    return -away, t


@kernel
def depth_bound(so: Solid, p: Triple, t: int) -> float:
    """[m] A point of a solid is no deeper than it is far from any triangle of it."""
    q, _ = closest_on_triangle(
        p, corner(so.triangles, t, 0), corner(so.triangles, t, 1), corner(so.triangles, t, 2)
    )
    apart = minus(p, q)
    return -math.sqrt(inner(apart, apart))


@kernel
def face_normal(so: Solid, t: int) -> Triple:
    """Of a triangle, of length one."""
    a = corner(so.triangles, t, 0)
    n = cross(minus(corner(so.triangles, t, 1), a), minus(corner(so.triangles, t, 2), a))
    share = 1.0 / max(math.sqrt(inner(n, n)), 1e-300)
    return n[0] * share, n[1] * share, n[2] * share


@kernel
def is_outside(so: Solid, p: Triple, t: int, part: int) -> bool:
    """On which side of its nearest triangle a point is (Baerentzen and Aanaes 2005)."""
    a, b, c = corner(so.triangles, t, 0), corner(so.triangles, t, 1), corner(so.triangles, t, 2)
    q, _ = closest_on_triangle(p, a, b, c)
    n = face_normal(so, t)
    if part >= CORNER:
        v = so.corners[t, part - CORNER]
        n = (1.0 * so.vertex_normals[v, 0], 1.0 * so.vertex_normals[v, 1],
             1.0 * so.vertex_normals[v, 2])  # fmt: skip
    elif part != FACE and so.neighbours[t, part - EDGE] >= 0:
        n = plus(n, 1.0, face_normal(so, so.neighbours[t, part - EDGE]))
    return inner(minus(p, q), n) >= 0.0
