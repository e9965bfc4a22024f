"""What Detent sees in a scene, in words."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from detent.world.loops import OPEN, active_equalities, closure_rows, equality_name, opening
from detent.world.world import World, body_name

_MESH = mujoco.mjtGeom.mjGEOM_MESH
_LOOSE = 1e-6  # [m, rad] a loop that is open by more at the start is worth a warning
_TARGETS = {
    mujoco.mjtTrn.mjTRN_JOINT: mujoco.mjtObj.mjOBJ_JOINT,
    mujoco.mjtTrn.mjTRN_JOINTINPARENT: mujoco.mjtObj.mjOBJ_JOINT,
    mujoco.mjtTrn.mjTRN_TENDON: mujoco.mjtObj.mjOBJ_TENDON,
    mujoco.mjtTrn.mjTRN_SITE: mujoco.mjtObj.mjOBJ_SITE,
    mujoco.mjtTrn.mjTRN_BODY: mujoco.mjtObj.mjOBJ_BODY,
}
_EQUALITIES = {
    mujoco.mjtEq.mjEQ_CONNECT: "connect",
    mujoco.mjtEq.mjEQ_WELD: "weld",
    mujoco.mjtEq.mjEQ_JOINT: "joint",
    mujoco.mjtEq.mjEQ_TENDON: "tendon",
}


def inspect_world(world: World) -> dict[str, Any]:
    """Bodies, freedom, tool, loops, servos, contacts and warnings, as plain values."""
    model = world.model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = world.qpos, world.qvel, world.ctrl
    mujoco.mj_forward(model, data)
    moving = [b for b in range(1, model.nbody) if model.body_treeid[b] >= 0]
    mass = float(sum(model.body_mass[b] for b in world.tool_bodies))
    return {
        "scene": world.name,
        "bodies": f"{model.nbody - 1}, of which {len(moving)} can move in {model.ntree} tree(s)",
        "degrees_of_freedom": int(model.nv),
        "left_by_loops": int(model.nv - _rank(model, data)),
        "tool": f"{world.body_name(world.tool)}: {len(world.tool_dofs)} degrees of freedom, "
        f"{mass:.4g} kg",
        "tool_bodies": [world.body_name(b) for b in world.tool_bodies],
        "held_link": world.body_name(world.held),
        "hand_point": f"({', '.join(f'{x:.4g}' for x in world.point)}) m in its frame",
        "start": _start(world),
        "loops": [_equality(model, i) for i in range(model.neq)],
        "actuators": [_actuator(world, model, i) for i in range(model.nu)],
        "springs": [model.joint(j).name or f"#{j}" for j in np.nonzero(model.jnt_stiffness)[0]],
        "contact_pairs_at_the_start": _touching(model, data),
        "gravity": f"({', '.join(f'{x:.4g}' for x in model.opt.gravity)}) m/s²",
        "overrides": _overrides(world),
        "warnings": _warnings(world, model, data),
    }


def _geom(model: mujoco.MjModel, geom: int) -> str:
    return model.geom(geom).name or f"#{geom}"


def _start(world: World) -> str:
    key = mujoco.mj_name2id(world.model, mujoco.mjtObj.mjOBJ_KEY, "start")
    if key >= 0 and np.array_equal(world.qpos, world.model.key_qpos[key]):
        return "keyframe start"
    return "qpos0" if np.array_equal(world.qpos, world.model.qpos0) else "placed"


def _rank(model: mujoco.MjModel, data: mujoco.MjData) -> int:
    """How many degrees of freedom the equality constraints take at the start."""
    rows, _ = closure_rows(model, data)
    return int(np.linalg.matrix_rank(rows, rtol=1e-9)) if len(rows) else 0


def _equality(model: mujoco.MjModel, i: int) -> str:
    """A loop closure, and the two things that it ties."""
    kind = mujoco.mjtEq(model.eq_type[i])
    word = _EQUALITIES.get(kind, "other")
    tied = [int(model.eq_obj1id[i]), int(model.eq_obj2id[i])]
    if kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
        if model.eq_objtype[i] == int(mujoco.mjtObj.mjOBJ_SITE):
            tied = [int(model.site_bodyid[site]) for site in tied]
        names = ["the world" if b == 0 else body_name(model, b) for b in tied]
    elif kind in (mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtEq.mjEQ_TENDON):
        look_up = model.joint if kind == mujoco.mjtEq.mjEQ_JOINT else model.tendon
        names = [look_up(k).name or f"#{k}" for k in tied if k >= 0]
    else:
        names = []
    idle = "" if model.eq_active0[i] else " (not active)"
    return f"{word} {equality_name(model, i)}: {'–'.join(names) or '?'}{idle}"


def _actuator(world: World, model: mujoco.MjModel, i: int) -> str:
    """What an actuator does, to what, and what it is told at the start."""
    gain, bias = model.actuator_gainprm[i, 0], model.actuator_biasprm[i]
    kind = "actuator"
    if model.actuator_biastype[i] == int(mujoco.mjtBias.mjBIAS_AFFINE) and gain:
        kind = {bias[1]: "position servo", bias[2]: "velocity servo"}.get(-gain, kind)
    elif model.actuator_biastype[i] == int(mujoco.mjtBias.mjBIAS_NONE):
        kind = "motor"
    target = _TARGETS.get(mujoco.mjtTrn(model.actuator_trntype[i]))
    at = int(model.actuator_trnid[i, 0])
    named = mujoco.mj_id2name(model, target, at) if target is not None else None
    name = model.actuator(i).name or f"#{i}"
    return f"{name}: {kind} on {named or f'#{at}'}, told {world.ctrl[i]:.4g}"


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
        if model.body_treeid[model.geom_bodyid[g]] in world.trees
        and (model.geom_contype[g] or model.geom_conaffinity[g])
    ]
    if not collides and model.npair == 0:
        out.append("the tool has no geom that collides: the hand will feel no contact")
    for i in active_equalities(model):
        apart, turned = opening(model, data, i)
        if max(apart, turned) > _LOOSE:
            gap = f"{apart:.3g} m and {turned:.3g} rad"
            refused = "; no session starts so" if max(apart, turned) > OPEN else ""
            out.append(f"the loop {equality_name(model, i)} is open by {gap} at the start{refused}")
    if model.neq and not active_equalities(model):
        out.append("its loops are switched off: equality constraints are disabled or not active")
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
