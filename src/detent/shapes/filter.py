"""Which geoms may touch which, and how they rub there: MuJoCo's rules, for pairs of our own."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import mujoco
import numpy as np

_NO_PARENT_FILTER = int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
_NO_CONTACT = int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
_NEVER = -1e6  # [m] the margin of a pair that MuJoCo shall not collide


class Meeting(NamedTuple):
    """Two geoms that may touch."""

    one: int
    two: int
    friction: np.ndarray  # (5,)
    dim: int


def meetings(model: mujoco.MjModel, own: Collection[int]) -> list[Meeting]:
    """Pairs of geoms, one of them among *own*, of which something moves and that may touch."""
    if model.opt.disableflags & _NO_CONTACT:
        return []
    told = {
        tuple(sorted((int(model.pair_geom1[i]), int(model.pair_geom2[i])))): i
        for i in range(model.npair)
    }
    found = []
    for one in range(model.ngeom):
        for two in range(one + 1, model.ngeom):
            if one not in own and two not in own:
                continue
            if (one, two) in told:
                i = told[one, two]
                found.append(
                    Meeting(one, two, model.pair_friction[i].copy(), int(model.pair_dim[i]))
                )
            elif _may_collide(model, one, two):
                found.append(Meeting(one, two, *_mixed(model, one, two)))
    trees = model.body_treeid[model.geom_bodyid]
    return [pair for pair in found if trees[pair.one] >= 0 or trees[pair.two] >= 0]


def _may_collide(model: mujoco.MjModel, one: int, two: int) -> bool:
    """Bit masks, bodies that are one, parents and their children, exclusions."""
    types, affine = model.geom_contype, model.geom_conaffinity
    if not (types[one] & affine[two] or types[two] & affine[one]):
        return False
    bodies = int(model.geom_bodyid[one]), int(model.geom_bodyid[two])
    welds = [int(model.body_weldid[b]) for b in bodies]
    if welds[0] == welds[1]:
        return False
    parents = [int(model.body_weldid[model.body_parentid[w]]) for w in welds]
    related = welds[0] == parents[1] or welds[1] == parents[0]
    if related and all(welds) and not model.opt.disableflags & _NO_PARENT_FILTER:
        return False
    low, high = sorted(bodies)
    return (low << 16) + high not in model.exclude_signature


def _mixed(model: mujoco.MjModel, one: int, two: int) -> tuple[np.ndarray, int]:
    """Friction and dimension: those of the higher priority, else the larger ones."""
    first, second = model.geom_priority[one], model.geom_priority[two]
    which = [one] if first > second else [two] if second > first else [one, two]
    slide, spin, roll = model.geom_friction[which].max(axis=0)
    friction = np.maximum([slide, slide, spin, roll, roll], mujoco.mjMINMU)
    return friction, int(model.geom_condim[which].max())


def mute(model: mujoco.MjModel, own: Collection[int]) -> None:
    """Let MuJoCo itself not collide these geoms."""
    for geom in own:
        model.geom_contype[geom] = model.geom_conaffinity[geom] = 0
    for i in range(model.npair):
        if model.pair_geom1[i] in own or model.pair_geom2[i] in own:
            model.pair_margin[i], model.pair_gap[i] = _NEVER, 0.0
