"""What does not move: which geoms touch which, and where they are."""

from __future__ import annotations

import mujoco
import numpy as np

_BOX, _PLANE = int(mujoco.mjtGeom.mjGEOM_BOX), int(mujoco.mjtGeom.mjGEOM_PLANE)


def static_neighbours(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """For each static box, the static boxes and planes that reach it, as adjacency lists.

    Only those can cover one of its faces, so the seam test of a tick looks nowhere else.
    """
    static = [
        g
        for g in range(model.ngeom)
        if model.body_treeid[model.geom_bodyid[g]] < 0
        and model.geom_type[g] in (_BOX, _PLANE)
        and (model.geom_contype[g] or model.geom_conaffinity[g])
    ]
    lists: list[list[int]] = [[] for _ in range(model.ngeom)]
    for g in static:
        if model.geom_type[g] == _BOX:
            lists[g] = [h for h in static if h != g and _reach(model, data, g, h)]
    start = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    return start, np.array([h for one in lists for h in one], np.int64)


def static_bounds(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of static boxes in the world, and which boxes fill them; a plane has none."""
    bounds = np.tile([-np.inf] * 3 + [np.inf] * 3, (model.ngeom, 1))
    upright = np.zeros(model.ngeom, np.int64)
    for g in range(model.ngeom):
        if model.geom_type[g] == _BOX and model.body_treeid[model.geom_bodyid[g]] < 0:
            turn = np.abs(data.geom_xmat[g].reshape(3, 3))
            reach = turn @ model.geom_size[g]
            bounds[g] = np.concatenate([data.geom_xpos[g] - reach, data.geom_xpos[g] + reach])
            upright[g] = np.allclose(turn, turn.round(), atol=1e-12)
    return bounds, upright


def _reach(model: mujoco.MjModel, data: mujoco.MjData, box: int, other: int) -> bool:
    if model.geom_type[other] == _PLANE:
        return True
    return bool(mujoco.mj_geomDistance(model, data, box, other, 1e-3, None) < 1e-3)
