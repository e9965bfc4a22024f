"""The distance field of a surface, baked: kernels that fill its grids, and who calls them."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from detent.kernels.jit import kernel
from detent.shapes.constants import BAND, BLOCK, CELLS, NODES
from detent.shapes.doubt import doubt_block
from detent.shapes.triangles import STACK, nearest_triangle
from detent.shapes.winding import make_dipoles, winding

_CHUNK = 64  # blocks between two looks at the progress bar
_FLAG = math.sqrt(0.75)  # [coarse cells] from the middle of a coarse cell to its corners


class Grid(NamedTuple):
    """Distances on a coarse lattice, and blocks of fine ones near the surface."""

    origin: np.ndarray  # (3,) [m]
    cell: float  # [m] of a block
    block: np.ndarray  # (nx, ny, nz) int32: the block of a coarse cell, -1 = none
    coarse: np.ndarray  # (nx + 1, ny + 1, nz + 1) float32 [m]
    blocks: np.ndarray  # (n, 9, 9, 9) float32 [m]
    error: np.ndarray  # (n, 8, 8, 8, 2) uint8, see `detent.shapes.doubt`


@kernel
def fill_distances(
    low: np.ndarray,
    step: float,
    tri: np.ndarray,
    box: np.ndarray,
    link: np.ndarray,
    stack: np.ndarray,
    out: np.ndarray,
) -> None:
    """out ← unsigned distances on a lattice; the last one bounds the next."""
    far = math.inf
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            far = math.inf
            if j > 0:
                far = out[i, j - 1, 0] + step
            elif i > 0:
                far = out[i - 1, j, 0] + step
            for k in range(out.shape[2]):
                p = (low[0] + i * step, low[1] + j * step, low[2] + k * step)
                d, _, _ = nearest_triangle(p, far * 1.000001 + 1e-12, tri, box, link, stack)
                out[i, j, k] = d
                far = d + step


@kernel
def flood(out: np.ndarray, step: float, seed: int, mark: np.ndarray, queue: np.ndarray) -> int:
    """Collect in *queue* all nodes that are on the same side as *seed* for certain; how many.

    A surface between two neighbours is not farther from both together than they are apart.
    """
    ny, nz = out.shape[1], out.shape[2]
    queue[0], count, done = seed, 1, 0
    mark[seed] = 1
    while done < count:
        at = queue[done]
        done += 1
        i, j, k = at // (ny * nz), at // nz % ny, at % nz
        here = abs(out[i, j, k])
        for side in range(6):
            a, b, c = i, j, k
            move = 2 * (side % 2) - 1
            if side < 2:
                a += move
            elif side < 4:
                b += move
            else:
                c += move
            if a < 0 or b < 0 or c < 0 or a >= out.shape[0] or b >= ny or c >= nz:
                continue
            other = (a * ny + b) * nz + c
            if mark[other] == 0 and here + abs(out[a, b, c]) > step * 1.0001:
                mark[other] = 1
                queue[count] = other
                count += 1
    return count


@kernel
def sign_distances(
    low: np.ndarray,
    step: float,
    tri: np.ndarray,
    link: np.ndarray,
    dipole: np.ndarray,
    stack: np.ndarray,
    mark: np.ndarray,
    queue: np.ndarray,
    out: np.ndarray,
) -> None:
    """Distances inside become negative: one winding number for all that is on one side."""
    ny, nz = out.shape[1], out.shape[2]
    total = out.shape[0] * ny * nz
    for seed in range(total):
        mark[seed] = 0
    for seed in range(total):
        if mark[seed] != 0:
            continue
        count = flood(out, step, seed, mark, queue)
        best, most = seed, -1.0
        for n in range(count):  # where it is farthest from the surface it is surest
            at = queue[n]
            d = abs(out[at // (ny * nz), at // nz % ny, at % nz])
            if d > most:
                best, most = at, d
        i, j, k = best // (ny * nz), best // nz % ny, best % nz
        p = (low[0] + i * step, low[1] + j * step, low[2] + k * step)
        if winding(p, tri, link, dipole, stack) > 0.5:
            for n in range(count):
                at = queue[n]
                out[at // (ny * nz), at // nz % ny, at % nz] *= -1.0


@kernel
def bake_blocks(
    first: int,
    end: int,
    places: np.ndarray,
    origin: np.ndarray,
    cell: float,
    skin: float,
    tri: np.ndarray,
    box: np.ndarray,
    link: np.ndarray,
    dipole: np.ndarray,
    scratch: np.ndarray,
    blocks: np.ndarray,
    error: np.ndarray,
) -> None:
    """Distances and error bounds of some blocks. A *skin* [m] makes a solid of a sheet."""
    step, low = cell / BLOCK, np.empty(3)
    stack, mark, queue = scratch[0], scratch[1], scratch[2]
    for n in range(first, end):
        for k in range(3):
            low[k] = origin[k] + cell * places[n, k]
        fill_distances(low, step, tri, box, link, stack, blocks[n])
        if skin > 0.0:
            thicken(blocks[n], skin)
        else:
            sign_distances(low, step, tri, link, dipole, stack, mark, queue, blocks[n])
        doubt_block(blocks[n], step, error[n])


@kernel
def thicken(values: np.ndarray, skin: float) -> None:
    """Distances from a sheet become those from its skin."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            for k in range(values.shape[2]):
                values[i, j, k] -= skin


def bake_grid(
    tri: np.ndarray,
    box: np.ndarray,
    link: np.ndarray,
    skin: float,
    cells: int = CELLS,
    progress: Callable[[float], None] = lambda done: None,
    workers: int = 2,
) -> Grid:
    """The field of a surface; *skin* is half of the thickness of a sheet, 0 of a solid."""
    low, high = box[0, :3].astype(float) - skin, box[0, 3:].astype(float) + skin
    cell = BLOCK * float((high - low).max()) / cells
    count = np.ceil((high - low) / cell).astype(int) + 2
    origin = 0.5 * (low + high) - 0.5 * cell * count
    dipole = np.zeros((len(box), 8))
    make_dipoles(tri, box, link, dipole)
    coarse = np.zeros(count + 1, np.float32)
    scratch = np.zeros((3, max(coarse.size, NODES**3, STACK)), np.int64)
    fill_distances(origin, cell, tri, box, link, scratch[0], coarse)
    middles = np.zeros(count, np.float32)
    fill_distances(origin + 0.5 * cell, cell, tri, box, link, scratch[0], middles)
    if skin > 0.0:
        coarse -= np.float32(skin)
        middles -= np.float32(skin)
    else:
        sign_distances(origin, cell, tri, link, dipole, scratch[0], scratch[1], scratch[2], coarse)
    near = np.abs(middles) <= (_FLAG + BAND) * cell
    index = np.full(count, -1, np.int32)
    index[near] = np.arange(near.sum())
    places = np.argwhere(near)
    blocks = np.zeros((len(places), NODES, NODES, NODES), np.float32)
    error = np.zeros((len(places), BLOCK, BLOCK, BLOCK, 2), np.uint8)

    def bake(first: int) -> int:
        own = np.zeros((3, max(NODES**3, STACK)), np.int64)
        end = min(first + _CHUNK, len(places))
        bake_blocks(
            first, end, places, origin, cell, skin, tri, box, link, dipole, own, blocks, error
        )
        return end

    with ThreadPoolExecutor(workers) as pool:
        for done in pool.map(bake, range(0, len(places), _CHUNK)):
            progress(done / len(places))
    return Grid(origin, cell, index, coarse, blocks, error)
