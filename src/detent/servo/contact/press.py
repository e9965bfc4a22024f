"""Normal forces of resting contacts: penalty, or a wall with a history (TH 4.4-4.5)."""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import MEMORY_STRUCK, MEMORY_WALL, MEMORY_ZERO
from detent.kernels.contact import penalty_force
from detent.kernels.jit import kernel
from detent.kernels.walls import wall_force
from detent.servo.contact.columns import row_product
from detent.servo.contact.gains import bound_gains, share_gains
from detent.servo.contact.groups import row_group
from detent.servo.contact.identity import NO_ROW
from detent.servo.contact.plastic import from_wall, yields
from detent.servo.structs import COLLIDING, Motion, Rows, Scene


@kernel
def add_row_torque(rows: Rows, r: int, force: float, out: np.ndarray) -> None:
    """out += Jᵀ force."""
    jac, column = rows.jac, 0
    for part in range(2):
        shift = rows.span[r, part, 0] - column
        for c in range(column, column + rows.span[r, part, 1]):
            out[c + shift] += jac[r, c] * force
        column += rows.span[r, part, 1]


@kernel
def rezeroed(rows: Rows, r: int, colliding: bool) -> float:
    """The separation from where the last collision of this contact ended (errata E9).

    The spring starts unloaded there, and its zero returns with the body (as TH 6.4-6.5).
    """
    memory = rows.memory[r]
    s = rows.separation[r]
    if colliding:
        memory[MEMORY_STRUCK] = 1.0
    elif memory[MEMORY_STRUCK] != 0.0:
        memory[MEMORY_STRUCK] = 0.0
        memory[MEMORY_ZERO] = s
    if s > memory[MEMORY_ZERO]:
        memory[MEMORY_ZERO] = min(s, 0.0)
    return s - memory[MEMORY_ZERO]


@kernel
def braked_mass(rows: Rows, r: int) -> float:
    """What a braking pulse of row r must stop [kg], if all contacts of its group brake alike."""
    mobility, i = 0.0, rows.group_row[row_group(rows, r)]
    while i != NO_ROW:
        first = rows.memory[i, MEMORY_WALL] == 0.0 and rows.velocity[i] < 0.0
        if i == r or (first and rows.geom[i, 0] >= 0):
            mobility += row_product(rows, rows.white, i, r)
        i = rows.next_row[i]
    return 1.0 / mobility if mobility > 0.0 else 0.0


@kernel
def normal_force(rows: Rows, r: int, s: float, p: np.ndarray) -> float:
    """The force of a resting row: penalty, or a wall with a history."""
    stiffness, damping = rows.stiffness[r], rows.damping[r]
    if p["wall"][0] == 0 or rows.geom[r, 0] < 0:
        return penalty_force(s, rows.velocity[r], stiffness, damping, p["clamp"][0])
    return wall_force(
        p["wall"][0],
        s,
        rows.velocity[r],
        stiffness,
        damping,
        p["step"][0],
        braked_mass(rows, r),
        p["wall_integral"][0],
        rows.restitution[r],
        p["wall_blocks"][0],
        p["wall_breakaway"][0],
        p["clamp"][0],
        rows.memory[r, MEMORY_WALL:],
    )


@kernel
def press_resting(sc: Scene, mo: Motion, rows: Rows, p: np.ndarray, local: bool) -> None:
    """Normal forces of all touching rows, except of groups that are colliding (TH 4.5).

    The gains of those are of interest to a local model and to the ledger of passivity only.
    """
    if p["resultant"][0] != 0:
        share_gains(rows)
    bound_gains(sc, mo, rows, p["step"][0], local or p["passivity"][0] != 0)
    plastic = yields(rows, p)
    for r in range(rows.count[0]):
        rows.force[r] = 0.0
        if rows.separation[r] > 0.0:
            continue
        colliding = rows.group_state[row_group(rows, r)] == COLLIDING
        s = rows.separation[r]
        if p["rezero"][0] != 0:
            s = rezeroed(rows, r, colliding)
        elif plastic and rows.geom[r, 0] >= 0:
            s = from_wall(rows, r, colliding, p["step"][0])
        rows.pressed[r] = s
        if not colliding:
            rows.force[r] = rows.trust[0] * normal_force(rows, r, s, p)
            add_row_torque(rows, r, rows.force[r], mo.penalty)
