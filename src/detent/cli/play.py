"""``detent play``: a world or a mechanism, live in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from detent.cli import options as o
from detent.cli.common import (
    Concave,
    Decompose,
    Free,
    Held,
    Keyframe,
    Outside,
    Overlaps,
    Release,
    Root,
    Tool,
    Trusted,
    compile_first,
    open_world,
)
from detent.cli.devices import chosen_device
from detent.cli.mapping import map_device
from detent.errors import ParameterError, UnknownNameError

if TYPE_CHECKING:
    from detent.coupling import Coupling
    from detent.devices.protocol import Device
    from detent.local import LocalModel, Pace
    from detent.servo.watching import Passivity
    from detent.world.contact import Contact
    from detent.world.friction import Friction
    from detent.world.wall import Wall

#: experiments whose mechanism has another name
PLAYED = {
    "euler-versus-lie": "lie-disk-on-sphere",
    "admittance-versus-impedance": "disk-on-sphere",
}

#: what a mechanism, which is no scene and has no contacts, cannot be told
WORLD_OPTIONS = (
    *("tool", "held", "keyframe", "root", "allow_outside", "trusted", "free", "decompose"),
    "concave",
    *("ignore_overlaps", "release", "local"),
    *("stiffness", "damping", "restitution", "material", "mode", "friction", "law", "wall"),
    "coupling",
    "mapping",
)


def choose_device(name: str | None) -> str | None:
    """One of the kinds of device that a mechanism can have, or None for what suits."""
    from detent.checks import one_of

    return None if name is None else one_of("device", name, ("display", "impedance"))


def is_mechanism(name: str) -> bool:
    """Whether there is a built-in mechanism of that name, or of that experiment."""
    from detent.mechanism.library import MECHANISMS

    return PLAYED.get(name, name) in MECHANISMS


def mechanism_session(name: str, device: str | None, passivity: Passivity | None = None) -> Any:
    """A session with a built-in mechanism, or None if there is none of that name."""
    from detent.experiments.paradigms import LIGHT, spring
    from detent.mechanism.library import builtin
    from detent.session import Session

    if not is_mechanism(name):
        return None
    kind = choose_device(device)
    name = PLAYED.get(name, name)
    if kind == "impedance":
        return Session(builtin(name), device=LIGHT, coupling=spring(2000.0), passivity=passivity)
    return Session(builtin(name), passivity=passivity)


def parse_friction(text: str | None, law: str | None) -> Friction | None:
    """``"0.3,0.2"`` (or ``"0.3"``) and a law, or ``"none"``; without, the world's own."""
    from detent.world.friction import NO_FRICTION, Friction

    if text is None or text == "none":
        if law is not None:
            raise ParameterError("law", law, "left out without --friction MU_S")
        return None if text is None else NO_FRICTION
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise ParameterError(
            "friction", text, "of the form MU_S or MU_S,MU_K, two numbers, or none"
        )
    usual = Friction()
    static, kinetic = numbers[0], numbers[0] * usual.kinetic / usual.static
    return Friction(static, numbers[-1] if len(numbers) == 2 else kinetic, law or usual.law)


def parse_wall(text: str) -> Wall:
    """``"seh"``, or ``"hysteretic,0.5"`` with the breakaway of its strongest block [N]."""
    from detent.world.wall import Wall

    law, comma, number = text.partition(",")
    if not comma:
        return Wall(law)
    try:
        return Wall(law, breakaway=float(number))
    except ValueError:
        raise ParameterError("wall", text, "of the form LAW or hysteretic,N") from None


def chosen_contact(
    stiffness: float | None,
    damping: float | None,
    restitution: float,
    material: str | None,
    mode: str,
    friction: str | None,
    law: str | None,
    wall: str,
) -> Contact:
    """How bodies meet."""
    from detent.world.contact import Contact

    return Contact(
        stiffness, damping, restitution, mode=mode, friction=parse_friction(friction, law),
        wall=parse_wall(wall), material=material,
    )  # fmt: skip


def parse_passivity(law: str | None) -> Passivity | None:
    """Who watches over energy, by its law; without, what the session chooses."""
    from detent.servo.watching import Passivity

    return None if law is None else Passivity(law)


def choose_coupling(name: str | None, device: str | None) -> Coupling | None:
    """A coupling with its default gains, by its name; None is what suits the device."""
    from detent.checks import one_of
    from detent.coupling import IMPEDANCE, Admittance

    if device == "display":
        if name is not None:
            raise ParameterError("coupling", name, "left out with --device display")
        return Admittance()
    return None if name is None else IMPEDANCE[one_of("coupling", name, IMPEDANCE)]()


def held_device(name: str | None, mapping: str | None) -> Device | None:
    """What the hand holds; None is the display that suits the coupling."""
    return None if name == "display" else map_device(chosen_device(name), mapping)


def refuse_given(context: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Refuse options that were given, be it with their defaults."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ParameterError(name.replace("_", " "), context.params[name], f"left out {why}")


def refuse_unfit(context: typer.Context, world: str, local: bool) -> None:
    """Refuse options that would have no effect."""
    if context.params["mode"] == "rigid":
        refuse_given(
            context, ("stiffness", "damping"), "with --mode rigid: it has no penalty force"
        )
    if not local:
        refuse_given(context, ("engine", "engine_rate", "constraints"), "without --local")
    if context.params["device"] == "display":
        refuse_given(context, ("mapping",), "with --device display: it takes no wrench")
    if is_mechanism(world):
        refuse_given(
            context, WORLD_OPTIONS, "with a mechanism: it is no world, and has no contacts"
        )


def refuse_unknown(name: str) -> None:
    """Refuse a name that is neither of a world, nor of a mechanism, nor of a file."""
    from pathlib import Path

    from detent.mechanism.library import MECHANISMS
    from detent.world.world import World

    known = {*World.library(), *MECHANISMS, *PLAYED}
    if name not in known and not Path(name).exists() and not Path(name).suffix:
        raise UnknownNameError("world or mechanism", name, known)


def local_model(
    local: bool, constraints: str | None, engine_rate: float | None
) -> tuple[LocalModel | None, Pace | None]:
    """The local model, if there is one, and when its engine looks."""
    from detent.checks import positive
    from detent.local import LocalModel, Pace

    if not local:
        return None, None
    rate = positive("engine rate", 60.0 if engine_rate is None else engine_rate)
    return LocalModel(constraints=constraints or "inertial"), Pace(1.0 / rate)


def unused(file: Path | None) -> Path | None:
    """A file to record into: nothing that was recorded is lost."""
    if file is not None and file.exists():
        raise ParameterError("--record", str(file), "a new file: this one is there already")
    return file


def play(
    context: typer.Context,
    world: o.WorldName = "peg-in-hole",
    tool: Tool = None,
    held: Held = None,
    keyframe: Keyframe = None,
    root: Root = None,
    allow_outside: Outside = False,
    trusted: Trusted = False,
    free: Free = False,
    decompose: Decompose = False,
    concave: Concave = None,
    ignore_overlaps: Overlaps = False,
    release: Release = None,
    rate: o.Rate = 4000.0,
    port: o.Port = 8080,
    stiffness: o.Stiffness = None,
    damping: o.Damping = None,
    restitution: o.Restitution = 0.0,
    material: o.Material = None,
    mode: o.Mode = "impulse",
    friction: o.FrictionText = None,
    law: o.Law = None,
    wall: o.WallLaw = "zoh",
    coupling: o.CouplingName = None,
    local: o.Local = False,
    engine: o.EngineName = "mujoco",
    engine_rate: o.EngineRate = None,
    constraints: o.Constraints = None,
    realtime: o.Realtime = True,
    seconds: o.Seconds = None,
    record: o.Record = None,
    device: o.DeviceName = None,
    mapping: o.MappingText = None,
    passivity: o.PassivityName = None,
) -> None:
    """Feel a world live, in the browser; the pointer is the hand.

    Open the whole printed address on this machine: the first page holds the tool, others look on.
    """
    from detent.app.workbench import play as start
    from detent.session import Session

    contact = chosen_contact(stiffness, damping, restitution, material, mode, friction, law, wall)
    refuse_unfit(context, world, local)
    near, pace, kept = *local_model(local, constraints, engine_rate), parse_passivity(passivity)
    session = mechanism_session(world, device, kept)
    if session is None:
        refuse_unknown(world)
        opened = open_world(
            world, tool, held=held, keyframe=keyframe, root=root, allow_outside=allow_outside,
            trusted=trusted, free=free, decompose=decompose, ignore_overlaps=ignore_overlaps,
            release=release or (), concave=concave,
        )  # fmt: skip
        session = Session(
            opened, contact, choose_coupling(coupling, device), held_device(device, mapping),
            local=near, engine=engine, pace=pace, passivity=kept,
        )  # fmt: skip
        compile_first()
    start(session, rate=rate, port=port, realtime=realtime, seconds=seconds, record=unused(record))
