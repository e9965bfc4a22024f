"""Contact groups and what they are doing: free, colliding or resting (TH 4.2)."""

from __future__ import annotations

from detent.kernels.constants import CREEP
from detent.kernels.contact import group_root, is_new, join_groups
from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector
from detent.servo.constants import (
    FALLING,
    LASTING_STEPS,
    MOST_COLLISIONS,
    NO_IMPULSE,
    TOUCH,
)
from detent.servo.contact.identity import NO_ROW
from detent.servo.parameters import IMPULSE, RIGID
from detent.servo.structs import COLLIDING, FREE, RESTING, Rows, Scene


@kernel
def classify_groups(sc: Scene, rows: Rows, mode: int, step: float) -> None:
    """Contact groups and their states: free, colliding or resting (TH 4.2).

    Only impulses know a colliding state. Rigid contacts touch within round-off.
    """
    touch = TOUCH if mode == RIGID else 0.0
    for t in range(rows.parent.shape[0]):
        rows.parent[t] = t
        rows.group_state[t] = FREE
        rows.group_restitution[t] = 1.0
        rows.group_row[t] = NO_ROW
    for i in range(sc.equality_trees.shape[0]):
        join_groups(rows.parent, sc.equality_trees[i, 0], sc.equality_trees[i, 1])
    for r in range(rows.count[0]):
        if rows.separation[r] <= touch:
            join_groups(rows.parent, rows.tree[r, 0], rows.tree[r, 1])
    for r in range(rows.count[0]):
        if rows.separation[r] > touch:
            continue
        root = row_group(rows, r)
        strikes = rows.restitution[r] > NO_IMPULSE
        if strikes:
            rows.group_restitution[root] = min(rows.group_restitution[root], rows.restitution[r])
        goes_on = rows.spreading[0] != 0 and rows.velocity[r] < 0.0
        spread = goes_on and root == group_root(rows.parent, sc.tool_tree)
        new = spread or arrives(rows, r) or is_new(rows.separation[r], rows.velocity[r], step)
        if new and strikes and mode == IMPULSE and not lasts(rows, r, step):
            rows.group_state[root] = COLLIDING
        elif rows.group_state[root] == FREE:
            rows.group_state[root] = RESTING
    note_touched(rows, touch)
    count_blows(rows)
    for i in range(rows.count[0]):  # backwards, so that the lists go forwards
        r = rows.count[0] - 1 - i
        if rows.separation[r] <= touch:
            root = row_group(rows, r)
            rows.next_row[r] = rows.group_row[root]
            rows.group_row[root] = r


@kernel
def lasts(rows: Rows, r: int, step: float) -> bool:
    """Whether row r is of a tree that has collided tick after tick, and comes no faster than a load
    brings it: while a group collides it has no springs, and what presses it would move it on.
    """
    slow = rows.velocity[r] > -FALLING * step * LASTING_STEPS
    for side in range(2):
        tree = rows.tree[r, side]
        if slow and tree >= 0 and rows.blows[tree] >= MOST_COLLISIONS:
            return True
    return False


@kernel
def count_blows(rows: Rows) -> None:
    """For how many ticks each tree has been colliding, all but for one tick in between."""
    for t in range(rows.blows.shape[0]):
        if rows.group_state[group_root(rows.parent, t)] == COLLIDING:
            rows.blows[t] = min(rows.blows[t] + 1, 2 * MOST_COLLISIONS)
        else:
            rows.blows[t] = max(rows.blows[t] - 1, 0)


@kernel
def arrives(rows: Rows, r: int) -> bool:
    """Whether row r is a contact of a tree that touched nothing before, and approaches.

    Such a contact is new, however fast the body turns; `is_new` takes its path for straight.
    """
    if rows.geom[r, 0] < 0 or rows.velocity[r] >= -CREEP:
        return False
    for side in range(2):
        tree = rows.tree[r, side]
        if tree >= 0 and rows.touched[tree] == 0:
            return True
    return False


@kernel
def note_touched(rows: Rows, touch: float) -> None:
    """Which trees touch something, for the next tick."""
    clear_vector(rows.touched)
    for r in range(rows.count[0]):
        if rows.separation[r] <= touch and rows.geom[r, 0] >= 0:
            for side in range(2):
                if rows.tree[r, side] >= 0:
                    rows.touched[rows.tree[r, side]] = 1


@kernel
def row_group(rows: Rows, r: int) -> int:
    """The group of a row: that of whichever of its two trees moves."""
    tree = rows.tree[r, 0] if rows.tree[r, 0] >= 0 else rows.tree[r, 1]
    return group_root(rows.parent, tree)
