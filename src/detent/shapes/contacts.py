"""The patches that touch, as contacts among MuJoCo's."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, inner, plus
from detent.shapes.constants import (
    BUSY,
    LEAST_BUDGET,
    LEAST_REFINED,
    MANY,
    PATCHES,
    ROWS,
    SURE,
    TOP,
)
from detent.shapes.distance import distance, exact_distance, gradient
from detent.shapes.structs import (
    CONTACTS,
    LEFT_OUT,
    LOOKUPS,
    REFINEMENTS,
    Felt,
    Pair,
    Solid,
)
from detent.shapes.touch import note_motion, patches_of, placed, relative_pose, scan

NONE = (0.0, 0.0, 0.0)


@kernel
def separation(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, pose: np.ndarray
) -> float:
    """[m] The least distance of a patch.

    Where the tick had no time to measure all that may be nearest, that by the field is measured.
    """
    if felt.guess[side, patch] == 0:
        return felt.least[side, patch]
    n = felt.nearest[side, patch]
    p = placed(pose, own.points[n, 0], own.points[n, 1], own.points[n, 2])
    d, low, high = distance(other, p[0], p[1], p[2])
    felt.counts[REFINEMENTS] += 1
    return felt.least[side, patch] - d + exact_distance(other, p, d, low, high, felt.stack)


@kernel
def heaviest_samples(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, pose: np.ndarray, most: int
) -> tuple[Triple, Triple]:
    """Σ of gradients and middle of the deepest of a patch, by how much they weigh over the next."""
    way, middle, weights = NONE, NONE, 1e-30
    end = felt.top_weight[side, patch, most] if felt.tops[side, patch] > most else 0.0
    for i in range(min(felt.tops[side, patch], most)):
        n, weight = felt.top[side, patch, i], felt.top_weight[side, patch, i] - end
        if weight > 0.0:
            p = placed(pose, own.points[n, 0], own.points[n, 1], own.points[n, 2])
            way = plus(way, weight, gradient(other, p[0], p[1], p[2]))
            middle = plus(middle, weight, p)
            weights += weight
    share = 1.0 / weights
    return way, (middle[0] * share, middle[1] * share, middle[2] * share)


@kernel
def unit(a: Triple) -> Triple:
    """A direction; none stays none."""
    length = math.sqrt(inner(a, a))
    if length < 1e-12:
        return 0.0, 0.0, 0.0
    return a[0] / length, a[1] / length, a[2] / length


@kernel
def way_and_place(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, pose: np.ndarray
) -> tuple[Triple, Triple]:
    """The direction out of the other solid, and where: gradients and places of samples, weighted.

    Gradients are differences of the field, which are continuous. Of few samples the heaviest count,
    and how much more they weigh than the next one; of many some others do too, and whoever is
    heaviest matters little. That next one, as it gets heavy, leads from one to the other. Where
    gradients cancel, samples are pushed against the way that they face.
    """
    total, nearest = felt.weight[side, patch], felt.nearest[side, patch]
    way, place, many, tops = NONE, NONE, 0.0, felt.top_weight
    if felt.tops[side, patch] > TOP:
        many = min(tops[side, patch, TOP] / (MANY * tops[side, patch, 0]), 1.0)
    if felt.tops[side, patch] == 0:  # of what is near, but not that near, the nearest alone
        x, y, z = own.points[nearest, 0], own.points[nearest, 1], own.points[nearest, 2]
        place = placed(pose, x, y, z)
        way = gradient(other, place[0], place[1], place[2])
    elif many < 1.0:
        n, p = heaviest_samples(felt, side, patch, own, other, pose, TOP)
        way, place = plus(way, 1.0 - many, unit(n)), plus(place, 1.0 - many, p)
    if many > 0.0:
        s, m = felt.slope, felt.middle
        n, _ = heaviest_samples(felt, side, patch, own, other, pose, SURE)
        n = plus(n, 1.0, (s[side, patch, 0], s[side, patch, 1], s[side, patch, 2]))
        way = plus(way, many, unit(n))
        x, y, z = m[side, patch, 0], m[side, patch, 1], m[side, patch, 2]
        place = plus(place, many, placed(pose, x / total, y / total, z / total))
    way = unit(way)
    return way if inner(way, way) > 0.0 else facing(own, pose, nearest), place


@kernel
def facing(own: Solid, pose: np.ndarray, sample: int) -> Triple:
    """Against the way that a sample faces."""
    a, b, c = own.normals[sample, 0], own.normals[sample, 1], own.normals[sample, 2]
    against = (
        -(pose[0] * a + pose[1] * b + pose[2] * c),
        -(pose[3] * a + pose[4] * b + pose[5] * c),
        -(pose[6] * a + pose[7] * b + pose[8] * c),
    )
    way = unit(against)
    return way if inner(way, way) > 0.0 else (0.0, 0.0, 1.0)


@kernel
def find_touching(
    felt: Felt, side: int, own: Solid, other: Solid, pose: np.ndarray, frame: int, count: int
) -> int:
    """Append to felt.row the patches that touch: distance, normal and point in the world."""
    R, x = felt.geom_xmat, felt.geom_xpos
    for patch in range(patches_of(own)):
        if felt.least[side, patch] > felt.margin and felt.guess[side, patch] == 0:
            continue
        d, nearest = separation(felt, side, patch, own, other, pose), felt.nearest[side, patch]
        if d > felt.margin:
            continue
        n, p = way_and_place(felt, side, patch, own, other, pose)
        p = plus(p, -0.5 * d - own.points[nearest, 3], n)
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
def share_budget(felt: Felt) -> None:
    """Pairs that take long share what there is time for in a tick."""
    pairs = max(felt.busy[0], 1)
    felt.share[0] = max(felt.budget[0] // pairs, min(LEAST_BUDGET, felt.budget[0]))
    measured = max(felt.budget[1] // pairs, min(LEAST_REFINED, felt.budget[1]))
    felt.share[1] = felt.counts[REFINEMENTS] + measured


@kernel
def touch_pair(pa: Pair) -> None:
    """Stage: the contacts of two solids, where one is felt as it is."""
    felt, one, two = pa.felt, pa.one, pa.two
    before = felt.counts[LOOKUPS]
    share_budget(felt)
    relative_pose(felt, pa.geom[0], pa.geom[1], pa.pose[0])
    relative_pose(felt, pa.geom[1], pa.geom[0], pa.pose[1])
    note_motion(one, pa.pose[0], pa.before[0], pa.moved[0])
    note_motion(two, pa.pose[1], pa.before[1], pa.moved[1])
    to, moved = pa.pose, pa.moved
    scan(felt, 0, one, two, to[0], moved[0], pa.memo_one, pa.known_one, pa.last_one, pa.stretch)
    scan(felt, 1, two, one, to[1], moved[1], pa.memo_two, pa.known_two, pa.last_two, pa.stretch)
    count = find_touching(felt, 0, one, two, pa.pose[0], pa.geom[1], 0)
    count = find_touching(felt, 1, two, one, pa.pose[1], pa.geom[0], count)
    count = keep_deepest(felt, count)
    felt.busy[1] += int(felt.counts[LOOKUPS] - before > BUSY)
    for i in range(count):
        if write_contact(felt, pa, i):
            felt.counts[CONTACTS] += 1
        else:
            felt.counts[LEFT_OUT] += 1
