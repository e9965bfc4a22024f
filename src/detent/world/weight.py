"""What the bodies of a world weigh on what they rest on, and how stiff that must be."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from detent.kernels.constants import MOST_STIFFNESS
from detent.world.loops import mechanism
from detent.world.names import body_name

SINKS = 5e-4  # [m] that the default stiffness lets the heaviest body sink, on one contact
USUAL = 4_000.0, 30.0  # [N/m, N·s/m] of a contact that has no weight to hold (TH 4.5)
_USUAL_MASS = 2.0  # [kg] of TH's peg, for which that damping is meant
_GRAVITY = 9.81  # [m/s²]


class Weight(NamedTuple):
    """A mechanism, and the force that keeps it from falling."""

    body: int  # its first
    force: float  # [N]


def weights(model: mujoco.MjModel, qpos: np.ndarray) -> dict[frozenset[int], Weight]:
    r"""What would hold each mechanism that can touch anything, by its trees.

    .. math:: f = m |J_{com} D^{-1} \tau_g|

    which is m g of a free body, and what joints leave of it for an arm; loops are not counted.
    """
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    falling, torque = np.zeros((1, model.nv)), data.qfrc_gravcomp - data.qfrc_bias
    mujoco.mj_solveM(model, data, falling, torque[None])
    touches = (model.geom_contype | model.geom_conaffinity) != 0
    out: dict[frozenset[int], Weight] = {}
    for tree in range(model.ntree):
        trees = frozenset(mechanism(model, tree))
        bodies = np.nonzero(np.isin(model.body_treeid, list(trees)))[0]
        if trees in out or not (touches & np.isin(model.geom_bodyid, bodies)).any():
            continue
        force = sum(_force(model, data, int(model.tree_bodyadr[t]), falling[0]) for t in trees)
        out[trees] = Weight(int(model.tree_bodyadr[min(trees)]), force)
    return out


def _force(model: mujoco.MjModel, data: mujoco.MjData, root: int, falling: np.ndarray) -> float:
    jac = np.zeros((3, model.nv))
    mujoco.mj_jacSubtreeCom(model, data, jac, root)
    return float(model.body_subtreemass[root] * np.linalg.norm(jac @ falling))


def heaviest(model: mujoco.MjModel, qpos: np.ndarray) -> Weight:
    """The mechanism that weighs most; of force 0 if nothing weighs anything."""
    return max(weights(model, qpos).values(), key=lambda one: one.force, default=Weight(0, 0.0))


def holding_stiffness(force: float, rate: float) -> float:
    """[N/m] of a contact that holds a weight within `SINKS`, as far as the rate allows."""
    most = MOST_STIFFNESS * force / _GRAVITY * rate * rate
    return max(USUAL[0], min(force / SINKS, most))


def default_gains(model: mujoco.MjModel, qpos: np.ndarray, rate: float) -> tuple[float, float]:
    """[N/m, N·s/m] of a world's contacts: they hold its heaviest body, damped as TH's peg is."""
    force = heaviest(model, qpos).force
    stiffness = holding_stiffness(force, rate)
    if stiffness <= USUAL[0]:
        return USUAL
    loaded = stiffness * force / _GRAVITY
    return stiffness, USUAL[1] * float(np.sqrt(loaded / (USUAL[0] * _USUAL_MASS)))


def too_soft(model: mujoco.MjModel, weight: Weight, stiffness: float, rate: float) -> str:
    """That a body sinks in a contact of this stiffness, and which one would do."""
    enough = holding_stiffness(weight.force, rate)
    return (
        f"{stiffness:g} N/m is soft for {body_name(model, weight.body)}, which weighs "
        f"{weight.force:.3g} N: {enough:.3g} N/m, the default, would hold it within "
        f"{1e3 * SINKS:g} mm on one contact"
    )
