"""Solids, pairs of them, and what their contacts are written into, as the tick sees them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detent.kernels.struct import Struct

MESH = 7  # of `Solid.kind`: what is baked; others are MuJoCo's primitives
PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX = 0, 2, 3, 4, 5, 6


class Solid(Struct):
    """A shape in its own frame: distances from it, and the samples that may touch others."""

    kind: int
    half: np.ndarray  # (3,) [m] MuJoCo's size of a primitive
    probe: float  # [m] by which points are apart whose distances make a gradient
    skin: float  # [m] half of the thickness of a sheet
    bounds: np.ndarray  # (6,) [m]
    origin: np.ndarray  # (3,) [m]
    cell: float  # [m]
    share: float  # [1/m] its inverse
    doubt: float  # [m] see `detent.shapes.doubt`
    index: np.ndarray  # (nx, ny, nz) int32
    coarse: NDArray[np.float32]
    blocks: NDArray[np.float32]  # (n · 729,)
    error: np.ndarray  # (n · 1024,) uint8
    triangles: NDArray[np.float32]
    corners: np.ndarray  # (m, 3) int32
    neighbours: np.ndarray  # (m, 3) int32
    vertex_normals: NDArray[np.float32]
    boxes: NDArray[np.float32]
    box_links: np.ndarray  # (n, 2) int32
    points: NDArray[np.float32]  # (n, 4) samples, in the order of the tree
    normals: NDArray[np.float32]  # (n, 3)
    balls: np.ndarray  # (m, 5)
    links: np.ndarray  # (m, 3) int32
    roots: np.ndarray  # (LEVELS patches + 1,) int32
    firsts: np.ndarray  # (LEVELS patches + 1,) int32
    slack: float  # [m] by which a finer sample has to be deeper, at most
    centre: np.ndarray  # (3,) [m]
    reach: float  # [m] of its samples about that; negative = it has none


# Places of `Felt.counts`, of the last tick, and of `Felt.totals`, of all ticks.
CANDIDATES, LOOKUPS, REFINEMENTS, LEFT_OUT, CONTACTS = range(5)


class Felt(Struct):
    """What all pairs share: MuJoCo's memory, and scratch."""

    contact: np.ndarray  # MuJoCo's, as `Scene.contact`
    ncon: np.ndarray
    room: int  # contacts that fit
    geom_xpos: np.ndarray
    geom_xmat: np.ndarray
    margin: float  # [m] how near is reported, in rigid mode
    budget: (
        np.ndarray
    )  # (2,) samples of a solid that are looked up in a tick, and that are measured
    share: np.ndarray  # (2,) of one pair: lookups of a solid, and up to which count it may measure
    busy: np.ndarray  # (2,) pairs that looked up many in the tick before, and in this one
    counts: np.ndarray  # (5,) see above
    totals: np.ndarray  # (5,) ticks in which something was left out, and most of each
    stack: np.ndarray  # (STACK,) of searches through triangles
    deep: np.ndarray  # (2, PATCHES) [m] Σ of depths
    weight: np.ndarray  # (2, PATCHES) [m] Σ of weights, which are depths from a little above
    middle: np.ndarray  # (2, PATCHES, 3) Σ of weights times places, in the frame of the samples
    slope: np.ndarray  # (2, PATCHES, 3) Σ of weights times gradients, in the frame of the other
    tops: np.ndarray  # (2, PATCHES) how many of the following there are
    top: np.ndarray  # (2, PATCHES, TOP + 1) samples of a patch that weigh most
    top_weight: np.ndarray  # (2, PATCHES, TOP + 1) [m] their weights, falling
    best: np.ndarray  # (2, PATCHES) [m] the least distance of a patch by the field
    least: np.ndarray  # (2, PATCHES) [m] the same measured to triangles, as far as there was time
    nearest: np.ndarray  # (2, PATCHES) the sample of that
    guess: np.ndarray  # (2, PATCHES) whether there was no time to measure that one
    facing: np.ndarray  # (2, PATCHES) the triangle that it is nearest to, -1 = none is known
    way: np.ndarray  # (DEEP,) nodes of the tree from the first to where a search is
    way_least: np.ndarray  # (DEEP,) [m] the least distance that is known below each
    order: np.ndarray  # (PATCHES,) patches, the deepest first
    key: np.ndarray  # (2 PATCHES,) [m] what they are sorted by
    row: np.ndarray  # (2 PATCHES,) patches that touch
    row_contact: np.ndarray  # (2 PATCHES, 7) distance, normal and point of each, in the world


class Pair(Struct):
    """Two solids that may touch, where they were, and how far they have moved since."""

    felt: Felt
    one: Solid
    two: Solid
    geom: np.ndarray  # (2,)
    friction: np.ndarray  # (5,) as MuJoCo combines it
    dim: int
    pose: np.ndarray  # (2, 12) rotation and place of each in the frame of the other
    before: np.ndarray  # (2, 12) the same when they were last near
    moved: np.ndarray  # (2, 3) [m, rad, m] how far the centre of each has gone and how far it has
    # turned, all in all, and the most that a sample has moved in this tick
    memo_one: np.ndarray  # (nodes,) [m] least distance below a node, and what had moved by then
    memo_two: np.ndarray
    known_one: np.ndarray  # (n, 2) [m, -] of samples that were measured: as `memo`, and by which
    known_two: np.ndarray  # triangle, -1 = none
    stretch: np.ndarray  # (2,) [-] how much deeper than else finer samples have to be
    last_one: np.ndarray  # (PATCHES,) the deepest sample of each patch, -1 = none
    last_two: np.ndarray


class Shapes(Struct):
    """All pairs with a shape that is felt as it is."""

    felt: Felt
    pairs: np.ndarray  # (n,) addresses of `Pair`s
    geom: np.ndarray  # (n, 2)
    centre: np.ndarray  # (n, 2, 3) [m] middles of balls about the two, in their frames
    reach: np.ndarray  # (n, 2) [m] their radii; of a plane infinite
