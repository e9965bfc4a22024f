"""What a person asks for that a running servo cannot do: it starts anew, where it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from detent import devices
from detent.coupling import IMPEDANCE, Coupling
from detent.devices.protocol import Device
from detent.local.model import LocalModel
from detent.mechanism.library import MECHANISMS, builtin
from detent.servo.loop.live import Live
from detent.servo.watching import Passivity
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

IDEAL, DESKTOP = "ideal", "desktop"


@dataclass(frozen=True)
class Wanted:
    """What shall be other than it is; None, or nothing, is as before."""

    link: str | None = None
    world: str | None = None
    reset: bool = False  # to where the world starts
    contact: Mapping[str, Any] = field(default_factory=dict)
    coupling: str | None = None
    device: str | None = None
    local: bool | None = None
    passivity: str | None = None
    gravity: bool | None = None  # whether the tool's own weight is felt
    record: bool | None = None

    def words(self) -> str:
        """What was asked for, for the terminal and the page."""
        said = [f"the hand now holds {self.link!r}"] if self.link else []
        said += [f"the world is {self.world!r}"] if self.world else []
        said += ["it starts over"] if self.reset else []
        for name, value in self.contact.items():
            said.append(f"{name} is {getattr(value, 'law', value)}")
        said += [f"the coupling is {self.coupling}"] if self.coupling else []
        said += [f"the device is {self.device}"] if self.device else []
        if self.local is not None:
            said.append("an engine simulates the world" if self.local else "no engine is needed")
        said += [f"passivity is {self.passivity}"] if self.passivity else []
        if self.gravity is not None:
            said.append(f"the tool's weight is {'' if self.gravity else 'not '}felt")
        if self.record is not None:
            said.append("recording" if self.record else "the recording ends")
        return ", ".join(said)


def renewed(session: Session, live: Live, wanted: Wanted, start: np.ndarray) -> Session:
    """A session with what is wanted, and all else as it is now; refused if it does not fit.

    Args:
        session: the one that stopped.
        live: how it was then.
        wanted: what shall be other.
        start: qpos to which a reset goes.
    """
    if wanted.world in MECHANISMS:
        return Session(builtin(wanted.world))
    if session.subject.mechanism is not None and wanted.world is None:
        return session  # it starts over
    contact, coupling, force_path, _, passivity = live.settings
    contact = replace(contact or session.contact, **wanted.contact)
    device = session.device if wanted.device is None else named_device(wanted.device)
    if session.subject.mechanism is not None:
        device = devices.Desktop()  # a display senses force; as `detent play` begins
    local = session.local
    if wanted.local is not None:
        local = LocalModel() if wanted.local else None
    if wanted.world is not None:
        plain = Contact(mode=contact.mode, wall=contact.wall)
        world = World.builtin(wanted.world)
        return Session(world, plain, device=device, rate=session.rate, local=local)
    link = wanted.link or session.world.body_name(session.world.held)
    world = session.subject.holding(link, *live.configuration()).world
    if wanted.gravity is not None:
        world = world.weighed(wanted.gravity)
    if wanted.reset:
        world = world.placed(start)
    elif len(world.ctrl) == len(live.controls):
        world.ctrl = live.controls
    if wanted.passivity is not None:
        passivity = Passivity(wanted.passivity)
    tie: Coupling | None = coupling
    if wanted.device is not None:
        tie = None  # what suits it
    if wanted.coupling is not None:
        tie = IMPEDANCE[wanted.coupling]()
    return Session(
        world, contact, tie, device, force_path, session.outside, session.rate,
        session.integrator, session.frozen, session.baumgarte, local, session.engine,
        session.pace if local is not None else None, session.sleep,
        passivity=passivity if wanted.device is None else None,
    )  # fmt: skip


def named_device(name: str) -> Device:
    """An ideal one, a desktop one with limits, or the model of a preset."""
    if name == IDEAL:
        return devices.Inertial()
    return devices.Desktop() if name == DESKTOP else devices.preset(name)


def device_names(now: Device) -> list[str]:
    """What can be chosen; the first is what is there now, where it has no such name."""
    known = [IDEAL, DESKTOP, *devices.SHEETS]
    name = name_of(now)
    return known if name in known else [name, *known]


def name_of(device: Device) -> str:
    """As in the list."""
    if isinstance(device, devices.Preset):
        return device.name
    plain: dict[type, str] = {devices.Inertial: IDEAL, devices.Desktop: DESKTOP}
    return plain.get(type(device), type(device).__name__)


def coupling_name(coupling: Coupling) -> str:
    """As in the list."""
    names = {kind: name for name, kind in IMPEDANCE.items()}
    return names.get(type(coupling), type(coupling).__name__)
