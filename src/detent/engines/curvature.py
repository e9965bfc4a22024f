"""How the two surfaces of a contact bend, so that a tool slides along them between updates.

A constraint is a plane unless this file knows better. Balls and capsules of the tool touch with a
bulge about a centre; balls, rods, edges and corners of the other are gone round. A face of the
tool's box on a corner or an edge turns with the tool.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from detent.local.records import BALL, FACE, PLANE, ROD

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
NO_AXIS = np.zeros(3)


class Bend(NamedTuple):
    """What a record of NEAR says of curvature."""

    bulge: float  # [m]
    curve: int
    radius: float  # [m]
    axis: np.ndarray


FLAT = Bend(0.0, PLANE, 0.0, NO_AXIS)


def bend(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    geoms: tuple[int, int],
    place: np.ndarray,
    normal: np.ndarray,
    separation: float,
) -> Bend:
    """Of a contact of a geom of the tool, the first, with another at *place*."""
    tool, other = geoms
    kind = int(model.geom_type[tool])
    if kind in (_SPHERE, _CAPSULE):
        return Bend(float(model.geom_size[tool, 0]), *around(model, data, other, place))
    if kind == _CYLINDER:
        across = abs(float(data.geom_xmat[tool].reshape(3, 3)[:, 2] @ normal)) < ACROSS
        return FLAT._replace(bulge=float(model.geom_size[tool, 0])) if across else FLAT
    if kind != _BOX:
        return FLAT
    faces = faces_at(model, data, tool, place + separation * normal)
    curve, radius, axis = around(model, data, other, place)
    if curve == PLANE:
        return FLAT
    if len(faces) == 3:
        return Bend(0.0, curve, radius, axis)
    return Bend(0.0, FACE, 0.0, NO_AXIS) if len(faces) == 1 else FLAT


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
