"""The patches that touch, as contacts among MuJoCo's."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, inner, plus
from detent.shapes.constants import FINE, MANY, PATCHES, REFINED, ROWS, TOP
from detent.shapes.distance import distance, exact_distance, gradient
from detent.shapes.structs import (
    CONTACTS,
    LEFT_OUT,
    REFINEMENTS,
    Felt,
    Pair,
    Solid,
)
from detent.shapes.touch import note_motion, placed, relative_pose, scan


@kernel
def separation(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, pose: np.ndarray
) -> float:
    """[m] The least exact distance of a patch.

    Its deepest samples by the field are measured to triangles, until the next one cannot be nearer
    within the error of the field. So the least does not jump when samples change places; where more
    than `TOP` of them are that near, or `REFINED` were measured already, it may, by that error.
    If none of so many touches, all of the patch are asked.
    """
    best = math.inf
    for i in range(min(felt.tops[side, patch], TOP)):
        n = felt.top[side, patch, i]
        p = placed(pose, own.points[n, 0], own.points[n, 1], own.points[n, 2])
        d, low, high = distance(other, p[0], p[1], p[2])
        if d - own.points[n, 3] - low >= best:
            continue
        if i > 0 and felt.counts[REFINEMENTS] >= REFINED:
            break
        best = min(best, refined(felt, other, p, d, low, high) - own.points[n, 3])
    if best > felt.margin and felt.tops[side, patch] > TOP:
        best = search_patch(felt, patch, own, other, pose, best)
    return best


@kernel
def refined(felt: Felt, other: Solid, p: Triple, d: float, low: float, high: float) -> float:
    """[m] By triangles, unless the field is as good."""
    if low + high <= FINE * other.cell:
        return d
    felt.counts[REFINEMENTS] += 1
    return exact_distance(other, p, d, low, high, felt.stack)


@kernel
def search_patch(
    felt: Felt, patch: int, own: Solid, other: Solid, pose: np.ndarray, best: float
) -> float:
    """[m] The least exact distance of all samples of a patch, as far as `REFINED` goes."""
    i, end = own.roots[patch], own.roots[patch + 1]
    while i < end:
        p = placed(pose, own.balls[i, 0], own.balls[i, 1], own.balls[i, 2])
        d, low, _ = distance(other, p[0], p[1], p[2])
        if d - low > own.balls[i, 3] + felt.margin:
            i = own.links[i, 0]
            continue
        for n in range(own.links[i, 1], own.links[i, 1] + own.links[i, 2]):
            p = placed(pose, own.points[n, 0], own.points[n, 1], own.points[n, 2])
            d, low, high = distance(other, p[0], p[1], p[2])
            if d - low - own.points[n, 3] < min(best, felt.margin):
                if felt.counts[REFINEMENTS] >= 2 * REFINED:
                    return best
                best = min(best, refined(felt, other, p, d, low, high) - own.points[n, 3])
        i += 1
    return best


@kernel
def deepest_gradients(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, pose: np.ndarray, end: float
) -> Triple:
    """Of the deepest samples of a patch, weighted by how much deeper they are than *end*."""
    total = (0.0, 0.0, 0.0)
    for i in range(min(felt.tops[side, patch], TOP)):
        n = felt.top[side, patch, i]
        weight = end - felt.top_value[side, patch, i]
        if weight > 0.0:
            p = placed(pose, own.points[n, 0], own.points[n, 1], own.points[n, 2])
            total = plus(total, weight, gradient(other, p[0], p[1], p[2]))
    return unit(total)


@kernel
def unit(a: Triple) -> Triple:
    """A direction; none stays none."""
    length = math.sqrt(inner(a, a))
    if length < 1e-12:
        return 0.0, 0.0, 0.0
    return a[0] / length, a[1] / length, a[2] / length


@kernel
def way_out(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, pose: np.ndarray, deepest: int
) -> Triple:
    """The direction out of the other solid: gradients at the samples, weighted by depth.

    They are central differences, which are continuous. Of few samples the deepest count, and how
    much deeper they are than the next one; of many every eighth does, whoever is deepest. That
    next one, as it gets deep, leads from one to the other. Where gradients cancel, samples are
    pushed against the way that they face.
    """
    s, value = felt.slope, felt.top_value
    many, end = 0.0, max(felt.margin, 1e-9)
    if felt.tops[side, patch] > TOP and value[side, patch, TOP] < end:
        first, end = value[side, patch, 0], value[side, patch, TOP]
        many = min(end / min(MANY * first, -1e-12), 1.0) if end < 0.0 else 0.0
    total = (0.0, 0.0, 0.0)
    if many < 1.0:
        total = plus(total, 1.0 - many, deepest_gradients(felt, side, patch, own, other, pose, end))
    if many > 0.0:
        all_of_them = (s[side, patch, 0], s[side, patch, 1], s[side, patch, 2])
        total = plus(total, many, unit(all_of_them))
    total = unit(total)
    if inner(total, total) == 0.0:
        a, b, c = own.normals[deepest, 0], own.normals[deepest, 1], own.normals[deepest, 2]
        against = (
            -(pose[0] * a + pose[1] * b + pose[2] * c),
            -(pose[3] * a + pose[4] * b + pose[5] * c),
            -(pose[6] * a + pose[7] * b + pose[8] * c),
        )
        total = unit(against)
    if inner(total, total) == 0.0:
        return 0.0, 0.0, 1.0
    return total


@kernel
def where_it_touches(
    felt: Felt, side: int, patch: int, own: Solid, pose: np.ndarray, deepest: int
) -> Triple:
    """The depth-weighted middle of the samples of a patch, in the frame of the other solid."""
    weight = felt.weight[side, patch]
    if weight <= 0.0:
        return placed(pose, own.points[deepest, 0], own.points[deepest, 1], own.points[deepest, 2])
    m = felt.middle
    return placed(
        pose,
        m[side, patch, 0] / weight,
        m[side, patch, 1] / weight,
        m[side, patch, 2] / weight,
    )


@kernel
def find_touching(
    felt: Felt, side: int, own: Solid, other: Solid, pose: np.ndarray, frame: int, count: int
) -> int:
    """Append to felt.row the patches that touch: distance, normal and point in the world."""
    R, x = felt.geom_xmat, felt.geom_xpos
    for patch in range(own.roots.shape[0] - 1):
        if felt.tops[side, patch] == 0:
            continue
        d, deepest = separation(felt, side, patch, own, other, pose), felt.top[side, patch, 0]
        if d > felt.margin:
            continue
        n = way_out(felt, side, patch, own, other, pose, deepest)
        p = where_it_touches(felt, side, patch, own, pose, deepest)
        p = plus(p, -0.5 * d - own.points[deepest, 3], n)
        felt.row[count], out = side * PATCHES + patch, felt.row_contact
        felt.key[count] = d
        out[count, 0] = d
        for i in range(3):
            out[count, 1 + i] = (
                R[frame, 3 * i] * n[0] + R[frame, 3 * i + 1] * n[1] + R[frame, 3 * i + 2] * n[2]
            )
            out[count, 4 + i] = x[frame, i] + (
                R[frame, 3 * i] * p[0] + R[frame, 3 * i + 1] * p[1] + R[frame, 3 * i + 2] * p[2]
            )
        count += 1
    return count


@kernel
def keep_deepest(felt: Felt, count: int) -> int:
    """Of many contacts the deepest stay, in their order; how many."""
    if count <= ROWS:
        return count
    felt.counts[LEFT_OUT] += count - ROWS
    for _ in range(count - ROWS):
        worst = 0
        for i in range(1, count):
            if felt.key[i] > felt.key[worst]:
                worst = i
        count -= 1
        for i in range(worst, count):
            felt.key[i], felt.row[i] = felt.key[i + 1], felt.row[i + 1]
            for k in range(7):
                felt.row_contact[i, k] = felt.row_contact[i + 1, k]
    return count


@kernel
def write_contact(felt: Felt, pa: Pair, i: int) -> bool:
    """Behind MuJoCo's contacts; False where there is no room. Its normal is from geom 1 to 2."""
    c = felt.ncon[0]
    if c >= felt.room:
        return False
    contact, row = felt.contact, felt.row_contact
    sign = -1.0 if felt.row[i] < PATCHES else 1.0  # samples of geom 1 are pushed out of geom 2
    n = (sign * row[i, 1], sign * row[i, 2], sign * row[i, 3])
    contact["dist"][c] = row[i, 0]
    for k in range(3):
        contact["pos"][c, k] = row[i, 4 + k]
    write_frame(n, contact["frame"][c])
    for k in range(5):
        contact["friction"][c, k] = pa.friction[k]
    contact["dim"][c] = pa.dim
    contact["geom"][c, 0], contact["geom"][c, 1] = pa.geom[0], pa.geom[1]
    contact["vert"][c, 0], contact["vert"][c, 1] = felt.row[i], -1
    contact["exclude"][c] = 0
    felt.ncon[0] = c + 1
    return True


@kernel
def write_frame(n: Triple, out: np.ndarray) -> None:
    """Normal and two tangents, as MuJoCo has them."""
    least = 0
    for k in range(1, 3):
        if abs(n[k]) < abs(n[least]):
            least = k
    e = (1.0 if least == 0 else 0.0, 1.0 if least == 1 else 0.0, 1.0 if least == 2 else 0.0)
    t = plus(e, -n[least], n)
    share = 1.0 / math.sqrt(inner(t, t))
    t = (t[0] * share, t[1] * share, t[2] * share)
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        out[k], out[3 + k] = n[k], t[k]
        out[6 + k] = n[a] * t[b] - n[b] * t[a]


@kernel
def touch_pair(pa: Pair) -> None:
    """Stage: the contacts of two solids, where one is felt as it is."""
    felt, one, two = pa.felt, pa.one, pa.two
    relative_pose(felt, pa.geom[0], pa.geom[1], pa.pose[0])
    relative_pose(felt, pa.geom[1], pa.geom[0], pa.pose[1])
    note_motion(one, pa.pose[0], pa.before[0], pa.moved[0])
    note_motion(two, pa.pose[1], pa.before[1], pa.moved[1])
    scan(felt, 0, one, two, pa.pose[0], pa.moved[0], pa.memo_one, pa.last_one)
    scan(felt, 1, two, one, pa.pose[1], pa.moved[1], pa.memo_two, pa.last_two)
    count = find_touching(felt, 0, one, two, pa.pose[0], pa.geom[1], 0)
    count = find_touching(felt, 1, two, one, pa.pose[1], pa.geom[0], count)
    count = keep_deepest(felt, count)
    for i in range(count):
        if write_contact(felt, pa, i):
            felt.counts[CONTACTS] += 1
        else:
            felt.counts[LEFT_OUT] += 1
