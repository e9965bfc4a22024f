"""What a scene can be asked to change as it is loaded: free roots, let overlaps pass, release."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from detent.checks import instance
from detent.errors import SceneError, UnknownNameError
from detent.world.loops import holders
from detent.world.names import body_name

OVERLAP = 1e-3  # [m] deeper than this at the start is a mistake of the scene, not a contact
_POSE, _TWIST = 7, 6  # coordinates and speeds of a free joint


def fixed_roots(spec: mujoco.MjSpec) -> list[mujoco.MjsBody]:
    """Bodies that are fixed to the world, and no targets that a program moves."""
    return [body for body in spec.worldbody.bodies if not body.joints and not body.mocap]


def free_roots(spec: mujoco.MjSpec, model: mujoco.MjModel, name: str) -> None:
    """Give a free joint to each root that is fixed to the world and has a mass.

    *model* is the spec, compiled. Keyframes keep their poses: the root's own comes in front of
    the coordinates of its tree.
    """
    roots = [body for body in fixed_roots(spec) if model.body_subtreemass[body.id] > 0.0]
    if not roots:
        raise SceneError(
            f"free=True, but {name} has no root that is fixed to the world and has a mass"
        )
    poses, twists = model.key_qpos.copy(), model.key_qvel.copy()
    for body in sorted((root.id for root in roots), reverse=True):  # the last first
        pose = np.concatenate((model.body_pos[body], model.body_quat[body]))
        first = int((model.dof_bodyid < body).sum())
        twists = np.insert(twists, [first] * _TWIST, 0.0, axis=1)
        joints = int((model.jnt_bodyid < body).sum())
        at = int(model.jnt_qposadr[joints]) if joints < model.njnt else model.nq
        poses = np.insert(poses, [at] * _POSE, pose, axis=1)
    for body in roots:
        body.add_freejoint()
    for key, qpos, qvel in zip(spec.keys, poses, twists, strict=False):  # <size nkey> has more
        key.qpos, key.qvel = qpos, qvel


def release(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Sequence[str]) -> None:
    """Let go what the named mocap bodies hold; *model* is the spec, compiled."""
    if isinstance(names, str):
        names = (names,)
    found = holders(model)
    known = {body_name(model, one.mocap) for one in found}
    for name in names:
        instance("release", name, str, "names of mocap bodies")
        if name not in known:
            raise UnknownNameError("mocap body that holds something", name, known)
    ties = list(spec.equalities)
    for equality in {one.equality for one in found if body_name(model, one.mocap) in names}:
        spec.delete(ties[equality])


def exclude_overlaps(spec: mujoco.MjSpec, model: mujoco.MjModel, qpos: np.ndarray) -> None:
    """Exclude contact between bodies that overlap at *qpos*; *model* is the spec, compiled."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    deep = data.contact.geom[data.contact.dist < -OVERLAP]
    pairs = {tuple(sorted(map(int, model.geom_bodyid[pair]))) for pair in deep}
    bodies = np.sort(model.geom_bodyid[np.stack((model.pair_geom1, model.pair_geom2), 1)], axis=1)
    explicit = list(spec.pairs)  # these collide whatever is excluded
    for pair, between in zip(explicit, bodies.tolist(), strict=True):
        if tuple(between) in pairs:
            spec.delete(pair)
    for one, other in sorted(pairs):
        for body in (one, other):
            if not spec.bodies[body].name:
                spec.bodies[body].name = f"#{body}"
        names = spec.bodies[one].name, spec.bodies[other].name
        spec.add_exclude(bodyname1=names[0], bodyname2=names[1])
