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
from detent.shapes.constants import EVERY, LEAF, MOST_DOUBTS, TOP
from detent.shapes.distance import distance, exact_distance, gradient
from detent.shapes.structs import CANDIDATES, DOUBTS, LEFT_OUT, LOOKUPS, Felt, Solid


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
    moved[0] += gone
    moved[1] += math.sqrt(0.5 * turned)


@kernel
def clear_patches(felt: Felt, side: int, patches: int) -> None:
    """Nothing has touched yet."""
    for p in range(patches):
        felt.weight[side, p], felt.tops[side, p] = 0.0, 0
        for k in range(3):
            felt.middle[side, p, k] = felt.slope[side, p, k] = 0.0


@kernel
def add_sample(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, n: int, p: Triple, depth: float
) -> None:
    """A sample that is inside the other solid: into the sums of its patch."""
    felt.weight[side, patch] += depth
    for k in range(3):
        felt.middle[side, patch, k] += depth * own.points[n, k]
    if n % EVERY == 0:
        g = gradient(other, p[0], p[1], p[2])
        for k in range(3):
            felt.slope[side, patch, k] += depth * g[k]


@kernel
def rank_sample(felt: Felt, side: int, patch: int, n: int, d: float) -> None:
    """A sample that may touch, at the distance d: among the deepest of its patch, if it is."""
    top, value, count = felt.top, felt.top_value, felt.tops[side, patch]
    if count > TOP and d >= value[side, patch, TOP]:
        return
    i = min(count, TOP)
    while i > 0 and value[side, patch, i - 1] > d:
        value[side, patch, i] = value[side, patch, i - 1]
        top[side, patch, i] = top[side, patch, i - 1]
        i -= 1
    value[side, patch, i], top[side, patch, i] = d, n
    felt.tops[side, patch] = min(count + 1, TOP + 1)


@kernel
def look_up(
    felt: Felt, side: int, patch: int, own: Solid, other: Solid, pose: np.ndarray, n: int
) -> float:
    """[m] The least distance of a sample; taken, if it may touch within the error of the field.

    One that touches by that error alone is measured to triangles: if it is free, that is known of
    it until it has moved so far.
    """
    p = placed(pose, own.points[n, 0], own.points[n, 1], own.points[n, 2])
    d, low, high = distance(other, p[0], p[1], p[2])
    skin = own.points[n, 3]
    least = d - low - skin
    if least >= felt.margin:
        return least
    if d - skin >= felt.margin and felt.counts[DOUBTS] < MOST_DOUBTS:
        felt.counts[DOUBTS] += 1
        d = exact_distance(other, p, d, low, high, felt.stack)
        least = d - skin
        if least >= felt.margin:
            return least
    d -= skin
    if d < 0.0:
        add_sample(felt, side, patch, own, other, n, p, -d)
    rank_sample(felt, side, patch, n, d)
    felt.counts[CANDIDATES] += 1
    return least


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
def scan_patch(
    felt: Felt,
    side: int,
    patch: int,
    own: Solid,
    other: Solid,
    pose: np.ndarray,
    moved: np.ndarray,
    memo: np.ndarray,
    left: int,
) -> int:
    """All samples of a patch that may touch; how many lookups of the budget are left."""
    balls, links, margin = own.balls, own.links, felt.margin
    i, end, used, level = own.roots[patch], own.roots[patch + 1], 0, 0
    while i < end:
        level = leave_nodes(felt, own, memo, moved, level, i)
        least = memo[i] - moved[0] - balls[i, 4] * moved[1]
        if least <= margin:
            p = placed(pose, balls[i, 0], balls[i, 1], balls[i, 2])
            d, low, _ = distance(other, p[0], p[1], p[2])
            used += 1
            least = d - low - balls[i, 3]
        first, count = links[i, 1], links[i, 2]
        felt.way[level], felt.way_least[level] = i, least
        level += 1
        if least > margin:
            i = links[i, 0]
        elif used + count > left:
            felt.counts[LEFT_OUT] += 1
            i = links[i, 0]
        else:
            felt.way_least[level - 1] = math.inf
            for n in range(first, first + count):
                d = look_up(felt, side, patch, own, other, pose, n)
                felt.way_least[level - 1] = min(felt.way_least[level - 1], d)
            used += count
            i += 1
    leave_nodes(felt, own, memo, moved, level, end)
    felt.counts[LOOKUPS] += used
    return left - used


@kernel
def sort_patches(felt: Felt, own: Solid, moved: np.ndarray, memo: np.ndarray) -> int:
    """felt.order ← patches that may touch, those that may be deepest first; how many."""
    count, order, key = 0, felt.order, felt.key
    for patch in range(own.roots.shape[0] - 1):
        i = own.roots[patch]
        bound = memo[i] - moved[0] - own.balls[i, 4] * moved[1]
        if bound > felt.margin:
            continue
        j = count
        while j > 0 and key[j - 1] > bound:
            key[j], order[j] = key[j - 1], order[j - 1]
            j -= 1
        key[j], order[j] = bound, patch
        count += 1
    return count


@kernel
def is_top(felt: Felt, side: int, patch: int, sample: int) -> bool:
    """Whether a sample is among the deepest of its patch already."""
    for k in range(felt.tops[side, patch]):
        if felt.top[side, patch, k] == sample:
            return True
    return False


@kernel
def scan(
    felt: Felt,
    side: int,
    own: Solid,
    other: Solid,
    pose: np.ndarray,
    moved: np.ndarray,
    memo: np.ndarray,
    last: np.ndarray,
) -> None:
    """All samples of one solid that may touch the other, as far as the budget goes.

    Where it ends, what was deepest in a patch before is still looked up.
    """
    clear_patches(felt, side, own.roots.shape[0] - 1)
    left = felt.budget[0]
    for i in range(sort_patches(felt, own, moved, memo)):
        patch = felt.order[i]
        if left > 0:
            left = scan_patch(felt, side, patch, own, other, pose, moved, memo, left)
        else:
            felt.counts[LEFT_OUT] += 1
        if left < LEAF and last[patch] >= 0 and not is_top(felt, side, patch, last[patch]):
            look_up(felt, side, patch, own, other, pose, last[patch])
    for patch in range(own.roots.shape[0] - 1):
        last[patch] = felt.top[side, patch, 0] if felt.tops[side, patch] > 0 else -1
