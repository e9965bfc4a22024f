"""Plastic walls come back to their surface, at a speed for which they took the energy."""

from __future__ import annotations

import math

from detent.kernels.constants import KNOWN, MEMORY_STRUCK, MEMORY_ZERO
from detent.kernels.jit import kernel
from detent.kernels.spans import spans_dot
from detent.servo.constants import GIVEN_BACK, TOUCH, WALL_BACK
from detent.servo.contact.columns import row_product
from detent.servo.contact.identity import NO_ROW
from detent.servo.contact.plastic import tool_rows, yields
from detent.servo.parameters import RIGID
from detent.servo.structs import Rows, Servo
from detent.servo.world.move import accelerate


@kernel
def work_on_walls(s: Servo, root: int) -> float:
    r"""[J] what the contacts of a group take in this tick: :math:`-\sum f T (v + v^+) / 2`."""
    mo, rows, step = s.motion, s.rows, s.parameters["step"][0]
    for j in range(s.scene.nv):
        mo.scratch[j] = mo.torque[j] + mo.penalty[j]
    accelerate(s.scene, mo, s.closures, mo.scratch)
    for j in range(s.scene.nv):
        mo.scratch[j] = mo.velocity[j] + step * mo.scratch[j]
    total, r = 0.0, rows.group_row[root]
    while r != NO_ROW:
        if rows.geom[r, 0] >= 0:
            after = spans_dot(rows.span[r], 2, rows.jac[r], mo.scratch)
            total -= 0.5 * rows.force[r] * step * (rows.velocity[r] + after)
        r = rows.next_row[r]
    return total


@kernel
def pushed_mobility(rows: Rows, root: int) -> float:
    """[1/kg] Ḡ: how the contacts of a group give way to forces that are the same at all of them."""
    total, count, i = 0.0, 0, rows.group_row[root]
    while i != NO_ROW:
        if rows.geom[i, 0] >= 0:
            count += 1
            k = rows.group_row[root]
            while k != NO_ROW:
                if rows.geom[k, 0] >= 0:
                    total += row_product(rows, rows.white, i, k)
                k = rows.next_row[k]
        i = rows.next_row[i]
    return total / (count * count) if count > 0 else 0.0


@kernel
def bring_back(rows: Rows, root: int, speed: float, step: float) -> float:
    """Walls return by a tick, less if their bodies are faster; how far the farthest is [m]."""
    farthest, r = 0.0, rows.group_row[root]
    while r != NO_ROW:
        memory = rows.memory[r]
        if rows.geom[r, 0] >= 0 and memory[MEMORY_ZERO] < 0.0:
            if memory[MEMORY_STRUCK] == KNOWN:
                pace = min(speed, max(2.0 * speed - rows.velocity[r], 0.0))
                memory[MEMORY_ZERO] = min(memory[MEMORY_ZERO] + pace * step, 0.0)
            farthest = max(farthest, -memory[MEMORY_ZERO])
        r = rows.next_row[r]
    return farthest


@kernel
def deepest(rows: Rows, root: int) -> float:
    """[m] how deep a body of the group is inside."""
    most, r = 0.0, rows.group_row[root]
    while r != NO_ROW:
        if rows.geom[r, 0] >= 0:
            most = max(most, -rows.separation[r])
        r = rows.next_row[r]
    return most if most > TOUCH else 0.0


@kernel
def yield_and_return(s: Servo) -> None:
    """Stage: book what the tool's walls took, and let those that gave way come back."""
    sc, rows, p = s.scene, s.rows, s.parameters
    if not yields(rows, p):
        return
    root, step = tool_rows(sc, rows, p), p["step"][0]
    if rows.group_row[root] == NO_ROW:  # it is free
        rows.yielded[0], rows.yielded[1], rows.yielded[2] = 0.0, 0.0, 0.0
        return
    rows.yielded[1] += work_on_walls(s, root)
    rows.yielded[2] = 0.0
    if rows.yielded[1] > 0.0 and (rows.yielded[0] > 0.0 or p["contact_mode"][0] == RIGID):
        mobility = pushed_mobility(rows, root)
        rows.yielded[2] = min(WALL_BACK, math.sqrt(2.0 * GIVEN_BACK * rows.yielded[1] * mobility))
    if p["contact_mode"][0] == RIGID:  # its bodies are where their walls are
        rows.yielded[0] = deepest(rows, root)
    else:
        rows.yielded[0] = bring_back(rows, root, rows.yielded[2], step)
