"""Contacts as unilateral rows: J = nᵀ(J₂ − J₁), copies and seams left out (TH 4.21)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import DEPENDENT
from detent.kernels.inertia import project_on_closures, whiten_open_rows
from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector, dot
from detent.servo.constants import SAME
from detent.servo.contact.joint_limits import joint_limit_rows
from detent.servo.contact.seams import is_seam
from detent.servo.parameters import RIGID
from detent.servo.structs import Motion, Rows, Scene
from detent.servo.world.axes import Vector, add_point_row, forget_round_off


@kernel
def rank_contacts(sc: Scene, rows: Rows, room: int) -> int:
    """When the contacts do not fit: the tool's own first, then the deepest."""
    kept = 0
    for c in range(sc.ncon[0]):
        key = contact_key(sc, c)
        if kept == room and key >= contact_key(sc, rows.order[kept - 1]):
            continue
        slot = kept if kept < room else room - 1
        while slot > 0 and contact_key(sc, rows.order[slot - 1]) > key:
            rows.order[slot] = rows.order[slot - 1]
            slot -= 1
        rows.order[slot] = c
        kept = min(kept + 1, room)
    return kept


@kernel
def contact_key(sc: Scene, c: int) -> float:
    """Sorts contacts: smaller is more important."""
    g1, g2 = sc.contact["geom"][c, 0], sc.contact["geom"][c, 1]
    key = sc.contact["dist"][c]
    if g1 < 0 or g2 < 0:
        return key
    tree1, tree2 = sc.body_tree[sc.geom_body[g1]], sc.body_tree[sc.geom_body[g2]]
    if tree1 == sc.tool_tree or tree2 == sc.tool_tree:
        key -= 1e6
    return key


@kernel
def write_contact_row(sc: Scene, rows: Rows, c: int, r: int) -> None:
    """Row r ← contact c: J = nᵀ(J₂ − J₁), n from geom 1 to geom 2 (TH 4.21)."""
    for side in range(2):
        geom = sc.contact["geom"][c, side]
        body = sc.geom_body[geom]
        rows.geom[r, side] = geom
        rows.tree[r, side] = sc.body_tree[body]
        rows.body[r, side] = body if sc.body_tree[body] >= 0 else -1
    for k in range(3):
        rows.normal[r, k] = sc.contact["frame"][c, k]
        rows.point[r, k] = sc.contact["pos"][c, k]
    rows.separation[r] = sc.contact["dist"][c]
    for j in range(sc.nv):
        rows.jac[r, j] = 0.0
    add_relative_row(sc, rows, r, rows.normal[r], rows.jac[r])


@kernel
def add_relative_row(sc: Scene, rows: Rows, r: int, direction: Vector, out: np.ndarray) -> None:
    """out += directionᵀ(J₂ − J₁) at the contact of row r."""
    for side in range(2):
        if rows.body[r, side] >= 0:
            sign = 1.0 if side == 1 else -1.0
            add_point_row(sc, rows.body[r, side], rows.point[r], direction, sign, out)


@kernel
def add_normal_row(sc: Scene, rows: Rows, r: int, side: int, sign: float) -> None:
    """rows.jac[r] += sign · nᵀ J of the body on that side."""
    add_point_row(sc, rows.body[r, side], rows.point[r], rows.normal[r], sign, rows.jac[r])


@kernel
def pair_property(sc: Scene, geom1: int, geom2: int, column: int, world: float) -> float:
    """The smaller of two geoms' values; NaN stands for the world's."""
    a, b = sc.geom_properties[geom1, column], sc.geom_properties[geom2, column]
    a = world if math.isnan(a) else a
    b = world if math.isnan(b) else b
    return min(a, b)


@kernel
def is_copy(rows: Rows, r: int, nv: int) -> bool:
    """Whether an earlier row is the same constraint (the z-copies of a planar contact)."""
    for i in range(r):
        if abs(rows.separation[i] - rows.separation[r]) > SAME:
            continue
        same = True
        for j in range(nv):
            if abs(rows.jac[i, j] - rows.jac[r, j]) > SAME:
                same = False
                break
        if same:
            return True
    return False


@kernel
def gather_contacts(sc: Scene, mo: Motion, rows: Rows, p: np.ndarray) -> None:
    """All contacts of the world as rows; copies and seams are left out."""
    room = rows.jac.shape[0] - joint_limit_rows(sc)
    found = sc.ncon[0]
    ranked = found > room
    if ranked:
        found = rank_contacts(sc, rows, room)
    rows.dropped[0] = sc.ncon[0] - found
    r = 0
    for i in range(found):
        c = rows.order[i] if ranked else i
        g1, g2 = sc.contact["geom"][c, 0], sc.contact["geom"][c, 1]
        if g1 < 0 or g2 < 0 or (sc.contact["dist"][c] > 0.0 and p["contact_mode"][0] != RIGID):
            continue
        if sc.body_tree[sc.geom_body[g1]] < 0 and sc.body_tree[sc.geom_body[g2]] < 0:
            continue
        write_contact_row(sc, rows, c, r)
        forget_round_off(rows.jac[r])
        if is_copy(rows, r, sc.nv) or is_seam(sc, rows, r):
            continue
        rows.stiffness[r] = pair_property(sc, g1, g2, 0, p["stiffness"][0])
        rows.damping[r] = pair_property(sc, g1, g2, 1, p["damping"][0])
        rows.restitution[r] = pair_property(sc, g1, g2, 2, p["restitution"][0])
        rows.friction[r] = pair_property(sc, g1, g2, 3, p["friction_static"][0])
        r += 1
    rows.count[0] = r


@kernel
def yield_to_closures(mo: Motion, rows: Rows, r: int, nv: int) -> None:
    """Project a whitened row on the closures of loops; clear a row that they resist alone.

    What would be left of it is their drift, and dividing by that would move the linkage by
    anything. The contact keeps its force, which the loop balances.
    """
    before = dot(rows.white[r], rows.white[r], nv)
    taken = project_on_closures(mo.inertia, rows.white[r])
    if before - taken < DEPENDENT * DEPENDENT * before:
        clear_vector(rows.white[r])
        clear_vector(rows.jac[r])
        rows.velocity[r] = 0.0


@kernel
def respond(sc: Scene, mo: Motion, rows: Rows, p: np.ndarray) -> None:
    """Velocities of the rows, and the rows whitened; gains of the limits."""
    for r in range(rows.count[0]):
        v = 0.0
        for j in range(sc.nv):
            v += rows.jac[r, j] * sc.qvel[j]
            rows.white[r, j] = rows.jac[r, j]
        rows.velocity[r] = v
    whiten_open_rows(mo.inertia, rows.count[0], rows.white)
    for r in range(rows.count[0]):
        if mo.inertia.closed[0] > 0:
            yield_to_closures(mo, rows, r, sc.nv)
        if rows.stiffness[r] < 0.0:
            mobility = dot(rows.white[r], rows.white[r], sc.nv)
            mass = 1.0 / mobility if mobility > 0.0 else 0.0  # none: loops hold that joint
            omega = min(p["joint_limit_frequency"][0], 0.25 / p["step"][0])
            rows.stiffness[r] = omega * omega * mass
            rows.damping[r] = 2.0 * omega * mass
