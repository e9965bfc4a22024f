"""A device that stands in the world larger, turned or elsewhere: its reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from detent.checks import instance, not_negative, one_of, positive, unit_quaternion, vector
from detent.devices.adapters import Actuator, Adapter, Placed, behind_port
from detent.devices.mapped_ticks import make_mapping, read_mapped, write_mapped
from detent.devices.preset import Preset
from detent.devices.protocol import Device
from detent.devices.safety import Safety
from detent.errors import ParameterError
from detent.kernels.stages import stage_address

BUTTONS = 32  # that a device may have


@dataclass(frozen=True)
class Gripper:
    """The gripper of a device drives an actuator of the scene, and feels it.

    From ``opening`` [0] to [1] it tells the actuator ``control`` [0] to [1], and no more. What the
    actuator does is felt as if the two were geared together, within ``force``: without a
    number within what the sheet says of the device's grip.
    """

    actuator: str  # its name
    opening: tuple[float, float] = (0.0, 0.03)  # [m, rad] of the gripper, closed and open
    control: tuple[float, float] = (0.0, 1.0)  # of the actuator, in its own unit
    force: float | None = None  # [N] at most, within that of the device's sheet

    def __post_init__(self) -> None:
        for name in ("opening", "control"):
            first, last = vector(f"gripper {name}", getattr(self, name), (2,))
            if first == last:
                raise ParameterError(f"gripper {name}", getattr(self, name), "two numbers apart")
        if self.force is not None:
            not_negative("gripper force", self.force)

    def numbers(self, grip: float) -> tuple[float, ...]:
        """(5,) as devices/mapped_ticks.py has them; *grip* [N] is that of the device."""
        way = (self.control[1] - self.control[0]) / (self.opening[1] - self.opening[0])
        most = grip if self.force is None else min(self.force, grip)
        return self.opening[0], way, *self.control, most


@dataclass(frozen=True)
class Mapped:
    r"""Another device with a mapping between it and the world.

    .. math:: x_w = a_w + s R (x_d - a_d), \qquad F_d = s R^T F_w

    With ``scale`` s the world moves s metres per metre of the device. What is felt is power-
    consistent: forces grow as motion shrinks, so that no energy comes from the mapping, and a
    wall of K in the world is s²K at the device. ``force`` is another factor than s, and the
    session says so. Rotations are not scaled.

    ``clutch`` is a button with which the device moves alone, and force is off; afterwards the two
    belong together where they are (indexing). ``engage`` is a button without which there is no
    force. ``grab`` is one with which the hand takes the next link of the tool
    (`Session.grabbed`; the workbench starts over there, with zero force in between).
    ``rate_zone`` is (rim [m], pace [1/s]): farther than the rim from where it started the device
    drives the tool on, with pace × the rest of the way.
    """

    device: Device
    scale: float = 1.0  # [-] motion of the world over that of the device
    rotation: Sequence[float] = (1.0, 0.0, 0.0, 0.0)  # from axes of the device to the world's
    force: float | None = None  # [-] force of the device over that of the world
    clutch: int | None = None  # number of a button
    engage: int | None = None  # number of a button
    grab: int | None = None  # number of a button
    rate_zone: tuple[float, float] | None = None  # [m, 1/s]
    gripper: Gripper | None = None  # an actuator of the scene that its gripper drives

    def __post_init__(self) -> None:
        instance("device", self.device, Device, 'a device, as devices.preset("touch")')
        positive("scale", self.scale)
        unit_quaternion("rotation", self.rotation)
        if self.force is not None:
            positive("force", self.force)
        if self.device.takes_motion:
            raise ParameterError("device", self.device, "one that takes a wrench, to be mapped")
        for name in ("clutch", "engage", "grab"):
            value = getattr(self, name)
            if value is not None and value not in range(BUTTONS):
                raise ParameterError(name, value, f"a button from 0 to {BUTTONS - 1}")
        instance("gripper", self.gripper, Gripper | None, "a Gripper, or None")
        if self.rate_zone is not None:
            for value in vector("rate_zone", self.rate_zone, (2,)):
                positive("rate_zone", value)

    @property
    def factor(self) -> float:
        """[-] force of the device over that of the world."""
        return self.scale if self.force is None else self.force

    @property
    def matrix(self) -> np.ndarray:
        """(3, 3) from axes of the device to those of the world."""
        w, x, y, z = unit_quaternion("rotation", self.rotation)
        return np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip

    def _into(self, scale: float) -> np.ndarray:
        """(6, 6) a twist of the world as one of the device."""
        out = np.zeros((6, 6))
        out[:3, :3], out[3:, 3:] = self.matrix.T / scale, self.matrix.T
        return out

    @property
    def subspace(self) -> str | None:
        """That of the device."""
        return self.device.subspace

    @property
    def offset(self) -> Sequence[float]:
        """[m] that of the device, as it is in the world."""
        return self.device.offset

    @property
    def takes_motion(self) -> bool:
        """No."""
        return False

    def mask(self, tool_mask: np.ndarray) -> np.ndarray:
        """(6,) that of the device; refused if it is another one once it is turned."""
        mask = self.device.mask(tool_mask)
        for part in (slice(0, 3), slice(3, 6)):
            turned = self.matrix @ np.diag(mask[part]) @ self.matrix.T
            if np.abs(turned - np.diag(mask[part])).max() > 1e-9:
                allowed = "a rotation that leaves the device's directions in the same subspace"
                raise ParameterError("rotation", list(self.rotation), allowed)
        return mask

    def inertia(self, at_hand: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(6, 6) [kg, kg·m²] as it is in the world."""
        into = self._into(math.sqrt(self.scale * self.factor))
        back = np.linalg.inv(into)
        return np.asarray(into.T @ self.device.inertia(back.T @ at_hand @ back, mask) @ into)

    def cap(self) -> np.ndarray:
        """(6,) [N, N·m] of the world; of turned axes the smallest."""
        cap = np.asarray(self.device.cap(), float).copy()
        if not np.allclose(self.matrix, np.eye(3)):
            cap = np.where(np.isfinite(cap), np.repeat([cap[:3].min(), cap[3:].min()], 3), cap)
        cap[:3] /= self.factor
        return cap

    @property
    def safety(self) -> Safety:
        """Those of the device, as they are in the world."""
        own, f = self.device.safety, self.factor
        return replace(
            own,
            length=(own.length[0] / f, own.length[1]),
            slew=(own.slew[0] / f, own.slew[1]),
            reach=0.0 if self.clutch is not None or self.rate_zone else own.reach * self.scale,
            speed=(own.speed[0] * self.scale, own.speed[1]),
            stretch=own.stretch * self.scale,
        )

    def gains(self, stiffness: Sequence[float], damping: Sequence[float]) -> Any:
        """Gains of the device as they are in the world."""
        less = np.repeat([self.scale * self.factor, 1.0], 3)
        return tuple(tuple((np.asarray(one) / less).tolist()) for one in (stiffness, damping))

    def _grip(self) -> float:
        """[N] that the sheet of the device allows its gripper; 0 if none does."""
        model = getattr(self.device, "preset", self.device)
        found = model.sheet.get("grip") if isinstance(model, Preset) else None
        return 0.0 if found is None else float(found)

    def _actuator(self, placed: Placed) -> Actuator:
        if self.gripper is None:
            return Actuator(np.zeros(1), np.zeros(1))
        one_of("actuator", self.gripper.actuator, placed.actuators)
        if self._grip() == 0.0:
            placed.notes.append("the gripper drives, and feels nothing: its sheet has no force")
        return placed.actuators[self.gripper.actuator]

    def adapter(self, placed: Placed) -> Adapter:
        """The device's own, with the mapping before it."""
        if self.force is not None and self.force != self.scale:
            placed.notes.append(
                f"the mapping is not power-consistent: motion × {self.scale:g}, force × "
                f"{self.force:g}; the hand feels {self.force / self.scale:.3g} times the energy"
            )
        if self.rate_zone is not None:
            placed.notes.append("beyond its rim the rate zone moves the tool without the hand")
        into = self._into(math.sqrt(self.scale * self.factor))
        twist = self._into(self.scale) @ placed.twist
        mobility = into @ placed.mobility @ into.T
        inner = self.device.adapter(replace(placed, twist=twist, mobility=mobility))
        state, command, hand = placed.begin()
        told = self._actuator(placed)
        out = make_mapping(state, command, hand, inner.port, told.control, told.force)
        out.grip[:] = 0.0 if self.gripper is None else self.gripper.numbers(self._grip())
        out.anchor[:], out.home[:], out.rotation[:] = placed.pose, placed.pose[:3], self.matrix
        out.factor[:], out.step[:] = (self.scale, self.factor), placed.step
        chosen = (self.clutch, self.engage)
        out.buttons[:] = [0 if button is None else 1 << button for button in chosen]
        out.zone[:] = self.rate_zone or (0.0, 0.0)
        out.stages[:] = [stage_address(s, inner.struct) for s in (inner.read, inner.write)]
        return behind_port(out, read_mapped, write_mapped)._replace(
            begin=inner.begin, end=inner.end, inner=inner
        )
