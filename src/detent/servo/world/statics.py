"""What does not move: which geoms touch which, and where they are."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

_BOX, _PLANE = int(mujoco.mjtGeom.mjGEOM_BOX), int(mujoco.mjtGeom.mjGEOM_PLANE)
_FEW = 3  # geoms that are asked one by one
_NEAR = 1e-3  # [m] what is nearer than this may touch


class Seams(NamedTuple):
    """For each static box a tree of the static boxes and planes that reach it.

    A tree is a list: whoever is inside the bounds of an entry goes on to the next one, everybody
    else to `skip`. So a point asks those few that are near it, however many there are.
    """

    start: np.ndarray  # (ngeom + 1,) where the tree of a geom begins
    geom: np.ndarray  # (n,) -1 = a knot
    skip: np.ndarray  # (n,)
    bounds: np.ndarray  # (n, 6)


def static_neighbours(model: mujoco.MjModel, data: mujoco.MjData, bounds: np.ndarray) -> Seams:
    """The geoms that can cover a face of a static box: the seam test looks nowhere else."""
    static = np.array(
        [
            g
            for g in range(model.ngeom)
            if model.body_treeid[model.geom_bodyid[g]] < 0
            and model.geom_type[g] in (_BOX, _PLANE)
            and (model.geom_contype[g] or model.geom_conaffinity[g])
        ],
        np.int64,
    )
    starts, entries = [0], []
    for g in range(model.ngeom):
        if g in static and model.geom_type[g] == _BOX:
            low, high = bounds[static, :3] - _NEAR, bounds[static, 3:] + _NEAR
            near = static[((low <= bounds[g, 3:]) & (high >= bounds[g, :3])).all(axis=1)]
            entries += _tree([h for h in near if h != g and _reach(model, data, g, h)], bounds)
        starts.append(len(entries))
    skip = np.array([i + jump for i, (_, jump, _) in enumerate(entries)], np.int64)
    return Seams(
        np.array(starts, np.int64),
        np.array([geom for geom, _, _ in entries], np.int64),
        skip,
        np.array([box for _, _, box in entries]).reshape(-1, 6),
    )


_Entry = tuple[int, int, np.ndarray]  # a geom or -1, how many entries it is to the next, bounds


def _tree(geoms: list[int], bounds: np.ndarray) -> list[_Entry]:
    """Halved along the longest side of their middles, until few are left."""
    if len(geoms) <= _FEW:
        return [(int(g), 1, bounds[g]) for g in geoms]
    endless = [g for g in geoms if not np.isfinite(bounds[g]).all()]
    if endless:
        return _tree(endless[:_FEW], bounds) + _tree(
            [g for g in geoms if g not in endless[:_FEW]], bounds
        )
    middle = 0.5 * (bounds[geoms, :3] + bounds[geoms, 3:])
    order = np.array(geoms)[np.argsort(middle[:, np.ptp(middle, axis=0).argmax()], kind="stable")]
    half = len(order) // 2
    below = _tree(list(order[:half]), bounds) + _tree(list(order[half:]), bounds)
    whole = np.concatenate([bounds[geoms, :3].min(axis=0), bounds[geoms, 3:].max(axis=0)])
    return [(-1, 1 + len(below), whole), *below]


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
    return bool(mujoco.mj_geomDistance(model, data, box, other, _NEAR, None) < _NEAR)
