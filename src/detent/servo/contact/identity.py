"""Which contact of this tick is which of the last one, so that it keeps its memory.

Only friction and walls with history need that; whether a contact is new does not (TH 4.2).
Contact points of cylinders and meshes jump and their order swaps, so a contact is the same
if its pair of geoms is, its normal turned by less than 20°, and its point lies nearest in
the frame of either geom: in one of them it stays put, whichever body slides. A contact of a shape
that is felt as it is belongs to a patch, which says all that.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import CONTACT_MEMORY
from detent.kernels.jit import kernel
from detent.servo.constants import STILL, TURNED
from detent.servo.structs import Rows, Scene

NO_ROW = -1


@kernel
def keeps_memory(p: np.ndarray, rows: Rows) -> bool:
    """Whether anything that was asked for needs contacts to be recognised."""
    law = p["friction"][0] != 0 or p["wall"][0] != 0 or p["rezero"][0] != 0
    return law or p["plastic"][0] != 0 or rows.yields[0] != 0


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
def find_old(rows: Rows, r: int) -> int:
    """Which contact of the last tick this is, or NO_ROW.

    Contacts mostly keep their order, so the search begins there, and ends where a contact has
    not moved at all.
    """
    best, found, count = math.inf, NO_ROW, rows.old_count[0]
    geom, old_normal, taken = rows.old_geom, rows.old_normal, rows.old_taken
    local, old_local, normal = rows.local, rows.old_local, rows.normal
    first, second, patch = rows.geom[r, 0], rows.geom[r, 1], rows.patch[r]
    x, y, z = normal[r, 0], normal[r, 1], normal[r, 2]
    for i in range(count):
        o = r + i if r + i < count else (r + i) % count
        if geom[o, 0] != first or geom[o, 1] != second or taken[o] != 0:
            continue
        if patch >= 0 or rows.old_patch[o] >= 0:  # a patch is the same wherever it touches
            if rows.old_patch[o] == patch:
                return o
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
def locate(sc: Scene, rows: Rows, r: int) -> None:
    """Where the contact of row r lies in its two geoms."""
    for side in range(2):
        if rows.body[r, side] >= 0:
            to_geom_frame(sc, rows.geom[r, side], rows, r, side)
        else:  # distances are the same in the frame of the world
            for k in range(3):
                rows.local[r, side, k] = rows.point[r, k]


@kernel
def recall(sc: Scene, rows: Rows) -> None:
    """Give every contact its memory back; new ones start with none.

    Mostly every contact is the same row as in the last tick, and its memory lies where it should.
    """
    taken, row, now, moved = rows.old_taken, rows.old_row, rows.recalled, False
    for o in range(rows.old_count[0]):
        taken[o] = 0
    for r in range(rows.count[0]):
        now[r] = NO_ROW
        if rows.geom[r, 0] >= 0:
            locate(sc, rows, r)
            old = find_old(rows, r)
            if old != NO_ROW:
                taken[old] = 1
                now[r] = row[old]
        moved = moved or now[r] != r
    if moved:
        move_memories(rows)


@kernel
def move_memories(rows: Rows) -> None:
    """Memories follow their contacts to other rows; a row without a past has none."""
    memory, old_memory, count = rows.memory, rows.old_memory, rows.old_count[0]
    for o in range(rows.old_row[count - 1] + 1 if count > 0 else 0):
        for k in range(CONTACT_MEMORY):
            old_memory[o, k] = memory[o, k]
    for r in range(rows.count[0]):
        old = rows.recalled[r]
        for k in range(CONTACT_MEMORY):
            memory[r, k] = old_memory[old, k] if old != NO_ROW else 0.0


@kernel
def remember(rows: Rows, near: float) -> None:
    """Keep what the next tick will need to recognise the contacts that are as near as that."""
    geom, local, normal = rows.geom, rows.local, rows.normal
    old_geom, old_local, old_normal, old_row = (
        rows.old_geom, rows.old_local, rows.old_normal, rows.old_row
    )  # fmt: skip
    kept = 0
    for r in range(rows.count[0]):
        if geom[r, 0] < 0 or rows.separation[r] > near:
            continue
        old_row[kept], rows.old_patch[kept] = r, rows.patch[r]
        for side in range(2):
            old_geom[kept, side] = geom[r, side]
            for k in range(3):
                old_local[kept, side, k] = local[r, side, k]
        for k in range(3):
            old_normal[kept, k] = normal[r, k]
        kept += 1
    rows.old_count[0] = kept
