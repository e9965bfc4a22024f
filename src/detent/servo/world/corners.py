"""The corners of boxes and meshes, for what meets round things."""

from __future__ import annotations

from itertools import product

import mujoco
import numpy as np

from detent.servo.constants import MOST_CORNERS

_BOX, _MESH = int(mujoco.mjtGeom.mjGEOM_BOX), int(mujoco.mjtGeom.mjGEOM_MESH)
_CYLINDER = int(mujoco.mjtGeom.mjGEOM_CYLINDER)
_SIGNS = np.array(list(product((-1.0, 1.0), repeat=3)))


def corners_of(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """(n, 3) Vertices of a box or a mesh, in its own frame; of a mesh, those of its hull."""
    kind = int(model.geom_type[geom])
    if kind == _BOX:
        return np.array(_SIGNS * model.geom_size[geom])
    if kind != _MESH:
        return np.zeros((0, 3))
    mesh = int(model.geom_dataid[geom])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    vertices = np.array(model.mesh_vert[first : first + count], float)
    graph = int(model.mesh_graphadr[mesh])
    if graph < 0:
        return vertices
    hull = int(model.mesh_graph[graph])  # then faces, where edges begin, and the vertices
    return np.array(vertices[model.mesh_graph[graph + 2 + hull : graph + 2 + 2 * hull]])


def corners_beside_rods(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """(ngeom + 1,) where the corners of each geom begin, and all of them; none without cylinders.

    A mesh of more than `MOST_CORNERS` has none: a tick would take too long over it.
    """
    each = [np.zeros((0, 3))] * model.ngeom
    if (model.geom_type == _CYLINDER).any():
        each = [corners_of(model, geom) for geom in range(model.ngeom)]
        each = [one if len(one) <= MOST_CORNERS else one[:0] for one in each]
    start = np.cumsum([0, *map(len, each)])
    return start.astype(np.int64), np.concatenate([np.zeros((0, 3)), *each])
