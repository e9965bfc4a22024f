"""What all contacts of a pair of geoms share: trees, columns, gains, restitution, friction."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.servo.contact.columns import set_columns
from detent.servo.structs import Rows, Scene
from detent.world.nested import APART, UNTIL_APART


@kernel
def pair_property(sc: Scene, geom1: int, geom2: int, column: int, world: float) -> float:
    """The smaller of two geoms' values; NaN stands for the world's."""
    a, b = sc.geom_properties[geom1, column], sc.geom_properties[geom2, column]
    a = world if math.isnan(a) else a
    b = world if math.isnan(b) else b
    return min(a, b)


@kernel
def write_friction(sc: Scene, rows: Rows, c: int, r: int, p: np.ndarray) -> None:
    """Coefficients of row r: those of contact c as MuJoCo combined them, or the session's.

    Of two along the tangents, which only explicit pairs can have, the smaller.
    """
    share, said, dim = p["friction_static"][0], sc.contact["friction"], sc.contact["dim"][c]
    along, spin, roll = share, 0.0, 0.0
    if p["friction_scene"][0] != 0:
        along = share * min(said[c, 0], said[c, 1]) if dim >= 3 else 0.0
        spin = share * said[c, 2] if dim >= 4 else 0.0
        roll = share * min(said[c, 3], said[c, 4]) if dim >= 6 else 0.0
    rows.friction[r] = pair_property(sc, rows.geom[r, 0], rows.geom[r, 1], 3, along)
    rows.turning[r, 0], rows.turning[r, 1] = spin, roll


@kernel
def are_nested(sc: Scene, geom1: int, geom2: int) -> bool:
    """Whether two links are inside each other since the start (`world.nested`)."""
    low, high, nested = min(geom1, geom2), max(geom1, geom2), sc.nested
    for i in range(nested.shape[0]):
        if nested[i, 0] == low and nested[i, 1] == high:
            nested[i, 3] = 1
            return nested[i, 2] != APART
    return False


@kernel
def part_nested(sc: Scene) -> None:
    """Links that are not found inside each other any more touch from now on."""
    nested = sc.nested
    for i in range(nested.shape[0]):
        if nested[i, 2] == UNTIL_APART and nested[i, 3] == 0:
            nested[i, 2] = APART
        nested[i, 3] = 0


@kernel
def describe_pair(sc: Scene, rows: Rows, c: int, r: int, p: np.ndarray) -> bool:
    """Row r ← what contact c shares with the others of its pair; False if it does not count.

    That is, if neither geom moves, or both are links inside each other.
    """
    geom, body, tree = rows.geom, rows.body, rows.tree
    for side in range(2):
        g = sc.contact["geom"][c, side]
        moved = sc.geom_body[g]
        at = sc.body_tree[moved]
        geom[r, side], tree[r, side] = g, at
        body[r, side] = moved if at >= 0 else -1
    if tree[r, 0] < 0 and tree[r, 1] < 0:
        return False
    one, two = geom[r, 0], geom[r, 1]
    if are_nested(sc, one, two):
        return False
    set_columns(sc, rows, r)
    rows.stiffness[r] = pair_property(sc, one, two, 0, p["stiffness"][0])
    rows.damping[r] = pair_property(sc, one, two, 1, p["damping"][0])
    rows.restitution[r] = pair_property(sc, one, two, 2, p["restitution"][0])
    write_friction(sc, rows, c, r, p)
    return True


@kernel
def copy_pair(rows: Rows, a: int, b: int) -> None:
    """Row b is of the same pair of geoms as row a."""
    geom, body, tree, span, turning = rows.geom, rows.body, rows.tree, rows.span, rows.turning
    for i in range(2):
        geom[b, i], body[b, i], tree[b, i] = geom[a, i], body[a, i], tree[a, i]
        span[b, i, 0], span[b, i, 1] = span[a, i, 0], span[a, i, 1]
        turning[b, i] = turning[a, i]
    rows.stiffness[b], rows.damping[b] = rows.stiffness[a], rows.damping[a]
    rows.restitution[b], rows.friction[b] = rows.restitution[a], rows.friction[a]
