"""Contact between rigid bodies: penalty force, contact states, gain bounds, seams.

Signs (TH 4.2): the separation s is negative inside, the normal velocity v is negative
when the bodies approach, and a positive force pushes them apart.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import CREEP
from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, inner

GEOM_PLANE, GEOM_CYLINDER, GEOM_BOX = 0, 5, 6  # mjtGeom


@kernel
def penalty_force(s: float, v: float, stiffness: float, damping: float, clamp: int) -> float:
    r"""The normal force of a resting contact.

    .. math:: f_n = -K s - B v_n

    TH 4.5, S0 3-4. Unclamped it pulls on separation (errata B2); ``clamp`` forbids that.
    """
    force = -stiffness * s - damping * v
    if clamp != 0 and force < 0.0:
        return 0.0
    return force


@kernel
def is_new(s: float, v: float, step: float) -> bool:
    """Whether a contact arose within the last step: inside now, approaching, outside before.

    No identity of the contact is needed for that (contact points of cylinders and meshes
    jump from tick to tick). A contact that already separates is not new (TH Fig 4.4), and
    one that creeps in, slower than anybody feels, is left to the penalty force: in an exact
    fit round-off alone makes such contacts, tick after tick.
    """
    return s <= 0.0 and v < -CREEP and s - step * v >= 0.0


@kernel
def group_root(parent: np.ndarray, tree: int) -> int:
    """The representative of the contact group to which *tree* belongs."""
    while parent[tree] != tree:
        parent[tree] = parent[parent[tree]]
        tree = parent[tree]
    return tree


@kernel
def join_groups(parent: np.ndarray, a: int, b: int) -> None:
    """Put trees *a* and *b* into one contact group; the static world (-1) joins nothing."""
    if a >= 0 and b >= 0:
        parent[group_root(parent, a)] = group_root(parent, b)


@kernel
def accumulate_outer(weight: float, row: np.ndarray, n: int, out: np.ndarray) -> None:
    """out += weight · rowᵀ row, skipping the zeros of the row; ``out`` is n × n, flat."""
    for i in range(n):
        if row[i] != 0.0:
            scaled = weight * row[i]
            for j in range(n):
                out[i * n + j] += scaled * row[j]


@kernel
def quadratic_form(A: np.ndarray, x: np.ndarray, n: int) -> float:
    """xᵀ A x; ``A`` is n × n, flat."""
    total = 0.0
    for i in range(n):
        if x[i] != 0.0:
            inner = 0.0
            for j in range(n):
                inner += A[i * n + j] * x[j]
            total += x[i] * inner
    return total


@kernel
def gain_scale(rate: float, step_power: float, most: float) -> float:
    """By what to multiply a gain so that rate·step_power stays at most *most*."""
    load = rate * step_power
    return most / load if load > most else 1.0


@kernel
def column(R: np.ndarray, axis: int) -> Triple:
    """An axis of a frame (R row-major 9)."""
    return R[axis], R[3 + axis], R[6 + axis]


@kernel
def in_box(p: Triple, centre: np.ndarray, R: np.ndarray, half: np.ndarray) -> bool:
    """Whether the point lies inside the box (R row-major 9)."""
    x = (p[0] - centre[0], p[1] - centre[1], p[2] - centre[2])
    for axis in range(3):
        if abs(inner(column(R, axis), x)) > half[axis]:
            return False
    return True


@kernel
def within(p: Triple, bounds: np.ndarray, tolerance: float) -> bool:
    """Whether the point lies between the lower and upper bounds (6) of an upright box."""
    x = bounds[0] - tolerance <= p[0] <= bounds[3] + tolerance
    y = bounds[1] - tolerance <= p[1] <= bounds[4] + tolerance
    z = bounds[2] - tolerance <= p[2] <= bounds[5] + tolerance
    return x and y and z


@kernel
def _nearer_end(x: float, along: float, low: float, high: float) -> tuple[float, float]:
    """How far the nearer end of a range is that does not lie against *along*, and which way."""
    up = high - x if along > -0.5 else math.inf
    down = x - low if along < 0.5 else math.inf
    return (up, 1.0) if up <= down else (down, -1.0)


@kernel
def exit_of_bounds(p: Triple, along: Triple, bounds: np.ndarray) -> tuple[float, Triple]:
    """`exit_of_box` of a point that is `within` an upright box."""
    x, to_x = _nearer_end(p[0], along[0], bounds[0], bounds[3])
    y, to_y = _nearer_end(p[1], along[1], bounds[1], bounds[4])
    z, to_z = _nearer_end(p[2], along[2], bounds[2], bounds[5])
    if x <= y and x <= z:
        return max(x, 0.0), (to_x, 0.0, 0.0)
    if y <= z:
        return max(y, 0.0), (0.0, to_y, 0.0)
    return max(z, 0.0), (0.0, 0.0, to_z)


@kernel
def exit_of_box(
    p: Triple,
    along: Triple,
    centre: np.ndarray,
    R: np.ndarray,
    half: np.ndarray,
    tolerance: float,
) -> tuple[float, Triple]:
    """The nearest way out of a box that does not lead against *along*.

    Returns the depth, negative if the point is outside by more than the tolerance, and the
    unit direction.
    """
    x = (p[0] - centre[0], p[1] - centre[1], p[2] - centre[2])
    best, way = math.inf, along
    for axis in range(3):
        e = column(R, axis)
        local = inner(e, x)
        if abs(local) > half[axis] + tolerance:
            return -1.0, along
        depth, towards = _nearer_end(local, inner(e, along), -half[axis], half[axis])
        if depth < best:
            best, way = depth, (towards * e[0], towards * e[1], towards * e[2])
    return max(best, 0.0), way


@kernel
def exit_of_plane(
    p: Triple, centre: np.ndarray, R: np.ndarray, tolerance: float
) -> tuple[float, Triple]:
    """The way out of a half-space: the depth, negative if outside by the tolerance, and where."""
    way = column(R, 2)
    depth = -inner(way, (p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]))
    return (-1.0 if depth < -tolerance else max(depth, 0.0)), way
