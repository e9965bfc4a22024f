"""Where two solids touch: samples of each in the field of the other, by patches, as contacts.

A pair is passed over node by node: a node that was as far as d from the other solid is, after a
motion by m, at least as far as d − m (a distance changes by no more than a point moves), so most
nodes cost one comparison. The samples of the nodes that are left are looked up. Those that may
touch are put together by patch: one contact for each, at the depth-weighted middle of its
samples, with the normal of their gradients and the least exact distance of the deepest.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple
from detent.shapes.constants import EVERY, TOP
from detent.shapes.distance import distance, gradient
from detent.shapes.structs import CANDIDATES, LEFT_OUT, LOOKUPS, Felt, Solid


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
    """Distance of one sample; taken, if it may touch within the error of the field."""
    p = placed(pose, own.points[n, 0], own.points[n, 1], own.points[n, 2])
    d, error = distance(other, p[0], p[1], p[2])
    d -= own.points[n, 3]
    if d - error < felt.margin:
        if d < 0.0:
            add_sample(felt, side, patch, own, other, n, p, -d)
        rank_sample(felt, side, patch, n, d)
        felt.counts[CANDIDATES] += 1
    return d


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
    balls, links, gone, turned = own.balls, own.links, moved[0], moved[1]
    i, end, used = own.roots[patch], own.roots[patch + 1], 0
    margin = felt.margin
    while i < end:
        shift = gone + balls[i, 4] * turned
        if memo[i] - shift > balls[i, 3] + margin:
            i = links[i, 0]
            continue
        p = placed(pose, balls[i, 0], balls[i, 1], balls[i, 2])
        d, error = distance(other, p[0], p[1], p[2])
        used += 1
        memo[i] = d - error + shift
        if d - error > balls[i, 3] + margin:
            i = links[i, 0]
            continue
        first, count = links[i, 1], links[i, 2]
        if used + count > left:
            felt.counts[LEFT_OUT] += 1
            i = links[i, 0]
            continue
        for n in range(first, first + count):
            look_up(felt, side, patch, own, other, pose, n)
        used += count
        i += 1
    felt.counts[LOOKUPS] += used
    return left - used


@kernel
def sort_patches(
    felt: Felt, own: Solid, other: Solid, pose: np.ndarray, moved: np.ndarray, memo: np.ndarray
) -> int:
    """felt.order ← patches that may touch, those that may be deepest first; how many."""
    count, order, key = 0, felt.order, felt.key
    for patch in range(own.roots.shape[0] - 1):
        i = own.roots[patch]
        shift = moved[0] + own.balls[i, 4] * moved[1]
        bound = memo[i] - shift - own.balls[i, 3]
        if bound > felt.margin:
            continue
        p = placed(pose, own.balls[i, 0], own.balls[i, 1], own.balls[i, 2])
        d, error = distance(other, p[0], p[1], p[2])
        memo[i] = d - error + shift
        bound = d - error - own.balls[i, 3]
        felt.counts[LOOKUPS] += 1
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
    for i in range(sort_patches(felt, own, other, pose, moved, memo)):
        patch = felt.order[i]
        if left > 0:
            left = scan_patch(felt, side, patch, own, other, pose, moved, memo, left)
        else:
            felt.counts[LEFT_OUT] += 1
        if left <= 0 and last[patch] >= 0 and not is_top(felt, side, patch, last[patch]):
            look_up(felt, side, patch, own, other, pose, last[patch])
    for patch in range(own.roots.shape[0] - 1):
        last[patch] = felt.top[side, patch, 0] if felt.tops[side, patch] > 0 else -1
