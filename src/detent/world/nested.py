"""Links that are inside each other at the start, and stay so: they do not touch.

A robot's description often has a link in the hole of its neighbour, or a shoulder within the
chest. No motion takes such links apart, so a contact between them could only jam the joints.
Planners leave out what is "always in collision" in a sample of poses; so does this.

A mechanism whose joints start outside their ranges starts in a pose that it does not have, as
where zero is not among the angles of an elbow. What overlaps there passes until it has been apart:
limits bring the joints back, and contacts would hold them where they are.

Limitations: a sample is no proof. Poses are drawn joint by joint, also where loops tie joints.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from detent.world.altering import OVERLAP

APART, UNTIL_APART, NEVER = 0, 1, 2  # when two geoms touch: as ever, once they were apart, not
POSES = 64  # as many must all have the overlap: one that half of them lack passes once in 1e19
REACH = 1.0  # [m] to either side, of a slide without a range
OUTSIDE = 0.02  # [rad, m] of a range: where a limit takes a joint back
SEED = 15
_FREE, _BALL, _SLIDE, _HINGE = 0, 1, 2, 3  # of mjtJoint


def nested_geoms(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    """(n, 4) Pairs of geoms of one mechanism, the smaller first; when they touch; 0."""
    data = mujoco.MjData(model)
    found = _overlaps(model, data, qpos)
    left, random = found, np.random.default_rng(SEED)
    for _ in range(POSES):
        if not left:
            break
        left = left & _overlaps(model, data, _any_pose(model, qpos, random))
    illegal = _trees_outside(model, qpos)
    trees = model.body_treeid[model.geom_bodyid]
    out = [(*pair, NEVER, 0) for pair in left]
    for one, two in found - left:
        if trees[one] in illegal or trees[two] in illegal:
            out.append((one, two, UNTIL_APART, 0))
    return np.array(sorted(out), np.int64).reshape(-1, 4)


def _trees_outside(model: mujoco.MjModel, qpos: np.ndarray) -> set[int]:
    """Trees of which a hinge or a slide is outside its range."""
    single = (model.jnt_type >= _SLIDE) & (model.jnt_limited != 0)
    q = qpos[model.jnt_qposadr]
    beyond = np.maximum(model.jnt_range[:, 0] - q, q - model.jnt_range[:, 1]) > OUTSIDE
    return set(model.dof_treeid[model.jnt_dofadr[single & beyond]].tolist())


def _overlaps(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray) -> set[tuple[int, int]]:
    """Pairs that joints tie to each other and that overlap there."""
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    deep = data.contact.geom[data.contact.dist < -OVERLAP].reshape(-1, 2)
    pairs = {(min(pair), max(pair)) for pair in deep.tolist()}
    return {pair for pair in pairs if pair[0] >= 0 and _are_tied(model, *pair)}


def _are_tied(model: mujoco.MjModel, one: int, two: int) -> bool:
    """Whether two geoms are of one tree, or one is fixed and the other's tree is not free."""
    trees = model.body_treeid[model.geom_bodyid[[one, two]]]
    if trees[0] == trees[1]:
        return bool(trees[0] >= 0)
    if min(trees) >= 0:
        return False
    joint = model.dof_jntid[model.tree_dofadr[max(trees)]]
    return bool(model.jnt_type[joint] != _FREE)


def _any_pose(model: mujoco.MjModel, qpos: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """One of all poses that ranges allow; what is free stays where it is."""
    out = qpos.copy()
    for joint in range(model.njnt):
        kind, at = int(model.jnt_type[joint]), int(model.jnt_qposadr[joint])
        low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-math.inf, math.inf)
        if kind == _BALL:
            axis, angle = random.normal(size=3), random.uniform(0.0, min(high, math.pi))
            axis *= math.sin(0.5 * angle) / np.linalg.norm(axis)
            out[at : at + 4] = math.cos(0.5 * angle), *axis
        elif kind in (_SLIDE, _HINGE):
            most = REACH if kind == _SLIDE else math.pi
            out[at] = random.uniform(max(low, -most), min(high, most)) if low < high else low
    return out
