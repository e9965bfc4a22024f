"""Limits of joints and tendons, as unilateral rows behind the contacts."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector
from detent.servo.drag import add_tendon_row
from detent.servo.records import RIGID, Rows, Scene


@kernel
def stops(sc: Scene) -> int:
    """How many rows limits may need."""
    return sc.limit_dof.shape[0] + sc.ball_dof.shape[0] + sc.stop_tendon.shape[0]


@kernel
def begin_stop(rows: Rows, s: float, p: np.ndarray) -> int:
    """A row for a limit that is reached (or, in rigid mode, near); -1 if there is none."""
    if s > 0.0 and p["contact_mode"][0] != RIGID:
        return -1
    r = rows.tally[0]
    if r == rows.jac.shape[0]:
        rows.tally[1] += 1
        return -1
    clear_vector(rows.jac[r])
    rows.separation[r] = s
    rows.restitution[r] = p["restitution"][0]
    rows.friction[r] = 0.0
    for side in range(2):
        rows.geom[r, side], rows.body[r, side], rows.tree[r, side] = -1, -1, -1
    rows.stiffness[r], rows.damping[r] = -1.0, -1.0  # from the inertia, see respond
    rows.tally[0] = r + 1
    return r


@kernel
def gather_balls(sc: Scene, rows: Rows, p: np.ndarray) -> None:
    """Ball joints: the angle of their rotation is limited, about whatever axis it has."""
    for i in range(sc.ball_dof.shape[0]):
        q = sc.qpos[sc.ball_qpos[i] : sc.ball_qpos[i] + 4]
        sine = math.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        sign = 1.0 if q[0] >= 0.0 else -1.0
        r = begin_stop(rows, sc.ball_most[i] - 2.0 * math.atan2(sine, sign * q[0]), p)
        if r < 0 or sine == 0.0:
            continue
        first = sc.ball_dof[i]
        rows.tree[r, 0] = sc.dof_tree[first]
        for k in range(3):
            rows.jac[r, first + k] = -sign * q[1 + k] / sine


@kernel
def gather_tendons(sc: Scene, rows: Rows, p: np.ndarray) -> None:
    """Tendons that are as short or as long as they may be; one may tie two trees."""
    for i in range(sc.stop_tendon.shape[0]):
        tendon = sc.stop_tendon[i]
        for end in range(2):
            sign = 1.0 if end == 0 else -1.0
            r = begin_stop(rows, sign * (sc.tendon_length[tendon] - sc.stop_range[i, end]), p)
            if r < 0:
                continue
            add_tendon_row(sc, tendon, sign, rows.jac[r])
            for side in range(2):
                rows.tree[r, side] = sc.tendon_trees[tendon, side]


@kernel
def gather_limits(sc: Scene, rows: Rows, p: np.ndarray) -> None:
    """Limits that are reached (or, in rigid mode, near), as rows behind the contacts."""
    for i in range(sc.limit_dof.shape[0]):
        q = sc.qpos[sc.limit_qpos[i]]
        for end in range(2):
            sign = 1.0 if end == 0 else -1.0
            r = begin_stop(rows, sign * (q - sc.limit_range[i, end]), p)
            if r >= 0:
                rows.jac[r, sc.limit_dof[i]] = sign
                rows.tree[r, 0] = sc.dof_tree[sc.limit_dof[i]]
    gather_balls(sc, rows, p)
    gather_tendons(sc, rows, p)
