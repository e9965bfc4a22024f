"""Notes on weight: bodies that sink where they rest, tools that are too heavy for a device."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.devices.protocol import Device
from detent.servo.structs import Servo
from detent.world.names import geom_name
from detent.world.weight import heaviest, too_soft, weights
from detent.world.world import World

DEEP = 2e-3  # [m] to which a body may sink before that is worth a note
_SLOW = 1e-2  # [m/s] of a contact at rest
_SHARE = 0.5  # of the device's cap that a tool may weigh before that is worth a note


def sunk(servo: Servo, model: mujoco.MjModel, rate: float) -> list[str]:
    """A body that rests too deep by its weight, and the stiffness that would do."""
    rows = servo.rows
    count = int(rows.count[0])
    rests = (np.abs(rows.velocity[:count]) < _SLOW) & (rows.geom[:count, 0] >= 0)
    depth = np.where(rests, -rows.separation[:count], 0.0)
    if not count or depth.max() < DEEP:
        return []
    worst, weight = int(depth.argmax()), heaviest(model, model.qpos0)
    stiffness = float(servo.parameters["stiffness"][0])
    if weight.force < DEEP * stiffness:  # somebody pushes it in
        return []
    where = "–".join(geom_name(model, int(g)) for g in rows.geom[worst])
    return [f"{where} rest {1e3 * depth[worst]:.3g} mm deep: "
            + too_soft(model, weight, stiffness, rate)]  # fmt: skip


def heavy_tool(world: World, device: Device) -> list[str]:
    """A tool whose weight leaves little of what the device can render for contacts."""
    cap = float(np.min(np.asarray(device.cap(), float)[:3]))
    if not np.isfinite(cap):
        return []
    weight = weights(world.model, world.qpos).get(frozenset(world.trees))
    if weight is None or not weight.force > _SHARE * cap:
        return []
    left = cap - weight.force
    rest = f"leaves {left:.3g} N" if left > 0.0 else "leaves nothing"
    return [
        f"the tool weighs {weight.force:.3g} N, which {rest} of the device's {cap:.3g} N for "
        "contacts: gravity=False takes its weight away"
    ]
