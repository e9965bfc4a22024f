"""What Detent sees in a scene, in words."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from detent.world.altering import OVERLAP
from detent.world.concave import hollow_geoms
from detent.world.declared import keyframe_name
from detent.world.held_by import held_by
from detent.world.holdable import worth_holding
from detent.world.loops import OPEN, active_equalities, closure_rows, equality_name, opening
from detent.world.names import body_name, geom_name, joint_name
from detent.world.nested import nested_geoms
from detent.world.stiffness import least_rate, lightest_contact, stiffest
from detent.world.weight import default_gains
from detent.world.world import World

_RATES = (1000.0, 2000.0, 4000.0)  # [Hz]
_LOOSE = 1e-6  # [m, rad] a loop that is open by more at the start is worth a warning
_LISTED = 6  # of many that a warning names
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
        "springs": [joint_name(model, int(j)) for j in np.nonzero(model.jnt_stiffness)[0]],
        "worth_holding": [str(one) for one in worth_holding(model)],
        "friction": _friction(world, data),
        "default_stiffness": f"{default_gains(model, world.qpos, _RATES[0])[0]:.3g} N/m",
        "stiffest_contact": _stiffest(world, data),
        "contact_pairs_at_the_start": _touching(model, data),
        "gravity": f"({', '.join(f'{x:.4g}' for x in model.opt.gravity)}) m/s²",
        "felt_as_they_are": [geom_name(model, geom) for geom in sorted(world.concave)],
        "overrides": _overrides(world),
        "warnings": _warnings(world, model, data),
    }


def _friction(world: World, data: mujoco.MjData) -> str:
    """What a session has by default: the scene's, with the span of what touches, or none."""
    if not world.friction.scene:
        return "none, unless the session's contact has one"
    model = world.model
    known = data.contact.friction[data.contact.dim > 1, 0]
    where = "contacts at the start" if len(known) else "geoms"
    known = known if len(known) else model.geom_friction[model.geom_condim > 1, 0]
    turning = int((model.geom_condim > 3).sum() + (model.pair_dim > 3).sum())
    also = f", {turning} geom(s) or pair(s) resist turning" if turning else ""
    least, most = known.min(initial=np.inf), known.max(initial=0.0)
    span = f"{least:.3g}" if least == most else f"{least:.3g} to {most:.3g}"
    return f"the scene's, {span} at its {where}{also}" if len(known) else "the scene's pairs'"


def _stiffest(world: World, data: mujoco.MjData) -> str:
    """What a single contact of the tool can have where the tool is lightest."""
    light = lightest_contact(world, data)
    if light is None:
        return "none: the tool collides with nothing"
    listed = ", ".join(f"{stiffest(light.mass, r):.3g} at {r / 1e3:g} kHz" for r in _RATES)
    return f"{listed} [N/m], where {geom_name(world.model, light.geom)} is {light.mass:.3g} kg"


def _body(model: mujoco.MjModel, body: int) -> str:
    return "the world" if body == 0 else body_name(model, body)


def _start(world: World) -> str:
    for key in range(world.model.nkey):
        if np.array_equal(world.qpos, world.model.key_qpos[key]):
            return f"keyframe {keyframe_name(world.model, key)}"
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
        names = [_body(model, b) for b in tied]
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
        f"{geom_name(model, int(a))}–{geom_name(model, int(b))}"
        for a, b in data.contact.geom
        if a >= 0 and b >= 0
    }
    return sorted(pairs)


def _overrides(world: World) -> list[str]:
    named = np.nonzero(np.isfinite(world.properties).any(axis=1))[0]
    return [geom_name(world.model, int(g)) for g in named]


def _warnings(world: World, model: mujoco.MjModel, data: mujoco.MjData) -> list[str]:
    """What is wrong, or may surprise: what keeps a session from starting first."""
    return [
        *_open_loops(model, data),
        *held_by(world),
        *_overlap(model, data),
        *_untouchable(world, model),
        *_hollow_meshes(world),
        *_bounded(world, data),
        *_left_out(world, model),
    ]


def _open_loops(model: mujoco.MjModel, data: mujoco.MjData) -> list[str]:
    out = []
    for i in active_equalities(model):
        apart, turned = opening(model, data, i)
        if max(apart, turned) > _LOOSE:
            gap = f"{apart:.3g} m and {turned:.3g} rad"
            refused = "; no session starts so" if max(apart, turned) > OPEN else ""
            out.append(f"the loop {equality_name(model, i)} is open by {gap} at the start{refused}")
    return out


def _overlap(model: mujoco.MjModel, data: mujoco.MjData) -> list[str]:
    """Which bodies overlap at the start and will not stay so, the deepest first."""
    deep: dict[tuple[int, int], float] = {}
    inside = {tuple(pair) for pair in nested_geoms(model, data.qpos)[:, :2].tolist()}
    for pair, dist in zip(data.contact.geom, data.contact.dist, strict=True):
        if dist < -OVERLAP and min(pair) >= 0 and tuple(sorted(pair.tolist())) not in inside:
            one, other = sorted(int(b) for b in model.geom_bodyid[pair])
            deep[one, other] = max(deep.get((one, other), 0.0), -1e3 * float(dist))
    if not deep:
        return []
    worst = sorted(deep, key=lambda pair: -deep[pair])
    named = {pair: "–".join(_body(model, b) for b in pair) for pair in worst}
    listed = ", ".join(f"{named[pair]} by {deep[pair]:.3g} mm" for pair in worst[:_LISTED])
    more = f" and {len(worst) - _LISTED} more" if len(worst) > _LISTED else ""
    return [
        f"bodies overlap at the start and will be pushed apart: {listed}{more}; "
        "ignore_overlaps=True (--ignore-overlaps) lets them pass through each other"
    ]


def _untouchable(world: World, model: mujoco.MjModel) -> list[str]:
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    tool = np.isin(model.geom_bodyid, world.tool_bodies)
    if (collides & tool).any() or model.npair:
        return []
    return ["the tool has no geom that collides: the hand will feel no contact"]


def _hollow_meshes(world: World) -> list[str]:
    """Meshes that are felt as their hulls, and how far those are off."""
    model = world.model
    hollow = {g: d for g, d in hollow_geoms(model).items() if g not in world.concave}
    deep = {model.mesh(model.geom_dataid[g]).name: depth for g, depth in hollow.items()}
    if not deep:
        return []
    worst = sorted(deep, key=lambda name: -deep[name])
    listed = ", ".join(f"{name} (by {1e3 * deep[name]:.3g} mm)" for name in worst[:_LISTED])
    more = f" and {len(worst) - _LISTED} more" if len(worst) > _LISTED else ""
    return [
        f"meshes that are not convex collide as their hulls, which are too full: {listed}{more}; "
        "concave=True (--concave all) feels them as they are, "
        "decompose=True (--decompose) collides them in convex parts"
    ]


def _bounded(world: World, data: mujoco.MjData) -> list[str]:
    light = lightest_contact(world, data)
    stiffness, _ = default_gains(world.model, world.qpos, _RATES[-1])
    if light is None or least_rate(light.mass, stiffness) <= _RATES[-1]:
        return []
    where, needed = geom_name(world.model, light.geom), least_rate(light.mass, stiffness)
    return [
        f"the tool is light at {where} ({light.mass:.3g} kg): a contact of {stiffness:.3g} N/m, "
        f"the default here, is softened there below {needed:.3g} Hz"
    ]


def _left_out(world: World, model: mujoco.MjModel) -> list[str]:
    out = []
    if model.neq and not active_equalities(model):
        out.append("its loops are switched off: equality constraints are disabled or not active")
    if np.isfinite(world.properties[:, 3]).any() and not world.friction.scene:
        out.append("friction of geoms acts only if the session's contact has a friction law")
    own = model.geom_solref[:, 0] != mujoco.MjSpec().default.geom.solref[0]
    if own.any():
        out.append("solref and solimp of geoms are ignored: contacts have the session's stiffness")
    return out
