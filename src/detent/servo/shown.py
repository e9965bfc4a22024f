"""What whoever draws is shown besides poses: contacts, constraints near by, directions lost."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import MEMORY_FRICTION
from detent.kernels.contact import group_root
from detent.kernels.friction import CLASSICAL, NONE
from detent.kernels.jit import kernel
from detent.local.records import ACTIVE, Local
from detent.servo.constants import TOUCH
from detent.servo.contact.groups import row_group
from detent.servo.hand.reach import weigh_tool
from detent.servo.parameters import RIGID
from detent.servo.structs import COLLIDING, GRAVITY, Device, Motion, Rows, Scene, Servo

MOST_SHOWN = 32  # contacts and constraints in one picture
SLIDES_AT = 1e-3  # [m/s] slower than that is creep, not sliding
AT_THE_EDGE = 0.98  # [-] of what friction holds: a rigid contact that slides

# Kinds of what is shown.
# NEAR: a constraint of a local model that is not touched; HOLDS: a contact that rests, or sticks;
# SLIDES: one whose friction slips; STRIKES: one of a group that collides;
# TIES: a direction in which joints do not let the hand move; WEIGHT: that of the tool, as felt.
NOTHING, NEAR, HOLDS, SLIDES, STRIKES, TIES, WEIGHT = range(7)

SHOWN = np.dtype(
    [
        ("kind", "i8"),  # see above
        ("tool", "i8"),  # 1 = of the tool's contact group
        ("point", "f8", 3),  # [m]
        ("normal", "f8", 3),  # [-] towards the tool, or to what moves
        ("force", "f8"),  # [N] along it
        ("rub", "f8", 3),  # [N] friction on the same body
        ("friction", "f8"),  # [-] μ_s
        ("bond", "f8", 3),  # [-] how far its bond is stretched, over where it breaks, same body
        ("separation", "f8"),  # [m] negative inside
    ]
)


def drawn_block(nbody: int, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Poses (nbody, 7), what is shown (most,), and all of it as bytes: one memory."""
    size = 56 * nbody
    block = np.zeros(size + most * SHOWN.itemsize, np.uint8)
    poses = block[:size].view(np.float64).reshape(nbody, 7)
    return poses, block[size:].view(SHOWN), block


@kernel
def show(s: Servo) -> None:
    """Stage: the rows of this tick for whoever draws, those of the tool's group first."""
    out, rows, sc = s.shown, s.rows, s.scene
    rigid = s.parameters["contact_mode"][0] == RIGID
    touch, root = TOUCH if rigid else 0.0, group_root(rows.parent, sc.tool_tree)
    law = s.parameters["friction"][0]
    n = 0
    for own in range(2):
        for r in range(rows.count[0]):
            of_tool = row_group(rows, r) == root
            if n == out.shape[0] or rows.geom[r, 0] < 0 or rows.separation[r] > touch:
                continue
            if of_tool != (own == 0):
                continue
            show_row(sc, rows, r, law, rigid, out, n)
            out["tool"][n] = int(of_tool)
            n += 1
    if s.local.counts[ACTIVE] != 0:
        n = show_near(s.local, out, n)
    n = show_ties(s.motion, s.device, out, n)
    if sc.features[GRAVITY] != 0:
        n = show_weight(sc, s.motion, s.device, out, n)
    while n < out.shape[0]:
        out["kind"][n] = NOTHING
        n += 1


@kernel
def show_weight(sc: Scene, mo: Motion, de: Device, out: np.ndarray, n: int) -> int:
    """The weight that the hand feels, as a force at the hand point; the next free place."""
    if n == out.shape[0]:
        return n
    weigh_tool(sc, mo, de, mo.scratch, mo.part)
    force = mo.part
    size = de.borne[0] * math.sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2])
    if size == 0.0:
        return n
    for k in range(3):
        out["point"][n, k] = mo.point[k]
        out["normal"][n, k] = de.borne[0] * force[k] / size
        out["rub"][n, k] = out["bond"][n, k] = 0.0
    out["kind"][n], out["tool"][n], out["force"][n] = WEIGHT, 1, size
    out["friction"][n], out["separation"][n] = 0.0, 0.0
    return n + 1


@kernel
def show_row(sc: Scene, rows: Rows, r: int, law: int, rigid: bool, out: np.ndarray, n: int) -> None:
    """Place n ← row r, seen from the tool, else from what moves."""
    first, second = rows.tree[r, 0], rows.tree[r, 1]
    mine = first >= 0 and sc.in_tool[first] != 0
    theirs = second >= 0 and sc.in_tool[second] != 0
    sign = -1.0 if (mine and not theirs) or second < 0 else 1.0
    rubs, bonded = law != NONE, law != NONE and law != CLASSICAL and not rigid
    for k in range(3):
        out["point"][n, k] = rows.point[r, k]
        out["normal"][n, k] = sign * rows.normal[r, k]
        out["rub"][n, k] = sign * rows.rub[r, k]
        if not rubs:
            out["rub"][n, k] = 0.0
        out["bond"][n, k] = sign * rows.memory[r, MEMORY_FRICTION + k] if bonded else 0.0
    out["force"][n], out["friction"][n] = rows.force[r], rows.friction[r] if rubs else 0.0
    out["separation"][n] = rows.separation[r]
    kind = SLIDES if rubs and rows.force[r] > 0.0 and slides(rows, r, rigid) else HOLDS
    if rows.group_state[row_group(rows, r)] == COLLIDING:
        kind = STRIKES
    out["kind"][n] = kind


@kernel
def slides(rows: Rows, r: int, rigid: bool) -> bool:
    """Whether a pressed contact slides: by its speed, or, rigid, by its friction, μ f_n."""
    v, f = rows.slide[r], rows.rub[r]
    if rigid:
        most = AT_THE_EDGE * rows.friction[r] * rows.force[r]
        return f[0] * f[0] + f[1] * f[1] + f[2] * f[2] > most * most
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2] > SLIDES_AT * SLIDES_AT


@kernel
def show_near(lo: Local, out: np.ndarray, n: int) -> int:
    """The constraints of a local model that are not touched; the next free place."""
    held = lo.held
    for i in range(lo.number[0]):
        if n == out.shape[0] or held["separation"][i] <= 0.0:
            continue
        for k in range(3):
            out["point"][n, k] = held["place"][i, k]
            out["normal"][n, k] = held["normal"][i, k]
            out["rub"][n, k] = out["bond"][n, k] = 0.0
        out["kind"][n], out["tool"][n], out["force"][n] = NEAR, 1, 0.0
        out["friction"][n], out["separation"][n] = 0.0, held["separation"][i]
        n += 1
    return n


@kernel
def show_ties(mo: Motion, de: Device, out: np.ndarray, n: int) -> int:
    """Directions at the hand point that the joints do not allow; the next free place.

    Of each column of N (TH 5.4) its force, as a unit vector: pure torques have no arrow.
    """
    N, k = mo.mapping.N, de.dimension[0]
    for j in range(mo.rank[1]):
        if n == out.shape[0] or mo.tied[j] <= 0.0:
            continue
        size, pull = 0.0, 0.0
        for i in range(k):
            if de.axes[i] < 3:
                size += N[i, j] * N[i, j]
        if size <= 0.0:
            continue
        size = math.sqrt(size)
        for i in range(3):
            out["point"][n, i], out["normal"][n, i] = mo.point[i], 0.0
            out["rub"][n, i] = out["bond"][n, i] = 0.0
        for i in range(k):
            if de.axes[i] < 3:
                out["normal"][n, de.axes[i]] = N[i, j] / size
                pull += N[i, j] / size * de.topology[de.axes[i]]
        out["kind"][n], out["tool"][n], out["force"][n] = TIES, 1, pull
        out["friction"][n], out["separation"][n] = 0.0, 0.0
        n += 1
    return n
