"""From a world to what the tick works on: views on MuJoCo's memory, and what acts in a scene."""

from __future__ import annotations

import copy
from typing import Any

import mujoco
import numpy as np

from detent.kernels.keep import keep_alive
from detent.servo.constants import FEW_PAIRS, RIGID_GAP, STICK_HINGE, STICK_SLIDE
from detent.servo.structs import FREE_BODY, Scene
from detent.servo.world.corners import corners_beside_rods
from detent.servo.world.spans import load_places, tree_spans
from detent.servo.world.spinning import spinning_bodies
from detent.servo.world.start import ToolStart, spans
from detent.servo.world.statics import static_bounds, static_neighbours
from detent.shapes.filter import mute
from detent.world.bridge import contact_views
from detent.world.loops import active_equalities, joined_trees
from detent.world.nested import nested_geoms
from detent.world.world import World

# as integers: MuJoCo's enumerations do not compare with NumPy's
_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
_EXACT = int(mujoco.mjtDyn.mjDYN_FILTEREXACT)
_NO_CONSTRAINT = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
_NO_LIMITS = int(mujoco.mjtDisableBit.mjDSBL_LIMIT) | _NO_CONSTRAINT
_NO_DRY = int(mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS) | _NO_CONSTRAINT
_NO_DAMPERS = int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
_NO_MIDPHASE = int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)


def choose_collision_search(model: mujoco.MjModel) -> None:
    """Let MuJoCo test all pairs of geoms of two bodies where there are few.

    Its search through trees of boxes, the "midphase", finds the same contacts. It saves up to
    half a microsecond where nothing touches, and costs several where much does.
    """
    fewer, most = np.sort(model.body_geomnum)[-2:]
    if fewer * most <= FEW_PAIRS:
        model.opt.disableflags |= _NO_MIDPHASE


def make_model(world: World, rigid: bool, rate: float) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The servo's own copy of a world, at its start."""
    model = copy.deepcopy(world.model)
    mute(model, world.concave)
    if rigid:
        moving = model.body_treeid[model.geom_bodyid] >= 0
        model.geom_gap[moving] = np.maximum(model.geom_gap[moving], RIGID_GAP)
        model.pair_gap[:] = np.maximum(model.pair_gap, RIGID_GAP)
    choose_collision_search(model)
    model.opt.timestep = 1.0 / rate  # MuJoCo's actuators and derivatives go by these
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = world.qpos, world.qvel
    data.ctrl[:], data.act[:] = world.ctrl, world.act
    return model, data


def make_scene(
    world: World, model: mujoco.MjModel, data: mujoco.MjData, singular_nowhere: int = 0
) -> Scene:
    """Views on *model* and *data*, which live as long as the scene."""
    scene = Scene(
        model=model._address,
        data=data._address,
        nv=model.nv,
        axes=np.eye(3),
        features=_features(model, singular_nowhere, bool(world.concave)),
        **_bodies(model, data),
        **_forces(model, data),
        **_tendons(model, data),
        **_geoms(world, model, data),
        **_limits(model),
        **_tool(world, model),
    )
    keep_alive(scene, model, data)
    return scene


def _features(model: mujoco.MjModel, singular_nowhere: int, feels: bool) -> np.ndarray:
    """What the scene has: the places of `Scene.features`."""
    gravity_on = bool(np.any(model.opt.gravity)) and not (
        model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    )
    return np.array(
        [
            model.ntendon,
            model.nu,
            int(gravity_on),
            int(resists(model)),
            singular_nowhere,
            int(has_passive(model)),
            int(
                bool((model.geom_contype | model.geom_conaffinity).any())
                or model.npair > 0
                or feels
            ),
            int(resists_beyond_joints(model)),
            int(dry_joints(model).any()),
            int(dry_tendons(model).any()),
            int((model.geom_condim > 3).any() or (model.pair_dim > 3).any()),
        ],
        np.int64,
    )


def _bodies(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, Any]:
    """Kinematics and inertia."""
    spans = tree_spans(model)
    return dict(
        qpos=data.qpos,
        qvel=data.qvel,
        xpos=data.xpos,
        xquat=data.xquat,
        xmat=data.xmat,
        cdof=data.cdof,
        cvel=data.cvel,
        subtree_com=data.subtree_com,
        subtree_mass=model.body_subtreemass,
        M=data.M,
        dof_body=model.dof_bodyid,
        dof_parent=model.dof_parentid,
        body_last_dof=last_dofs(model),
        body_root=model.body_rootid,
        dof_tree=model.dof_treeid,
        tree_dofs=np.stack([model.tree_dofadr, model.tree_dofnum], axis=1).astype(np.int64),
        tree_awake=data.tree_awake,
        tree_span=spans,
        tree_free=free_trees(model, spans),
        tree_load=load_places(spans),
        body_tree=model.body_treeid,
        body_mass=model.body_mass,
        body_inertia=model.body_inertia,
        xipos=data.xipos,
        ximat=data.ximat,
        gimbal_dof=gimbal_dofs(model),
        **spinning_bodies(model),
        equality_trees=joined_trees(model),
    )


def _forces(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, Any]:
    """Damping, dry friction, actuators, weight."""
    return dict(
        passive=data.qfrc_passive,
        actuator=data.qfrc_actuator,
        bias=data.qfrc_bias,
        dof_damping=damping_that_acts(model),
        derivative=data.qDeriv,
        derivative_place=model.mapD2M,
        dry=dry_joints(model),
        dry_reach=np.where(slides(model), STICK_SLIDE, STICK_HINGE),
        control=data.ctrl,
        activation=data.act,
        activation_rate=data.act_dot,
        activation_range=activation_ranges(model),
        activation_time=filter_times(model),
        gravity=model.opt.gravity,
    )


def _tendons(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, Any]:
    """Tendons."""
    return dict(
        tendon_length=data.ten_length,
        tendon_velocity=data.ten_velocity,
        tendon_dry=dry_tendons(model),
        tendon_jac=data.ten_J,
        tendon_start=model.ten_J_rowadr,
        tendon_count=model.ten_J_rownnz,
        tendon_dof=model.ten_J_colind,
        tendon_trees=tendon_trees(model),
    )


def _geoms(world: World, model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, Any]:
    """Contacts, and the geoms that they are between."""
    count, contacts = contact_views(data)
    bounds, upright = static_bounds(model, data)
    seams = static_neighbours(model, data, bounds)
    corner_start, corners = corners_beside_rods(model)
    return dict(
        ncon=count,
        contact=contacts,
        geom_body=model.geom_bodyid,
        geom_type=model.geom_type,
        geom_size=model.geom_size,
        geom_xpos=data.geom_xpos,
        geom_xmat=data.geom_xmat,
        geom_properties=world.properties,
        nested=nested_geoms(model, world.qpos),
        corner_start=corner_start,
        corners=corners,
        seam_start=seams.start,
        seam_geom=seams.geom,
        seam_skip=seams.skip,
        seam_bounds=seams.bounds,
        geom_bounds=bounds,
        geom_upright=upright,
    )


def _limits(model: mujoco.MjModel) -> dict[str, Any]:
    """Limits of joints and tendons."""
    limit_dof, limit_qpos, limit_range = joint_limits(model)
    balls, tendons = limited_balls(model), limited_tendons(model)
    return dict(
        joint_limit_dof=limit_dof,
        joint_limit_qpos=limit_qpos,
        joint_limit_range=limit_range,
        ball_dof=model.jnt_dofadr[balls].astype(np.int64),
        ball_qpos=model.jnt_qposadr[balls].astype(np.int64),
        ball_most=model.jnt_range[balls].max(axis=1, initial=0.0),
        tendon_limit=tendons,
        tendon_limit_range=model.tendon_range[tendons].copy(),
    )


def _tool(world: World, model: mujoco.MjModel) -> dict[str, Any]:
    """What the hand holds."""
    tool_dofs = np.flatnonzero(np.isin(model.dof_treeid, list(world.trees)))
    return dict(
        tool_tree=world.tree,
        in_tool=np.isin(np.arange(model.ntree), list(world.trees)).astype(np.int64),
        tool_first=int(tool_dofs.min(initial=model.nv)),
        tool_end=int(tool_dofs.max(initial=-1)) + 1,
        held_body=world.held,
        hand_point=world.point,
    )


def damping_that_acts(model: mujoco.MjModel) -> np.ndarray:
    """Of the joints; none where the scene switches dampers off."""
    off = model.opt.disableflags & _NO_DAMPERS
    return np.zeros_like(model.dof_damping) if off else model.dof_damping


def limits_act(model: mujoco.MjModel) -> bool:
    """Whether the scene lets limits act."""
    return not model.opt.disableflags & _NO_LIMITS


def limited_balls(model: mujoco.MjModel) -> np.ndarray:
    """Ball joints whose angle is limited."""
    which = (model.jnt_limited != 0) & (model.jnt_type == _BALL) & limits_act(model)
    return np.nonzero(which)[0]


def limited_tendons(model: mujoco.MjModel) -> np.ndarray:
    """Tendons whose length is limited."""
    return np.nonzero((model.tendon_limited != 0) & limits_act(model))[0]


def count_limits(model: mujoco.MjModel) -> int:
    """How many rows limits may need."""
    return len(joint_limits(model)[0]) + len(limited_balls(model)) + len(limited_tendons(model))


def dry_joints(model: mujoco.MjModel) -> np.ndarray:
    """[N·m, N] Dry friction of each degree of freedom."""
    return model.dof_frictionloss * (not model.opt.disableflags & _NO_DRY)


def dry_tendons(model: mujoco.MjModel) -> np.ndarray:
    """[N] Dry friction of each tendon."""
    return model.tendon_frictionloss * (not model.opt.disableflags & _NO_DRY)


def slides(model: mujoco.MjModel) -> np.ndarray:
    """Which degrees of freedom are lengths: slides, and the first three of free joints."""
    joint = model.dof_jntid
    first = np.arange(model.nv) - model.jnt_dofadr[joint] < 3
    return (model.jnt_type[joint] == _SLIDE) | ((model.jnt_type[joint] == _FREE) & first)


def tendon_trees(model: mujoco.MjModel) -> np.ndarray:
    """(ntendon, 2) The first two moving trees that each tendon ties; -1 = none."""
    out = model.tendon_treeid.reshape(-1, 2).astype(np.int64)
    out[model.tendon_treenum == 0] = -1
    out[model.tendon_treenum == 1, 1] = -1
    return out


def activation_ranges(model: mujoco.MjModel) -> np.ndarray:
    """(na, 2) Between what the states of actuators stay."""
    out = np.tile([-np.inf, np.inf], (model.na, 1))
    for i in range(model.nu):
        if model.actuator_actlimited[i]:
            first = model.actuator_actadr[i]
            out[first : first + model.actuator_actnum[i]] = model.actuator_actrange[i]
    return out


def filter_times(model: mujoco.MjModel) -> np.ndarray:
    """(na,) [s] Time constants of filters that are to be exact; 0 = Euler's step will do."""
    out = np.zeros(model.na)
    for i in np.nonzero(model.actuator_dyntype == _EXACT)[0]:
        out[model.actuator_actadr[i]] = max(model.actuator_dynprm[i, 0], mujoco.mjMINVAL)
    return out


def joint_limits(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Limited hinges and slides: their dof, their qpos, their range."""
    joints = [
        j
        for j in range(model.njnt)
        if limits_act(model) and model.jnt_limited[j] and model.jnt_type[j] in (_HINGE, _SLIDE)
    ]
    index = np.array(joints, np.int64)
    return (
        model.jnt_dofadr[index].astype(np.int64),
        model.jnt_qposadr[index].astype(np.int64),
        model.jnt_range[index].reshape(-1, 2).copy(),
    )


def gimbal_dofs(model: mujoco.MjModel) -> np.ndarray:
    """Hinges of bodies that have three or more of them: there two axes may come to coincide."""
    hinges = model.jnt_type == _HINGE
    count = np.bincount(model.jnt_bodyid[hinges], minlength=model.nbody)
    return model.jnt_dofadr[hinges & (count[model.jnt_bodyid] >= 3)].astype(np.int64)


def free_trees(model: mujoco.MjModel, spans: np.ndarray) -> np.ndarray:
    """(ntree,) 1 where a free joint is all that a tree has, and its span is no more than that."""
    root = model.jnt_type[model.dof_jntid[model.tree_dofadr]]
    return ((root == _FREE) & (model.tree_dofnum == 6) & (spans[:, 1] == 6)).astype(np.int64)


def last_dofs(model: mujoco.MjModel) -> np.ndarray:
    """For each body, the last degree of freedom that moves it, or -1."""
    last = np.full(model.nbody, -1, np.int64)
    for body in range(1, model.nbody):
        own = int(model.body_dofnum[body])
        first = int(model.body_dofadr[body])
        last[body] = first + own - 1 if own else last[model.body_parentid[body]]
    return last


def has_passive(model: mujoco.MjModel) -> bool:
    """Whether springs, dampers, compensated weight, tendons, actuators or a fluid act."""
    return bool(
        model.jnt_stiffness.any()
        or model.jnt_stiffnesspoly.any()
        or model.dof_damping.any()
        or model.dof_frictionloss.any()
        or model.dof_dampingpoly.any()
        or model.body_gravcomp.any()
        or model.ntendon
        or model.nu
        or model.opt.density
        or model.opt.viscosity
    )


def resists_beyond_joints(model: mujoco.MjModel) -> bool:
    """Whether more than linear damping of joints depends on velocities."""
    return bool(
        model.dof_dampingpoly.any()
        or model.tendon_damping.any()
        or model.tendon_dampingpoly.any()
        or model.actuator_biasprm[:, 2].any()
        or model.actuator_gainprm[:, 2].any()
        or model.opt.density
        or model.opt.viscosity
    )


def resists(model: mujoco.MjModel) -> bool:
    """Whether anything smooth, or dry friction in joints, depends on velocities."""
    damped = model.dof_damping.any() and not model.opt.disableflags & _NO_DAMPERS
    return bool(damped or dry_joints(model).any() or resists_beyond_joints(model))


def never_singular(world: World, start: ToolStart, mask: np.ndarray) -> int:
    """Whether the held link moves in all directions of *mask* in every pose; as a free body?

    So it is for one free body, and for one on slides that span the translations of the mask,
    followed by at most one hinge or ball: neither turns the slides. Nothing is to be weighed.
    """
    model, held = world.model, world.held
    first, count = model.body_jntadr[held], model.body_jntnum[held]
    kinds = model.jnt_type[first : first + count]
    alone = len(world.tool_dofs) == model.body_dofnum[held] and not active_equalities(model)
    if not alone or count == 0 or not spans(start.mobility, mask):
        return 0
    if kinds[0] == _FREE:
        dofs = world.tool_dofs
        single = model.body_subtreemass[held] == model.body_mass[held]
        free = single and mask.all() and not model.dof_armature[dofs].any()
        return FREE_BODY if free else 1
    straight = mask[:3] > 0.0
    slides = model.jnt_axis[first : first + count][kinds == _SLIDE]
    turned_last = not (kinds[:-1] != _SLIDE).any()
    return int(turned_last and np.linalg.matrix_rank(slides, 1e-6) >= straight.sum())
