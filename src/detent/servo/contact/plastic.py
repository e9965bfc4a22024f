r"""Walls that yield where a force is cut, and come back slowly (errata E9, with its end).

A device with a cap stops a body over :math:`d = m v^2 / 2 F`, not at once. A spring that is then
loaded by d would throw the body back with what it brought. So the zero of the spring yields:

.. math:: z \leftarrow \min(z, s + (f + B v_n)_+ / K)

with the separation s and the force f that was rendered (a perfectly plastic slider in series with
the spring, beside the damper), and :math:`z = s` where a collision that was cut short ends. From
there it returns to the surface with the speed

.. math:: v = \min(v_{most}, \sqrt{2 \beta E \bar G}), \qquad E = -\int f v_n \, dt > 0

E is the energy that the contacts of the group took, less what they gave, and 1/Ḡ the mass that they
push: a body which moves along has no more than βE, and a wall never gives more than it took
(`servo.contact.walls_back`).
"""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import CUT_SHORT, KNOWN, MEMORY_STRUCK, MEMORY_ZERO, UNKNOWN
from detent.kernels.contact import group_root
from detent.kernels.jit import kernel
from detent.servo.contact.identity import NO_ROW
from detent.servo.parameters import RIGID
from detent.servo.structs import COLLIDING, Rows, Scene


@kernel
def yields(rows: Rows, p: np.ndarray) -> bool:
    """Whether walls are plastic in this tick."""
    return p["plastic"][0] != 0 or rows.yields[0] != 0


@kernel
def tool_rows(sc: Scene, rows: Rows, p: np.ndarray) -> int:
    """Where the list of the tool's rows begins: in rigid mode it has those that are near, too."""
    return group_root(rows.near if p["contact_mode"][0] == RIGID else rows.parent, sc.tool_tree)


@kernel
def from_wall(rows: Rows, r: int, colliding: bool, step: float) -> float:
    """The separation of row r from where its wall is now, which follows a body that withdraws.

    A contact of a body that has gone deep may be another one than in the last tick: it starts
    where the wall of the group is, unless it came through its own surface.
    """
    memory, s = rows.memory[r], rows.separation[r]
    if memory[MEMORY_STRUCK] == UNKNOWN and s - step * rows.velocity[r] < 0.0:
        memory[MEMORY_ZERO] = max(s, -rows.yielded[0])
    elif memory[MEMORY_STRUCK] == CUT_SHORT and not colliding:
        memory[MEMORY_ZERO] = s
    if memory[MEMORY_STRUCK] != CUT_SHORT or not colliding:
        memory[MEMORY_STRUCK] = KNOWN
    if s > memory[MEMORY_ZERO]:
        memory[MEMORY_ZERO] = min(s, 0.0)
    return s - memory[MEMORY_ZERO]


@kernel
def give_way(sc: Scene, rows: Rows, p: np.ndarray, slips: bool) -> None:
    """The walls of the tool's group after a cut: what rests slips, what collides goes on."""
    root = tool_rows(sc, rows, p)
    colliding = rows.group_state[root] == COLLIDING
    r = rows.group_row[root]
    while r != NO_ROW:
        memory = rows.memory[r]
        if rows.geom[r, 0] >= 0 and colliding:
            memory[MEMORY_STRUCK] = CUT_SHORT
        elif rows.geom[r, 0] >= 0 and slips and rows.stiffness[r] > 0.0:
            load = max(rows.force[r] + rows.damping[r] * rows.velocity[r], 0.0)
            slipped = rows.separation[r] + load / rows.stiffness[r]
            memory[MEMORY_ZERO] = min(memory[MEMORY_ZERO], slipped)
        r = rows.next_row[r]
