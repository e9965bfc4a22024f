"""Which bodies of a scene are worth holding."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from detent.world.loops import mechanism

_FREE = int(mujoco.mjtJoint.mjJNT_FREE)


class Holdable(NamedTuple):
    """A body that a hand could take, and what would move with it."""

    body: int
    name: str
    free: bool  # the whole mechanism may go anywhere
    freedom: int  # degrees of freedom of the mechanism
    mass: float  # [kg] of the mechanism
    touches: bool  # whether any of its geoms collide

    def __str__(self) -> str:
        kind = "free" if self.free else f"{self.freedom} degrees of freedom"
        idle = "" if self.touches else ", collides with nothing"
        return f"{self.name} ({kind}, {self.mass:.3g} kg{idle})"


def worth_holding(model: mujoco.MjModel) -> list[Holdable]:
    """The body to hold of each mechanism: light free ones first, those that touch before others.

    Of a free mechanism it is the heaviest link, of one that is fixed to the world the last of
    the links with the most joints behind them, which is where an arm has its hand.
    """
    found, seen = [], set()
    for tree in range(model.ntree):
        trees = frozenset(mechanism(model, tree))
        if trees not in seen:
            seen.add(trees)
            found += _of_mechanism(model, trees)
    return sorted(found, key=lambda one: (not one.touches, not one.free, one.mass))


def _of_mechanism(model: mujoco.MjModel, trees: frozenset[int]) -> list[Holdable]:
    bodies = np.nonzero(np.isin(model.body_treeid, list(trees)))[0]
    solid = [int(b) for b in bodies if min(model.body_mass[b], *model.body_inertia[b]) > 0.0]
    if not solid:
        return []
    free = any(
        model.body_jntnum[b] and model.jnt_type[model.body_jntadr[b]] == _FREE for b in bodies
    )
    if free:
        body = max(solid, key=lambda b: float(model.body_mass[b]))
    else:
        body = max(solid, key=lambda b: (_joints_behind(model, b), b))
    geoms = np.isin(model.geom_bodyid, bodies)
    touches = bool(((model.geom_contype | model.geom_conaffinity)[geoms]).any())
    freedom = int(np.isin(model.dof_treeid, list(trees)).sum())
    mass = float(model.body_mass[bodies].sum())
    name = model.body(body).name or f"#{body}"
    return [Holdable(body, name, free, freedom, mass, touches or model.npair > 0)]


def _joints_behind(model: mujoco.MjModel, body: int) -> int:
    count = 0
    while body != 0:
        count += int(model.body_dofnum[body])
        body = int(model.body_parentid[body])
    return count
