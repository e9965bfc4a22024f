"""How the two surfaces of a contact bend, so that a tool slides along them between updates.

A constraint is a plane unless this file knows better. Balls and capsules of the tool touch with a
bulge about a centre; balls, rods, edges and corners of the other are gone round by what is pointed
there. A face of the tool on something curved turns with the tool.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from detent.local.records import BALL, FACE, PLANE, ROD
from detent.servo.world.corners import corners_of

_SPHERE, _CAPSULE, _CYLINDER, _BOX = (
    int(kind)
    for kind in (
        mujoco.mjtGeom.mjGEOM_SPHERE,
        mujoco.mjtGeom.mjGEOM_CAPSULE,
        mujoco.mjtGeom.mjGEOM_CYLINDER,
        mujoco.mjtGeom.mjGEOM_BOX,
    )
)
ON = 1e-5  # [m] a point this near to a face is on it
ACROSS = 0.02  # [-] a normal this nearly across the axis of a cylinder is that of its side
PARALLEL = 0.9999  # [-] cosine of an edge along a rod
LEAST = 1e-3  # [m] of both radii: what is sharper has no inside to be pressed into
NO_AXIS = np.zeros(3)


class Bend(NamedTuple):
    """What a record of NEAR says of curvature."""

    bulge: float  # [m]
    curve: int
    radius: float  # [m]
    axis: np.ndarray


def bend(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    geoms: tuple[int, int],
    place: np.ndarray,
    normal: np.ndarray,
) -> Bend:
    """Of a contact of a geom of the tool, the first, with another at *place*."""
    tool, other = geoms
    bulge, pointed, along = tip(model, data, tool, normal)
    curve, radius, axis = around(model, data, other, place)
    if curve != PLANE and pointed and bulge + radius < LEAST:
        return Bend(bulge, PLANE, 0.0, NO_AXIS)
    if curve == PLANE or pointed:
        return Bend(bulge, curve, radius, axis)
    round_enough = curve == ROD and bulge + radius >= LEAST
    if round_enough and along is not None and abs(float(along @ axis)) > PARALLEL:
        return Bend(bulge, curve, radius, axis)
    return Bend(bulge, FACE, 0.0, NO_AXIS)


def flat(curved: Bend) -> Bend:
    """What is on a link of the tool, which moves with it, is a plane there."""
    return curved if curved.curve in (PLANE, FACE) else Bend(curved.bulge, PLANE, 0.0, NO_AXIS)


def tip(
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, normal: np.ndarray
) -> tuple[float, bool, np.ndarray | None]:
    """What of the tool touches: its bulge [m], whether it is a point, and the way of an edge."""
    kind, turn = int(model.geom_type[geom]), data.geom_xmat[geom].reshape(3, 3)
    size = float(model.geom_size[geom, 0])
    if kind == _SPHERE:
        return size, True, None
    if kind in (_CAPSULE, _CYLINDER):
        across = abs(float(turn[:, 2] @ normal)) < ACROSS
        return (size if across or kind == _CAPSULE else 0.0), not across, turn[:, 2]
    corners = corners_of(model, geom)
    if len(corners) == 0:
        return 0.0, False, None
    heights = corners @ (turn.T @ normal)
    lowest = corners[heights < heights.min() + ON]
    way = lowest[-1] - lowest[0]
    long = float(np.linalg.norm(way))
    if long < ON:
        return 0.0, True, None
    flat = np.linalg.norm(np.cross(lowest - lowest[0], way / long), axis=1).max() > ON
    return 0.0, False, None if flat else turn @ (way / long)


def around(
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, place: np.ndarray
) -> tuple[int, float, np.ndarray]:
    """Kind, radius and axis of the surface of a geom at a place on it."""
    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    turn = data.geom_xmat[geom].reshape(3, 3)
    along = float(turn[:, 2] @ (place - data.geom_xpos[geom]))
    if kind == _SPHERE or (kind == _CAPSULE and abs(along) >= size[1] - ON):
        return BALL, float(size[0]), NO_AXIS
    if kind == _CAPSULE or (kind == _CYLINDER and abs(along) < size[1] - ON):
        return ROD, float(size[0]), turn[:, 2]
    if kind == _BOX:
        faces = faces_at(model, data, geom, place)
        if len(faces) == 3:
            return BALL, 0.0, NO_AXIS
        if len(faces) == 2:
            return ROD, 0.0, turn[:, 3 - sum(faces)]
    return PLANE, 0.0, NO_AXIS


def faces_at(model: mujoco.MjModel, data: mujoco.MjData, geom: int, place: np.ndarray) -> list[int]:
    """On how many faces of a box a point lies: the axes across them."""
    at = data.geom_xmat[geom].reshape(3, 3).T @ (place - data.geom_xpos[geom])
    return [k for k in range(3) if abs(abs(at[k]) - model.geom_size[geom, k]) < ON]
