r"""How wrong a field may be in a cell: what interpolation between its nodes misses.

An error of trilinear interpolation is the sum of those along the three axes, one after the other.
Along an axis a bend between two nodes is seen by the second differences
:math:`D_i = f_{i-1} - 2 f_i + f_{i+1}` of both, and misses at most
:math:`s h t (1 - t) \le \tfrac12 \max_i |D_i|`, where one node alone sees :math:`s h t` of it. So

.. math:: e = \sum_{x, y, z} \max_{\text{edges}} \tfrac12 \max(D_i, D_{i+1})

with the positive differences for how much nearer a point may be, with the negative ones for how
much farther: in an inner corner a point is never nearer than interpolated. A distance changes by no
more than a point moves, so neither is more than :math:`\sqrt{3/4}` cells.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.shapes.constants import BLOCK, NODES

MOST = math.sqrt(0.75)  # [cells]
CODES = 255  # an error is the square of a code: fine where it is small


@kernel
def edge_doubt(f: np.ndarray, at: int, stride: int, place: int) -> tuple[float, float]:
    """[m] How much less, and more, than between two nodes of a block a distance may be."""
    here, there = f[at], f[at + stride]
    low = high = 0.0
    share = 0.5 if 0 < place < BLOCK - 1 else 1.0  # at the side of a block one node sees it alone
    if place > 0:
        bend = share * (f[at - stride] - 2.0 * here + there)
        low, high = max(low, bend), max(high, -bend)
    if place < BLOCK - 1:
        bend = share * (here - 2.0 * there + f[at + 2 * stride])
        low, high = max(low, bend), max(high, -bend)
    return low, high


@kernel
def cell_doubt(f: np.ndarray, i: int, j: int, k: int) -> tuple[float, float]:
    """[m] The same within a cell: of each axis the worst of four edges, all three together."""
    low = high = 0.0
    at = (i * NODES + j) * NODES + k
    for axis in range(3):
        along, place, one, two = NODES * NODES, i, NODES, 1
        if axis == 1:
            along, place, one, two = NODES, j, NODES * NODES, 1
        elif axis == 2:
            along, place, one, two = 1, k, NODES * NODES, NODES
        less = more = 0.0
        for corner in range(4):
            a, b = edge_doubt(f, at + (corner % 2) * one + (corner // 2) * two, along, place)
            less, more = max(less, a), max(more, b)
        low, high = low + less, high + more
    return low, high


@kernel
def coded(error: float, cell: float) -> int:
    """The least code of an error that is no smaller."""
    share = min(error / (MOST * cell), 1.0)
    return min(math.ceil(CODES * math.sqrt(share)), CODES)


@kernel
def doubt_block(values: np.ndarray, cell: float, out: np.ndarray) -> None:
    """out (8, 8, 8, 2) ← codes of how much nearer and farther, of the cells of a block."""
    f = values.reshape(NODES * NODES * NODES)
    for i in range(BLOCK):
        for j in range(BLOCK):
            for k in range(BLOCK):
                low, high = cell_doubt(f, i, j, k)
                out[i, j, k, 0], out[i, j, k, 1] = coded(low, cell), coded(high, cell)


def doubt_of(cell: float) -> float:
    """[m] that the square of a code stands for, in a field of such cells [m]."""
    return MOST * cell / CODES**2
