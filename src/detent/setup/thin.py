"""A note on walls that are thinner than what a capped device needs to stop the tool."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.devices.protocol import Device
from detent.world.contact import Contact
from detent.world.names import geom_name
from detent.world.world import World

FAST = 1.0  # [m/s] of a hand
_ENDLESS = int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD)
_ROUND = int(mujoco.mjtGeom.mjGEOM_CAPSULE), int(mujoco.mjtGeom.mjGEOM_CYLINDER)


def stopping_distance(mass: float, cap: float, speed: float = FAST) -> float:
    r"""[m] within which a cap [N] stops a mass [kg]: :math:`d = m v^2 / 2 F`."""
    return 0.5 * mass * speed**2 / cap


def thickness(model: mujoco.MjModel, geom: int) -> float:
    """[m] of a geom where it is thinnest; planes and height fields have no other side."""
    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    if kind in _ENDLESS:
        return np.inf
    if kind == int(mujoco.mjtGeom.mjGEOM_SPHERE):
        return 2.0 * float(size[0])
    if kind in _ROUND:
        return 2.0 * float(size[:2].min())
    return 2.0 * float(model.geom_aabb[geom, 3:].min())


def thin_walls(world: World, contact: Contact, device: Device) -> list[str]:
    """Static walls that the tool may go through at the speed of a hand, by the device's cap."""
    model, cap = world.model, float(np.min(np.asarray(device.cap(), float)[:3]))
    if not np.isfinite(cap) or contact.strategy not in ("scale", "spread"):
        return []
    mine = np.isin(model.body_treeid, list(world.trees))
    mass = float(model.body_mass[mine].sum())
    way = stopping_distance(mass, cap)
    tool, static = mine[model.geom_bodyid], model.body_treeid[model.geom_bodyid] < 0
    kinds, takes = model.geom_contype, model.geom_conaffinity
    touches = ((kinds[:, None] & takes[tool]) | (takes[:, None] & kinds[tool])).any(1)
    thick = {int(g): thickness(model, int(g)) for g in np.nonzero(static & touches)[0]}
    thin = {g: size for g, size in thick.items() if size < way}
    if not thin:
        return []
    thinnest = min(thin, key=lambda g: thin[g])
    return [
        f"at {FAST:g} m/s the device's {cap:.3g} N stop the tool ({mass:.3g} kg) within "
        f"{1e3 * way:.3g} mm, and {len(thin)} of {len(thick)} walls are thinner, "
        f"{geom_name(model, thinnest)} with {1e3 * thin[thinnest]:.3g} mm: it may go through"
    ]
