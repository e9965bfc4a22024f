"""Contacts of shapes that are felt as they are, behind those that MuJoCo found."""

from __future__ import annotations

import math

from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage
from detent.servo import places
from detent.servo.structs import Scene, Servo
from detent.shapes.structs import LEFT_OUT, Felt, Shapes


@kernel
def are_near(sc: Scene, sh: Shapes, i: int) -> bool:
    """Whether the balls about the two solids of a pair meet, and one of them is awake."""
    one, two = sh.geom[i, 0], sh.geom[i, 1]
    reach = sh.reach[i, 0] + sh.reach[i, 1] + sh.felt.margin
    if not is_awake(sc, one) and not is_awake(sc, two):
        return False
    if reach == math.inf:
        return True
    apart, R, x = 0.0, sc.geom_xmat, sc.geom_xpos
    for k in range(3):
        d = x[one, k] - x[two, k]
        for j in range(3):
            d += R[one, 3 * k + j] * sh.centre[i, 0, j] - R[two, 3 * k + j] * sh.centre[i, 1, j]
        apart += d * d
    return apart <= reach * reach


@kernel
def is_awake(sc: Scene, geom: int) -> bool:
    """Whether a geom is of a tree that moves."""
    tree = sc.body_tree[sc.geom_body[geom]]
    return tree >= 0 and sc.tree_awake[tree] != 0


@kernel
def note_left_out(felt: Felt) -> None:
    """What a tick had no room or no time for, and the most that one took."""
    felt.totals[LEFT_OUT] += int(felt.counts[LEFT_OUT] > 0)
    for k in range(felt.counts.shape[0]):
        if k != LEFT_OUT:
            felt.totals[k] = max(felt.totals[k], felt.counts[k])


@kernel
def feel(s: Servo) -> None:
    """Stage: all pairs that are near each other."""
    sh = s.shapes
    for k in range(sh.felt.counts.shape[0]):
        sh.felt.counts[k] = 0
    sh.felt.busy[0], sh.felt.busy[1] = sh.felt.busy[1], 0
    for i in range(sh.pairs.shape[0]):
        if are_near(s.scene, sh, i):
            call_stage(s.stages[places.TOUCH], sh.pairs[i])
    note_left_out(sh.felt)
