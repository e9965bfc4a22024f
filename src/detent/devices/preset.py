"""A device of a data sheet, simulated: with its limits, its loop and its imperfections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from detent.checks import one_of
from detent.devices.adapters import Adapter, Placed
from detent.devices.constants import MOST_DELAY
from detent.devices.display import AdmittanceDisplay
from detent.devices.facts import Fact
from detent.devices.inertial import Inertial
from detent.devices.policy import (
    HEATING,
    QUICKEST,
    RAMP_IN,
    RISE,
    SILENT_SAMPLES,
    SILENT_SECONDS,
    VELOCITY_HZ,
)
from detent.devices.presets import SHEETS
from detent.devices.protocol import SUBSPACES
from detent.devices.safety import Safety
from detent.devices.sheet import Sheet

#: what does not matter of a device that does not turn
TURNING = ("rotational_inertia", "turning_friction", "turning_damping")


@dataclass(frozen=True)
class LightDisplay(AdmittanceDisplay):
    """An admittance display of a given apparent mass."""

    apparent: float = 2.0  # [kg]

    @property
    def mass(self) -> float:
        """[kg] apparent."""
        return self.apparent


@dataclass(frozen=True)
class Preset:
    """What a session renders to in place of a device of this sheet.

    Force and torque are bounded as vectors, and by the slew that brings the peak in `RISE`.
    Limitations: its inertia is the same everywhere and in all directions, its workspace is a
    ball, and gravity is compensated.
    """

    sheet: Sheet
    offset: Sequence[float] = field(default=(0.0, 0.0, 0.0))  # [m]

    @property
    def name(self) -> str:
        """As in `detent devices`."""
        return self.sheet.name

    @property
    def subspace(self) -> str | None:
        """That of its readings."""
        return self.sheet.senses

    @property
    def takes_motion(self) -> bool:
        """Whether it is an admittance display."""
        return self.sheet.takes_motion

    def mask(self, tool_mask: np.ndarray) -> np.ndarray:
        """(6,) what it senses."""
        return SUBSPACES[self.sheet.senses].copy()

    def inertia(self, at_hand: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(6, 6) [kg, kg·m²] of the sheet."""
        mass = self.sheet.need("mass") if self.sheet.moves else 0.0
        turning = self.sheet.need("rotational_inertia") if self.sheet.turns else 0.0
        return np.diag(np.repeat([mass, turning], 3) * mask)

    def peak(self) -> tuple[float, float]:
        """[N, N·m] of the axes that push; infinite where none does."""
        pushes, turns = self.sheet.actuated[:3].any(), self.sheet.actuated[3:].any()
        force = self.sheet.need("force") if pushes else math.inf
        return force, self.sheet.need("torque") if turns else math.inf

    def cap(self) -> np.ndarray:
        """(6,) [N, N·m]; infinite where no wrench is given anyway."""
        return np.where(self.sheet.actuated > 0.0, np.repeat(self.peak(), 3), math.inf)

    @property
    def safety(self) -> Safety:
        """The limits of the sheet, and those that Detent keeps for every real device."""
        sheet, peak = self.sheet, self.peak()
        names = ("force_continuous", "torque_continuous")
        held = [sheet.get(name) for name in names]
        period = 1.0 / sheet.need("rate")
        return Safety(
            binding=True,
            length=peak,
            continuous=_pair(
                1.0 if one is None else min(1.0, one / most)
                for one, most in zip(held, peak, strict=True)
            ),
            heating=HEATING,
            slew=_pair(most / RISE for most in peak),
            ramp=RAMP_IN,
            actuated=tuple(sheet.actuated.tolist()),
            reach=sheet.get("reach") or 0.0,
            speed=QUICKEST,
            silence=max(SILENT_SECONDS, SILENT_SAMPLES * period),
            jumps=True,
        )

    def gains(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        r"""Stiffness and damping of the six axes that the device holds: for a coupling.

        .. math:: K = \min(K_s, \tfrac12 \frac{b + B}{T/2 + t_d}), \quad
                  B = \min(B_s, \tfrac15 \frac{m}{T + t_d})

        with the sheet's K_s and B_s, the device's mass, damping, period and delay: half of what is
        stable [Hulin06], and a damper that does not overshoot. The sheet's friction is in reserve.
        """
        sheet = self.sheet
        k, b = np.zeros(6), np.zeros(6)
        period, delay = 1.0 / sheet.need("rate"), sheet.need("delay")
        for moves, part, names in (
            (sheet.moves, slice(0, 3), ("mass", "damping", "stiffness", "stiffness_damping")),
            (
                sheet.turns,
                slice(3, 6),
                ("rotational_inertia", "turning_damping", "turning_stiffness"),
            ),
        ):
            if not moves:
                continue
            mass, own, most, *damper = names
            least = 0.2 * sheet.need(mass) / (period + delay)
            b[part] = min([least, *(sheet.get(name) or math.inf for name in damper)])
            held = 0.5 * (sheet.need(own) + b[part][0]) / (0.5 * period + delay)
            k[part] = min(held, sheet.get(most) or math.inf)
        return tuple(k.tolist()), tuple(b.tolist())

    def adapter(self, placed: Placed) -> Adapter:
        """The simulated device behind its port; says what is assumed, and what is lost."""
        placed.notes.extend(self.said())
        if self.sheet.takes_motion:
            return self._display().adapter(placed)
        sheet, period = self.sheet, 1.0 / self.sheet.need("rate")
        hold = max(1, round(period / placed.step))
        delay = round(sheet.need("delay") / placed.step)
        mass = Inertial(
            delay_ticks=min(delay, MOST_DELAY),
            friction=self._both("friction"),
            damping=self._both("damping"),
            resolution=sheet.get("resolution") or 0.0,
            reach=self.stop(),
        )
        adapter = mass.adapter(placed)
        struct: Any = adapter.struct
        struct.hold[0], struct.senses[0], struct.room.lasts[0] = hold, 0, 3 * hold
        struct.differences[0] = 1
        struct.blend[0] = 1.0 - math.exp(-2.0 * math.pi * VELOCITY_HZ * hold * placed.step)
        return adapter

    def _both(self, name: str) -> tuple[float, float]:
        """A field in translation and in rotation, where it moves."""
        moves = self.sheet.need(name) if self.sheet.moves else 0.0
        return moves, self.sheet.need(f"turning_{name}") if self.sheet.turns else 0.0

    def _display(self) -> LightDisplay:
        resolution = (self.sheet.get("resolution") or 0.0, 0.0)
        return LightDisplay(
            apparent=self.sheet.need("mass"),
            friction=(self.sheet.need("friction"), 0.0),
            structure=(self.sheet.need("stiffness"), math.inf),
            resolution=resolution,
            subspace=self.sheet.senses,
            reach=self.stop(),
        )

    def stop(self) -> float:
        """[m] from its centre to its end stop: an encoder step before it counts as out of reach."""
        return max((self.sheet.get("reach") or 0.0) - (self.sheet.get("resolution") or 0.0), 0.0)

    def said(self) -> list[str]:
        """What is assumed of it, and what it cannot do."""
        sheet = self.sheet
        unused = () if sheet.turns else TURNING
        notes = [
            f"{sheet.name}: {name.replace('_', ' ')} {fact.value:g} is assumed, {fact.source}"
            for name, fact in sheet.facts().items()
            if fact.assumed and name not in unused
        ]
        if sheet.turns and not sheet.actuated[3:].any():
            notes.append(
                f"{sheet.name}: rotation is sensed, not actuated: the tool turns with the handle, "
                "and the torques of the world are not felt"
            )
        if sheet.get("resolution") is None and sheet.moves:
            notes.append(f"{sheet.name}: its resolution is not known; positions are exact")
        for what, pushes in (("force", slice(0, 3)), ("torque", slice(3, 6))):
            if sheet.actuated[pushes].any() and sheet.get(f"{what}_continuous") is None:
                notes.append(
                    f"{sheet.name}: how much {what} it holds for long is not known; its peak counts"
                )
        if sheet.get("reach") is None and sheet.moves:
            notes.append(f"{sheet.name}: its reach is not known; it may be anywhere")
        return notes


def _pair(values: Any) -> tuple[float, float]:
    first, second = values
    return float(first), float(second)


def preset(name: str, **facts: Fact) -> Preset:
    """A device by its name, as in `detent devices`; facts of your own replace those of the sheet.

    ``preset("wheel", torque=known(2.1, "a mass of 1.5 kg at 14 cm"))``
    """
    one_of("device", name, SHEETS)
    return Preset(SHEETS[name].with_facts(**facts))


@dataclass(frozen=True)
class Desktop(Inertial):
    """A device of no particular make, with the documents' limits (TH 4.5.2): 15 N, 1 N·m.

    Its inertia and its subspace are the tool's, unless given.
    """

    limits: Sequence[float] | None = (15.0, 15.0, 15.0, 1.0, 1.0, 1.0)

    @property
    def safety(self) -> Safety:
        """As of a preset, but that it may be anywhere."""
        force, torque = self.cap()[[0, 5]]
        return Safety(
            binding=True, length=(force, torque), slew=(force / RISE, torque / RISE), ramp=RAMP_IN
        )
