"""What MuJoCo's geoms look like: triangles and colours, in the frame of their body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

import mujoco
import numpy as np
import trimesh

Colour = tuple[float, float, float, float]

UNCOLOURED: Colour = (0.5, 0.5, 0.5, 1.0)  # what MuJoCo gives a geom without a colour
WORLD_COLOUR: Colour = (0.55, 0.60, 0.68, 1.0)
TOOL_COLOUR: Colour = (0.90, 0.55, 0.15, 1.0)
VISIBLE_GROUPS = 3  # MuJoCo's viewers draw the groups 0, 1 and 2
SHARP = np.radians(30.0)  # an edge sharper than this is drawn as an edge
SLAB = 0.06  # thickness of a plane, relative to the size of the world

_GEOM = mujoco.mjtGeom


class Shape(NamedTuple):
    """Triangles of one colour."""

    vertices: np.ndarray  # (n, 3) [m] in the body's frame
    faces: np.ndarray  # (m, 3)
    edges: np.ndarray  # (k, 2, 3) [m] sharp ones
    colour: Colour


def body_shapes(model: mujoco.MjModel, body: int, size: float, colour: Colour) -> list[Shape]:
    """The shapes of a body, one per colour.

    Args:
        model: the world.
        body: its id.
        size: [m] of the world, for planes without an end.
        colour: of geoms that the scene gives none.

    Limitations: height fields are not drawn.
    """
    by_colour: dict[Colour, list[trimesh.Trimesh]] = {}
    for geom in drawn_geoms(model, body):
        mesh = geom_mesh(model, geom, size)
        if mesh is not None:
            found = geom_colour(model, geom)
            by_colour.setdefault(colour if found == UNCOLOURED else found, []).append(mesh)
    return [_merged(meshes, shade) for shade, meshes in by_colour.items()]


def drawn_geoms(model: mujoco.MjModel, body: int) -> list[int]:
    """Geoms of a body that a MuJoCo viewer would draw; all of them if it drew none."""
    first = model.body_geomadr[body]
    geoms = list(range(first, first + model.body_geomnum[body]))
    solid = [g for g in geoms if geom_colour(model, g)[3] > 0.0]
    return [g for g in solid if model.geom_group[g] < VISIBLE_GROUPS] or solid


def geom_colour(model: mujoco.MjModel, geom: int) -> Colour:
    """The geom's own colour, or that of its material: with a texture the mean of that."""
    own = tuple(round(float(c), 4) for c in model.geom_rgba[geom])
    material = model.geom_matid[geom]
    if own == UNCOLOURED and material >= 0:
        shade = np.append(texture_colour(model, material), 1.0)
        own = tuple(round(float(c), 4) for c in shade * model.mat_rgba[material])
    return own  # type: ignore[return-value]


def texture_colour(model: mujoco.MjModel, material: int) -> np.ndarray:
    """(3,) The mean colour of a material's texture; white if it has none."""
    texture = int(model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB])
    if texture < 0 or model.tex_nchannel[texture] < 3:
        return np.ones(3)
    start, channels = int(model.tex_adr[texture]), int(model.tex_nchannel[texture])
    size = int(model.tex_width[texture]) * int(model.tex_height[texture]) * channels
    pixels = model.tex_data[start : start + size].reshape(-1, channels)[:, :3]
    mean: np.ndarray = pixels.mean(axis=0) / 255.0
    return mean


def is_endless(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a geom is a plane without an end."""
    is_plane = _GEOM(model.geom_type[geom]) == _GEOM.mjGEOM_PLANE
    return is_plane and bool(min(model.geom_size[geom, :2]) <= 0.0)


def geom_mesh(model: mujoco.MjModel, geom: int, size: float) -> trimesh.Trimesh | None:
    """The triangles of a geom in the frame of its body; None for a kind that is not drawn."""
    mesh = _primitive(_GEOM(model.geom_type[geom]), model.geom_size[geom], size)
    if mesh is None and model.geom_dataid[geom] >= 0:
        mesh = _asset(model, model.geom_dataid[geom])
    if mesh is None:
        return None
    place = np.eye(4)
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
    place[:3, :3], place[:3, 3] = rotation.reshape(3, 3), model.geom_pos[geom]
    return mesh.apply_transform(place)


def _primitive(kind: mujoco.mjtGeom, half: np.ndarray, size: float) -> trimesh.Trimesh | None:
    make = trimesh.creation
    if kind == _GEOM.mjGEOM_PLANE:  # a slab below the surface: a plane is thin from the side
        across = np.where(half[:2] > 0.0, half[:2], 2.0 * size)
        slab = make.box((2.0 * across[0], 2.0 * across[1], SLAB * size))
        return slab.apply_translation((0.0, 0.0, -0.5 * SLAB * size))
    if kind == _GEOM.mjGEOM_BOX:
        return make.box(2.0 * half)
    if kind in (_GEOM.mjGEOM_SPHERE, _GEOM.mjGEOM_ELLIPSOID):
        radii = half if kind == _GEOM.mjGEOM_ELLIPSOID else np.repeat(half[0], 3)
        return make.icosphere(subdivisions=3).apply_scale(radii)
    if kind == _GEOM.mjGEOM_CAPSULE:
        return make.capsule(height=2.0 * half[1], radius=half[0])
    if kind == _GEOM.mjGEOM_CYLINDER:
        return make.cylinder(height=2.0 * half[1], radius=half[0], sections=48)
    return None


def _asset(model: mujoco.MjModel, mesh: int) -> trimesh.Trimesh | None:
    if mesh >= model.nmesh or not model.mesh_facenum[mesh]:
        return None
    vertex, face = model.mesh_vertadr[mesh], model.mesh_faceadr[mesh]
    return trimesh.Trimesh(
        model.mesh_vert[vertex : vertex + model.mesh_vertnum[mesh]].astype(float),
        model.mesh_face[face : face + model.mesh_facenum[mesh]],
        process=False,
    )


def _merged(meshes: Iterable[trimesh.Trimesh], colour: Colour) -> Shape:
    """One shape of several meshes. Vertices are split at sharp edges, so that these look sharp."""
    plain = cast(trimesh.Trimesh, trimesh.util.concatenate(list(meshes)))
    sharp = plain.face_adjacency_edges[plain.face_adjacency_angles > SHARP]
    split = trimesh.graph.smooth_shade(plain, angle=SHARP)
    return Shape(np.asarray(split.vertices), np.asarray(split.faces), plain.vertices[sharp], colour)
