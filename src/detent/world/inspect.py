"""What Detent sees in a scene, in words."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from detent.world.world import World

_MESH = mujoco.mjtGeom.mjGEOM_MESH
_OTHER = {
    mujoco.mjtEq.mjEQ_CONNECT: "connect",
    mujoco.mjtEq.mjEQ_WELD: "weld",
    mujoco.mjtEq.mjEQ_JOINT: "joint",
    mujoco.mjtEq.mjEQ_TENDON: "tendon",
}


def inspect_world(world: World) -> dict[str, Any]:
    """Bodies, freedom, tool, loops, contacts and warnings, as plain values."""
    model = world.model
    data = mujoco.MjData(model)
    data.qpos[:] = world.qpos
    mujoco.mj_forward(model, data)
    moving = [b for b in range(1, model.nbody) if model.body_treeid[b] >= 0]
    mass = float(sum(model.body_mass[b] for b in world.tool_bodies))
    return {
        "scene": world.name,
        "bodies": f"{model.nbody - 1}, of which {len(moving)} can move in {model.ntree} tree(s)",
        "degrees_of_freedom": int(model.nv),
        "tool": f"{world.body_name(world.tool)}: {len(world.tool_dofs)} degrees of freedom, "
        f"{mass:.4g} kg",
        "tool_bodies": [world.body_name(b) for b in world.tool_bodies],
        "held_link": world.body_name(world.held),
        "hand_point": f"({', '.join(f'{x:.4g}' for x in world.point)}) m in its frame",
        "loops": _loops(model),
        "contact_pairs_at_the_start": _touching(model, data),
        "gravity": f"({', '.join(f'{x:.4g}' for x in model.opt.gravity)}) m/s²",
        "overrides": _overrides(world),
        "warnings": _warnings(world, model, data),
    }


def _geom(model: mujoco.MjModel, geom: int) -> str:
    return model.geom(geom).name or f"#{geom}"


def _loops(model: mujoco.MjModel) -> list[str]:
    return [
        f"{_OTHER.get(mujoco.mjtEq(model.eq_type[i]), 'other')} {model.equality(i).name or f'#{i}'}"
        for i in range(model.neq)
    ]


def _touching(model: mujoco.MjModel, data: mujoco.MjData) -> list[str]:
    pairs = {
        f"{_geom(model, int(a))}–{_geom(model, int(b))}"
        for a, b in data.contact.geom
        if a >= 0 and b >= 0
    }
    return sorted(pairs)


def _overrides(world: World) -> list[str]:
    named = np.nonzero(np.isfinite(world.properties).any(axis=1))[0]
    return [_geom(world.model, int(g)) for g in named]


def _warnings(world: World, model: mujoco.MjModel, data: mujoco.MjData) -> list[str]:
    out = []
    deep = min((float(d) for d in data.contact.dist), default=0.0)
    if deep < -1e-3:
        out.append(
            f"bodies overlap by {-1e3 * deep:.3g} mm at the start: they will be pushed apart"
        )
    collides = [
        g
        for g in range(model.ngeom)
        if model.body_treeid[model.geom_bodyid[g]] == world.tree
        and (model.geom_contype[g] or model.geom_conaffinity[g])
    ]
    if not collides and model.npair == 0:
        out.append("the tool has no geom that collides: the hand will feel no contact")
    if model.neq:
        out.append("equality constraints (loops) are not rendered yet: the loop will open")
    meshes = [_geom(model, g) for g in range(model.ngeom) if model.geom_type[g] == _MESH]
    if meshes:
        out.append(f"meshes collide as their convex hulls: {', '.join(meshes[:6])}")
    if model.na:
        out.append("actuators with dynamics of their own do not move: their state is held")
    if np.isfinite(world.properties[:, 3]).any():
        out.append("friction of geoms acts only if the session's contact has a friction law")
    if model.nplugin:
        out.append("plugins are ignored")
    balls = sum(
        bool(model.jnt_limited[j]) and model.jnt_type[j] == mujoco.mjtJoint.mjJNT_BALL
        for j in range(model.njnt)
    )
    if balls:
        out.append("limits of ball joints are ignored")
    if model.ntendon:
        out.append("limits of tendons are ignored; their springs and dampers act")
    if (model.dof_frictionloss > 0.0).any():
        out.append("dry friction in joints (frictionloss) is ignored")
    return out
