"""A mesh as a surface: vertices merged, triangles oriented, and what is wrong with it said."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detent.errors import ShapeError
from detent.shapes.constants import FLAT, MERGE


class Mesh(NamedTuple):
    """A surface of triangles that face outwards."""

    vertices: np.ndarray  # (n, 3) [m]
    faces: np.ndarray  # (m, 3) int32
    neighbours: np.ndarray  # (m, 3) int32: across the edges 01, 12 and 20; -1 = none
    normals: np.ndarray  # (m, 3)
    size: float  # [m] the longest side of its bounds
    notes: tuple[str, ...]  # what was mended


def clean(vertices: np.ndarray, faces: np.ndarray, name: str, sheet: bool = False) -> Mesh:
    """A mesh that has an inside: closed, facing outwards. A *sheet* may be open.

    Vertices that coincide are merged (unmerged, a mesh has no edges at all), triangles without
    area are left out, and those that face the wrong way are turned.
    """
    vertices, faces = _checked(vertices, faces, name)
    notes: list[str] = []
    size = float(np.ptp(vertices[faces.ravel()], axis=0).max())
    vertices, faces = _merged(vertices, faces, size)
    faces, left_out = _solid_triangles(vertices, faces, size)
    if left_out:
        notes.append(f"{left_out} triangles without area or twice there are left out")
    if len(faces) == 0:
        raise ShapeError(name, "none of its triangles has an area")
    neighbours, open_edges, crowded, twisted = _joined(faces)
    if (twisted or crowded) and not sheet:
        faces, turned = _oriented(vertices, faces, neighbours)
        neighbours, open_edges, crowded, twisted = _joined(faces)
        notes.append(f"{turned} triangles faced the wrong way, and are turned")
    if open_edges and not sheet:
        raise ShapeError(
            name,
            f"it is open, {open_edges} of its edges have one side only, so it has no inside; close "
            "it, or give it a thickness (concave={'geom': 0.001} [m])",
        )
    if not sheet and _volume(vertices, faces) < 0.0:
        faces, neighbours = faces[:, ::-1].copy(), neighbours[:, [1, 0, 2]].copy()
        notes.append("all triangles faced inwards, and are turned")
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Mesh(
        vertices, faces.astype(np.int32), neighbours.astype(np.int32), normals, size, tuple(notes)
    )


def _checked(vertices: np.ndarray, faces: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    vertices, faces = np.asarray(vertices, float), np.asarray(faces)
    if vertices.ndim != 2 or vertices.shape[1:] != (3,) or faces.shape[1:] != (3,):
        raise ShapeError(name, "it must have vertices (n, 3) and triangles (m, 3)")
    if len(faces) == 0:
        raise ShapeError(name, "it has no triangles")
    if not np.issubdtype(faces.dtype, np.integer):
        raise ShapeError(name, f"its triangles must be whole numbers, not {faces.dtype}")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ShapeError(
            name,
            f"a triangle names vertex {int(faces.max() if faces.min() >= 0 else faces.min())}, "
            f"and there are {len(vertices)}",
        )
    if not np.isfinite(vertices[faces.ravel()]).all():
        raise ShapeError(name, "not all of its vertices are finite")
    if not np.ptp(vertices[faces.ravel()], axis=0).max() > 0.0:
        raise ShapeError(name, "it has no size")
    return vertices, faces.astype(np.int64)


def _merged(vertices: np.ndarray, faces: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices on the same place of a fine grid become one; twice, on grids that are shifted."""
    for shift in (0.0, 0.5):
        places = np.floor(vertices / (MERGE * size) + shift).astype(np.int64)
        _, first, which = np.unique(places, axis=0, return_index=True, return_inverse=True)
        vertices, faces = vertices[first], which.reshape(-1)[faces]
    used, faces = np.unique(faces, return_inverse=True)
    return vertices[used], faces.reshape(-1, 3)


def _solid_triangles(
    vertices: np.ndarray, faces: np.ndarray, size: float
) -> tuple[np.ndarray, int]:
    """Those with an area, each once; how many were left out."""
    corners = vertices[faces]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    kept = faces[area > FLAT * size * size]
    _, first = np.unique(np.sort(kept, axis=1), axis=0, return_index=True)
    kept = kept[np.sort(first)]
    return kept, len(faces) - len(kept)


def _joined(faces: np.ndarray) -> tuple[np.ndarray, int, int, int]:
    """Neighbours across edges; how many edges have one side, more than two, the same way twice."""
    count = len(faces)
    starts = faces[:, [0, 1, 2]].ravel()
    ends = faces[:, [1, 2, 0]].ravel()
    low, high = np.minimum(starts, ends), np.maximum(starts, ends)
    key = low * (int(faces.max()) + 1) + high
    order = np.argsort(key, kind="stable")
    _, first, uses = np.unique(key[order], return_index=True, return_counts=True)
    neighbours = np.full(3 * count, -1, np.int64)
    pairs = first[uses == 2]
    a, b = order[pairs], order[pairs + 1]
    neighbours[a], neighbours[b] = b // 3, a // 3
    twisted = int((starts[a] == starts[b]).sum())
    return neighbours.reshape(-1, 3), int((uses == 1).sum()), int((uses > 2).sum()), twisted


def _oriented(
    vertices: np.ndarray, faces: np.ndarray, neighbours: np.ndarray
) -> tuple[np.ndarray, int]:
    """Faces turned so that neighbours agree, each part outwards; how many were turned."""
    faces, turned = faces.copy(), np.zeros(len(faces), bool)
    seen = np.zeros(len(faces), bool)
    for seed in range(len(faces)):
        if seen[seed]:
            continue
        part, left = [], [seed]
        seen[seed] = True
        while left:
            face = left.pop()
            part.append(face)
            for other in neighbours[face]:
                if other < 0 or seen[other]:
                    continue
                seen[other] = True
                if _same_way(faces[face], faces[other]):
                    faces[other] = faces[other][::-1]
                    turned[other] = True
                left.append(int(other))
        members = np.array(part)
        if _volume(vertices, faces[members]) < 0.0:
            faces[members] = faces[members][:, ::-1]
            turned[members] ^= True
    return faces, int(turned.sum())


def _same_way(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two triangles run along their common edge in the same direction."""
    edges = {(int(one[i]), int(one[(i + 1) % 3])) for i in range(3)}
    return any((int(other[i]), int(other[(i + 1) % 3])) in edges for i in range(3))


def _volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    """[m³] that the triangles enclose, negative if they face inwards; about their middle."""
    corners = vertices[faces] - vertices[faces.ravel()].mean(axis=0)
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)
