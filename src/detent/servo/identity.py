"""Which contact of this tick is which of the last one, so that it keeps its memory.

Only friction and walls with history need that; whether a contact is new does not (TH 4.2).
Contact points of cylinders and meshes jump and their order swaps, so a contact is the same
if its pair of geoms is, its normal turned by less than 20°, and its point lies nearest in
the frame of either geom: in one of them it stays put, whichever body slides.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.servo.records import Rows, Scene

TURNED = math.cos(math.radians(20.0))
NO_ROW = -1


@kernel
def keeps_memory(p: np.ndarray) -> bool:
    """Whether anything that was asked for needs contacts to be recognised."""
    return p["friction"][0] != 0 or p["wall"][0] != 0 or p["rezero"][0] != 0


@kernel
def to_geom_frame(sc: Scene, geom: int, point: np.ndarray, out: np.ndarray) -> None:
    """out = Rᵀ (point − position) of a geom."""
    for k in range(3):
        total = 0.0
        for i in range(3):
            total += sc.geom_xmat[geom, 3 * i + k] * (point[i] - sc.geom_xpos[geom, i])
        out[k] = total


@kernel
def distance_squared(a: np.ndarray, b: np.ndarray) -> float:
    """Between two points."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2


@kernel
def find_old(rows: Rows, r: int) -> int:
    """The row of the last tick that is this contact, or NO_ROW."""
    best, found = math.inf, NO_ROW
    for o in range(rows.old_count[0]):
        if rows.old_geom[o, 0] != rows.geom[r, 0] or rows.old_geom[o, 1] != rows.geom[r, 1]:
            continue
        cosine = 0.0
        for k in range(3):
            cosine += rows.old_normal[o, k] * rows.normal[r, k]
        if cosine < TURNED or rows.old_taken[o] != 0:
            continue
        apart = min(
            distance_squared(rows.old_local[o, 0], rows.local[r, 0]),
            distance_squared(rows.old_local[o, 1], rows.local[r, 1]),
        )
        if apart < best:
            best, found = apart, o
    return found


@kernel
def recall(sc: Scene, rows: Rows) -> None:
    """Give every contact its memory back; new ones start with none."""
    for o in range(rows.old_count[0]):
        rows.old_taken[o] = 0
    for r in range(rows.tally[0]):
        for k in range(rows.memory.shape[1]):
            rows.memory[r, k] = 0.0
        if rows.geom[r, 0] < 0:
            continue
        for side in range(2):
            to_geom_frame(sc, rows.geom[r, side], rows.point[r], rows.local[r, side])
        old = find_old(rows, r)
        if old != NO_ROW:
            rows.old_taken[old] = 1
            for k in range(rows.memory.shape[1]):
                rows.memory[r, k] = rows.old_memory[old, k]


@kernel
def remember(rows: Rows, near: float) -> None:
    """Keep what the next tick will need to recognise the contacts that are as near as that."""
    kept = 0
    for r in range(rows.tally[0]):
        if rows.geom[r, 0] < 0 or rows.separation[r] > near:
            continue
        for side in range(2):
            rows.old_geom[kept, side] = rows.geom[r, side]
            for k in range(3):
                rows.old_local[kept, side, k] = rows.local[r, side, k]
        for k in range(3):
            rows.old_normal[kept, k] = rows.normal[r, k]
        for k in range(rows.memory.shape[1]):
            rows.old_memory[kept, k] = rows.memory[r, k]
        kept += 1
    rows.old_count[0] = kept
