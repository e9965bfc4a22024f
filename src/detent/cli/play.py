"""``detent play``: a world or a mechanism, live in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detent.cli.common import (
    Decompose,
    Free,
    Held,
    Keyframe,
    Outside,
    Overlaps,
    Tool,
    Trusted,
    compile_first,
    open_world,
)
from detent.errors import ParameterError

if TYPE_CHECKING:
    from detent.coupling import Coupling
    from detent.world.friction import Friction

#: experiments whose mechanism has another name
PLAYED = {
    "euler-versus-lie": "lie-disk-on-sphere",
    "admittance-versus-impedance": "disk-on-sphere",
}

#: what a mechanism, which is no scene and has no contacts, cannot be told
WORLD_OPTIONS = (
    *("tool", "held", "keyframe", "allow_outside", "trusted", "free", "decompose"),
    *("ignore_overlaps", "local"),
    *("stiffness", "damping", "restitution", "material", "mode", "friction", "law", "wall"),
    "coupling",
)


def choose_device(name: str | None) -> str | None:
    """One of the kinds of device, or None for what suits."""
    from detent.checks import one_of

    return None if name is None else one_of("device", name, ("display", "impedance"))


def is_mechanism(name: str) -> bool:
    """Whether there is a built-in mechanism of that name, or of that experiment."""
    from detent.mechanism.library import MECHANISMS

    return PLAYED.get(name, name) in MECHANISMS


def mechanism_session(name: str, device: str | None) -> Any:
    """A session with a built-in mechanism, or None if there is none of that name."""
    from detent.experiments.paradigms import LIGHT, spring
    from detent.mechanism.library import builtin
    from detent.session import Session

    kind = choose_device(device)
    if not is_mechanism(name):
        return None
    name = PLAYED.get(name, name)
    if kind == "impedance":
        return Session(builtin(name), device=LIGHT, coupling=spring(2000.0))
    return Session(builtin(name))


def parse_friction(text: str | None, law: str | None) -> Friction:
    """``"0.3,0.2"`` (or ``"0.3"``) and the name of a law, as a friction; none without."""
    from detent.world.friction import NO_FRICTION, Friction

    if text is None:
        if law is not None:
            raise ParameterError("law", law, "left out without --friction MU_S")
        return NO_FRICTION
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise ParameterError("friction", text, "of the form MU_S or MU_S,MU_K, two numbers")
    usual = Friction()
    static, kinetic = numbers[0], numbers[0] * usual.kinetic / usual.static
    return Friction(static, numbers[-1] if len(numbers) == 2 else kinetic, law or usual.law)


def choose_coupling(name: str | None, device: str | None) -> Coupling:
    """A coupling with its default gains, by its name on the command line."""
    from detent.checks import one_of
    from detent.coupling import Admittance, Direct, FourChannel, UnilateralCoupler, VirtualCoupler

    known = {
        "four-channel": FourChannel,
        "virtual": VirtualCoupler,
        "unilateral": UnilateralCoupler,
        "direct": Direct,
    }
    if choose_device(device) == "display":
        if name is not None:
            raise ParameterError("coupling", name, "left out with --device display")
        return Admittance()
    return known[one_of("coupling", name or "four-channel", known)]()


def refuse_given(context: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Refuse options that were given, be it with their defaults."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ParameterError(name.replace("_", " "), context.params[name], f"left out {why}")


def play(
    context: typer.Context,
    world: Annotated[
        str, typer.Argument(help="A built-in world or mechanism, or a scene file.")
    ] = "peg-in-hole",
    tool: Tool = None,
    held: Held = None,
    keyframe: Keyframe = None,
    allow_outside: Outside = False,
    trusted: Trusted = False,
    free: Free = False,
    decompose: Decompose = False,
    ignore_overlaps: Overlaps = False,
    rate: Annotated[float, typer.Option(help="[Hz] of the servo.")] = 4000.0,
    port: Annotated[int, typer.Option(help="Port of the page on this machine.")] = 8080,
    stiffness: Annotated[float, typer.Option(help="[N/m] of a contact point.")] = 4000.0,
    damping: Annotated[float, typer.Option(help="[N·s/m] of a contact point.")] = 30.0,
    restitution: Annotated[float, typer.Option(help="[-] 0 = plastic, 1 = elastic.")] = 0.0,
    material: Annotated[
        str | None, typer.Option(help="How collisions feel: rubber, wood or metal.")
    ] = None,
    mode: Annotated[str, typer.Option(help="Contact: impulse, penalty or rigid.")] = "impulse",
    friction: Annotated[
        str | None,
        typer.Option(
            metavar="MU_S[,MU_K]", help="[-] Dry friction; MU_K is 0.8 MU_S unless given."
        ),
    ] = None,
    law: Annotated[
        str | None,
        typer.Option(help="Of friction: reset-integrator, nahvi, dahl or classical."),
    ] = None,
    wall: Annotated[
        str, typer.Option(help="Force at rest: zoh, seh, pi, pulse or hysteretic.")
    ] = "zoh",
    coupling: Annotated[
        str | None,
        typer.Option(help="four-channel (unless given), virtual, unilateral or direct."),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="An engine simulates the world in its own process.")
    ] = False,
    engine: Annotated[str, typer.Option(help="mujoco or bullet, with --local.")] = "mujoco",
    engine_rate: Annotated[
        float | None, typer.Option(help="[Hz] of the engine, with --local: 60 unless given.")
    ] = None,
    constraints: Annotated[
        str | None,
        typer.Option(help="static, kinematic or (unless given) inertial, with --local."),
    ] = None,
    realtime: Annotated[bool, typer.Option(help="Ask for real-time priority.")] = False,
    seconds: Annotated[
        float | None, typer.Option(help="Stop by itself after so many seconds.")
    ] = None,
    record: Annotated[Path | None, typer.Option(help="Stream the trace into a file.")] = None,
    device: Annotated[
        str | None, typer.Option(help="impedance, or display: one that senses force and moves.")
    ] = None,
) -> None:
    """Feel a world live, in the browser; the pointer is the hand.

    The page is for this machine: open the whole address that is printed, with its key. The
    first page that is open holds the tool, others look on.
    """
    from detent.app.workbench import play as start
    from detent.checks import positive
    from detent.local import LocalModel, Pace
    from detent.session import Session
    from detent.world.contact import Contact
    from detent.world.wall import Wall

    contact = Contact(
        stiffness, damping, restitution, mode=mode, friction=parse_friction(friction, law),
        wall=Wall(wall), material=material,
    )  # fmt: skip
    if not local:
        refuse_given(context, ("engine", "engine_rate", "constraints"), "without --local")
    if is_mechanism(world):
        refuse_given(
            context, WORLD_OPTIONS, "with a mechanism: it is no world, and has no contacts"
        )
    near = LocalModel(constraints=constraints or "inertial") if local else None
    rate_of_engine = positive("engine rate", 60.0 if engine_rate is None else engine_rate)
    pace = Pace(1.0 / rate_of_engine) if local else None
    session = mechanism_session(world, device)
    if session is None:
        opened = open_world(
            world, tool, held=held, keyframe=keyframe, allow_outside=allow_outside,
            trusted=trusted, free=free, decompose=decompose, ignore_overlaps=ignore_overlaps,
        )  # fmt: skip
        tie = choose_coupling(coupling, device)
        session = Session(opened, contact, tie, local=near, engine=engine, pace=pace)
        compile_first()
    start(session, rate=rate, port=port, realtime=realtime, seconds=seconds, record=record)
