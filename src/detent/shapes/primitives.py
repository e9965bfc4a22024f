r"""MuJoCo's primitives: signed distances, and the samples of them that may touch others.

Inside a box or a cylinder the distance is that to the nearest face. An ellipsoid's nearest point
:math:`y_k = a_k^2 x_k / (a_k^2 + t)` has :math:`\sum_k (y_k / a_k)^2 = 1`, solved for t by
Newton's method from a side on which it is monotonic (Eberly 2013).
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.shapes.constants import LEAST_STEP, MOST_SAMPLES, SAGITTA
from detent.shapes.samples import Samples
from detent.shapes.structs import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE


@kernel
def primitive_distance(kind: int, half: np.ndarray, x: float, y: float, z: float) -> float:
    """[m] of a point from a primitive of MuJoCo's *kind* and size, negative inside."""
    if kind == PLANE:
        return z
    if kind == SPHERE:
        return math.sqrt(x * x + y * y + z * z) - half[0]
    if kind == CAPSULE:
        along = z - min(max(z, -half[1]), half[1])
        return math.sqrt(x * x + y * y + along * along) - half[0]
    if kind == CYLINDER:
        return corner_distance(math.sqrt(x * x + y * y) - half[0], abs(z) - half[1], -math.inf)
    if kind == ELLIPSOID:
        return ellipsoid_distance(half, x, y, z)
    return corner_distance(abs(x) - half[0], abs(y) - half[1], abs(z) - half[2])


@kernel
def corner_distance(a: float, b: float, c: float) -> float:
    """[m] from the corner of three half spaces, of which a point is as far as that."""
    inside = max(a, max(b, c))
    if inside <= 0.0:
        return inside
    a, b, c = max(a, 0.0), max(b, 0.0), max(c, 0.0)
    return math.sqrt(a * a + b * b + c * c)


@kernel
def ellipsoid_distance(half: np.ndarray, x: float, y: float, z: float) -> float:
    """[m] from an ellipsoid, of whatever half axes."""
    a, b, c = half[0] * half[0], half[1] * half[1], half[2] * half[2]
    least = min(a, min(b, c))
    x, y, z = max(abs(x), 1e-12), max(abs(y), 1e-12), max(abs(z), 1e-12)
    u, v, w = x * half[0], y * half[1], z * half[2]
    t = -least + max(  # not beyond the root, and the function falls and is convex from here
        u if a == least else 0.0, max(v if b == least else 0.0, w if c == least else 0.0)
    )
    for _ in range(60):
        p, q, r = u / (a + t), v / (b + t), w / (c + t)
        value = p * p + q * q + r * r - 1.0
        slope = -2.0 * (p * p / (a + t) + q * q / (b + t) + r * r / (c + t))
        step = value / slope
        t -= step
        if abs(step) <= 1e-14 * (abs(t) + least):
            break
    px, py, pz = a * x / (a + t), b * y / (b + t), c * z / (c + t)
    away = math.sqrt((px - x) ** 2 + (py - y) ** 2 + (pz - z) ** 2)
    return away if t > 0.0 else -away


def sample_primitive(kind: int, half: np.ndarray, scale: float) -> Samples:
    """Samples of a primitive that meets something of *scale* [m]: its edges, or what is inside.

    What is round is a shell: it may touch several sides of a groove at once. A plane has none: what
    touches it are the samples of the other.
    """
    step = LEAST_STEP * scale
    if kind in (SPHERE, CAPSULE, ELLIPSOID):
        return _shell(kind, half, scale)
    if kind == CYLINDER:
        return _rims(half, step)
    if kind == BOX:
        return _box_edges(half, step)
    return Samples(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))


def _bounded(count: float) -> int:
    return int(min(max(math.ceil(count), 1), MOST_SAMPLES))


def _shell(kind: int, half: np.ndarray, scale: float) -> Samples:
    """Of a round one, as near to each other as its most bent place needs (Fibonacci's lattice)."""
    axes = half if kind == ELLIPSOID else np.full(3, half[0])
    gap = math.sqrt(8.0 * SAGITTA * scale * float(axes.min() ** 2 / axes.max()))
    count = _bounded(4.0 * math.pi * float(axes.max()) ** 2 / gap**2)
    i = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * i / count, math.pi * (1.0 + math.sqrt(5.0)) * i
    flat = np.sqrt(1.0 - z * z)
    unit = np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1)
    normals = unit / axes
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    points = unit * axes
    if kind == CAPSULE:
        points[:, 2] += np.copysign(half[1], z)
        side, way = _tube(half, gap)
        points, normals = np.concatenate([points, side]), np.concatenate([normals, way])
    return Samples(points, normals, np.zeros(len(points)))


def _tube(half: np.ndarray, gap: float) -> tuple[np.ndarray, np.ndarray]:
    """The round side of a capsule: rings that are as far apart as points of one."""
    rings = _bounded(min(2.0 * half[1] / gap, math.sqrt(MOST_SAMPLES)))
    count = _bounded(2.0 * math.pi * half[0] / gap)
    z, turn = np.meshgrid(
        np.linspace(-half[1], half[1], rings + 1), 2.0 * math.pi * np.arange(count) / count
    )
    way = np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=-1).reshape(-1, 3)
    points = half[0] * way
    points[:, 2] = z.ravel()
    return points, way


def _rims(half: np.ndarray, step: float) -> Samples:
    count = _bounded(2.0 * math.pi * half[0] / step)
    turn = 2.0 * math.pi * np.arange(count) / count
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    points, normals = [], []
    for end in (-1.0, 1.0):
        points.append(np.column_stack([half[0] * circle, np.full(count, end * half[1])]))
        normals.append(np.column_stack([circle, np.full(count, end)]) / math.sqrt(2.0))
    return Samples(np.concatenate(points), np.concatenate(normals), np.zeros(2 * count))


def _box_edges(half: np.ndarray, step: float) -> Samples:
    step = max(step, 8.0 * float(half.sum()) / MOST_SAMPLES)
    points, normals = [], []
    for axis in range(3):
        count = max(math.ceil(2.0 * half[axis] / step), 1)
        along = np.linspace(-half[axis], half[axis], count + 1)
        if axis > 0:
            along = along[1:-1] if len(along) > 2 else along[:0]  # the corners are there already
        along = along[np.argsort(-np.abs(along), kind="stable")]  # corners come first
        for one in (-1.0, 1.0):
            for two in (-1.0, 1.0):
                place = np.empty((len(along), 3))
                place[:, axis] = along
                place[:, (axis + 1) % 3] = one * half[(axis + 1) % 3]
                place[:, (axis + 2) % 3] = two * half[(axis + 2) % 3]
                way = np.zeros(3)
                way[(axis + 1) % 3], way[(axis + 2) % 3] = one, two
                points.append(place)
                normals.append(np.tile(way / math.sqrt(2.0), (len(along), 1)))
    every = np.concatenate(points)
    return Samples(every, np.concatenate(normals), np.zeros(len(every)))
