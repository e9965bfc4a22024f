"""A surface as it is felt: its field, its triangles and its samples, baked once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from detent.errors import ShapeError
from detent.shapes.baking import bake_grid
from detent.shapes.constants import BLOCK, CELLS, THIN
from detent.shapes.mesh import Mesh, clean
from detent.shapes.samples import sample_surface, vertex_normals
from detent.shapes.thin import wall_thickness
from detent.shapes.tree import Tree, make_tree
from detent.shapes.triangles import triangle_tree

FORMAT = 5  # of what is baked: another number, another file


class Surface(NamedTuple):
    """All that a tick needs of a mesh, in its own frame."""

    size: float  # [m] the longest side of its bounds
    skin: float  # [m] half of the thickness of a sheet, 0 of a solid
    bounds: np.ndarray  # (6,) [m] low and high corner
    origin: np.ndarray  # (3,) [m] of the field
    cell: float  # [m] of a block
    block: np.ndarray  # (nx, ny, nz) int32
    coarse: np.ndarray  # (nx + 1, ny + 1, nz + 1) float32
    blocks: np.ndarray  # (n, 9, 9, 9) float32
    error: np.ndarray  # (n, 8, 8, 8, 2) uint8
    triangles: np.ndarray  # (m, 9) float32, in the order of their tree
    corners: np.ndarray  # (m, 3) int32
    neighbours: np.ndarray  # (m, 3) int32
    vertex_normals: np.ndarray  # (v, 3) float32
    boxes: np.ndarray  # (n, 6) float32
    box_links: np.ndarray  # (n, 2) int32
    tree: Tree
    notes: tuple[str, ...]


def content_key(
    vertices: np.ndarray, faces: np.ndarray, thickness: float, cells: int = CELLS
) -> str:
    """What a surface is kept under: all that goes into it."""
    digest = hashlib.sha256(f"{FORMAT} {cells} {thickness!r}".encode())
    digest.update(np.ascontiguousarray(vertices, np.float64).tobytes())
    digest.update(np.ascontiguousarray(faces, np.int64).tobytes())
    return digest.hexdigest()[:32]


def bake(
    vertices: np.ndarray,
    faces: np.ndarray,
    name: str = "mesh",
    thickness: float = 0.0,
    cells: int = CELLS,
    progress: Callable[[float], None] = lambda done: None,
) -> Surface:
    """Make a surface of a mesh; with a *thickness* [m] a sheet, open or not, becomes a solid."""
    skin = 0.5 * thickness
    mesh = clean(vertices, faces, name, sheet=skin > 0.0)
    order, boxes, links = triangle_tree(mesh.vertices[mesh.faces])
    mesh = _reordered(mesh, order)
    triangles = mesh.vertices[mesh.faces].reshape(-1, 9).astype(np.float32)
    _check_thick(mesh, triangles, boxes, links, skin, cells, name)
    grid = bake_grid(triangles, boxes, links, skin, cells, progress)
    samples = sample_surface(mesh, skin, both_sides=skin > 0.0)
    return Surface(
        mesh.size + thickness,
        skin,
        np.concatenate([boxes[0, :3] - skin, boxes[0, 3:] + skin]).astype(float),
        grid.origin,
        grid.cell,
        grid.block,
        grid.coarse,
        grid.blocks,
        grid.error,
        triangles,
        mesh.faces,
        mesh.neighbours,
        vertex_normals(mesh).astype(np.float32),
        boxes,
        links,
        make_tree(samples, mesh.size),
        mesh.notes,
    )


def _reordered(mesh: Mesh, order: np.ndarray) -> Mesh:
    """The triangles of a mesh in another order."""
    back = np.empty(len(order) + 1, np.int32)
    back[order] = np.arange(len(order))
    back[-1] = -1
    return mesh._replace(
        faces=np.ascontiguousarray(mesh.faces[order]),
        neighbours=np.ascontiguousarray(back[mesh.neighbours[order]]),
        normals=mesh.normals[order],
    )


def _check_thick(
    mesh: Mesh,
    triangles: np.ndarray,
    boxes: np.ndarray,
    links: np.ndarray,
    skin: float,
    cells: int,
    name: str,
) -> None:
    """Refuse what the field would not see: walls, or a skin, of less than `THIN` cells."""
    least = THIN * mesh.size / cells
    if skin > 0.0:
        if 2.0 * skin < least:
            raise ShapeError(
                name,
                f"a thickness of {2e3 * skin:.3g} mm is too little: a sheet of its size needs "
                f"at least {1e3 * least:.3g} mm",
            )
        return
    wall = wall_thickness(mesh, triangles, boxes, links)
    if wall < least:
        raise ShapeError(
            name,
            f"it is a thin shell, {1e3 * wall:.3g} mm at a tenth of it; walls of its size need "
            f"{1e3 * least:.3g} mm. Feel it as a sheet with such a thickness "
            f"(concave={{'geom': {least:.2g}}} [m]), or by its hull",
        )


def fine_cell(surface: Surface) -> float:
    """[m] between two distances of a block."""
    return surface.cell / BLOCK
