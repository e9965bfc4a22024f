"""Contact between rigid bodies: penalty force, contact states, gain bounds, seams.

Signs (TH 4.2): the separation s is negative inside, the normal velocity v is negative
when the bodies approach, and a positive force pushes them apart.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel

GEOM_PLANE, GEOM_BOX = 0, 6  # mjtGeom
CREEP = 1e-4  # [m/s] slower contacts do not collide


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
    return s < 0.0 and v < -CREEP and s - step * v >= 0.0


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
    """out += weight · rowᵀ row, skipping the zeros of the row."""
    for i in range(n):
        if row[i] != 0.0:
            scaled = weight * row[i]
            for j in range(n):
                out[i, j] += scaled * row[j]


@kernel
def quadratic_form(A: np.ndarray, x: np.ndarray, n: int) -> float:
    """xᵀ A x."""
    total = 0.0
    for i in range(n):
        if x[i] != 0.0:
            inner = 0.0
            for j in range(n):
                inner += A[i, j] * x[j]
            total += x[i] * inner
    return total


@kernel
def gain_scale(rate: float, step_power: float, most: float) -> float:
    """By what to multiply a gain so that rate·step_power stays at most *most*."""
    load = rate * step_power
    return most / load if load > most else 1.0


@kernel
def in_box(p: np.ndarray, centre: np.ndarray, R: np.ndarray, half: np.ndarray) -> bool:
    """Whether the point lies inside the box (R row-major 9)."""
    for axis in range(3):
        local = 0.0
        for k in range(3):
            local += R[3 * k + axis] * (p[k] - centre[k])
        if local > half[axis] or local < -half[axis]:
            return False
    return True


@kernel
def within(p: np.ndarray, bounds: np.ndarray, tolerance: float) -> bool:
    """Whether the point lies between the lower and upper bounds (6) of an upright box."""
    for k in range(3):
        if p[k] < bounds[k] - tolerance or p[k] > bounds[3 + k] + tolerance:
            return False
    return True


@kernel
def exit_of_bounds(p: np.ndarray, along: np.ndarray, bounds: np.ndarray, out: np.ndarray) -> float:
    """`exit_of_box` of a point that is `within` an upright box."""
    best, side, towards = 1e30, 0, 1.0
    for axis in range(3):
        if along[axis] > -0.5 and bounds[3 + axis] - p[axis] < best:
            best, side, towards = bounds[3 + axis] - p[axis], axis, 1.0
        if along[axis] < 0.5 and p[axis] - bounds[axis] < best:
            best, side, towards = p[axis] - bounds[axis], axis, -1.0
    for k in range(3):
        out[k] = 0.0
    out[side] = towards
    return max(best, 0.0)


@kernel
def exit_of_box(
    p: np.ndarray,
    along: np.ndarray,
    centre: np.ndarray,
    R: np.ndarray,
    half: np.ndarray,
    tolerance: float,
    out: np.ndarray,
) -> float:
    """The nearest way out of a box that does not lead against *along*.

    Returns the depth, negative if the point is outside by more than the tolerance; *out*
    is the unit direction.
    """
    x, y, z = p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]
    best, side, towards = 1e30, 0, 1.0
    for axis in range(3):
        local = R[axis] * x + R[3 + axis] * y + R[6 + axis] * z
        if abs(local) > half[axis] + tolerance:
            return -1.0
        facing = R[axis] * along[0] + R[3 + axis] * along[1] + R[6 + axis] * along[2]
        if facing > -0.5 and half[axis] - local < best:
            best, side, towards = half[axis] - local, axis, 1.0
        if facing < 0.5 and half[axis] + local < best:
            best, side, towards = half[axis] + local, axis, -1.0
    for k in range(3):
        out[k] = towards * R[3 * k + side]
    return max(best, 0.0)


@kernel
def exit_of_plane(
    p: np.ndarray, centre: np.ndarray, R: np.ndarray, tolerance: float, out: np.ndarray
) -> float:
    """The way out of a half-space; returns the depth, negative if outside by the tolerance."""
    depth = 0.0
    for k in range(3):
        out[k] = R[3 * k + 2]
        depth -= out[k] * (p[k] - centre[k])
    return -1.0 if depth < -tolerance else max(depth, 0.0)
