"""How stiff a contact of the tool can be at a rate, before the step bounds it (design, step 9)."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np

from detent.kernels.constants import MOST_STIFFNESS
from detent.world.world import World

_AXES = np.vstack([np.eye(3), -np.eye(3)])


class Lightest(NamedTuple):
    """Where the tool yields most."""

    geom: int
    mass: float  # [kg] effective, along the outward normal there


def lightest_contact(world: World, data: mujoco.MjData) -> Lightest | None:
    r"""The least effective mass at the sides of the held link's geoms, or else of the tool's.

    .. math:: m_{eff} = 1 / (n^T J D^{-1} J^T n)
    """
    model = world.model
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    geoms = np.nonzero(collides & (model.geom_bodyid == world.held))[0]
    if not len(geoms):
        geoms = np.nonzero(collides & np.isin(model.geom_bodyid, world.tool_bodies))[0]
    found = [Lightest(int(g), mass) for g in geoms for mass in _masses(model, data, int(g))]
    return min(found, key=lambda one: one.mass, default=None)


def _masses(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> list[float]:
    """Effective masses at the centres of the six sides of a geom's bounding box."""
    frame = data.geom_xmat[geom].reshape(3, 3)
    centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
    out, jac = [], np.zeros((3, model.nv))
    response = np.zeros((1, model.nv))
    for axis in _AXES:
        point = data.geom_xpos[geom] + frame @ (centre + axis * half)
        mujoco.mj_jac(model, data, jac, None, point, int(model.geom_bodyid[geom]))
        row = (frame @ axis) @ jac
        mujoco.mj_solveM(model, data, response, row[None])
        mobility = float(row @ response[0])
        if mobility > 1e-12:
            out.append(1.0 / mobility)
    return out


def stiffest(mass: float, rate: float) -> float:
    """[N/m] The stiffest single contact on this mass that a step holds: K = ¼ m_eff/T²."""
    return MOST_STIFFNESS * mass * rate * rate


def least_rate(mass: float, stiffness: float) -> float:
    """[Hz] From which on a single contact of this stiffness is not bounded."""
    return math.sqrt(stiffness / (MOST_STIFFNESS * mass))
