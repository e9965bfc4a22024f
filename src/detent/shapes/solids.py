"""From geoms to solids: baked surfaces for meshes and height fields, laws for primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mujoco
import numpy as np

from detent.errors import ShapeError
from detent.shapes.constants import PRIMITIVE_PATCHES, SLACK
from detent.shapes.doubt import doubt_of
from detent.shapes.primitives import sample_primitive
from detent.shapes.structs import BOX, CYLINDER, MESH, PLANE, Solid
from detent.shapes.surface import Surface, fine_cell
from detent.shapes.tree import Tree, make_tree

_MESH, _FIELD = int(mujoco.mjtGeom.mjGEOM_MESH), int(mujoco.mjtGeom.mjGEOM_HFIELD)
_PRIMITIVES = (0, 2, 3, 4, 5, 6)

Kept = Callable[[np.ndarray, np.ndarray, str, float], Surface]


class Ball(NamedTuple):
    """About a solid, in its frame."""

    centre: np.ndarray
    reach: float


def geom_surface(model: mujoco.MjModel, geom: int) -> tuple[np.ndarray, np.ndarray, str] | None:
    """Vertices and triangles of a geom in its frame, and the name of its mesh; None = neither."""
    kind, data = int(model.geom_type[geom]), int(model.geom_dataid[geom])
    if kind == _MESH:
        first, count = model.mesh_vertadr[data], model.mesh_vertnum[data]
        vertices = model.mesh_vert[first : first + count].astype(float)
        first, count = model.mesh_faceadr[data], model.mesh_facenum[data]
        return vertices, model.mesh_face[first : first + count], model.mesh(data).name
    if kind == _FIELD:
        return *height_field_surface(model, data), model.hfield(data).name
    return None


def height_field_surface(model: mujoco.MjModel, field: int) -> tuple[np.ndarray, np.ndarray]:
    """A height field as a closed surface, down to its base."""
    rows, columns = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
    wide, deep, high, base = model.hfield_size[field]
    first = model.hfield_adr[field]
    z = model.hfield_data[first : first + rows * columns].reshape(rows, columns) * high
    x, y = np.meshgrid(np.linspace(-wide, wide, columns), np.linspace(-deep, deep, rows))
    top = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    bottom = np.stack([x, y, np.full_like(x, -base)], axis=-1).reshape(-1, 3)
    place = np.arange(rows * columns).reshape(rows, columns)
    a, b = place[:-1, :-1].ravel(), place[:-1, 1:].ravel()
    c, d = place[1:, :-1].ravel(), place[1:, 1:].ravel()
    up = np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])
    rim = np.concatenate([place[0, :-1], place[:-1, -1], place[-1, :0:-1], place[:0:-1, 0]])
    after, below = np.roll(rim, -1), rows * columns
    sides = np.concatenate(
        [np.stack([rim, rim + below, after], 1), np.stack([after, rim + below, after + below], 1)]
    )
    return np.concatenate([top, bottom]), np.concatenate([up, up[:, ::-1] + below, sides])


def mesh_solid(surface: Surface) -> tuple[Solid, Ball]:
    """A baked surface as the tick sees it."""
    tree, low, high = surface.tree, surface.bounds[:3], surface.bounds[3:]
    solid = Solid(
        kind=MESH,
        half=np.zeros(3),
        probe=fine_cell(surface),
        skin=surface.skin,
        bounds=surface.bounds,
        origin=surface.origin,
        cell=surface.cell,
        share=1.0 / surface.cell,
        doubt=doubt_of(fine_cell(surface)),
        index=surface.block,
        coarse=surface.coarse,
        blocks=surface.blocks.reshape(-1),
        error=surface.error.reshape(-1),
        triangles=surface.triangles,
        corners=surface.corners,
        neighbours=surface.neighbours,
        vertex_normals=surface.vertex_normals,
        boxes=surface.boxes,
        box_links=surface.box_links,
        slack=SLACK * surface.size,
        **_tree_fields(tree),
    )
    return solid, Ball(0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low)))


def primitive_solid(kind: int, half: np.ndarray, scale: float) -> tuple[Solid, Ball]:
    """A primitive of MuJoCo's beside a surface of that *scale* [m]."""
    samples = sample_primitive(kind, half, scale)
    if kind in (BOX, CYLINDER):  # by corners, and by parts of rims
        samples = samples._replace(normals=np.zeros_like(samples.points))
        tree = make_tree(samples, scale, PRIMITIVE_PATCHES)
    else:
        tree = make_tree(samples, scale)
    small, whole = np.float32, np.int32
    solid = Solid(
        kind=kind,
        half=np.array(half, float),
        probe=scale / 500.0,
        skin=0.0,
        bounds=np.zeros(6),
        origin=np.zeros(3),
        cell=1.0,
        share=1.0,
        doubt=0.0,
        index=np.zeros((0, 0, 0), whole),
        coarse=np.zeros((0, 0, 0), small),
        blocks=np.zeros(0, small),
        error=np.zeros(0, np.uint8),
        triangles=np.zeros((0, 9), small),
        corners=np.zeros((0, 3), whole),
        neighbours=np.zeros((0, 3), whole),
        vertex_normals=np.zeros((0, 3), small),
        boxes=np.zeros((0, 6), small),
        box_links=np.zeros((0, 2), whole),
        slack=SLACK * scale,
        **_tree_fields(tree),
    )
    reach = np.inf if kind == PLANE else _primitive_reach(kind, half)
    return solid, Ball(np.zeros(3), reach)


def _primitive_reach(kind: int, half: np.ndarray) -> float:
    """[m] of a ball about a primitive."""
    name = mujoco.mjtGeom(kind)
    if name == mujoco.mjtGeom.mjGEOM_SPHERE:
        return float(half[0])
    if name == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return float(half[0] + half[1])
    if name == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return float(np.hypot(half[0], half[1]))
    if name == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return float(half.max())
    return float(np.linalg.norm(half))


def _tree_fields(tree: Tree) -> dict[str, Any]:
    return dict(
        points=tree.points,
        normals=tree.normals,
        balls=tree.balls,
        links=tree.links,
        roots=tree.roots,
        firsts=tree.firsts,
        centre=tree.centre,
        reach=tree.reach,
    )


def check_kind(model: mujoco.MjModel, geom: int) -> None:
    """Refuse what has neither triangles nor a law."""
    kind = int(model.geom_type[geom])
    if kind not in (_MESH, _FIELD, *_PRIMITIVES):
        name = mujoco.mjtGeom(kind).name
        raise ShapeError(model.geom(geom).name or f"#{geom}", f"{name} has no distance here")
