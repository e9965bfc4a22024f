"""The proxy's own model: the scene, cut to the tool, with nothing that could collide."""

from __future__ import annotations

import copy
from typing import NamedTuple

import mujoco
import numpy as np

from detent.errors import SceneError
from detent.world.world import PROPERTIES, World

_WRAPPED = int(mujoco.mjtWrap.mjWRAP_SPHERE), int(mujoco.mjtWrap.mjWRAP_CYLINDER)


class Cut(NamedTuple):
    """A world that holds the tool only, and where its parts are in the whole one."""

    world: World
    bodies: np.ndarray  # (nbody,) ids in the whole world
    qpos: np.ndarray  # (nq,) indices
    qvel: np.ndarray  # (nv,)


def cut_to_tool(world: World) -> Cut:
    """The tool alone: its trees, the static bodies that carry them, its loops and joint limits."""
    whole = world.model
    kept = _kept_bodies(world)
    spec = world.spec.copy()
    _name_all(spec)
    names = [spec.bodies[b].name for b in range(whole.nbody)]
    actuators = [one.name for one in spec.actuators]
    for kind in (spec.keys, spec.sensors, spec.tuples):
        for one in list(kind):
            spec.delete(one)
    scenery = _scenery(whole, spec)
    for b in range(whole.nbody - 1, 0, -1):
        if b not in kept and int(whole.body_parentid[b]) in kept:
            spec.delete(spec.body(names[b]))
    for one in [*spec.pairs, *scenery]:
        spec.delete(one)
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for b in kept[1:]:
        spec.body(names[b]).gravcomp = whole.body_gravcomp[b]
    try:
        model = spec.compile()
    except Exception as error:  # MuJoCo raises several types
        raise SceneError(f"the tool of {world.name!r} cannot be cut out of it: {error}") from error
    order = [names.index(model.body(b).name) for b in range(1, model.nbody)]
    bodies = np.array([0, *order])
    qpos, qvel = _state_indices(whole, bodies)
    control = [actuators.index(model.actuator(i).name) for i in range(model.nu)]
    cut = copy.copy(world)
    cut.spec, cut.model = spec, model
    cut.tool, cut.held = (int(np.nonzero(bodies == b)[0][0]) for b in (world.tool, world.held))
    cut.tree = int(model.body_treeid[cut.tool])
    cut.trees = set(range(model.ntree))
    cut.properties = np.full((model.ngeom, len(PROPERTIES)), np.nan)
    cut.concave = {}
    cut.qpos, cut.qvel = world.qpos[qpos].copy(), world.qvel[qvel].copy()
    cut.ctrl = world.ctrl[control].copy()
    cut.act = world.act[_activations(whole, control)].copy()
    return Cut(cut, bodies, qpos, qvel)


def _kept_bodies(world: World) -> list[int]:
    """The world, the tool's bodies, and the static bodies between them."""
    kept = {0}
    for body in world.tool_bodies:
        while body != 0:
            kept.add(body)
            body = int(world.model.body_parentid[body])
    return sorted(kept)


def _scenery(whole: mujoco.MjModel, spec: mujoco.MjSpec) -> list[mujoco.MjsGeom]:
    """Geoms of the world itself, but those around which tendons are led."""
    around = np.isin(whole.wrap_type, _WRAPPED)
    wrapped = set(whole.wrap_objid[around].tolist())
    return [geom for geom in spec.worldbody.geoms if geom.id not in wrapped]


def _name_all(spec: mujoco.MjSpec) -> None:
    """Names for everything that has none, so that it is found again in what is left."""
    for kind, items in (("body", spec.bodies), ("actuator", spec.actuators)):
        for i, one in enumerate(items):
            if not one.name:
                one.name = f"#{kind}{i}"


def _activations(whole: mujoco.MjModel, actuators: list[int]) -> list[int]:
    """Where the states of these actuators are in that of the whole world."""
    out: list[int] = []
    for i in actuators:
        first = int(whole.actuator_actadr[i])
        out += range(first, first + int(whole.actuator_actnum[i]))
    return out


def _state_indices(whole: mujoco.MjModel, bodies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the coordinates of these bodies are in the state of the whole world."""
    qpos: list[int] = []
    qvel: list[int] = []
    for body in bodies:
        first, count = whole.body_jntadr[body], whole.body_jntnum[body]
        for joint in range(first, first + count):
            size = {0: 7, 1: 4}.get(int(whole.jnt_type[joint]), 1)
            qpos += range(whole.jnt_qposadr[joint], whole.jnt_qposadr[joint] + size)
        qvel += range(whole.body_dofadr[body], whole.body_dofadr[body] + whole.body_dofnum[body])
    return np.array(qpos, np.int64), np.array(qvel, np.int64)
