"""Samples in patches, and a tree of balls over each: what is far away is passed over at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detent.shapes.constants import LATTICES, LEAF, LEVELS, NORMAL_WEIGHT, SURFACE_PATCHES
from detent.shapes.samples import Samples


class Tree(NamedTuple):
    """Samples in the order of the tree, and its nodes: every node is followed by its parts."""

    points: np.ndarray  # (n, 4) float32 [m] place and radius
    normals: np.ndarray  # (n, 3) float32
    balls: np.ndarray  # (m, 5) middle, radius, how far samples are from the centre [m]
    links: np.ndarray  # (m, 3) int32: the next node that is not below, first sample, how many
    roots: np.ndarray  # (LEVELS patches + 1,) int32: where the nodes of each level of a patch begin
    firsts: np.ndarray  # the same of their samples
    centre: np.ndarray  # (3,) [m]
    reach: float  # [m] of all samples about the centre


def make_tree(samples: Samples, size: float, most: int = SURFACE_PATCHES) -> Tree:
    """At most so many patches by place and normal, a power of two, and balls over their levels."""
    points, radii = samples.points, samples.radii
    if len(points) == 0:
        return _empty()
    low, high = points.min(axis=0), points.max(axis=0)
    centre = 0.5 * (low + high)
    features = np.concatenate([points, NORMAL_WEIGHT * size * samples.normals], axis=1)
    patches = _halved(features, np.arange(len(points)), _patch_count(len(points), most))
    order: list[np.ndarray] = []
    balls: list[tuple[float, ...]] = []
    links: list[list[int]] = []
    roots, firsts = [0], [0]
    level = levels_of(points, size)
    for patch in patches:
        for k in range(LEVELS):
            part, first = patch[level[patch] == k], firsts[-1]
            if len(part):
                first = _grow(points, radii, part, first, order, balls, links)
            roots.append(len(balls))
            firsts.append(first)
    which = np.concatenate(order)
    ball = np.array(balls)
    reach = np.linalg.norm(ball[:, :3] - centre, axis=1) + ball[:, 3]
    far = np.linalg.norm(points - centre, axis=1) + radii
    return Tree(
        np.concatenate([points[which], radii[which, None]], axis=1).astype(np.float32),
        samples.normals[which].astype(np.float32),
        np.concatenate([ball, reach[:, None]], axis=1),
        np.array(links, np.int32),
        np.array(roots, np.int32),
        np.array(firsts, np.int32),
        centre,
        float(far.max()),
    )


def _empty() -> Tree:
    return Tree(
        np.zeros((0, 4), np.float32),
        np.zeros((0, 3), np.float32),
        np.zeros((0, 5)),
        np.zeros((0, 3), np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.zeros(3),
        0.0,
    )


def levels_of(points: np.ndarray, size: float) -> np.ndarray:
    """Of each sample: 0 = of the coarsest lattice, where it is the first in its cell, and so on."""
    level = np.full(len(points), LEVELS - 1)
    for k, width in enumerate(LATTICES):
        order = np.argsort(level, kind="stable")  # those of a coarser level stand for their cells
        cells = np.floor(points[order] / (width * size)).astype(np.int64)
        _, first = np.unique(cells, axis=0, return_index=True)
        level[order[first]] = np.minimum(level[order[first]], k)
    return level


def _patch_count(samples: int, most: int) -> int:
    """A power of two: a few samples need no more patches than there are."""
    return int(min(most, 2 ** max(samples - 1, 0).bit_length()))


def _halved(features: np.ndarray, which: np.ndarray, parts: int) -> list[np.ndarray]:
    """Along the longest side of their features, until there are enough parts."""
    if parts <= 1 or len(which) <= 1:
        return [which]
    own = features[which]
    axis = int(np.ptp(own, axis=0).argmax())
    low, high = own[:, axis].min(), own[:, axis].max()
    below = own[:, axis] <= 0.5 * (low + high)
    if below.all():
        return [which]
    half = parts // 2
    return _halved(features, which[below], half) + _halved(features, which[~below], half)


def _grow(
    points: np.ndarray,
    radii: np.ndarray,
    which: np.ndarray,
    first: int,
    order: list[np.ndarray],
    balls: list[tuple[float, ...]],
    links: list[list[int]],
) -> int:
    """A node over some samples and, unless they are few, four below it; the next sample."""
    own, node = points[which], len(balls)
    middle = 0.5 * (own.min(axis=0) + own.max(axis=0))
    radius = float((np.linalg.norm(own - middle, axis=1) + radii[which]).max())
    balls.append((*middle, radius * 1.000001))
    if len(which) <= LEAF:
        order.append(which)
        links.append([node + 1, first, len(which)])
        return first + len(which)
    links.append([0, 0, 0])
    for half in _two(points, which):
        for part in _two(points, half):
            if len(part):
                first = _grow(points, radii, part, first, order, balls, links)
    links[node][0] = len(balls)
    return first


def _two(points: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    own = points[which]
    axis = int(np.ptp(own, axis=0).argmax())
    sorted_ = which[np.argpartition(own[:, axis], len(which) // 2)]
    return sorted_[: len(which) // 2], sorted_[len(which) // 2 :]
