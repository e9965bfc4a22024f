"""The nearest of many triangles: a tree of boxes, and the closest point of one (Ericson 2005)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, inner, plus

FACE, EDGE, CORNER = 0, 1, 4  # what of a triangle is nearest: EDGE + i and CORNER + i, i = 0, 1, 2
LEAF_TRIANGLES = 4
STACK = 128  # nodes of a tree that wait, at most


@kernel
def minus(a: Triple, b: Triple) -> Triple:
    """a − b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def corner(tri: np.ndarray, i: int, k: int) -> Triple:
    """Corner k of triangle i."""
    return 1.0 * tri[i, 3 * k], 1.0 * tri[i, 3 * k + 1], 1.0 * tri[i, 3 * k + 2]


@kernel
def closest_on_triangle(p: Triple, a: Triple, b: Triple, c: Triple) -> tuple[Triple, int]:
    """The point of a triangle that is nearest to p, and of which part it is.

    Ericson, Real-Time Collision Detection (2005), 5.1.5.
    """
    ab, ac, ap = minus(b, a), minus(c, a), minus(p, a)
    d1, d2 = inner(ab, ap), inner(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return a, CORNER
    bp = minus(p, b)
    d3, d4 = inner(ab, bp), inner(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return b, CORNER + 1
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return plus(a, d1 / (d1 - d3), ab), EDGE
    cp = minus(p, c)
    d5, d6 = inner(ab, cp), inner(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return c, CORNER + 2
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return plus(a, d2 / (d2 - d6), ac), EDGE + 2
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return plus(b, (d4 - d3) / ((d4 - d3) + (d5 - d6)), minus(c, b)), EDGE + 1
    share = 1.0 / (va + vb + vc)
    return plus(plus(a, vb * share, ab), vc * share, ac), FACE


@kernel
def box_distance(box: np.ndarray, i: int, p: Triple) -> float:
    """[m²] of a point from a box, squared; 0 inside."""
    x = max(max(box[i, 0] - p[0], p[0] - box[i, 3]), 0.0)
    y = max(max(box[i, 1] - p[1], p[1] - box[i, 4]), 0.0)
    z = max(max(box[i, 2] - p[2], p[2] - box[i, 5]), 0.0)
    return x * x + y * y + z * z


@kernel
def nearest_triangle(
    p: Triple, within: float, tri: np.ndarray, box: np.ndarray, link: np.ndarray, stack: np.ndarray
) -> tuple[float, int, int]:
    """[m] of the nearest triangle, which it is, and the part of it; -1 if none is *within* [m].

    ``link[i]``: of a leaf the first triangle and how many; of a knot its second part and 0, the
    first follows it. *stack* is scratch of `STACK` and more.
    """
    best, found, part = within * within, -1, FACE
    i, depth = 0, 0
    while True:
        while link[i, 1] == 0:  # down to the nearer part; the other waits
            near, far = i + 1, link[i, 0]
            a, b = box_distance(box, near, p), box_distance(box, far, p)
            if b < a:
                near, far, a, b = far, near, b, a
            if a >= best:
                break
            if b < best:
                stack[depth] = far
                depth += 1
            i = near
        for t in range(link[i, 0], link[i, 0] + link[i, 1]):
            q, region = closest_on_triangle(
                p, corner(tri, t, 0), corner(tri, t, 1), corner(tri, t, 2)
            )
            d = minus(p, q)
            apart = inner(d, d)
            if apart < best:
                best, found, part = apart, t, region
        i = -1
        while depth > 0 and i < 0:
            depth -= 1
            if box_distance(box, stack[depth], p) < best:
                i = stack[depth]
        if i < 0:
            return math.sqrt(best), found, part


@kernel
def grow_tree(
    boxes: np.ndarray, order: np.ndarray, box: np.ndarray, link: np.ndarray, todo: np.ndarray
) -> int:
    """box, link ← a tree over *boxes*, halved at the middle of the longest side; its size.

    *order* becomes the order of the triangles; *todo* is scratch.
    """
    count, waiting = 0, 1
    todo[0, 0], todo[0, 1], todo[0, 2] = 0, order.shape[0], -1
    while waiting > 0:
        waiting -= 1
        first, end, parent = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
        i = count
        count += 1
        if parent >= 0:
            link[parent, 0] = i
        enclose(boxes, order, first, end, box, i)
        if end - first <= LEAF_TRIANGLES:
            link[i, 0], link[i, 1] = first, end - first
            continue
        link[i, 1] = 0
        middle = split(boxes, order, first, end)
        todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = middle, end, i
        todo[waiting + 1, 0], todo[waiting + 1, 1], todo[waiting + 1, 2] = first, middle, -1
        waiting += 2
    return count


@kernel
def enclose(
    boxes: np.ndarray, order: np.ndarray, first: int, end: int, box: np.ndarray, i: int
) -> None:
    """box[i] ← what encloses some of the boxes."""
    for k in range(3):
        low, high = math.inf, -math.inf
        for j in range(first, end):
            low = min(low, boxes[order[j], k])
            high = max(high, boxes[order[j], k + 3])
        box[i, k], box[i, k + 3] = low, high


@kernel
def split(boxes: np.ndarray, order: np.ndarray, first: int, end: int) -> int:
    """Sort some of the boxes into two parts along the longest side of their middles."""
    axis, longest, at = 0, -1.0, 0.0
    for k in range(3):
        low, high = math.inf, -math.inf
        for j in range(first, end):
            middle = boxes[order[j], k] + boxes[order[j], k + 3]
            low, high = min(low, middle), max(high, middle)
        if high - low > longest:
            axis, longest, at = k, high - low, 0.5 * (low + high)
    i, j = first, end - 1
    while i <= j:
        if boxes[order[i], axis] + boxes[order[i], axis + 3] < at:
            i += 1
        else:
            order[i], order[j] = order[j], order[i]
            j -= 1
    few = (end - first) // 8
    return i if first + few < i < end - few else halve(boxes, order, first, end, axis)


@kernel
def halve(boxes: np.ndarray, order: np.ndarray, first: int, end: int, axis: int) -> int:
    """The same at the median, by selection (Hoare): where the middle of a side divides badly."""
    middle, low, high = (first + end) // 2, first, end - 1
    while low < high:
        pivot = boxes[order[middle], axis] + boxes[order[middle], axis + 3]
        i, j = low, high
        while i <= j:
            while boxes[order[i], axis] + boxes[order[i], axis + 3] < pivot:
                i += 1
            while boxes[order[j], axis] + boxes[order[j], axis + 3] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if j < middle:
            low = i
        if middle < i:
            high = j
    return middle


def triangle_tree(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order of the triangles (m, 3, 3), boxes (n, 6) and links (n, 2) of a tree over them."""
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1).astype(np.float32)
    count = len(corners)
    order = np.arange(count, dtype=np.int64)
    box = np.zeros((2 * count, 6), np.float32)
    link = np.zeros((2 * count, 2), np.int32)
    todo = np.zeros((4 * STACK + 4 * count.bit_length(), 3), np.int64)
    used = grow_tree(boxes, order, box, link, todo)
    return order, box[:used].copy(), link[:used].copy()
