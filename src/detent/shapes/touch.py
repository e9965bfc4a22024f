"""Where two solids touch: samples of each in the field of the other, by patches, as contacts.

A pair is passed over node by node: what was as far as d from the other solid is, after a motion by
m, at least as far as d − m (a distance changes by no more than a point moves). Of each node the
least of its samples is remembered, so that most cost one comparison, however near to a surface
they are. The samples of the nodes that are left are looked up. Those that may
touch are put together by patch: one contact for each, at the depth-weighted middle of its
samples, with the normal of their gradients and the least exact distance of the deepest.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple
from detent.shapes.constants import (
    COSTS,
    EVERY,
    EVERY_COARSE,
    FINE,
    FINER,
    HURRIED,
    LEAP,
    LEVELS,
    MOST_STRETCHED,
    NEAR,
    RELAXED,
    SAME,
    SLACK_AT,
    STRETCHED,
    TOP,
)
from detent.shapes.distance import depth_bound, distance, gradient, nearest_distance
from detent.shapes.structs import CANDIDATES, LEFT_OUT, LOOKUPS, REFINEMENTS, Felt, Solid


@kernel
def relative_pose(felt: Felt, own: int, other: int, out: np.ndarray) -> None:
    """out ← rotation (9) and place (3) of geom *own* in the frame of geom *other*."""
    R, x = felt.geom_xmat, felt.geom_xpos
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = (
                R[other, i] * R[own, j]
                + R[other, 3 + i] * R[own, 3 + j]
                + R[other, 6 + i] * R[own, 6 + j]
            )
        out[9 + i] = (
            R[other, i] * (x[own, 0] - x[other, 0])
            + R[other, 3 + i] * (x[own, 1] - x[other, 1])
            + R[other, 6 + i] * (x[own, 2] - x[other, 2])
        )


@kernel
def placed(pose: np.ndarray, x: float, y: float, z: float) -> Triple:
    """A point of one frame in the other."""
    return (
        pose[0] * x + pose[1] * y + pose[2] * z + pose[9],
        pose[3] * x + pose[4] * y + pose[5] * z + pose[10],
        pose[6] * x + pose[7] * y + pose[8] * z + pose[11],
    )


@kernel
def note_motion(own: Solid, pose: np.ndarray, before: np.ndarray, moved: np.ndarray) -> None:
    """How far the centre of the samples has gone, and by how much they have turned, so far.

    A turn by θ moves what is ρ away by 2 ρ sin(θ/2) = ρ ‖R − R₀‖ / √2.
    """
    c = own.centre
    a, b = placed(pose, c[0], c[1], c[2]), placed(before, c[0], c[1], c[2])
    gone = math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)
    turned = 0.0
    for k in range(12):
        if k < 9:
            turned += (pose[k] - before[k]) ** 2
        before[k] = pose[k]
    turned = math.sqrt(0.5 * turned)
    moved[0] += gone
    moved[1] += turned
    moved[2] = gone + own.reach * turned


@kernel
def patches_of(own: Solid) -> int:
    """How many patches the samples of a solid are in."""
    return (own.roots.shape[0] - 1) // LEVELS


@kernel
def clear_patches(felt: Felt, side: int, patches: int) -> None:
    """Nothing has touched yet."""
    for p in range(patches):
        felt.deep[side, p] = felt.weight[side, p] = 0.0
        felt.best[side, p] = felt.least[side, p] = math.inf
        felt.tops[side, p] = felt.guess[side, p] = 0
        for k in range(3):
            felt.middle[side, p, k] = felt.slope[side, p, k] = 0.0
        felt.facing[side, p] = -1


@kernel
def add_sample(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, n: int, p: Triple, weight: float
) -> None:
    """A sample that weighs: into the sums of its patch, and among the heaviest if it is."""
    felt.weight[side, patch] += weight
    for k in range(3):
        felt.middle[side, patch, k] += weight * own.points[n, k]
    every = EVERY_COARSE if n < own.firsts[LEVELS * patch + 1] else EVERY
    if n % every == 0:
        g = gradient(other, p[0], p[1], p[2])
        for k in range(3):
            felt.slope[side, patch, k] += weight * g[k]
    top, weights, count = felt.top, felt.top_weight, felt.tops[side, patch]
    if count > TOP and weight <= weights[side, patch, TOP]:
        return
    i = min(count, TOP)
    while i > 0 and weights[side, patch, i - 1] < weight:
        weights[side, patch, i] = weights[side, patch, i - 1]
        top[side, patch, i] = top[side, patch, i - 1]
        i -= 1
    weights[side, patch, i], top[side, patch, i] = weight, n
    felt.tops[side, patch] = min(count + 1, TOP + 1)


@kernel
def what_counts(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, level: int, stretch: float
) -> tuple[float, float, float]:
    r"""[m] Below what samples of a level are looked at, below what they weigh, what they lack.

    Finer samples are there for what the coarser ones do not see. One counts as far as it is deeper
    than all of these by

    .. math:: s = a \min\Bigl(s_0, \tfrac1c \sum_i \delta_i\Bigr)

    where :math:`\delta_i` are the depths of coarser ones, and takes part as if it were s higher.
    So where a touch is small every sample counts, where it is wide few have to be looked up, the
    depth is short by no more than :math:`a s_0`, and nothing of it jumps. The *stretch* a is 1
    unless the budget does not suffice.
    """
    weighs, shift = NEAR * other.probe, 0.0
    if level > 0:
        shift = stretch * min(own.slack, felt.deep[side, patch] / SLACK_AT)
        weighs = min(felt.best[side, patch], weighs) - shift
    limit = min(felt.margin, felt.least[side, patch] - shift)
    return max(limit, weighs), weighs, shift


@kernel
def look_up(
    felt: Felt,
    side: int,
    patch: int,
    own: Solid,
    other: Solid,
    pose: np.ndarray,
    known: np.ndarray,
    gone: float,
    n: int,
    first: bool,
    counts: tuple[float, float, float],
) -> float:
    """[m] The least distance of a sample; taken, if it may count within the error of the field.

    If it may be the nearest of its patch within that error, it is measured to triangles: if it is
    free, that is known of it until it has moved so far. Most are spared that by one triangle: by
    that which was found last, for this sample or for the nearest of its patch. What weighs is the
    field, which is continuous. Where too many were measured, finer samples do not count, but for
    the *first*.
    """
    limit, weighs, shift = counts
    same = SAME * own.slack
    p = placed(pose, own.points[n, 0], own.points[n, 1], own.points[n, 2])
    d, low, high = distance(other, p[0], p[1], p[2])
    skin = own.points[n, 3]
    least, d = d - low - skin, d - skin
    if least >= limit:
        return least
    felt.counts[CANDIDATES] += 1
    value, guess, enough = d, 0, min(felt.margin, felt.least[side, patch] - shift - same)
    if low + high <= FINE * other.cell:
        least = d
    else:
        least = max(least, known_bound(felt, side, patch, other, p, known[n], gone, skin, enough))
        if least > enough:
            value = math.inf
        elif felt.counts[REFINEMENTS] < felt.share[1] or first:
            felt.counts[REFINEMENTS] += 1
            value, known[n, 1] = nearest_distance(other, p, d + skin, low, high, felt.stack)
            value -= skin
            least, known[n, 0] = value, value + gone
        elif n < own.firsts[LEVELS * patch + 1]:
            guess = 1
        else:
            felt.counts[LEFT_OUT] += 1
            return least
    if value + shift < felt.least[side, patch]:
        felt.least[side, patch], felt.nearest[side, patch] = value + shift, n
        felt.guess[side, patch], felt.facing[side, patch] = guess, -1 if guess else int(known[n, 1])
    felt.best[side, patch] = min(felt.best[side, patch], d + shift)
    if d < weighs:
        felt.deep[side, patch] += max(min(-d, weighs - d), 0.0)  # nothing, as it enters
        add_sample(felt, side, patch, own, other, n, p, weighs - d)
    return min(least, d)  # it may weigh by the field where it is free by triangles


@kernel
def known_bound(
    felt: Felt,
    side: int,
    patch: int,
    other: Solid,
    p: Triple,
    known: np.ndarray,
    gone: float,
    skin: float,
    enough: float,
) -> float:
    """[m] Of the distance of a sample: by when it was measured, or unless that is *enough*, by one
    triangle: a point is no deeper than it is far from any."""
    least, t = known[0] - gone, int(known[1])
    if t < 0:
        t = felt.facing[side, patch]
    if least > enough or t < 0:
        return least
    return max(least, depth_bound(other, p, t) - skin)


@kernel
def leave_nodes(
    felt: Felt, own: Solid, memo: np.ndarray, moved: np.ndarray, level: int, i: int
) -> int:
    """Nodes that end before i are done: what is known of them; how many are left above i."""
    while level > 0 and i >= own.links[felt.way[level - 1], 0]:
        level -= 1
        node, least = felt.way[level], felt.way_least[level]
        memo[node] = least + moved[0] + own.balls[node, 4] * moved[1]
        if level > 0:
            felt.way_least[level - 1] = min(felt.way_least[level - 1], least)
    return level


@kernel
def scan_part(
    felt: Felt,
    side: int,
    part: int,
    own: Solid,
    other: Solid,
    pose: np.ndarray,
    moved: np.ndarray,
    memo: np.ndarray,
    known: np.ndarray,
    left: int,
    done: int,
    counts: tuple[float, float, float],
) -> int:
    """All samples of a level of a patch that may count; lookups left.

    But for one that is *done*: nothing is remembered of the nodes above it.
    """
    balls, links, limit = own.balls, own.links, counts[0]
    i, end, used, level = own.roots[part], own.roots[part + 1], 0, 0
    gone = moved[0] + own.reach * moved[1]
    while i < end:
        level = leave_nodes(felt, own, memo, moved, level, i)
        least = memo[i] - moved[0] - balls[i, 4] * moved[1]
        if least <= limit:
            p = placed(pose, balls[i, 0], balls[i, 1], balls[i, 2])
            d, low, _ = distance(other, p[0], p[1], p[2])
            used += 1
            least = max(least, d - low - balls[i, 3])
        first, count = links[i, 1], links[i, 2]
        felt.way[level], felt.way_least[level] = i, least
        level += 1
        if least > limit:
            i = links[i, 0]
        elif used + count > left:
            felt.counts[LEFT_OUT] += 1
            i = links[i, 0]
        else:
            felt.way_least[level - 1] = math.inf
            for n in range(first, first + count):
                d = -math.inf
                if n != done:
                    patch = part // LEVELS
                    d = look_up(felt, side, patch, own, other, pose, known, gone, n, False, counts)
                felt.way_least[level - 1] = min(felt.way_least[level - 1], d)
            used += count
            i += 1
    leave_nodes(felt, own, memo, moved, level, end)
    felt.counts[LOOKUPS] += used
    return left - used


@kernel
def part_bound(own: Solid, part: int, moved: np.ndarray, memo: np.ndarray) -> float:
    """[m] What is known of the least distance of a level of a patch."""
    i = own.roots[part]
    if i == own.roots[part + 1]:
        return math.inf
    return memo[i] - moved[0] - own.balls[i, 4] * moved[1]


@kernel
def sort_patches(felt: Felt, own: Solid, near: float, moved: np.ndarray, memo: np.ndarray) -> int:
    """felt.order ← patches that may be *near*, those that may be deepest first; how many."""
    count, order, key = 0, felt.order, felt.key
    for patch in range(patches_of(own)):
        bound = math.inf
        for part in range(LEVELS * patch, LEVELS * patch + LEVELS):
            bound = min(bound, part_bound(own, part, moved, memo))
        if bound > near:
            continue
        j = count
        while j > 0 and key[j - 1] > bound:
            key[j], order[j] = key[j - 1], order[j - 1]
            j -= 1
        key[j], order[j] = bound, patch
        count += 1
    return count


@kernel
def scan(
    felt: Felt,
    side: int,
    own: Solid,
    other: Solid,
    pose: np.ndarray,
    moved: np.ndarray,
    memo: np.ndarray,
    known: np.ndarray,
    last: np.ndarray,
    stretch: np.ndarray,
) -> None:
    """All samples of one solid that may count, the coarsest first, as far as the budget goes.

    What was nearest in a patch before is looked up first: most others are not as deep. Finer ones
    matter least where a patch is deep.
    """
    clear_patches(felt, side, patches_of(own))
    left, near = felt.share[0], max(felt.margin, NEAR * other.probe)
    near_patches = sort_patches(felt, own, near, moved, memo)
    spent, gone = 0, moved[0] + own.reach * moved[1]
    goes_on = moved[2] < LEAP * own.slack  # else it was put there, and nothing is known
    for level in range(LEVELS):
        for i in range(near_patches):
            patch = felt.order[i if level == 0 else near_patches - 1 - i]
            part = LEVELS * patch + level
            counts = what_counts(felt, side, patch, own, other, level, stretch[side])
            n = last[patch]
            if own.firsts[part] <= n < own.firsts[part + 1]:
                look_up(felt, side, patch, own, other, pose, known, gone, n, True, counts)
                left -= 1
            if part_bound(own, part, moved, memo) > counts[0]:
                continue
            if left > 0:
                left = scan_part(
                    felt, side, part, own, other, pose, moved, memo, known, left, n, counts
                )
            else:
                felt.counts[LEFT_OUT] += 1
        if level == 0:
            if goes_on:
                left = min(left, int(HURRIED * FINER * felt.share[0]))
            else:
                stretch[side] = 1.0
            spent = left + COSTS * (felt.share[1] - felt.counts[REFINEMENTS])
    used = spent - left - COSTS * (felt.share[1] - felt.counts[REFINEMENTS])
    if goes_on:
        pace(felt, side, used, stretch)
    for patch in range(patches_of(own)):
        last[patch] = felt.nearest[side, patch] if felt.least[side, patch] < math.inf else -1


@kernel
def pace(felt: Felt, side: int, used: int, stretch: np.ndarray) -> None:
    """How much deeper finer samples have to be in the next tick, by what they took in this one.

    Between a half of their share and all of it nothing changes: a touch that goes on is even.
    """
    share = used / (FINER * felt.share[0])
    if share > 1.0:
        stretch[side] = min(stretch[side] * min(share, STRETCHED), MOST_STRETCHED)
    elif share < 0.5:
        stretch[side] = max(stretch[side] * RELAXED, 1.0)
    felt.counts[LEFT_OUT] += int(stretch[side] > 1.0)
