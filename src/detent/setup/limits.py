"""What a session asks of its device against what that can hold: stable, passive, quiet."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from detent.devices.limits import StiffnessLimits, digits, region, stiffness_limits
from detent.servo.parameters import NEVER
from detent.servo.structs import Device

#: of a law that does not act
DOES = {"off": "nobody watches what comes out of it", "observe": "it is only observed"}
KINDS = (("N/m", slice(0, 3)), ("N·m/rad", slice(3, 6)))


class Felt(NamedTuple):
    """A stiffness that is felt, and what the device can hold of it."""

    unit: str
    stiffness: float  # [N/m, N·m/rad]
    damping: float  # [N·s/m, N·m·s/rad]
    limits: StiffnessLimits
    region: str  # of [Diolaiti06]
    rate: float  # [Hz] at which the device samples
    at_points: bool = False  # it is that of each contact point: several are stiffer together
    own: float = 0.0  # [N·s/m, N·m·s/rad] damping of the device, as far as it is known

    @property
    def verdict(self) -> str:
        """The first of what it is not: stable, passive; or both."""
        if self.stiffness > self.limits.stable:
            return "not stable by itself"
        passive = self.stiffness <= self.limits.passive
        return "stable and passive" if passive else "not passive for every hand by itself"

    def __str__(self) -> str:
        cycles = "; it may cycle on its encoders" if self.region == "cycles" else ""
        each = " (of one contact point: n of them are n times as stiff)" if self.at_points else ""
        damped = f"{self.damping:.4g} {self.unit.replace('/', '·s/')} of damping"
        felt = f"{digits(self.stiffness)} {self.unit} with {damped} are felt: {self.verdict}"
        device = f"the device at {digits(self.rate)} Hz"
        return f"{felt}{each}; {device} is {self.limits.said(self.unit)}{cycles}"

    def warning(self, law: str) -> str:
        """What is to be said of it under a law of passivity; nothing where it is passive."""
        if self.stiffness <= min(self.limits.stable, self.limits.passive):
            return ""
        return f"{self}; {DOES.get(law, 'the controller damps what comes out of it')}"

    def numbers(self) -> dict[str, Any]:
        """For machines; what has no bound is None."""
        limits = {
            name: value if math.isfinite(value) else None
            for name, value in asdict(self.limits).items()
        }
        return self._asdict() | {"limits": limits, "verdict": self.verdict}


def asked_of_device(device: Device, p: np.ndarray) -> list[Felt]:
    """The stiffness that the hand can feel in translation and in rotation, with its limits.

    It is that of the coupling, or of a contact point where the tool goes with the device.
    """
    observed, out = device.observed, []
    period = float(observed.period[0] * p["step"][0])
    delay = math.ceil(observed.delay[0] / observed.period[0])
    for block, (unit, part) in enumerate(KINDS):
        acts = device.mask[part] * device.guard.actuated[part] > 0.0
        if not acts.any():
            continue
        stiffness, damping = felt_gains(p, part)
        if stiffness == 0.0:
            continue
        mass = float(np.diag(device.mass)[part][acts].min())
        own = float(observed.damping[block]), float(observed.friction[block])
        resolution = float(observed.step[0]) if block == 0 else 0.0
        limits = stiffness_limits(mass, *own, resolution, period, delay, damping)
        where = region(stiffness, own[0] + damping, own[1], resolution, period, delay)
        at_points = p["device_position"][0] == NEVER
        rate = 1.0 / period
        out.append(Felt(unit, stiffness, damping, limits, where, rate, at_points, own[0]))
    return out


def felt_limits(device: Device, p: np.ndarray) -> list[Felt]:
    """One for each kind of stiffness; none for a display, which is told how to move."""
    return [] if device.observed.dual[0] != 0 else asked_of_device(device, p)


def felt_gains(p: np.ndarray, part: slice) -> tuple[float, float]:
    """K and B between the device and what it meets."""
    if p["device_position"][0] != NEVER:
        return float(p["coupling_k"][0, part].max()), float(p["coupling_b"][0, part].max())
    if part.start == 0 and p["device_force"][0] != 0:
        return float(p["stiffness"][0]), float(p["damping"][0])
    return 0.0, 0.0


def beyond_passive(device: Device, p: np.ndarray, law: str) -> list[str]:
    """What is to be said where a session asks for more than stable or passive.

    Of one that nobody watches only what is not stable; on an ideal mass nothing is, by theory.
    """
    said = [
        felt.warning(law)
        for felt in felt_limits(device, p)
        if law != "off" or (felt.own > 0.0 and felt.stiffness > felt.limits.stable)
    ]
    return [warning for warning in said if warning]
