"""Limits of joints and tendons, as unilateral rows behind the contacts."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.servo.constants import LAG
from detent.servo.contact.columns import begin_columns, column_shift
from detent.servo.parameters import RIGID
from detent.servo.structs import Rows, Scene
from detent.servo.world.axes import add_tendon_row


@kernel
def joint_limit_rows(sc: Scene) -> int:
    """How many rows limits may need."""
    return sc.joint_limit_dof.shape[0] + sc.ball_dof.shape[0] + sc.tendon_limit.shape[0]


@kernel
def forgiven(slack: np.ndarray, which: int, s: float) -> float:
    """A separation, less what is still forgiven of the start.

    It is never more than is needed, and waits for what is held back by something else.
    """
    slack[which, 0] = min(slack[which, 0], max(-s, 0.0))
    s += slack[which, 0]
    if s < -slack[which, 1] * LAG:
        slack[which, 2] = 1.0
    return s


@kernel
def begin_row(
    sc: Scene, rows: Rows, s: float, which: int, trees: tuple[int, int], p: np.ndarray
) -> int:
    """A row for a limit that is reached (or, in rigid mode, near); -1 if there is none.

    It is one of two trees, or of one and -1, and number *which* of all limits.
    """
    if rows.slack_left[0] != 0:
        s = forgiven(rows.limit_slack, which, s)
    if s > 0.0 and p["contact_mode"][0] != RIGID:
        return -1
    r = rows.count[0]
    if r == rows.jac.shape[0]:
        rows.dropped[0] += 1
        return -1
    rows.separation[r] = s
    rows.restitution[r] = p["restitution"][0]
    rows.friction[r], rows.turning[r, 0], rows.turning[r, 1] = 0.0, 0.0, 0.0
    for side in range(2):
        rows.geom[r, side], rows.body[r, side] = -1, -1
    rows.tree[r, 0], rows.tree[r, 1] = trees
    begin_columns(sc, rows, r)
    rows.stiffness[r], rows.damping[r] = -1.0, -1.0  # from the inertia, see respond
    rows.count[0] = r + 1
    return r


@kernel
def gather_balls(sc: Scene, rows: Rows, p: np.ndarray) -> None:
    """Ball joints: the angle of their rotation is limited, about whatever axis it has."""
    for i in range(sc.ball_dof.shape[0]):
        q = sc.qpos[sc.ball_qpos[i] : sc.ball_qpos[i] + 4]
        sine = math.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        sign = 1.0 if q[0] >= 0.0 else -1.0
        tree = sc.dof_tree[sc.ball_dof[i]]
        which = 2 * sc.joint_limit_dof.shape[0] + i
        gap = sc.ball_most[i] - 2.0 * math.atan2(sine, sign * q[0])
        r = begin_row(sc, rows, gap, which, (tree, -1), p)
        if r < 0 or sine == 0.0:
            continue
        first = sc.ball_dof[i] - column_shift(sc, rows, r, tree)
        for k in range(3):
            rows.jac[r, first + k] = -sign * q[1 + k] / sine


@kernel
def gather_tendons(sc: Scene, rows: Rows, p: np.ndarray) -> None:
    """Tendons that are as short or as long as they may be; one may tie two trees."""
    for i in range(sc.tendon_limit.shape[0]):
        tendon = sc.tendon_limit[i]
        for end in range(2):
            sign = 1.0 if end == 0 else -1.0
            gap = sign * (sc.tendon_length[tendon] - sc.tendon_limit_range[i, end])
            trees = sc.tendon_trees[tendon]
            which = 2 * sc.joint_limit_dof.shape[0] + sc.ball_dof.shape[0] + 2 * i + end
            r = begin_row(sc, rows, gap, which, (trees[0], trees[1]), p)
            if r >= 0 and trees[0] >= 0:  # all its trees are of one span
                shift = column_shift(sc, rows, r, trees[0])
                add_tendon_row(sc, tendon, sign, shift, rows.jac[r])


@kernel
def gather_joint_limits(sc: Scene, rows: Rows, p: np.ndarray) -> None:
    """Limits that are reached (or, in rigid mode, near), as rows behind the contacts."""
    for i in range(sc.joint_limit_dof.shape[0]):
        q, dof = sc.qpos[sc.joint_limit_qpos[i]], sc.joint_limit_dof[i]
        for end in range(2):
            sign = 1.0 if end == 0 else -1.0
            tree = sc.dof_tree[dof]
            gap = sign * (q - sc.joint_limit_range[i, end])
            r = begin_row(sc, rows, gap, 2 * i + end, (tree, -1), p)
            if r >= 0:
                rows.jac[r, dof - column_shift(sc, rows, r, tree)] = sign
    gather_balls(sc, rows, p)
    gather_tendons(sc, rows, p)
