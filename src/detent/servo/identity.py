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
from detent.local.records import MEMORY
from detent.servo.records import MEMORY_WALL, Rows, Scene

TURNED = math.cos(math.radians(20.0))
STILL = 1e-6  # [m] no two contacts of a pair are as near to each other
NO_ROW = -1


@kernel
def keeps_memory(p: np.ndarray) -> bool:
    """Whether anything that was asked for needs contacts to be recognised."""
    return p["friction"][0] != 0 or p["wall"][0] != 0 or p["rezero"][0] != 0


@kernel
def to_geom_frame(sc: Scene, geom: int, rows: Rows, r: int, side: int) -> None:
    """rows.local[r, side] = Rᵀ (point − position) of a geom."""
    R, centre, point, out = sc.geom_xmat, sc.geom_xpos, rows.point, rows.local
    x, y = point[r, 0] - centre[geom, 0], point[r, 1] - centre[geom, 1]
    z = point[r, 2] - centre[geom, 2]
    for k in range(3):
        out[r, side, k] = R[geom, k] * x + R[geom, 3 + k] * y + R[geom, 6 + k] * z


@kernel
def distance_squared(a: np.ndarray, i: int, b: np.ndarray, j: int, side: int) -> float:
    """Of two points, a[i, side] and b[j, side]."""
    x, y = a[i, side, 0] - b[j, side, 0], a[i, side, 1] - b[j, side, 1]
    z = a[i, side, 2] - b[j, side, 2]
    return x * x + y * y + z * z


@kernel
def copy_memory(source: np.ndarray, i: int, walls: bool, out: np.ndarray, j: int) -> None:
    """out[j] = source[i], as far as it is in use: walls have the last and larger part."""
    for k in range(MEMORY_WALL):
        out[j, k] = source[i, k]
    if walls:
        for k in range(MEMORY_WALL, MEMORY):
            out[j, k] = source[i, k]


@kernel
def find_old(rows: Rows, r: int) -> int:
    """The row of the last tick that is this contact, or NO_ROW.

    Contacts mostly keep their order, so the search begins there, and ends where a contact has
    not moved at all.
    """
    best, found, count = math.inf, NO_ROW, rows.old_count[0]
    geom, old_normal, taken = rows.old_geom, rows.old_normal, rows.old_taken
    local, old_local, normal = rows.local, rows.old_local, rows.normal
    first, second = rows.geom[r, 0], rows.geom[r, 1]
    x, y, z = normal[r, 0], normal[r, 1], normal[r, 2]
    for i in range(count):
        o = r + i if r + i < count else (r + i) % count
        if geom[o, 0] != first or geom[o, 1] != second or taken[o] != 0:
            continue
        if old_normal[o, 0] * x + old_normal[o, 1] * y + old_normal[o, 2] * z < TURNED:
            continue
        apart = distance_squared(old_local, o, local, r, 0)
        if apart >= STILL * STILL:
            apart = min(apart, distance_squared(old_local, o, local, r, 1))
        if apart < best:
            best, found = apart, o
            if apart < STILL * STILL:
                break
    return found


@kernel
def recall(sc: Scene, rows: Rows, walls: bool) -> None:
    """Give every contact its memory back; new ones start with none."""
    geom, body, point, local = rows.geom, rows.body, rows.point, rows.local
    memory, taken = rows.memory, rows.old_taken
    for o in range(rows.old_count[0]):
        taken[o] = 0
    for r in range(rows.tally[0]):
        old = NO_ROW
        if geom[r, 0] >= 0:
            for side in range(2):
                if body[r, side] >= 0:
                    to_geom_frame(sc, geom[r, side], rows, r, side)
                else:  # distances are the same in the frame of the world
                    for k in range(3):
                        local[r, side, k] = point[r, k]
            old = find_old(rows, r)
        if old != NO_ROW:
            taken[old] = 1
            copy_memory(rows.old_memory, old, walls, memory, r)
        else:
            for k in range(MEMORY):
                memory[r, k] = 0.0


@kernel
def remember(rows: Rows, near: float, walls: bool) -> None:
    """Keep what the next tick will need to recognise the contacts that are as near as that."""
    geom, local, normal, memory = rows.geom, rows.local, rows.normal, rows.memory
    old_geom, old_local = rows.old_geom, rows.old_local
    old_normal, old_memory = rows.old_normal, rows.old_memory
    kept = 0
    for r in range(rows.tally[0]):
        if geom[r, 0] < 0 or rows.separation[r] > near:
            continue
        for side in range(2):
            old_geom[kept, side] = geom[r, side]
            for k in range(3):
                old_local[kept, side, k] = local[r, side, k]
        for k in range(3):
            old_normal[kept, k] = normal[r, k]
        copy_memory(memory, r, walls, old_memory, kept)
        kept += 1
    rows.old_count[0] = kept
