"""One cell of a map: a session with these numbers, and what came of it."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import detent
from detent import Passivity, __version__
from detent.checks import not_negative, one_of, positive
from detent.coupling import IMPEDANCE, Coupling
from detent.devices import Inertial, Preset, known, preset
from detent.devices.constants import MOST_DELAY
from detent.devices.presets import SHEETS
from detent.errors import ParameterError
from detent.experiments.sampled_wall import WallCase, given, growth, roughness
from detent.experiments.sampled_wall import swing as wall_swing
from detent.hands import Constant, Hand, Impedance
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

WALL = "wall"  # a device against a wall, on which theory can be drawn

#: what a map may go over, with its unit
PARAMETERS = {
    "stiffness": "N/m",
    "damping": "N·s/m",
    "rate": "Hz",
    "delay": "ticks",
    "mass": "kg",
    "own_damping": "N·s/m",
    "coulomb": "N",
    "resolution": "m",
    "hand": "N/m",
}

PLAIN_CAP = 12.0  # [N] of the plain device
OWN = math.nan  # as the device has it
#: the device of a map, unless it is another one
PLAIN = {"delay": 0.0, "mass": 0.1, "own_damping": 0.5, "coulomb": 0.0, "resolution": 0.0}
#: what a sheet calls them
OF_SHEET = {
    "delay": "delay",
    "mass": "mass",
    "own_damping": "damping",
    "coulomb": "friction",
    "resolution": "resolution",
}


@dataclass(frozen=True)
class Setting:
    """What the cells of a map share, and the numbers that one of them has.

    ``world`` is ``"wall"`` (a hand presses the device against it), a built-in world, or a file.
    ``device`` is ``"inertial"``, or a preset. What is `OWN` of mass, delay and flaws is that of
    the device: of a preset its sheet's, else 0.1 kg and 0.5 N·s/m without flaws.
    """

    world: str = WALL
    device: str = "inertial"
    coupling: str = "direct"
    passivity: str = "observe"
    seconds: float = 1.0  # [s]
    push: float = 2.0  # [N] against the wall
    stiffness: float = 1000.0  # [N/m] of the contact, and of the coupling where there is one
    damping: float = 0.0  # [N·s/m] likewise
    rate: float = 1000.0  # [Hz]
    delay: float = OWN  # [ticks]
    mass: float = OWN  # [kg]
    own_damping: float = OWN  # [N·s/m]
    coulomb: float = OWN  # [N]
    resolution: float = OWN  # [m]
    hand: float = 0.0  # [N/m] of a hand that holds the device where it starts, 0 = none

    def __post_init__(self) -> None:
        one_of("coupling", self.coupling, IMPEDANCE)
        Passivity(self.passivity)  # or it is refused
        one_of("device", self.device, ("inertial", *SHEETS))
        if self.world == WALL:
            self._check_wall()
        elif not Path(self.world).is_file():
            one_of("world", self.world, (WALL, *World.library()))
        for name in ("seconds", "stiffness", "rate"):
            positive(name, getattr(self, name))
        for name in ("push", "damping", "hand"):
            not_negative(name, getattr(self, name))
        for name in PLAIN:
            if not math.isnan(getattr(self, name)):
                (positive if name == "mass" else not_negative)(name, getattr(self, name))
        if not math.isnan(self.delay) and self.delay not in range(MOST_DELAY + 1):
            raise ParameterError("delay", self.delay, f"whole ticks from 0 to {MOST_DELAY}")

    def _check_wall(self) -> None:
        """What theory can say nothing about, a world must show: `--world corner`."""
        sheet = SHEETS.get(self.device)
        if sheet is not None and (sheet.takes_motion or not sheet.moves):
            allowed = "one that takes a force, on the wall; a world (--world) takes others"
            raise ParameterError("device", self.device, allowed)
        for name, only in (("coupling", "direct"), ("hand", 0.0)):
            if getattr(self, name) != only:
                allowed = f"{only} on the wall; a world (--world) takes others"
                raise ParameterError(name, getattr(self, name), allowed)

    def at(self, **numbers: float) -> Setting:
        """The same with other numbers."""
        return replace(self, **{n: float(value) for n, value in numbers.items()})  # type: ignore[arg-type]

    def filled(self) -> Setting:
        """With the device's own numbers where none were given."""
        own = PLAIN
        if self.device != "inertial":
            sheet = SHEETS[self.device]
            found = {name: sheet.get(fact) for name, fact in OF_SHEET.items()}
            own = {name: OWN if value is None else value for name, value in found.items()}
            own["delay"] = round(sheet.need("delay") * self.rate)  # [s] to ticks
        return self.at(**{name: own[name] for name in own if math.isnan(getattr(self, name))})

    @property
    def key(self) -> str:
        """Of its content, of the scene's file, and of the code that computes it."""
        file = Path(self.world)
        scene = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
        text = json.dumps({"detent": code(), "scene": scene} | asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def code() -> str:
    """Which Detent this is: its version and its sources."""
    found = hashlib.sha256(__version__.encode())
    for path in sorted(Path(detent.__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def compute(setting: Setting) -> dict[str, Any]:
    """The row of a cell; what cannot be computed is a row with the reason."""
    setting = setting.filled()
    row: dict[str, Any] = {"key": setting.key} | asdict(setting)
    row |= {name: float("nan") for name in ("growth", "swing", "given", "roughness")}
    row |= {"acted": 0, "at_end": 0, "error": ""}
    try:
        row |= wall_cell(setting) if setting.world == WALL else world_cell(setting)
    except Exception as error:  # a cell that fails must not stop the map
        row["error"] = f"{type(error).__name__}: {error}"
    return row


def wall_case(setting: Setting) -> WallCase:
    """The wall of a cell. A device that samples more slowly than the servo has its own period."""
    one, rate, cap = setting.filled(), setting.rate, PLAIN_CAP
    if one.device != "inertial":
        sheet = SHEETS[one.device]
        rate, cap = min(rate, sheet.need("rate")), sheet.need("force")
    delay = math.ceil(round(one.delay / one.rate * rate, 6))
    return WallCase(
        one.stiffness, one.damping, 1.0 / rate, delay, one.mass, one.own_damping, one.coulomb,
        one.resolution, push=one.push, cap=cap,
    )  # fmt: skip


def wall_cell(setting: Setting) -> dict[str, Any]:
    """The device against a wall: how a small motion grows, and what a hit at 0.05 m/s becomes."""
    case = wall_case(setting)
    trace = case.run(setting.seconds, 0.0, 0.05, Passivity(setting.passivity))
    flawless = replace(case, coulomb=0.0, resolution=0.0)  # a small motion would be lost in them
    return measured(trace) | {"growth": growth(flawless), "swing": wall_swing(trace)}


def world_cell(setting: Setting) -> dict[str, Any]:
    """A world whose tool a hand holds where it starts, or pushes along −y."""
    known = setting.world in World.library()
    world = World.builtin(setting.world) if known else World.load(setting.world)
    device = modelled(setting) if setting.device != "inertial" else inertial(setting)
    contact = Contact(setting.stiffness, setting.damping, mode="penalty", strategy="saturate")
    session = Session(
        world, contact, coupling(setting), device, rate=setting.rate,
        passivity=Passivity(setting.passivity),
    )  # fmt: skip
    hand: Hand = Constant((0.0, -setting.push, 0.0))
    if setting.hand > 0.0:
        hand = Impedance(stiffness=setting.hand)
    trace = session.run(setting.seconds, hand)
    return measured(trace) | {"at_end": at_end(trace, device)}


def modelled(setting: Setting) -> Preset:
    """A preset, with the numbers of the cell in place of its sheet's."""
    numbers = {name: getattr(setting, name) for name in OF_SHEET}
    numbers["delay"] /= setting.rate  # ticks to [s]
    facts = {
        OF_SHEET[name]: known(value, "chosen for a map")
        for name, value in numbers.items()
        if not math.isnan(value)
    }
    return preset(setting.device, **facts)


def at_end(trace: Trace, device: Preset | Inertial) -> int:
    """Ticks in which the device was at its end stop."""
    reach = device.stop() if isinstance(device, Preset) else device.reach
    if reach == 0.0:
        return 0
    place = np.asarray(trace["device_position"])
    return int((np.linalg.norm(place - place[0], axis=1) > (1.0 - 1e-6) * reach).sum())


def inertial(setting: Setting) -> Inertial:
    """The device of a setting."""
    return Inertial(
        mass=setting.mass,
        rotational_inertia=setting.mass * 0.03**2,
        delay_ticks=round(setting.delay),
        damping=(setting.own_damping, 1e-3 * setting.own_damping),
        friction=(setting.coulomb, 0.0),
        resolution=setting.resolution,
    )


def coupling(setting: Setting) -> Coupling:
    """The coupling of a setting, with its stiffness where it has one."""
    kind: Any = IMPEDANCE[setting.coupling]
    gains = {"stiffness": setting.stiffness, "damping": setting.damping}
    return kind(**{one.name: gains[one.name] for one in fields(kind) if one.name in gains})


def measured(trace: Trace) -> dict[str, Any]:
    """What every trace tells."""
    late = np.asarray(trace["device_position"])[len(trace) // 2 :]
    return {
        "swing": float(np.ptp(late, axis=0).max()),
        "given": given(trace),
        "roughness": roughness(trace),
        "acted": int(trace["passive"].sum()),
    }


def compute_chunk(settings: list[Setting]) -> list[dict[str, Any]]:
    """What one task does."""
    return [compute(setting) for setting in settings]
