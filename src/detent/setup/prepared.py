"""A servo that is ready to run, and how it is driven in lockstep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from detent.checks import instance
from detent.devices.adapters import Adapter
from detent.devices.mapped import Mapped
from detent.devices.protocol import Device
from detent.engines.lockstep import Lockstep
from detent.errors import DeviceFault, ParameterError, ServoFault
from detent.hands import Guided, Hand, Playback
from detent.kernels.stages import run_stage
from detent.servo import places
from detent.servo.compile import Fitted, fitted
from detent.servo.faults import DEVICE_LOST, FAULTS, NO_FAULT
from detent.servo.force_path import ForcePath
from detent.servo.loop.live import Settings
from detent.servo.loop.loop import run_lockstep
from detent.servo.shown import NOTHING
from detent.servo.structs import FAULT
from detent.servo.world.start import ToolStart
from detent.setup.combinations import suited
from detent.setup.contact import fill_contact
from detent.setup.coupling import fill_coupling
from detent.setup.device import fill_limits, ignore_limits
from detent.setup.hand import fill_hand
from detent.setup.notes import run_notes
from detent.setup.passivity import check_change, fill_passivity
from detent.world.contact import Contact, settled


@dataclass
class Prepared:
    """A servo, with everything that must stay alive beside it."""

    servo: Any  # Servo, or MechanismServo
    adapter: Adapter  # the device behind the port
    model: mujoco.MjModel
    data: mujoco.MjData
    rate: float  # [Hz]
    notes: list[str]  # of the start
    start: ToolStart
    settings: Settings  # the newest
    device: Device

    def __post_init__(self) -> None:
        self._changes: list[str] = []  # notes of the newest settings
        self._offered = self.settings, self._changes

    @property
    def stages(self) -> list[Fitted]:
        """The stages that its ticks call."""
        return fitted(self.servo, self.adapter)

    def changed(self, parameters: np.ndarray, settings: Settings) -> np.ndarray:
        """The parameters of other settings, made as at the start; refused if they do not fit.

        The settings count as those of the run, and their notes are said, once `accept` is called.
        """
        out, now, notes = parameters.copy(), self.settings, list[str]()
        if now.contact is not None:
            contact = settings.contact
            if not isinstance(contact, Contact):
                raise ParameterError("contact", contact, "a Contact")
            contact = settled(contact, now.contact.gains, now.contact.rubbing)
            settings = settings._replace(contact=contact)
            fill_limits(out, contact, self.device)
            fill_contact(out, suited(contact, now.coupling))
            if now.coupling.channels.leads:
                ignore_limits(out)
        elif settings.contact is not None:
            raise ParameterError("contact", settings.contact, "left out with a Mechanism")
        kind = type(now.coupling)
        instance("coupling", settings.coupling, kind, f"a {kind.__name__}, as at the start")
        if now.coupling.channels.leads and settings.coupling != now.coupling:
            raise ParameterError("coupling", settings.coupling, "as at the start: it leads")
        if not now.coupling.channels.leads:
            fill_coupling(out, settings.coupling, self.start, self.servo.device, notes)
        instance("force_path", settings.force_path, ForcePath, "a ForcePath")
        settings.force_path.fill(out, self.device.safety)
        out["fade"] = parameters["fade"]  # a session begins once
        check_change(now.passivity, settings.passivity)
        fill_passivity(out, settings.passivity, self.servo.device.observed)
        if isinstance(settings.hand, Guided | Playback) and settings.hand is not now.hand:
            raise ParameterError("hand", settings.hand, "a Constant, Sinusoid or Impedance by then")
        fill_hand(out, settings.hand, self.servo.device.mobility, notes)
        self._offered = settings, notes
        return out

    @property
    def real(self) -> bool:
        """Whether there is a device outside of this process."""
        return self.adapter.begin is not None

    @property
    def gripped(self) -> int | None:
        """The actuator that the gripper of the device drives, if there is one."""
        if not isinstance(self.device, Mapped) or self.device.gripper is None:
            return None
        return int(self.model.actuator(self.device.gripper.actuator).id)

    def accept(self) -> None:
        """What was last offered is in force."""
        self.settings, self._changes = self._offered

    def begin(self) -> None:
        """Open a real device; the first reading is where the session starts."""
        if self.adapter.begin is not None:
            self.adapter.begin()

    def end(self) -> None:
        """Close a real device, with zero force."""
        if self.adapter.end is not None:
            self.adapter.end()

    def release(self) -> None:
        """Tell the device, for the last time: zero, and nothing after it."""
        command = self.adapter.port.command
        command.wrench[:] = command.gripper[:] = 0.0
        command.latched[0] = 1
        command.sequence[0] += 1
        run_stage(int(self.servo.stages[places.WRITE]), self.adapter.struct)

    def shown(self) -> np.ndarray:
        """Contacts, constraints and lost directions after the last tick, as `servo.shown` says."""
        kept: np.ndarray = self.servo.shown
        if len(kept):  # a mechanism has none
            run_stage(int(self.servo.stages[places.SHOW]), self.servo)
        return kept[kept["kind"] != NOTHING]

    def said(self) -> list[str]:
        """What the start and the run so far have to say."""
        return self.notes + self._changes + run_notes(self.servo, self.model, self.data, self.rate)


def batches(
    ready: Prepared, hand: Hand | None, ticks: int, engine: Lockstep | None = None
) -> Iterator[np.ndarray]:
    """Tick in lockstep; the raw rows of a part at a time, which the next part overwrites."""
    done = 0
    while done < ticks:
        batch = advance(ready, hand, done, min(len(ready.servo.ring), ticks - done), engine)
        ready.servo.written[0] = 0
        done += batch
        yield ready.servo.ring[:batch]


def advance(
    ready: Prepared, hand: Hand | None, done: int, ticks: int, engine: Lockstep | None = None
) -> int:
    """Tick in lockstep, with an engine that acts when it is due; how many ticks were done."""
    if engine is None:
        return advance_alone(ready, hand, done, ticks)
    gone = 0
    while gone < ticks:
        due = engine.until_event(done + gone)
        gone += advance_alone(ready, hand, done + gone, min(due, ticks - gone))
        if ready.servo.clock.counts[FAULT] != NO_FAULT:
            break
    return gone


def advance_alone(ready: Prepared, hand: Hand | None, done: int, ticks: int) -> int:
    """Tick in lockstep, a guided hand with a new target at each; how many ticks were done."""
    if not isinstance(hand, Guided):
        return run_lockstep(ready.servo, ticks)
    targets = hand.targets(np.arange(done, done + ticks) / ready.rate)
    for tick, target in enumerate(targets):
        ready.servo.target[: len(target)] = target
        run_lockstep(ready.servo, 1)
        if ready.servo.clock.counts[FAULT] != NO_FAULT:
            return tick + 1
    return ticks


def raise_fault(servo: Any, rows: np.ndarray) -> None:
    """Raise what stopped the servo, with the last rows before it."""
    fault = int(servo.clock.counts[FAULT])
    if fault != NO_FAULT:
        last = rows[-64:]
        kind = DeviceFault if fault >= DEVICE_LOST else ServoFault
        raise kind(
            f"the servo stopped with zero force: {FAULTS[fault]}",
            {name: last[name].copy() for name in last.dtype.names or ()},
        )
