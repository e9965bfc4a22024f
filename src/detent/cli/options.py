"""The options of `detent play`: what each is called, and what it says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

WorldName = Annotated[str, typer.Argument(help="A built-in world or mechanism, or a scene file.")]
Rate = Annotated[float, typer.Option(help="[Hz] of the servo.")]
Port = Annotated[int, typer.Option(help="Port of the page on this machine.")]
Stiffness = Annotated[
    float | None,
    typer.Option(help="[N/m] of a contact point; unless given, what holds the bodies' weight."),
]
Damping = Annotated[
    float | None, typer.Option(help="[N·s/m] of a contact point; unless given, what suits.")
]
Restitution = Annotated[float, typer.Option(help="[-] 0 = plastic, 1 = elastic.")]
Material = Annotated[str | None, typer.Option(help="How collisions feel: rubber, wood or metal.")]
Mode = Annotated[str, typer.Option(help="Contact: impulse, penalty or rigid.")]
FrictionText = Annotated[
    str | None,
    typer.Option(metavar="MU_S[,MU_K]", help="[-] Dry friction; MU_K is 0.8 MU_S unless given."),
]
Law = Annotated[
    str | None,
    typer.Option(help="Of friction: reset-integrator, nahvi, dahl or classical."),
]
WallLaw = Annotated[
    str,
    typer.Option(
        metavar="LAW[,N]",
        help="Force at rest: zoh, seh, pi, pulse or hysteretic[,breakaway of its blocks in N].",
    ),
]
CouplingName = Annotated[
    str | None,
    typer.Option(help="four-channel, virtual, unilateral or direct; else what suits the device."),
]
Local = Annotated[
    bool, typer.Option("--local", help="An engine simulates the world in its own process.")
]
EngineName = Annotated[str, typer.Option(help="mujoco or bullet, with --local.")]
EngineRate = Annotated[
    float | None, typer.Option(help="[Hz] of the engine, with --local: 60 unless given.")
]
Constraints = Annotated[
    str | None,
    typer.Option(help="static, kinematic or (unless given) inertial, with --local."),
]
Realtime = Annotated[bool, typer.Option(help="Take real-time priority where allowed.")]
Seconds = Annotated[float | None, typer.Option(help="Stop by itself after so many seconds.")]
Record = Annotated[Path | None, typer.Option(help="Stream the trace into a file.")]
DeviceName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        help="A preset of `detent devices` (its model; real:NAME is the device itself), a device "
        "file, ideal (without limits), impedance, or display: one that senses force and moves. "
        "A desktop device with limits unless given.",
    ),
]
PassivityName = Annotated[
    str | None,
    typer.Option(
        "--passivity",
        metavar="LAW",
        help="Who watches over energy that nobody put in: damper, reference, tank, observe or off; "
        "damper for a device of a data sheet, off for others, unless given.",
    ),
]
