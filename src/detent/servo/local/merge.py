"""Merging an update into the local model, without a jump of penetration (TH 6.2, errata E11)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.local import merged_separation
from detent.kernels.vectors import copy_vector
from detent.local.constants import MOST_CONSTRAINTS
from detent.local.records import (
    ARRIVED,
    COUNT,
    DROPPED,
    FACE,
    HEALTH,
    HEALTHY,
    IN_STEP,
    LOST,
    MEAN_PERIOD,
    NEWEST,
    PLANE,
    REJECTED,
    SEEN,
    SERIALS,
    TIME,
    Local,
)
from detent.servo.constants import CREEP_BACK
from detent.servo.local.coherence import (
    NONE,
    UNSOUND,
    deepest,
    find_forebear,
    match_update,
    settle_pairs,
    was_pressed,
)
from detent.servo.local.separation import present_separation, true_separation
from detent.servo.structs import Scene


@kernel
def is_sound(item: np.ndarray, i: int, links: int) -> bool:
    """Whether a constraint is one: finite, of unit normal, on a link that exists."""
    if item["link"][i] < 0 or item["link"][i] >= links:
        return False
    if item["base"][i] < 0 or item["base"][i] >= links:
        return False
    if item["curve"][i] < PLANE or item["curve"][i] > FACE:
        return False
    total, size = item["separation"][i] + item["drift"][i] + item["weight"][i], 0.0
    total += item["bulge"][i] + item["radius"][i]
    for k in range(item["give"].shape[1]):
        total += item["give"][i, k]
    for k in range(3):
        size += item["normal"][i, k] ** 2
        total += item["place"][i, k] + item["velocity"][i, k] + item["point"][i, k]
        total += item["axis"][i, k] + item["facing"][i, k]
        total += item["anchor"][i, k] + item["bearing"][i, k]
    return math.isfinite(total) and abs(size - 1.0) < 1e-6


@kernel
def take_geometry(lo: Local, new: np.ndarray, i: int, r: int) -> None:
    """held[r] ← new[i]."""
    held = lo.held
    held["link"][r], held["other"][r] = new["link"][i], new["other"][i]
    held["base"][r] = new["base"][i]
    for k in range(3):
        held["place"][r, k] = new["place"][i, k]
        held["normal"][r, k] = new["normal"][i, k]
        held["velocity"][r, k] = new["velocity"][i, k]
        held["point"][r, k] = new["point"][i, k]
        held["anchor"][r, k], held["bearing"][r, k] = new["anchor"][i, k], new["bearing"][i, k]
        held["axis"][r, k], held["facing"][r, k] = new["axis"][i, k], new["facing"][i, k]
        held["middle"][r, k] = new["place"][i, k] - new["radius"][i] * new["normal"][i, k]
    held["bulge"][r], held["radius"][r] = new["bulge"][i], new["radius"][i]
    held["curve"][r], held["weight"][r] = new["curve"][i], new["weight"][i]
    held["shapes"][r, 0], held["shapes"][r, 1] = new["shapes"][i, 0], new["shapes"][i, 1]
    held["stiffness"][r], held["damping"][r] = new["stiffness"][i], new["damping"][i]
    held["restitution"][r], held["friction"][r] = new["restitution"][i], new["friction"][i]
    held["group"][r], held["drift"][r] = new["group"][i], new["drift"][i]
    for k in range(held["give"].shape[1]):
        held["give"][r, k] = new["give"][i, k]


@kernel
def take_track(lo: Local, r: int, known: int) -> None:
    """The history of a known constraint, or an empty column for a new one."""
    held = lo.held
    held["yielded"][r] = 0.0
    if known != NONE:
        held["track"][r] = lo.before["track"][known]
        held["yielded"][r] = lo.before["yielded"][known]
        return
    lo.counts[SERIALS] += 1
    for k in range(lo.tracks.shape[0]):  # the columns take turns
        t = (lo.counts[SERIALS] + k) % lo.tracks.shape[0]
        if lo.tracks[t] == 0:
            lo.tracks[t] = 1
            held["track"][r] = t
            open_track(lo, t, held["other"][r])
            return


@kernel
def open_track(lo: Local, t: int, other: int) -> None:
    """An empty history and no pushes yet."""
    for k in range(lo.history.shape[0]):
        lo.history[k, t] = 0.0
    lo.pushes["serial"][t], lo.pushes["other"][t] = lo.counts[SERIALS], other
    for k in range(3):
        lo.pushes["impulse"][t, k] = lo.pushes["moment"][t, k] = 0.0


@kernel
def move_plane(lo: Local, r: int, p: np.ndarray, tick: int, age: int) -> None:
    r"""Where the plane is now, and how fast it moves, from what the engine saw *age* ticks ago.

    .. math::
        u(t) = n^T v - \int_{t_0}^t \textstyle\sum_j a^T a_j f_j \, dt, \qquad
        x(t) = \int_{t_0}^t u \, dt

    The sum is over the forces on the same object, 0 for kinematic constraints (TH 6.2, B4).
    """
    held, step, rate = lo.held, p["step"][0], 0.0
    if p["local_moving"][0] != 0:
        for k in range(3):
            rate += held["normal"][r, k] * held["velocity"][r, k]
    shift = rate * age * step
    if p["local_inertia"][0] != 0:
        ticks, column = lo.history.shape[0], held["track"][r]
        past = min(age, ticks - 1)
        first = lo.history[(tick - past) % ticks, column]
        for k in range(past):
            shift -= step * (lo.history[(tick - k) % ticks, column] - first)
        rate -= held["yielded"][r] - first
    held["rate"][r], held["shift"][r] = rate, shift


@kernel
def place_constraint(
    sc: Scene,
    lo: Local,
    new: np.ndarray,
    i: int,
    r: int,
    patch: int,
    p: np.ndarray,
    tick: int,
    age: int,
    unseen: float,
) -> None:
    """The constraint i of the update as number r of the set, deformed as errata E11 says.

    A new one of a pair that was pressed begins as deep as the deepest of that, its *patch*. If it
    was crossed within the last *unseen* seconds, it is a collision. An update in step deforms
    nothing.
    """
    held, known = lo.held, lo.match[i]
    take_geometry(lo, new, i, r)
    take_track(lo, r, known)
    move_plane(lo, r, p, tick, age)
    sigma = new["separation"][i]
    if p["local_literal"][0] == 0:  # the tool has moved since the engine looked
        sigma = true_separation(sc, held, r)
    else:
        follow_literally(sc, lo, r, sigma)
    before = lo.before["separation"][patch] if patch != NONE else 0.0
    s = merged_separation(sigma, before, patch != NONE)
    if lo.counts[IN_STEP] != 0:
        s = sigma + (lo.before["offset"][patch] if patch != NONE else 0.0)
    held["relax"][r] = 0.0
    if p["local_recovery"][0] > 0.0:  # constraint interpolation instead of deformation
        s = before if known != NONE else max(sigma, 0.0)
        held["relax"][r] = abs(s - sigma) / p["local_recovery"][0]
    elif known != NONE and p["local_inertia"][0] != 0 and held["group"][r] >= 0:
        held["relax"][r] = CREEP_BACK  # errors of the prediction must not add up
    held["offset"][r], held["separation"][r] = s - sigma, s
    held["late"][r] = 0.0
    if sigma < min(s, 0.0) and (known == NONE or before > 0.0):
        held["late"][r] = unseen


@kernel
def keep_memory(lo: Local, r: int, known: int, forebear: int) -> None:
    """What a constraint remembers of itself: bonds of friction, and the past of its wall."""
    held, old = lo.held, lo.before
    held["force"][r], held["grown"][r] = 0.0, 1
    for k in range(held["memory"].shape[1]):
        held["memory"][r, k] = old["memory"][forebear, k] if forebear != NONE else 0.0
    if known != NONE:
        held["grown"][r] = int(held["weight"][r] > old["weight"][known])


@kernel
def follow_literally(sc: Scene, lo: Local, r: int, sigma: float) -> None:
    """p = Rᵀ (c_p + σ n − x) of the proxy as it is now: TH 6.1 to the letter, with planes only."""
    held = lo.held
    link = held["link"][r]
    turn = sc.xmat[link]
    held["curve"][r], held["bulge"][r] = PLANE, 0.0
    for k in range(3):
        held["point"][r, k] = 0.0
    for i in range(3):
        at = held["place"][r, i] + (sigma + held["shift"][r]) * held["normal"][r, i]
        for k in range(3):
            held["point"][r, k] += turn[3 * i + k] * (at - sc.xpos[link, i])


@kernel
def note_period(lo: Local) -> None:
    """The mean time between the last five updates (TH 6.2.4)."""
    if lo.counts[SEEN] > 0:
        lo.periods[lo.counts[SEEN] % lo.periods.shape[0]] = lo.head[TIME] - lo.times[NEWEST]
    lo.times[NEWEST] = lo.head[TIME]
    lo.counts[SEEN] += 1
    known = min(lo.counts[SEEN] - 1, lo.periods.shape[0])
    total = 0.0
    for k in range(known):
        total += lo.periods[(lo.counts[SEEN] - 1 - k) % lo.periods.shape[0]]
    lo.times[MEAN_PERIOD] = total / known if known > 0 else 0.0


@kernel
def free_tracks(lo: Local) -> None:
    """The histories of constraints that ended can be used again."""
    for j in range(lo.number[0]):
        if lo.taken[j] == 0:
            lo.tracks[lo.before["track"][j]] = 0


@kernel
def look_back(sc: Scene, lo: Local) -> None:
    """The set as it is now, beside which an update is laid."""
    for j in range(lo.number[0]):
        present_separation(sc, lo, j)
        lo.before[j] = lo.held[j]
        lo.taken[j] = 0


@kernel
def match_sound(sc: Scene, lo: Local, new: np.ndarray, count: int, p: np.ndarray) -> None:
    """lo.match ← what of an update is known."""
    for i in range(count):
        lo.match[i] = NONE
        if not is_sound(new, i, sc.xpos.shape[0]):
            lo.match[i] = UNSOUND
            lo.counts[REJECTED] += 1
    elapsed = max(lo.head[TIME] - lo.times[NEWEST], lo.times[MEAN_PERIOD])
    cosine = math.cos(p["local_angle"][0])
    match_update(lo, new, count, elapsed * p["local_speed"][0], cosine, elapsed)


@kernel
def merge_update(
    sc: Scene, lo: Local, head: np.ndarray, new: np.ndarray, p: np.ndarray, tick: int, clock: int
) -> bool:
    """Replace the set by that of an update; False if the update is of no use.

    *tick* is that of virtual time, *clock* that of the schedule, skipped ticks included. An update
    is in step if it saw the tool of this tick, and the last one that of the tick before: it is what
    a synchronous session sees, and is felt as it is there.
    """
    now = tick * p["step"][0]
    if not (head[TIME] > lo.times[NEWEST] or lo.counts[SEEN] == 0):
        return False  # overtaken by a newer one
    if not math.isfinite(head[TIME]) or head[HEALTH] != HEALTHY:
        lo.counts[REJECTED] += 1
        return False
    unseen = now - lo.times[NEWEST] if lo.counts[SEEN] > 0 else math.inf
    copy_vector(head, lo.head)
    lo.counts[ARRIVED] = clock
    lo.counts[LOST] = int(head[DROPPED])
    look_back(sc, lo)
    count = min(int(head[COUNT]), MOST_CONSTRAINTS)
    match_sound(sc, lo, new, count, p)
    note_period(lo)
    free_tracks(lo)
    age = max(round((now - head[TIME]) / p["step"][0]), 0)
    heals, soon = p["local_heal"][0] > 0.0, unseen < 1.5 * p["step"][0]
    lo.counts[IN_STEP] = int(heals and age == 0 and soon)
    before, kept = lo.number[0], 0
    for i in range(count):
        if lo.match[i] != UNSOUND:
            patch = lo.match[i] if lo.match[i] != NONE else deepest(lo, new, i, before)
            first = lo.match[i] == NONE and not was_pressed(lo, new, i, before)
            since = math.inf if first else unseen
            place_constraint(sc, lo, new, i, kept, patch, p, tick, age, since)
            keep_memory(lo, kept, lo.match[i], find_forebear(lo, new, i, unseen))
            kept += 1
    lo.number[0] = kept
    settle_pairs(lo, before, p)
    return True
