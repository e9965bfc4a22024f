"""Whether the joints of a tool hold the same directions in every pose, as those of a door do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import mujoco
import numpy as np

from detent.coupling import Coupling
from detent.coupling.linkage import SINGULAR, SOFT, STIFF
from detent.servo.world.start import closed_mobility, link_inertia
from detent.world.loops import active_equalities
from detent.world.world import World

_POSES = 64
_CLEAR = 10.0 * SINGULAR  # [-] of the easiest direction: beyond that a direction is free for sure
_NONE = 1e-5  # [-] below that it is held for sure
_TURN, _WAY = np.pi, 0.5  # [rad, m] for joints without a range
_BALL = int(mujoco.mjtJoint.mjJNT_BALL)
_SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)


def with_joint_gains(coupling: Coupling, world: World) -> Coupling:
    """The coupling with gains for joints that nobody chose: stiff ones where none come and go."""
    topology = coupling.topology
    if topology is None or topology.gains is not None:
        return coupling
    k, b = STIFF if steady(world) else SOFT
    tied: Any = coupling  # a dataclass, as every coupling is
    return cast(Coupling, replace(tied, topology=replace(topology, stiffness=k, damping=b)))


def steady(world: World) -> bool:
    """Whether each direction of the held link is clearly free, or clearly held, in all poses."""
    model = world.model
    mine = np.isin(model.body_treeid[model.jnt_bodyid], list(world.trees))
    if active_equalities(model) or (model.jnt_type[mine] <= _BALL).any():
        return False
    rng, data = np.random.default_rng(0), mujoco.MjData(model)
    counts = set()
    for _ in range(_POSES):
        data.qpos[:] = world.qpos
        for joint in np.nonzero(mine)[0]:
            data.qpos[model.jnt_qposadr[joint]] = rng.uniform(*_range(model, int(joint)))
        ratios = _freedom(world, data)
        if ((ratios > _NONE) & (ratios < _CLEAR)).any():
            return False
        counts.add(int((ratios >= _CLEAR).sum()))
    return len(counts) == 1


def _range(model: mujoco.MjModel, joint: int) -> tuple[float, float]:
    if model.jnt_limited[joint]:
        return tuple(model.jnt_range[joint])
    most = _WAY if model.jnt_type[joint] == _SLIDE else _TURN
    return -most, most


def _freedom(world: World, data: mujoco.MjData) -> np.ndarray:
    """How far the held link moves in its principal directions, over the easiest: √(σ/σ_max)."""
    model = world.model
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_makeM(model, data)
    point = data.xpos[world.held] + data.xmat[world.held].reshape(3, 3) @ world.point
    jac = np.zeros((6, model.nv))
    mujoco.mj_jac(model, data, jac[:3], jac[3:], point, world.held)
    L = np.linalg.cholesky(link_inertia(model, data, world.held, point))
    values = np.linalg.eigvalsh(L.T @ closed_mobility(model, data, jac)[0] @ L)
    return np.sqrt(np.maximum(values, 0.0) / values.max())
