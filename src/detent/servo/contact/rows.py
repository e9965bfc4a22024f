"""Contacts as unilateral rows: J = nᵀ(J₂ − J₁), copies and seams left out (TH 4.21)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import DEPENDENT
from detent.kernels.contact import group_root
from detent.kernels.jit import kernel
from detent.kernels.spans import project_spans, whiten_open_spans
from detent.kernels.vectors import Triple, cross, dot
from detent.servo.constants import LAG, LEVER, SAME
from detent.servo.contact.columns import clear_row, column_shift, columns, same_columns
from detent.servo.contact.free_body import is_free, write_free_row
from detent.servo.contact.joint_limits import joint_limit_rows
from detent.servo.contact.pairs import copy_pair, describe_pair, part_nested
from detent.servo.contact.rods import meet_rod
from detent.servo.contact.seams import is_seam
from detent.servo.parameters import RIGID
from detent.servo.structs import Motion, Rows, Scene
from detent.servo.world.axes import Vector, add_point_row


@kernel
def last_kept(sc: Scene, rows: Rows, room: int) -> tuple[float, int]:
    """When the contacts do not fit: the key of the last that is kept, and how many have just that.

    A heap of the smallest keys so far, the largest of them on top. The order of the contacts is
    left as it is, so that those of a pair stay together.
    """
    heap = rows.heap
    for c in range(sc.ncon[0]):
        key = contact_key(sc, rows, c)
        if c < room:  # up from the end
            i = c
            while i > 0 and heap[(i - 1) // 2] < key:
                heap[i] = heap[(i - 1) // 2]
                i = (i - 1) // 2
            heap[i] = key
        elif room > 0 and key < heap[0]:  # down from the top
            i = 0
            while 2 * i + 1 < room:
                child = 2 * i + 1
                if child + 1 < room and heap[child + 1] > heap[child]:
                    child += 1
                if heap[child] <= key:
                    break
                heap[i] = heap[child]
                i = child
            heap[i] = key
    if room == 0:
        return -math.inf, 0
    equal = 0
    for i in range(room):
        if heap[i] == heap[0]:
            equal += 1
    return heap[0], equal


@kernel
def contact_key(sc: Scene, rows: Rows, c: int) -> float:
    """Sorts contacts: smaller is more important. The tool's group of the last tick, the deepest."""
    g1, g2 = sc.contact["geom"][c, 0], sc.contact["geom"][c, 1]
    key = sc.contact["dist"][c]
    if g1 < 0 or g2 < 0:
        return key
    tool = group_root(rows.parent, sc.tool_tree)
    for geom in (g1, g2):
        tree = sc.body_tree[sc.geom_body[geom]]
        if tree >= 0 and group_root(rows.parent, tree) == tool:
            return key - 1e6
    return key


@kernel
def write_contact_row(sc: Scene, rows: Rows, c: int, r: int) -> None:
    """Row r ← contact c: J = nᵀ(J₂ − J₁), n from geom 1 to geom 2 (TH 4.21).

    Its pair of geoms is known (`describe_pair`).
    """
    contact, normal, point = sc.contact, rows.normal, rows.point
    for k in range(3):
        normal[r, k], point[r, k] = contact["frame"][c, k], contact["pos"][c, k]
    rows.separation[r], rows.patch[r] = contact["dist"][c], contact["vert"][c, 0]
    if sc.corners.shape[0] > 0 and rows.patch[r] < 0:
        meet_rod(sc, rows, c, r)
    n = (normal[r, 0], normal[r, 1], normal[r, 2])
    p = (point[r, 0], point[r, 1], point[r, 2])
    if is_free(sc, rows, r):
        write_free_row(sc, rows, r, n, p, rows.jac[r])
    elif min(rows.tree[r, 0], rows.tree[r, 1]) < 0:
        write_one_sided_row(sc, rows, r, n, p)
    else:
        clear_row(rows.jac, r, columns(rows, r))
        add_relative_row(sc, rows, r, rows.normal[r], rows.jac[r])
        forget_row(rows, r)


@kernel
def write_one_sided_row(sc: Scene, rows: Rows, r: int, n: Triple, p: Triple) -> None:
    """The same of a contact with the static world: one span, its columns written once."""
    side = 1 if rows.tree[r, 1] >= 0 else 0
    body, sign = rows.body[r, side], 2.0 * side - 1.0
    first, size, jac = rows.span[r, 0, 0], rows.span[r, 0, 1], rows.jac
    for k in range(size):
        jac[r, k] = 0.0
    centre, root = sc.subtree_com, sc.body_root[body]
    x, y, z = sign * n[0], sign * n[1], sign * n[2]
    arm = (p[0] - centre[root, 0], p[1] - centre[root, 1], p[2] - centre[root, 2])
    mx, my, mz = cross(arm, (x, y, z))
    cdof, parent, most = sc.cdof, sc.dof_parent, 0.0
    j = sc.body_last_dof[body]
    while j >= 0:
        turned = cdof[j, 0] * mx + cdof[j, 1] * my + cdof[j, 2] * mz
        moved = turned + (cdof[j, 3] * x + cdof[j, 4] * y + cdof[j, 5] * z)
        jac[r, j - first] = moved
        most = max(most, abs(moved))
        j = parent[j]
    if most <= LEVER:
        clear_row(jac, r, size)


@kernel
def add_relative_row(sc: Scene, rows: Rows, r: int, direction: Vector, out: np.ndarray) -> None:
    """out += directionᵀ(J₂ − J₁) at the contact of row r, in the columns of that row."""
    for side in range(2):
        if rows.body[r, side] >= 0:
            sign = 1.0 if side == 1 else -1.0
            shift = column_shift(sc, rows, r, rows.tree[r, side])
            add_point_row(sc, rows.body[r, side], rows.point[r], direction, sign, shift, out)


@kernel
def write_relative_row(sc: Scene, rows: Rows, r: int, d: Triple, A: np.ndarray, k: int) -> None:
    """Row k of A ← dᵀ(J₂ − J₁) at the contact of row r, in the columns of that row."""
    if is_free(sc, rows, r):
        point = rows.point
        write_free_row(sc, rows, r, d, (point[r, 0], point[r, 1], point[r, 2]), A[k])
    else:
        clear_row(A, k, columns(rows, r))
        add_relative_row(sc, rows, r, d, A[k])


@kernel
def add_normal_row(sc: Scene, rows: Rows, r: int, side: int, sign: float, out: np.ndarray) -> None:
    """out += sign · nᵀ J of the body on that side, in the columns of row r."""
    shift = column_shift(sc, rows, r, rows.tree[r, side])
    add_point_row(sc, rows.body[r, side], rows.point[r], rows.normal[r], sign, shift, out)


@kernel
def forget_row(rows: Rows, r: int) -> None:
    """Clear a row that moves nothing: what is left is round-off."""
    most = 0.0
    for c in range(columns(rows, r)):
        most = max(most, abs(rows.jac[r, c]))
    if most <= LEVER:
        clear_row(rows.jac, r, columns(rows, r))


@kernel
def is_copy(rows: Rows, r: int) -> bool:
    """Whether an earlier row is the same constraint (the z-copies of a planar contact).

    Only one of the same pair of geoms: MuJoCo reports these one after the other.
    """
    geom, separation, jac, n = rows.geom, rows.separation, rows.jac, columns(rows, r)
    one, two, apart = geom[r, 0], geom[r, 1], separation[r]
    i = r - 1
    while i >= 0 and geom[i, 0] == one and geom[i, 1] == two:
        if abs(separation[i] - apart) <= SAME:
            c = n - 1  # from its end: faces of boxes differ in how they turn
            while c >= 0 and abs(jac[i, c] - jac[r, c]) <= SAME:
                c -= 1
            if c < 0:
                return True
        i -= 1
    return False


@kernel
def gather_contacts(sc: Scene, mo: Motion, rows: Rows, p: np.ndarray) -> None:
    """All contacts of the world as rows; copies and seams are left out.

    MuJoCo reports those of a pair of geoms one after the other: what they share is found once.
    """
    room = rows.jac.shape[0] - joint_limit_rows(sc)
    found, contact = sc.ncon[0], sc.contact
    most, equal = math.inf, 0
    if found > room:
        most, equal = last_kept(sc, rows, room)
    rows.dropped[0] = max(found - room, 0)
    rigid, forgives = p["contact_mode"][0] == RIGID, rows.slack_left[0] != 0
    r, last, one, two, moves = 0, 0, -1, -1, False
    for c in range(found):
        if found > room:
            key = contact_key(sc, rows, c)
            if key > most or (key == most and equal == 0):
                continue
            equal -= int(key == most)
        g1, g2 = contact["geom"][c, 0], contact["geom"][c, 1]
        if g1 < 0 or g2 < 0 or (contact["dist"][c] > 0.0 and not rigid):
            continue
        if g1 != one or g2 != two:
            one, two, last = g1, g2, r
            moves = describe_pair(sc, rows, c, r, p)
        if not moves:
            continue
        if last != r:
            copy_pair(rows, last, r)
            last = r
        write_contact_row(sc, rows, c, r)
        if forgives:
            forgive_start(rows, r)
        if not (is_copy(rows, r) or is_seam(sc, rows, r)):
            r += 1
    rows.count[0] = r
    part_nested(sc)


@kernel
def forgive_start(rows: Rows, r: int) -> None:
    """A contact of what started inside something is as deep as it has become since."""
    slack, least = rows.geom_slack, -1
    for side in range(2):
        geom = rows.geom[r, side]
        if rows.tree[r, side] >= 0 and (least < 0 or slack[geom, 0] < slack[least, 0]):
            least = geom
    if rows.separation[r] < 0.0:
        s = min(rows.separation[r] + slack[least, 0], 0.0)
        rows.separation[r] = s
        if s < -slack[least, 1] * LAG:
            slack[least, 2] = 1.0


@kernel
def use_up_slack(rows: Rows, step: float) -> None:
    """What started beyond a limit or inside something is forgiven less and less."""
    left = 0
    for slack in (rows.limit_slack, rows.geom_slack):
        for i in range(slack.shape[0]):
            if slack[i, 2] == 0.0:
                slack[i, 0] = max(slack[i, 0] - slack[i, 1] * step, 0.0)
            slack[i, 2] = 0.0
            left = max(left, int(slack[i, 0] > 0.0))
    rows.slack_left[0] = left


@kernel
def note_lost(rows: Rows) -> None:
    """Remember how many contacts and limits found no room since the start."""
    if rows.dropped[0] > 0:
        rows.lost[0] += 1.0
        rows.lost[1] = max(rows.lost[1], rows.dropped[0])
        rows.lost[2] += rows.dropped[0]


@kernel
def lose_row(rows: Rows) -> None:
    """One row did not fit a collision: those that come first are resolved without it."""
    rows.lost[0] += 1.0 if rows.dropped[0] == 0 else 0.0
    rows.dropped[0] += 1
    rows.lost[1] = max(rows.lost[1], rows.dropped[0])
    rows.lost[2] += 1.0


@kernel
def yield_to_closures(mo: Motion, rows: Rows, r: int) -> None:
    """Project a whitened row on the closures of loops; clear a row that they resist alone.

    What would be left of it is their drift, and dividing by that would move the linkage by
    anything. The contact keeps its force, which the loop balances.
    """
    n = columns(rows, r)
    before = dot(rows.white[r], rows.white[r], n)
    taken = project_spans(mo.inertia, rows.span[r], 2, rows.white[r])
    if before - taken < DEPENDENT * DEPENDENT * before:
        clear_row(rows.white, r, n)
        clear_row(rows.jac, r, n)
        rows.velocity[r] = 0.0


@kernel
def respond(sc: Scene, mo: Motion, rows: Rows, p: np.ndarray) -> None:
    """Velocities of the rows, and the rows whitened; gains of the limits.

    Rows with the same columns mostly follow each other, and are whitened together.
    """
    first, jac, white, span = 0, rows.jac, rows.white, rows.span
    for r in range(rows.count[0]):
        v, column = 0.0, 0
        for part in range(2):
            shift = span[r, part, 0] - column
            for c in range(column, column + span[r, part, 1]):
                v += jac[r, c] * sc.qvel[c + shift]
                white[r, c] = jac[r, c]
            column += span[r, part, 1]
        rows.velocity[r] = v
        if not same_columns(rows, first, r):
            whiten_open_spans(mo.inertia, span[first], 2, first, r, white)
            first = r
    if rows.count[0] > 0:
        whiten_open_spans(mo.inertia, span[first], 2, first, rows.count[0], white)
    for r in range(rows.count[0]):
        if rows.stiffness[r] < 0.0:  # as if loops were open: near a singular pose they come and go
            mobility = dot(rows.white[r], rows.white[r], columns(rows, r))
            mass = 1.0 / mobility if mobility > 0.0 else 0.0
            omega = min(p["joint_limit_frequency"][0], 0.25 / p["step"][0])
            rows.stiffness[r] = omega * omega * mass
            rows.damping[r] = 2.0 * omega * mass
        if mo.inertia.closed[0] > 0:
            yield_to_closures(mo, rows, r)
