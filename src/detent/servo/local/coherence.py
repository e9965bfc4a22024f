"""Which constraint of an update is which of the set, and what a pair of shapes hands on.

A constraint is known by what is touched: the link, the other body, the pair of their shapes, and
then the point in the frame of the tool or of the other; never by its place in the world.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.local import depth_energy
from detent.local.records import HEALED, IN_STEP, LOADED, RESETS, Local
from detent.servo.constants import STILL, TURNED
from detent.servo.local.separation import spring_of

NONE, UNSOUND = -1, -2
OPPOSITE = -0.1  # [-] cosine of normals beyond which two faces look at each other


@kernel
def same_pair(a: np.ndarray, i: int, b: np.ndarray, j: int) -> bool:
    """Whether two constraints are of the same shapes of the same bodies."""
    same = a["link"][i] == b["link"][j] and a["other"][i] == b["other"][j]
    shapes, others = a["shapes"], b["shapes"]
    return same and shapes[i, 0] == others[j, 0] and shapes[i, 1] == others[j, 1]


@kernel
def along(a: np.ndarray, i: int, b: np.ndarray, j: int) -> float:
    """Cosine between two normals."""
    m, n = a["normal"], b["normal"]
    return m[i, 0] * n[j, 0] + m[i, 1] * n[j, 1] + m[i, 2] * n[j, 2]


@kernel
def moved_on_tool(old: np.ndarray, j: int, new: np.ndarray, i: int) -> float:
    """Square of how far a point has moved in the frame of the link [m²]."""
    total, a, b = 0.0, old["point"], new["point"]
    for k in range(3):
        total += (b[i, k] - a[j, k]) ** 2
    return total


@kernel
def moved_on_other(old: np.ndarray, j: int, new: np.ndarray, i: int, seconds: float) -> float:
    """The same on the other body, which has carried it along since the last update [m²]."""
    total, a, b, v = 0.0, old["place"], new["place"], old["velocity"]
    if new["base"][i] != 0:  # a link of the tool, in whose frame the places are known
        a, b = old["anchor"], new["anchor"]
    for k in range(3):
        total += (b[i, k] - a[j, k] - seconds * v[j, k]) ** 2
    return total


@kernel
def find_same(lo: Local, new: np.ndarray, i: int, cosine: float) -> int:
    """The constraint of the set with the same point of the tool (a vertex that slides), or NONE.

    Constraints mostly keep their order, so the search begins there.
    """
    old, count = lo.before, lo.number[0]
    for k in range(count):
        j = i + k if i + k < count else (i + k) % count
        if lo.taken[j] != 0 or not same_pair(old, j, new, i):
            continue
        if moved_on_tool(old, j, new, i) < STILL * STILL and along(old, j, new, i) >= cosine:
            return j
    return NONE


@kernel
def find_nearest(
    lo: Local, new: np.ndarray, i: int, reach: float, cosine: float, seconds: float
) -> int:
    """That of the same pair whose point moved least on either body, or NONE (TH 6.11-6.12).

    A corner of the other stays put on that, a point of an edge or a ball moves on both; opposing
    normals are never one.
    """
    old, best, found = lo.before, reach * reach, NONE
    for j in range(lo.number[0]):
        if lo.taken[j] != 0 or not same_pair(old, j, new, i):
            continue
        apart = min(moved_on_tool(old, j, new, i), moved_on_other(old, j, new, i, seconds))
        if apart <= best and along(old, j, new, i) >= cosine:
            best, found = apart, j
    return found


@kernel
def match_update(
    lo: Local, new: np.ndarray, count: int, reach: float, cosine: float, seconds: float
) -> None:
    """lo.match ← the known constraint behind each of the update that is sound."""
    for i in range(count):
        if lo.match[i] != UNSOUND:
            lo.match[i] = find_same(lo, new, i, cosine)
            if lo.match[i] != NONE:
                lo.taken[lo.match[i]] = 1
    for i in range(count):
        if lo.match[i] == NONE:
            lo.match[i] = find_nearest(lo, new, i, reach, cosine, seconds)
            if lo.match[i] != NONE:
                lo.taken[lo.match[i]] = 1


@kernel
def deepest(lo: Local, new: np.ndarray, i: int, before: int) -> int:
    """Where the pair of constraint i was pressed most, unless from the other side, or NONE."""
    old, depth, found = lo.before, 0.0, NONE
    for j in range(before):
        s = old["separation"][j]
        if s < -depth and same_pair(old, j, new, i) and along(old, j, new, i) > OPPOSITE:
            depth, found = -s, j
    return found


@kernel
def was_pressed(lo: Local, new: np.ndarray, i: int, before: int) -> bool:
    """Whether the pair of constraint i was touched before, from whatever side."""
    for j in range(before):
        if lo.before["separation"][j] < 0.0 and same_pair(lo.before, j, new, i):
            return True
    return False


@kernel
def find_forebear(lo: Local, new: np.ndarray, i: int, seconds: float) -> int:
    """Whose memory a constraint goes on with: its own, or that of the nearest that has no heir.

    As between two ticks of a synchronous session (`find_old`), however far the point has jumped:
    of two ends of an edge that lies on a wall, engines report now the one, now the other.
    """
    found = lo.match[i]
    if found == NONE:
        found = find_nearest(lo, new, i, math.inf, TURNED, seconds)
        if found != NONE:
            lo.taken[found] = 1
    return found


@kernel
def settle_pairs(lo: Local, before: int, p: np.ndarray) -> None:
    r"""Bound what an update loads, pair by pair, and keep the account of what it dissipated.

    .. math:: \textstyle\sum_i \tfrac12 K_i s_i^2 \Big|_{after}
              \le \sum_j \tfrac12 K_j s_j^2 \Big|_{before}

    A constraint that took the place of another is as deep as that was. Where there are more of
    them than before, heat of the pair pays for the new ones, or they begin less deep. What the sum
    lost is heat of the pair, which all of its constraints share.
    """
    lo.times[LOADED] = 0.0
    for i in range(lo.number[0]):
        if is_first(lo, i):
            settle_pair(lo, i, before, p)
    for j in range(before):
        if lo.taken[j] == 0 and not still_there(lo, j):
            lo.times[LOADED] -= depth_energy(spring_of(lo.before, j, p), lo.before["separation"][j])


@kernel
def is_first(lo: Local, i: int) -> bool:
    """Whether no earlier constraint of the set is of the same pair."""
    for j in range(i):
        if same_pair(lo.held, j, lo.held, i):
            return False
    return True


@kernel
def still_there(lo: Local, j: int) -> bool:
    """Whether the pair of a constraint of the last update is in this one."""
    for i in range(lo.number[0]):
        if same_pair(lo.before, j, lo.held, i):
            return True
    return False


@kernel
def settle_pair(lo: Local, first: int, before: int, p: np.ndarray) -> None:
    """The pair of the constraint *first*: the energy of its springs, and its heat."""
    held, old = lo.held, lo.before
    had, force, heat = 0.0, 0.0, 0.0
    for j in range(before):
        if same_pair(old, j, held, first):
            stiffness, s = spring_of(old, j, p), old["separation"][j]
            had += depth_energy(stiffness, s)
            force += stiffness * max(-s, 0.0)
            heat += old["heat"][j]
    kept, added, members = 0.0, 0.0, 0
    for i in range(first, lo.number[0]):
        if same_pair(held, i, held, first):
            energy = depth_energy(spring_of(held, i, p), held["separation"][i])
            members += 1
            if held["grown"][i] != 0:
                added += energy
            else:
                kept += energy
    spare = had - kept
    most = max(spare + (max(heat, 0.0) if p["local_heal"][0] > 0.0 else 0.0), 0.0)
    whole = added <= most or lo.counts[IN_STEP] != 0  # which owes the heat that it has not
    share = 1.0 if whole else math.sqrt(most / added)
    added *= share * share
    if force > 0.0:
        left, true = lift_grown(lo, first, share, p)
        if left < force and p["local_heal"][0] > 0.0 and lo.counts[IN_STEP] == 0:
            more, cost = press_on(lo, first, force - left, most - added, p)
            left, added = left + more, added + cost
        lo.counts[RESETS] += int(left < 0.5 * force and left < 0.5 * true)
    lo.times[LOADED] += min(added - spare, 0.0)
    lo.times[HEALED] += max(added - spare, 0.0)
    for i in range(first, lo.number[0]):
        if same_pair(held, i, held, first):
            held["heat"][i] = (heat + spare - added) / members


@kernel
def lift_grown(lo: Local, first: int, share: float, p: np.ndarray) -> tuple[float, float]:
    """Of new constraints of a pair that was pressed, only a share of the depth.

    Returns the force of the pair [N], and what it would be if nothing were deformed.
    """
    held, force, true = lo.held, 0.0, 0.0
    for i in range(first, lo.number[0]):
        if same_pair(held, i, held, first):
            stiffness, s = spring_of(held, i, p), held["separation"][i]
            true += stiffness * max(held["offset"][i] - s, 0.0)
            if held["grown"][i] != 0 and s < 0.0:
                held["separation"][i] = share * s
                held["offset"][i] += (share - 1.0) * s
            force += stiffness * max(-held["separation"][i], 0.0)
    return force, true


@kernel
def press_on(
    lo: Local, first: int, missing: float, budget: float, p: np.ndarray
) -> tuple[float, float]:
    r"""Let those of a pair that are deformed take over the force of members that went.

    .. math:: h = \Delta F / \sum_i K_i, \qquad
              \sum_i \tfrac12 K_i \left((d_i + h)^2 - d_i^2\right) \le Q

    All get deeper by h, none deeper than it is in truth, and together by no more than the budget Q
    allows [J]: what the springs that went have held, and heat of the pair. Returns the force that
    is taken over [N], and what it costs [J].
    """
    held, total, cost, taken = lo.held, 0.0, 0.0, 0.0
    for i in range(first, lo.number[0]):
        if same_pair(held, i, held, first) and held["offset"][i] > 0.0 and held["relax"][i] == 0.0:
            total += spring_of(held, i, p)
    if total <= 0.0 or budget <= 0.0:
        return 0.0, 0.0
    for turn in range(2):  # what it would cost, then as much as can be paid
        share = min(budget / cost, 1.0) if cost > 0.0 else 1.0
        cost, taken = 0.0, 0.0
        for i in range(first, lo.number[0]):
            if not same_pair(held, i, held, first) or held["relax"][i] != 0.0:
                continue
            stiffness, s = spring_of(held, i, p), held["separation"][i]
            step = share * min(missing / total, max(held["offset"][i], 0.0))
            cost += depth_energy(stiffness, s - step) - depth_energy(stiffness, s)
            taken += stiffness * (max(step - s, 0.0) - max(-s, 0.0))
            if turn == 1:
                held["separation"][i], held["offset"][i] = s - step, held["offset"][i] - step
    return taken, cost
