"""The options of `detent play`: what each is called, and what it says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from detent.cli.common import CONTACT, ENGINE, RUN, TIE, flag, option

WorldName = Annotated[
    str, typer.Argument(metavar="WORLD", help="A built-in world or mechanism, or a scene file.")
]
Rate = Annotated[float, option("HZ", RUN, "[Hz] of the servo.")]
Port = Annotated[int, option("N", RUN, "Port of the page on this machine.")]
Stiffness = Annotated[
    float | None,
    option("K", CONTACT, "[N/m] of a contact point; unless given, what holds the bodies' weight."),
]
Damping = Annotated[
    float | None, option("B", CONTACT, "[N·s/m] of a contact point; unless given, what suits.")
]
Restitution = Annotated[float, option("E", CONTACT, "[-] 0 = plastic, 1 = elastic.")]
Material = Annotated[
    str | None, option("NAME", CONTACT, "How collisions feel: rubber, wood or metal.")
]
Mode = Annotated[str, option("MODE", CONTACT, "Contact: impulse, penalty or rigid.")]
FrictionText = Annotated[
    str | None,
    option(
        "MU_S[,MU_K]|none",
        CONTACT,
        "[-] Dry friction instead of the world's own; MU_K is 0.8 MU_S unless given.",
    ),
]
Law = Annotated[
    str | None,
    option("LAW", CONTACT, "Of friction: reset-integrator, nahvi, dahl or classical."),
]
WallLaw = Annotated[
    str,
    option(
        "LAW[,N]",
        CONTACT,
        "Force at rest: zoh, seh, pi, pulse or hysteretic[,breakaway of its blocks in N].",
    ),
]
CouplingName = Annotated[
    str | None,
    option("NAME", TIE, "four-channel, virtual, unilateral or direct; else what suits the device."),
]
Local = Annotated[
    bool, flag("--local", ENGINE, "An engine simulates the world in its own process.")
]
EngineName = Annotated[str, option("NAME", ENGINE, "mujoco or bullet, with --local.")]
EngineRate = Annotated[
    float | None, option("HZ", ENGINE, "[Hz] of the engine, with --local: 60 unless given.")
]
Constraints = Annotated[
    str | None,
    option("KIND", ENGINE, "static, kinematic or (unless given) inertial, with --local."),
]
Realtime = Annotated[bool, option("", RUN, "Take real-time priority where allowed.")]
Seconds = Annotated[float | None, option("S", RUN, "Stop by itself after so many seconds.")]
Record = Annotated[Path | None, option("FILE", RUN, "Stream the trace into a file.")]
DeviceName = Annotated[
    str | None,
    option(
        "NAME|FILE",
        TIE,
        "A preset of `detent devices` (its model; real:NAME is the device itself, real:NAME@PORT "
        "on that line), a device file, ideal (without limits), impedance, or display: one that "
        "senses force and moves. "
        "A desktop device with limits unless given.",
    ),
]
MappingText = Annotated[
    str | None,
    option(
        "NAME=VALUE,…",
        TIE,
        "How the device stands in the world: scale=3, clutch=1, engage=0, grab=2 (buttons), "
        "rate_zone=RIM:PACE, rotation=W:X:Y:Z, gripper=ACTUATOR:CLOSED:OPEN:FROM:TO.",
    ),
]
PassivityName = Annotated[
    str | None,
    option(
        "LAW",
        TIE,
        "Who watches over energy that nobody put in: damper, reference, tank, observe or off. "
        "Unless given, damper for a device of a data sheet, off for others.",
    ),
]
