"""The observer and the controller of passivity at the start of a run."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from detent.checks import instance
from detent.devices.adapters import Adapter
from detent.devices.limits import largest_damper
from detent.devices.mapped import Mapped
from detent.devices.protocol import Device as DeviceModel
from detent.devices.simulated import Mass
from detent.errors import ParameterError
from detent.servo.observed import SOURCES, Observed
from detent.servo.parameters import NEVER, PULLED
from detent.servo.structs import Device
from detent.servo.watching import LAWS, OFF, Passivity
from detent.setup.asked import Asked
from detent.setup.limits import beyond_passive
from detent.setup.sheets import sheet_of
from detent.world.world import World

NOISE = 3.0  # of its rms: readings are off by no more, as a rule


def chosen_passivity(asked: Passivity | str | None, device: DeviceModel) -> Passivity:
    """What was asked for, or named; else on for a device of a sheet, off for an ideal one."""
    if isinstance(asked, str):
        return Passivity(asked)
    instance("passivity", asked, Passivity | None, 'a Passivity, as detent.Passivity("damper")')
    return asked or (Passivity() if sheet_of(device) is not None else OFF)


def fill_passivity(p: np.ndarray, asked: Passivity, observed: Observed) -> None:
    """The law and its numbers, into a parameter record whose step, coupling and contact are set."""
    p["passivity"] = LAWS.index(asked.law)
    p["passive_memory"] = math.ceil(asked.memory / float(p["step"][0]))
    periods = math.ceil(observed.delay[0] / observed.period[0])
    most = min(asked.bound, largest_damper(periods))
    p["passive_bound"] = math.inf if asked.bound == math.inf else most
    k = p["coupling_k"][0].copy()
    if p["device_position"][0] == NEVER:  # what is felt are the contacts themselves
        k[:3] = p["stiffness"][0]
    p["passive_compliance"] = np.divide(1.0, k, out=np.zeros(6), where=k > 0.0)


def check_change(now: Passivity, new: Passivity) -> None:
    """Laws may change where somebody watches; who watches may not come or go."""
    instance("passivity", new, Passivity, 'a Passivity, as detent.Passivity("damper")')
    if (now.law == "off") != (new.law == "off"):
        raise ParameterError("passivity", new.law, f"{now.law}, as at the start")
    if (now.damping, now.friction) != (new.damping, new.friction):
        raise ParameterError("passivity", new, "the device's own friction as at the start")


def fill_observed(
    out: Device, device: DeviceModel, adapter: Adapter, asked: Passivity, step: float
) -> None:
    """What the observer knows of the device: when its force acts, and what it takes itself."""
    inner, longer, stronger = unmapped(device, adapter)
    observed, struct = out.observed, inner.struct
    observed.dual[0] = device.takes_motion
    resolution = 0.0
    if isinstance(struct, Mass):
        mass: Any = struct
        observed.delay[:], observed.period[:] = mass.delay, mass.hold
        observed.damping[:], observed.friction[:] = mass.damping, mass.friction
        observed.damping[0] /= longer * stronger
        observed.friction[0] /= stronger
        resolution = longer * float(mass.resolution[0])
        observed.blur[0] = longer * NOISE * float(mass.noise.std(axis=0).max())
    elif hasattr(struct, "delay"):  # a model whose friction sits in its joints: none is counted
        observed.delay[:] = struct.delay
    else:
        resolution = _from_sheet(observed, device, step)
    for name in ("damping", "friction"):
        if getattr(asked, name) is not None:
            getattr(observed, name)[:] = getattr(asked, name)
    observed.radius[0] = 0.5 * resolution * math.sqrt(out.mask[:3].sum())
    observed.spread[:] = observed.blur
    observed.spread[0] += 0.5 * resolution
    observed.blur[:] += observed.radius
    observed.step[0] = resolution
    speed = resolution / (observed.period[0] * step)
    observed.floor[0] = out.mass[:3, :3].max() * speed**2


def unmapped(device: DeviceModel, adapter: Adapter) -> tuple[Adapter, float, float]:
    """The adapter behind all mappings, and by how much they enlarge its motion and its force."""
    longer, stronger = 1.0, 1.0
    while isinstance(device, Mapped) and adapter.inner is not None:
        longer, stronger = longer * device.scale, stronger * device.factor
        device, adapter = device.device, adapter.inner
    return adapter, longer, stronger


def _from_sheet(observed: Observed, device: DeviceModel, step: float) -> float:
    """Of a real device: its loop, and only the friction that somebody has measured; D [m]."""
    model = sheet_of(device)
    if model is None or model.takes_motion:
        return 0.0
    sheet = model.sheet
    observed.period[0] = max(1, round(1.0 / (sheet.need("rate") * step)))
    observed.delay[0] = min(round(sheet.need("delay") / step), len(observed.past) - 1)
    for block, prefix in enumerate(("", "turning_")):
        for name in ("damping", "friction"):
            fact = getattr(sheet, prefix + name)
            known = fact is not None and not fact.assumed
            getattr(observed, name)[block] = fact.least if known else 0.0
    resolution = sheet.get("resolution") or 0.0
    if isinstance(device, Mapped):
        observed.damping[0] /= device.scale * device.factor
        observed.friction[0] /= device.factor
        resolution *= device.scale
    return resolution


def fill_sources(
    observed: Observed, model: mujoco.MjModel, data: mujoco.MjData, mine: np.ndarray
) -> None:
    """What the world has at the start beside its height: motion, and springs that are stretched.

    Degrees of freedom that are not *mine* go where the device does: their motion is its own.
    """
    if not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY:
        led = np.isin(model.body_treeid, np.unique(model.dof_treeid[~mine]))
        weight = model.body_mass * (1.0 - model.body_gravcomp)
        observed.weight[:] = np.where(led, 0.0, weight), np.where(led, weight, 0.0)
    still = mujoco.MjData(model)
    still.qpos[:], still.qvel[:] = data.qpos, mine * data.qvel
    weights = model.opt.gravity.copy()
    try:
        model.opt.gravity[:] = 0.0
        for update in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_makeM):
            update(model, still)  # mj_forward would end the process where tendons are tied
        mujoco.mj_energyPos(model, still)
        mujoco.mj_energyVel(model, still)
    finally:
        model.opt.gravity[:] = weights
    observed.energy[SOURCES] = float(still.energy.sum())


def watch_world(
    asked: Asked,
    known: Device,
    p: np.ndarray,
    model: mujoco.MjModel,
    data: mujoco.MjData,
    world: World,
) -> list[str]:
    """The rest of it for a session with a world; what is to be said about its stiffness."""
    in_tool = model.dof_treeid == model.body_treeid[world.held]
    mine = ~in_tool | (p["tool"][0] == PULLED)
    fill_sources(known.observed, model, data, mine)
    fill_passivity(p, asked.passivity, known.observed)
    return beyond_passive(known, p, asked.passivity.law)
