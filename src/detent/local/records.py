"""What crosses between the engine and the local model, and what the servo keeps of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from detent.kernels.constants import CONTACT_MEMORY
from detent.kernels.struct import Struct
from detent.local.constants import GIVES, LONGEST, MOST_CONSTRAINTS, OBJECTS, PERIODS

_GEOMETRY: list[tuple[Any, ...]] = [
    ("link", "i8"),  # body of the tool that it acts on, in the proxy's model
    ("other", "i8"),  # what is behind it, in the engine's own numbers
    ("place", "f8", 3),  # [m] c_p, on the surface of the other
    ("normal", "f8", 3),  # [-] towards the tool
    ("shapes", "i8", 2),  # which shapes of link and other meet, in the engine's own numbers
    ("bulge", "f8"),  # [m] radius of the tool's surface there; 0 = a corner, or not known
    ("curve", "i8"),  # what the surface of the other is: PLANE, BALL, ROD or FACE
    ("radius", "f8"),  # [m] of a ball or a rod; 0 = a corner or an edge
    ("axis", "f8", 3),  # [-] of a rod
    ("velocity", "f8", 3),  # [m/s] of the other at c_p
    ("stiffness", "f8"),  # [N/m] NaN = the session's
    ("damping", "f8"),  # [N·s/m]
    ("restitution", "f8"),  # [-]
    ("friction", "f8"),  # [-]
    ("group", "i8"),  # what moves as one with the other; -1 = nothing does
    ("base", "i8"),  # the link of the tool that carries the plane; 0 = nothing of the tool does
    ("drift", "f8"),  # [m/s²] acceleration of the other along the normal, but for the tool's push
    ("give", "f8", GIVES),  # [1/√kg] a: a force f_j moves this plane by aᵀ a_j f_j, in one group
]

#: a contact of the tool, or something near it, as an engine reports it
NEAR = np.dtype([*_GEOMETRY, ("separation", "f8")])  # [m] negative inside

_SEEN_FROM_THE_TOOL: list[tuple[Any, ...]] = [
    ("point", "f8", 3),  # [m] p, in the frame of the link: of a bulge, its centre
    ("facing", "f8", 3),  # [-] the normal, in the frame of the link
    ("anchor", "f8", 3),  # [m] c_p, in the frame of the base
    ("bearing", "f8", 3),  # [-] the normal, in the frame of the base
    ("weight", "f8"),  # [-] how many contacts it stands for (M24)
]

#: a local constraint, as it crosses to the servo
CONSTRAINT = np.dtype([*_GEOMETRY, ("separation", "f8"), *_SEEN_FROM_THE_TOOL])

#: a local constraint in the servo
KNOWN = np.dtype(
    [
        *_GEOMETRY,
        ("separation", "f8"),  # [m] of the proxy, deformed as it is
        *_SEEN_FROM_THE_TOOL,
        ("middle", "f8", 3),  # [m] centre of a ball, point on the axis of a rod
        ("offset", "f8"),  # [m] deformation of the proxy along the normal
        ("relax", "f8"),  # [m/s] by which it is taken back: constraint interpolation
        ("shift", "f8"),  # [m] by which the plane has moved since the update
        ("rate", "f8"),  # [m/s] at which it moves
        ("late", "f8"),  # [s] it came when the tool was past it, unseen for so long; 0 = in time
        ("force", "f8"),  # [N] of the last tick, impulses included
        ("grown", "i8"),  # 1 = it is new, or stands for more contacts than before
        ("heat", "f8"),  # [J] dissipated here, and not yet spent on healing
        ("drag", "f8", 3),  # [N] friction on the tool
        ("yielded", "f8"),  # [m/s] how much the plane gave way since the constraint is known
        ("track", "i8"),  # column of `Local.history`, row of `Local.pushes`
        ("memory", "f8", CONTACT_MEMORY),
    ]
)

# Places of the head of an update; all floats.
SEQUENCE, TIME, COUNT, DROPPED, HEALTH = range(5)
FIRST_OBJECT = 8  # then of each object near the tool its body, 0 = none, and its pose
OBJECT = 8
HEAD = FIRST_OBJECT + OBJECTS * OBJECT
HEALTHY, DIVERGED = range(2)

# Places of `Local.counts` and `Local.times`.
ACTIVE, FRESH, ROWS, SEEN, LOST, REJECTED, ARRIVED, STRUCK, SERIALS, RESETS, IN_STEP = range(11)
AGE, TRUST, MEAN_PERIOD, NEWEST, LOADED, HEALED, WATCHED, TRUSTED = range(8)

# Kinds of `curve`. A FACE is the tool's own: its plane turns with the link.
PLANE, BALL, ROD, FACE = range(4)


#: what the tool did to an object through a constraint, so far
PUSH = np.dtype(
    [
        ("serial", "f8"),  # which constraint: they never share a number
        ("other", "f8"),
        ("place", "f8", 3),  # [m] where
        ("impulse", "f8", 3),  # [N·s] ∫ f dt
        ("moment", "f8", 3),  # [N·s²] ∫∫ f dt²
    ]
)


class Local(Struct):
    """The local model in the servo: the set of constraints and how far it can be trusted."""

    heads: np.ndarray  # (3, HEAD) of updates: views on the buffers of their slot
    incomings: np.ndarray  # (3, MOST_CONSTRAINTS) CONSTRAINT
    head: np.ndarray  # (HEAD,) of the newest update that was merged
    held: np.ndarray  # (MOST_CONSTRAINTS,) KNOWN, the set
    before: np.ndarray  # (MOST_CONSTRAINTS,) KNOWN, the set before the update that is being merged
    taken: np.ndarray  # (MOST_CONSTRAINTS,) 1 = recognised in this update
    match: np.ndarray  # (MOST_CONSTRAINTS,) the known constraint behind each of the update
    tracks: np.ndarray  # (MOST_CONSTRAINTS,) 1 = column of the history in use
    history: (
        np.ndarray
    )  # (ticks, MOST_CONSTRAINTS) [m/s] how much planes had given way in the last ticks
    number: np.ndarray  # (1,) constraints in the set
    source: np.ndarray  # (capacity,) the constraint behind each row
    counts: np.ndarray  # (11,) see above
    times: np.ndarray  # (8,) [s] see above; LOADED and HEALED [J]
    periods: np.ndarray  # (PERIODS,) [s] of the last updates
    pushes: np.ndarray  # (MOST_CONSTRAINTS,) PUSH
    push_bytes: np.ndarray  # the same memory
    kept: np.ndarray  # (nv,) contact torques of the last tick
    residual: np.ndarray  # (nv,) what an update changed in them, and is still to be let go
    change: np.ndarray  # (nv,) scratch
    wrench: np.ndarray  # (6,) scratch: the same at the hand
    step: np.ndarray  # (2,) [N, N·m] change of contact wrenches in the tick of an update


def update_size() -> int:
    """Bytes of an update."""
    return 8 * HEAD + MOST_CONSTRAINTS * CONSTRAINT.itemsize


def state_size(model: Any, pushes: bool) -> int:
    """Bytes of a state of the proxy: time, qpos, qvel, impulses of contacts, and the pushes."""
    plain = 8 * (1 + model.nq + 2 * model.nv)
    return plain + MOST_CONSTRAINTS * PUSH.itemsize if pushes else plain


def history_ticks(local: Any, rate: float) -> int:
    """How many ticks of what objects gave way are kept: those of an update that is still good."""
    if local is None or local.constraints != "inertial":
        return 1
    return 16 + int(rate * min(2.0 * local.age_limit, LONGEST))


def update_views(memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Head and constraints of an update that lies in the last axis of these bytes."""
    return memory[..., : 8 * HEAD].view(np.float64), memory[..., 8 * HEAD :].view(CONSTRAINT)


def make_local(active: bool, capacity: int, nv: int, buffers: np.ndarray, ticks: int = 1) -> Local:
    """An empty set, whose updates lie in the *buffers* of a slot, and are at most *ticks* old."""
    heads, incomings = update_views(buffers)
    pushes = np.zeros(MOST_CONSTRAINTS, PUSH)
    local = Local(
        heads=heads,
        incomings=incomings,
        head=np.zeros(HEAD),
        held=np.zeros(MOST_CONSTRAINTS, KNOWN),
        before=np.zeros(MOST_CONSTRAINTS, KNOWN),
        taken=np.zeros(MOST_CONSTRAINTS, np.int64),
        match=np.zeros(MOST_CONSTRAINTS, np.int64),
        tracks=np.zeros(MOST_CONSTRAINTS, np.int64),
        history=np.zeros((ticks, MOST_CONSTRAINTS)),
        number=np.zeros(1, np.int64),
        source=np.zeros(capacity, np.int64),
        counts=np.zeros(11, np.int64),
        times=np.zeros(8),
        periods=np.zeros(PERIODS),
        pushes=pushes,
        push_bytes=pushes.view(np.uint8),
        kept=np.zeros(nv),
        residual=np.zeros(nv),
        change=np.zeros(nv),
        wrench=np.zeros(6),
        step=np.zeros(2),
    )
    local.counts[ACTIVE] = active
    local.times[TRUST] = 1.0
    return local
