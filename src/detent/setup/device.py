"""The device at the start of a run: its inertia, its limits, and what stands behind the port."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.coupling import Coupling
from detent.devices.adapters import Actuator, Adapter, Placed
from detent.devices.inertial import Inertial, isotropic
from detent.devices.mapped import Mapped
from detent.devices.protocol import Device as DeviceModel
from detent.errors import ParameterError
from detent.servo.parameters import FULL
from detent.servo.structs import Device
from detent.servo.world.start import ToolStart, inertia_from, inverse_within, spans
from detent.setup.constants import COUPLING_DAMPING
from detent.world.contact import STRATEGIES, Contact


def _declared(name: str, value: np.ndarray, shape: tuple[int, ...], allowed: str) -> np.ndarray:
    """What a device declares, checked: it may be anybody's."""
    array = np.asarray(value, float)
    if array.shape != shape or not np.isfinite(array).all():
        raise ParameterError(f"device {name}", array.tolist(), allowed)
    return array


def device_inertia(device: DeviceModel, start: ToolStart, mask: np.ndarray) -> np.ndarray:
    """(6, 6) what a device declares for this tool."""
    at_hand = inertia_from(start)
    simulated = device.device if isinstance(device, Mapped) else device
    if isinstance(simulated, Inertial) and not simulated.exact:
        at_hand = isotropic(at_hand, spans(start.mobility, start.mask))
    return device.inertia(at_hand, mask)


def fill_device(out: Device, device: DeviceModel, start: ToolStart) -> None:
    """The device as the tick reckons with it; refused if what it declares makes no sense."""
    out.mask[:] = _declared("mask", device.mask(start.mask), (6,), "six numbers, 0 or 1")
    if not np.isin(out.mask, (0.0, 1.0)).all():
        raise ParameterError("device mask", out.mask.tolist(), "six numbers, 0 or 1")
    inertia = device_inertia(device, start, out.mask)
    out.mass[:] = _declared("inertia", inertia, (6, 6), "a (6, 6) matrix of finite numbers")
    if (np.diag(out.mass)[out.mask > 0.0] <= 0.0).any():
        raise ParameterError(
            "device subspace",
            device.subspace,
            "one in which the tool moves, or the device needs a mass and an inertia of its own",
        )
    own = isinstance(device, Inertial) and device.mass is None and not device.exact
    out.matched[0] = own and bool((np.abs(out.mass - inertia_from(start)) > 1e-9).any())
    out.guard.actuated[:] = device.safety.actuated
    out.mobility[:] = inverse_within(out.mass, out.mask)
    axes = np.nonzero(out.mask)[0]
    out.dimension[0] = len(axes)
    out.axes[: len(axes)] = axes
    out.packed[0, : len(axes), : len(axes)] = out.mass[np.ix_(axes, axes)]
    out.packed[1, : len(axes), : len(axes)] = out.mobility[np.ix_(axes, axes)]


def place_device(
    device: DeviceModel,
    known: Device,
    start: ToolStart,
    coupling: Coupling,
    step: float,
    notes: list[str],
    actuators: dict[str, Actuator] | None = None,
) -> Adapter:
    """The device behind its port, at the hand point or beside it."""
    offset = np.asarray(device.offset, float)
    if (offset[known.mask[: len(offset)] == 0.0] != 0.0).any():
        raise ParameterError(
            "device offset", offset.tolist(), "zero where the device does not move"
        )
    following = coupling.following()
    pose = np.concatenate([start.position, start.quaternion])
    pose[: len(offset)] += offset
    known.guard.home[:] = pose[:3]
    placed = Placed(
        pose=pose,
        twist=known.mask * start.twist,
        mask=known.mask,
        mobility=known.mobility,
        step=step,
        leads=coupling.channels.leads,
        compensate=following is not None and following.compensate,
        fastest_loop=COUPLING_DAMPING / step,
        notes=notes,
        actuators=actuators or {},
    )
    return device.adapter(placed)


def named_actuators(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, Actuator]:
    """Those of the scene, for a gripper to drive."""
    names = [model.actuator(i).name for i in range(model.nu)]
    return {
        name: Actuator(data.ctrl[i : i + 1], data.actuator_force[i : i + 1])
        for i, name in enumerate(names)
        if name
    }


def fill_limits(p: np.ndarray, contact: Contact, device: DeviceModel) -> None:
    """What the device can render, and what is done about it."""
    limits = np.asarray(device.cap(), float)
    if limits.shape != (6,) or not (limits > 0.0).all():
        raise ParameterError("device cap", limits.tolist(), "six positive numbers, or infinite")
    limited, safety = bool(np.isfinite(limits).any()), device.safety
    p["strategy"] = STRATEGIES.index(contact.strategy) if limited else FULL
    p["limit"] = limits
    ignored = contact.strategy == "full" and not safety.binding
    p["cap"] = np.inf if ignored else limits
    lengths = np.asarray(safety.length)
    p["ball"] = np.where(np.isfinite(lengths), lengths, 0.0)
    p["continuous"], p["reach"], p["speed"] = safety.continuous, safety.reach, safety.speed
    p["silence"] = int(np.ceil(safety.silence / float(p["step"][0])))
    p["jumps"] = int(np.ceil(safety.stretch)) if safety.jumps else 0


def ignore_limits(p: np.ndarray) -> None:
    """Of a record that has them: nothing in the simulation is cut."""
    p["strategy"], p["plastic"] = FULL, 0
