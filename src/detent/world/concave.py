"""Which meshes are felt as they are, and not as their convex hulls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import mujoco
import numpy as np

from detent.checks import positive
from detent.errors import ParameterError, UnknownNameError
from detent.world.declared import declared_text
from detent.world.decompose import hollow
from detent.world.names import geom_name

Concave = bool | str | Iterable[str] | Mapping[str, float] | None

BULGE = 1e-3  # [-] of its size by which a mesh may lie inside its hull and is still felt as that
_MESH = int(mujoco.mjtGeom.mjGEOM_MESH)
_NONE, _ALL = "none", "all"
ALLOWED = "'all', 'none', or names of meshes, each perhaps with a thickness in metres (name=0.001)"


def concave_geoms(model: mujoco.MjModel, asked: Concave) -> dict[int, float]:
    """Geoms that are felt as they are, with the thickness [m] of those that are sheets.

    *asked*: True for every mesh that is not convex, names of geoms or meshes, or names with a
    thickness; None leaves it to the scene (``<text name="detent.concave" data="all"/>``).
    """
    if asked is None:
        asked = declared_text(model, "detent.concave") or False
    if isinstance(asked, str):
        asked = read_concave(asked)
    if asked is False:
        return {}
    if asked is True:
        return dict.fromkeys(hollow_geoms(model), 0.0)
    if not isinstance(asked, Iterable):
        raise ParameterError("concave", asked, f"True, False, {ALLOWED}")
    given = asked if isinstance(asked, Mapping) else dict.fromkeys(asked, 0.0)
    found: dict[int, float] = {}
    for name, thickness in given.items():
        if thickness != 0.0:
            positive(f"the thickness of {name!r}", thickness)
        found |= dict.fromkeys(_named(model, name), float(thickness))
    return found


def read_concave(said: str) -> Concave:
    """What a scene or the command line says: all, none, or names, each perhaps with a thickness."""
    words = said.replace(",", " ").split()
    if words in ([_ALL], [_NONE]):
        return words == [_ALL]
    given = {}
    for word in words:
        name, _, thickness = word.partition("=")
        try:
            given[name] = float(thickness or 0.0)
        except ValueError:
            raise ParameterError("concave", said, ALLOWED) from None
    if not given:
        raise ParameterError("concave", said, ALLOWED)
    return given


def mesh_geoms(model: mujoco.MjModel) -> list[int]:
    """Geoms that are meshes and collide."""
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    collides[model.pair_geom1], collides[model.pair_geom2] = True, True
    return [int(g) for g in np.flatnonzero((model.geom_type == _MESH) & collides)]


def _named(model: mujoco.MjModel, name: str) -> list[int]:
    """The mesh geoms of that name, or of the mesh of that name."""
    known = mesh_geoms(model)
    names = {g: (geom_name(model, g), model.mesh(model.geom_dataid[g]).name) for g in known}
    found = [g for g in known if name in names[g]]
    if not found:
        raise UnknownNameError(
            "mesh that collides", name, {one for both in names.values() for one in both}
        )
    return found


def bulge(model: mujoco.MjModel, geom: int) -> float:
    """[m] How deep the mesh of a geom lies inside its hull, at most."""
    mesh = model.geom_dataid[geom]
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    vertices = model.mesh_vert[first : first + count].astype(float)
    first, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    least = BULGE * float(np.ptp(vertices, axis=0).max())
    depth = hollow(vertices, model.mesh_face[first : first + count], least)
    return depth if depth > least else 0.0


def hollow_geoms(model: mujoco.MjModel) -> dict[int, float]:
    """Mesh geoms that collide and are not convex, and how deep [m] they lie inside their hulls."""
    depths: dict[int, float] = {}
    found = {}
    for geom in mesh_geoms(model):
        mesh = int(model.geom_dataid[geom])
        if mesh not in depths:
            depths[mesh] = bulge(model, geom)
        if depths[mesh] > 0.0:
            found[geom] = depths[mesh]
    return found
