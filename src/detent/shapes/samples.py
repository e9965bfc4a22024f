"""Points that stand for a surface where it may touch another: its convex edges and vertices.

Where two surfaces first meet, a convex vertex of one lies on a face of the other, or two edges
cross. So vertices are taken, and points along the edges, the nearer to each other the more the
edge bends. Inner edges and dents cannot be the first to touch: what reaches into them is sampled
itself. Where a surface is smooth, its vertices are thinned out by how much it is bent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detent.shapes.constants import (
    BENT,
    COARSEST,
    CONVEX,
    EDGE_STEP,
    FINEST,
    LEAST_STEP,
    SAGITTA,
)
from detent.shapes.mesh import Mesh


class Samples(NamedTuple):
    """Points of a surface, the way it faces there, and how thick it is about them."""

    points: np.ndarray  # (n, 3) [m]
    normals: np.ndarray  # (n, 3)
    radii: np.ndarray  # (n,) [m]


class Edges(NamedTuple):
    """Edges between two triangles, each once."""

    ends: np.ndarray  # (n, 2) vertices
    angle: np.ndarray  # (n,) [rad] by which the surface bends: positive where it is convex
    normal: np.ndarray  # (n, 3) between those of the two triangles


def edges_of(mesh: Mesh) -> Edges:
    """All edges; one with a single side bends by half a turn."""
    face, side = np.divmod(np.arange(3 * len(mesh.faces)), 3)
    other = mesh.neighbours.ravel()
    once = (other < 0) | (face < other)
    face, side, other = face[once], side[once], other[once]
    ends = np.stack([mesh.faces[face, side], mesh.faces[face, (side + 1) % 3]], axis=1)
    one, two = mesh.normals[face], mesh.normals[other]
    along = mesh.vertices[ends[:, 1]] - mesh.vertices[ends[:, 0]]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    angle = np.arctan2(
        np.einsum("ij,ij->i", np.cross(one, two), along), np.einsum("ij,ij->i", one, two)
    )
    angle[other < 0] = np.pi
    normal = one + np.where(other[:, None] < 0, 0.0, two)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = np.where(length > 1e-6, normal / np.maximum(length, 1e-6), one)
    return Edges(ends, angle, normal)


def sample_surface(mesh: Mesh, radius: float = 0.0, both_sides: bool = False) -> Samples:
    """Samples of a mesh; of a sheet (*both_sides*) every bend is convex from one side."""
    edges = edges_of(mesh)
    if both_sides:
        edges = edges._replace(angle=np.abs(edges.angle))
    along, along_normals = _along_edges(mesh, edges)
    vertices = _kept_vertices(mesh, edges, both_sides)
    normals = vertex_normals(mesh)
    points = np.concatenate([mesh.vertices[vertices], along])  # the sharpest corners come first
    return Samples(
        points, np.concatenate([normals[vertices], along_normals]), np.full(len(points), radius)
    )


def vertex_normals(mesh: Mesh) -> np.ndarray:
    """Weighted by the angles of the triangles (Baerentzen and Aanaes 2005)."""
    out = np.zeros_like(mesh.vertices)
    corners = mesh.vertices[mesh.faces]
    for k in range(3):
        a = corners[:, (k + 1) % 3] - corners[:, k]
        b = corners[:, (k + 2) % 3] - corners[:, k]
        angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum("ij,ij->i", a, b))
        for axis in range(3):
            out[:, axis] += np.bincount(
                mesh.faces[:, k], mesh.normals[:, axis] * angle, len(mesh.vertices)
            )
    length = np.linalg.norm(out, axis=1, keepdims=True)
    out = np.where(length > 1e-9, out / np.maximum(length, 1e-9), 0.0)
    return out


def _along_edges(mesh: Mesh, edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    """Points between the ends of convex edges, and their normals."""
    a, b = mesh.vertices[edges.ends[:, 0]], mesh.vertices[edges.ends[:, 1]]
    length = np.linalg.norm(b - a, axis=1)
    step = np.maximum(EDGE_STEP / np.maximum(edges.angle, 1e-9), LEAST_STEP) * mesh.size
    parts = np.where(edges.angle > CONVEX, np.ceil(length / step), 1).astype(np.int64)
    which = np.repeat(np.arange(len(parts)), parts - 1)
    first = np.cumsum(parts - 1) - (parts - 1)
    place = (np.arange(len(which)) - first[which] + 1) / parts[which]
    return a[which] + place[:, None] * (b - a)[which], edges.normal[which]


def _kept_vertices(mesh: Mesh, edges: Edges, both_sides: bool) -> np.ndarray:
    """Vertices that may touch first: at a convex edge, and thinned out where it hardly bends."""
    count = len(mesh.vertices)
    bend, curved = np.zeros(count), np.zeros(count)
    length = np.linalg.norm(
        mesh.vertices[edges.ends[:, 1]] - mesh.vertices[edges.ends[:, 0]], axis=1
    )
    for end in range(2):
        np.maximum.at(bend, edges.ends[:, end], edges.angle)
        np.maximum.at(curved, edges.ends[:, end], np.maximum(edges.angle, 0.0) / length)
    if both_sides:
        bend = np.maximum(bend, 2.0 * CONVEX)
    convex = np.flatnonzero(bend > CONVEX)
    sharp = convex[bend[convex] > BENT]
    smooth = convex[bend[convex] <= BENT]
    return np.concatenate([sharp, _thinned(mesh, smooth, curved[smooth])])


def _thinned(mesh: Mesh, which: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """One vertex of each cell of a lattice as wide as the bulge between two may be."""
    apart = np.sqrt(8.0 * SAGITTA * mesh.size / np.maximum(curvature, 1e-9))
    apart = np.clip(apart, FINEST * mesh.size, COARSEST * mesh.size)
    level = np.floor(np.log2(apart / (FINEST * mesh.size))).astype(np.int64)
    cell = FINEST * mesh.size * 2.0**level
    places = np.floor(mesh.vertices[which] / cell[:, None]).astype(np.int64)
    keys = np.concatenate([level[:, None], places], axis=1)
    order = np.argsort(-curvature, kind="stable")
    _, first = np.unique(keys[order], axis=0, return_index=True)
    return which[order[first]]
