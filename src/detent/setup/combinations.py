"""Which parts of a session do not go together, and what is without effect."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from detent.checks import instance, one_of, positive
from detent.coupling import Coupling
from detent.devices import AdmittanceDisplay, Inertial
from detent.devices.adapters import Adapter
from detent.devices.protocol import Device
from detent.engines import find_engine
from detent.errors import ParameterError
from detent.hands import Guided, Hand
from detent.kernels.constants import INTEGRATORS
from detent.local.model import LocalModel
from detent.local.pace import Pace
from detent.setup.constants import MOST_RATE
from detent.world.contact import Contact, check_rigid
from detent.world.names import geom_name
from detent.world.world import PROPERTIES, World

_LISTED = 6  # geoms that a note names


def suited(contact: Contact, coupling: Coupling) -> Contact:
    """The contact with which a coupling works: positions do not ring, god objects are rigid."""
    if contact.material is not None and not coupling.channels.device_force:
        allowed = f"None with {type(coupling).__name__}, through which no impulse reaches the hand"
        raise ParameterError("material", contact.material, allowed)
    return rigid(contact) if coupling.channels.tool == "god-object" else contact


def rigid(contact: Contact) -> Contact:
    """The rigid contact of a god object; refused if something else was asked for."""
    if contact.mode == "penalty":
        allowed = "rigid (which impulse, the default, becomes) with UnilateralCoupler"
        raise ParameterError("contact mode", contact.mode, allowed)
    check_rigid(contact, "the rigid contact of UnilateralCoupler")
    return replace(contact, mode="rigid")


def fitting_device(device: Device | None, coupling: Coupling) -> Device:
    """The device, or one like the tool; one that is told how to move needs a coupling for that."""
    if device is None:
        return AdmittanceDisplay() if coupling.channels.leads else Inertial(gentle=True)
    if device.takes_motion and not coupling.channels.leads:
        allowed = f"an impedance device with {type(coupling).__name__}, or coupling=Admittance()"
        raise ParameterError("device", type(device).__name__, allowed)
    return device


def check_simulated(device: Device, adapter: Adapter) -> None:
    """A real device does not wait for virtual time."""
    if adapter.begin is not None:
        kind = type(device).__name__
        raise ParameterError("device", kind, "simulated in lockstep: a real one runs live")


def check_live_hand(hand: Hand | None) -> None:
    """Live, somebody else leads a hand."""
    if isinstance(hand, Guided):
        raise ParameterError("hand", hand, "without a path: live, `Live.pull` moves the target")


def check_rate(rate: float) -> float:
    """[Hz] of a live servo: what no clock keeps is refused before room is made for its rows."""
    if positive("rate", rate) > MOST_RATE:
        raise ParameterError("rate", rate, f"at most {MOST_RATE:g} Hz")
    return rate


def check_room(seconds: float, rate: float, size: int) -> int:
    """Ticks of a lockstep run, all of whose rows, of *size* bytes, are kept in memory."""
    ticks = max(1, round(positive("seconds", seconds) * rate))
    room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if 2 * ticks * size > room:  # parts, and then the whole
        most = room / (2 * rate * size)
        allowed = (
            f"at most {most:.4g} s here: {ticks} rows need {2 * ticks * size / 2**30:.3g} GiB of "
            f"the machine's {room / 2**30:.3g}; run it in parts, or live with record="
        )
        raise ParameterError("seconds", seconds, allowed)
    return ticks


def check_integrator(integrator: str) -> str:
    """How positions move in a tick."""
    return one_of("integrator", integrator, INTEGRATORS)


def check_local(
    local: LocalModel | None,
    engine: str | type,
    pace: Pace | None,
    contact: Contact,
    frozen: float,
) -> None:
    """What a local model cannot do, and what is nothing without one."""
    if local is None:
        instance("pace", pace, type(None), "left out without local=LocalModel()")
        if engine != "mujoco":
            raise ParameterError("engine", engine, "left out without local=LocalModel()")
        return
    if contact.mode == "rigid":
        allowed = "impulse or penalty with a local model, whose constraints come and go"
        raise ParameterError("contact mode", contact.mode, allowed)
    if frozen:
        raise ParameterError("frozen", frozen, "0 with a local model: LocalModel(frozen=…)")
    find_engine(engine)


def idle_friction(world: World, contact: Contact) -> list[str]:
    """A note, if the scene or its geoms have a friction that nobody asked to leave out."""
    if contact.rubbing.law != "none":
        return []
    geoms = np.nonzero(world.properties[:, PROPERTIES.index("friction")] > 0.0)[0]
    if not len(geoms):
        return []
    names = [geom_name(world.model, int(g)) for g in geoms[:_LISTED]]
    more = f" and {len(geoms) - _LISTED} more" if len(geoms) > _LISTED else ""
    return [
        f"the friction of {', '.join(names)}{more} does not act: "
        "the session's contact has no friction, Contact(friction=Friction())"
    ]
