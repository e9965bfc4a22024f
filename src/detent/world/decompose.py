"""Meshes that are not convex: how far their hulls stick out, and convex parts instead (CoACD)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from detent.errors import MissingExtraError
from detent.kernels.cached import cache_home

HOLLOW = 0.02  # [-] of its size by which a mesh may lie inside its hull and still pass as convex
_PLANES = 512  # of a hull that all faces are tried against
_BLOCK, _BLOCKS = 1024, 16  # faces that are tried against all, at once and at most
THRESHOLD = 0.05  # [-] concavity that CoACD leaves
_MESH = int(mujoco.mjtGeom.mjGEOM_MESH)


def mesh_surface(model: mujoco.MjModel, mesh: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m] and faces of a mesh, in the frame in which its file gives them."""
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    vertices = model.mesh_vert[first : first + count].astype(float)
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.mesh_quat[mesh])
    first, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    faces = model.mesh_face[first : first + count]
    return vertices @ turn.reshape(3, 3).T + model.mesh_pos[mesh], faces


def hollow(vertices: np.ndarray, faces: np.ndarray, least: float | None = None) -> float:
    """[m] How deep a surface lies inside its convex hull, at most; exact where it is hollow.

    Hollow is what lies deeper than *least* [m], by default the tolerance of a decomposition.
    All faces are tried against some planes of the hull, which bounds their depths from above.
    Only those that may be the deepest are tried against all planes.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(vertices)
    except QhullError:  # flat: it has no inside
        return 0.0
    centres = vertices[faces].mean(axis=1)
    bound = _depths(centres, _some_planes(hull))
    order = np.argsort(-bound)
    deepest, least = 0.0, tolerance(vertices) if least is None else least
    for first in range(0, min(len(order), _BLOCK * _BLOCKS), _BLOCK):
        block = order[first : first + _BLOCK]
        if bound[block[0]] <= max(deepest, least):
            break
        deepest = max(deepest, float(_depths(centres[block], hull.equations).max()))
    return deepest


def _some_planes(hull: Any) -> np.ndarray:
    """The largest sides of a hull, and as many by chance: a sphere has no large ones."""
    corners = hull.points[hull.simplices]
    sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    largest = np.argsort(-np.linalg.norm(sides, axis=1))[:_PLANES]
    chance = np.random.default_rng(0).permutation(len(sides))[:_PLANES]
    return hull.equations[np.union1d(largest, chance)]


def _depths(points: np.ndarray, planes: np.ndarray) -> np.ndarray:
    """[m] of each point below the nearest plane."""
    nearest = np.full(len(points), np.inf)
    for first in range(0, len(planes), _PLANES):
        some = planes[first : first + _PLANES]
        np.minimum(nearest, -(points @ some[:, :3].T + some[:, 3]).max(axis=1), out=nearest)
    return nearest


def tolerance(vertices: np.ndarray) -> float:
    """[m] by which a surface may lie inside its hull and still pass as convex."""
    return HOLLOW * float(np.ptp(vertices, axis=0).max())


def colliding_meshes(model: mujoco.MjModel) -> list[int]:
    """Meshes of geoms that collide."""
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    return sorted({int(m) for m in model.geom_dataid[(model.geom_type == _MESH) & collides]})


def hollow_meshes(model: mujoco.MjModel) -> dict[int, float]:
    """Colliding meshes whose hulls feel wrong, and how deep [m] they lie inside of these."""
    found = {}
    for mesh in colliding_meshes(model):
        vertices, faces = mesh_surface(model, mesh)
        depth = hollow(vertices, faces)
        if depth > tolerance(vertices):
            found[mesh] = depth
    return found


def convex_parts(vertices: np.ndarray, faces: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Convex parts of a surface, from the cache if it holds them."""
    vertices, faces = np.ascontiguousarray(vertices), np.ascontiguousarray(faces, np.int32)
    digest = hashlib.sha256(vertices.tobytes() + faces.tobytes() + f"{THRESHOLD}".encode())
    place = cache_home() / "parts" / f"{digest.hexdigest()[:32]}.npz"
    if not place.exists():
        _store(place, _run_coacd(vertices, faces))
    with np.load(place) as kept:
        return [(kept[f"v{i}"], kept[f"f{i}"]) for i in range(len(kept.files) // 2)]


def _run_coacd(vertices: np.ndarray, faces: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    try:
        import coacd
    except ImportError:
        raise MissingExtraError("decomposing meshes", "coacd") from None
    coacd.set_log_level("error")
    return list(coacd.run_coacd(coacd.Mesh(vertices, faces), threshold=THRESHOLD))


def _store(place: Path, parts: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Write the parts under another name first: a cache never holds half of them."""
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = place.with_suffix(".part.npz")
    arrays: dict[str, Any] = {f"v{i}": v for i, (v, _) in enumerate(parts)}
    arrays |= {f"f{i}": f for i, (_, f) in enumerate(parts)}
    np.savez(scratch, **arrays)
    scratch.replace(place)


def decompose_meshes(spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    """Replace colliding meshes that are not convex by their parts; *model* is the spec, compiled.

    The mesh itself stays, to be seen and weighed, but collides no more.
    """
    parts = {
        model.mesh(mesh).name: convex_parts(*mesh_surface(model, mesh))
        for mesh in hollow_meshes(model)
    }
    for name, pieces in parts.items():
        for i, (vertices, faces) in enumerate(pieces):
            spec.add_mesh(
                name=f"{name}#{i}",
                uservert=vertices.astype(np.float32).ravel(),
                userface=faces.ravel(),
            )
    for geom in list(spec.geoms):
        if geom.meshname in parts and (geom.contype or geom.conaffinity):
            _replace(geom, len(parts[geom.meshname]))


def _replace(geom: mujoco.MjsGeom, count: int) -> None:
    for i in range(count):
        geom.parent.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"{geom.meshname}#{i}",
            pos=geom.pos, quat=geom.quat, contype=geom.contype, conaffinity=geom.conaffinity,
            priority=geom.priority, margin=geom.margin, gap=geom.gap, mass=0.0, group=3,
        )  # fmt: skip
    geom.contype = geom.conaffinity = 0
