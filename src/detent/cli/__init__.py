"""The command line: ``detent --help``."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from detent.cli.claims import reproduce, run
from detent.cli.common import (
    Concave,
    Decompose,
    Free,
    Held,
    Json,
    Keyframe,
    Outside,
    Overlaps,
    Release,
    Root,
    Tool,
    Trusted,
    compile_first,
    err,
    flag,
    open_world,
    working,
)
from detent.cli.devices import app as devices_app
from detent.cli.listing import list_
from detent.cli.maps import map_
from detent.cli.plain import App
from detent.cli.play import play
from detent.cli.traces import compare, export, film, replay
from detent.errors import DetentError, ToolNotNamedError, UnknownNameError

app = App(
    name="detent",
    help="Feel a rigid-body world.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(emoji=False)
CLOSE = 0.6  # how alike two names are, 0 to 1, before one is taken for the other
CheckedDevice = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="As in `detent play`: also how stiff the world is on it, and what it can hold.",
    ),
]


def leave(number: int, frame: FrameType | None) -> None:
    """Ctrl-C, wherever it comes: an exception would be swallowed by some imports."""
    print("stopped", file=sys.stderr, flush=True)
    os._exit(130)


def main() -> None:
    """Run the command line; an error of Detent's is one line, not a traceback."""
    signal.signal(signal.SIGINT, leave)  # the workbench has a gentler way of its own
    try:
        app()
    except DetentError as error:
        err.print(f"[bold red]detent:[/] {escape(str(error))}", highlight=False)
        if guess := meant(error):
            err.print(f"did you mean [bold]{escape(guess)}[/]?", highlight=False)
        sys.exit(2)


def meant(error: DetentError) -> str | None:
    """The known name that is closest to one that is not; without case and hyphens."""
    if not isinstance(error, UnknownNameError):
        return None
    plain = {re.sub(r"[\W_]", "", name.lower()): name for name in error.known}
    near = get_close_matches(re.sub(r"[\W_]", "", error.name.lower()), plain, 1, CLOSE)
    return plain[near[0]] if near else None


def tell_version(wanted: bool) -> None:
    """Print it, and no more."""
    if wanted:
        from importlib.metadata import version

        print(f"detent {version('detent')}")
        raise typer.Exit


@app.callback()
def detent(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=tell_version, is_eager=True, help="Say which it is."
        ),
    ] = False,
) -> None:
    """Feel a rigid-body world."""


@app.command()
def bench(
    json_file: Annotated[
        Path | None,
        typer.Option("--json", dir_okay=False, help="Write numbers and bars to a file."),
    ] = None,
    quick: Annotated[
        bool, flag("--quick", None, "Short runs, wide spread; no browser, no cold start.")
    ] = False,
) -> None:
    """Measure speed and memory, everything side by side, as ratios; exit 1 if a bar is missed.

    The live servo is measured with the workbench open in a headless Chromium, where there is one.
    """
    from detent.bench import run_bench
    from detent.bench.table import judge, print_bench

    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
    compile_first()
    with working("measuring") as progress:
        numbers = run_bench(quick, progress)
    bars = judge(numbers)
    print_bench(numbers, bars, out)
    if json_file is not None:
        report = {"measurements": numbers, "bars": [bar._asdict() for bar in bars]}
        json_file.write_text(json.dumps(report, indent=1))
    if not all(bar.passed for bar in bars):
        raise typer.Exit(1)


@app.command()
def check(
    scene: Annotated[str, typer.Argument(help="An MJCF or URDF file, or a built-in world.")],
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
    device: CheckedDevice = None,
    as_json: Json = False,
) -> None:
    """Say what Detent sees in a scene, and what is wrong with it."""
    from detent.world.inspect import inspect_world

    options: dict[str, Any] = {
        "held": held, "keyframe": keyframe, "root": root, "allow_outside": allow_outside,
        "trusted": trusted, "free": free, "decompose": decompose,
        "concave": concave,
        "ignore_overlaps": ignore_overlaps, "release": release or [],
    }  # fmt: skip
    try:
        world = open_world(scene, tool, **options)
    except ToolNotNamedError as error:
        tool = error.names[0]
        world = open_world(scene, tool, **options)
        err.print(f"no tool is named: as if {escape(tool)} were held", highlight=False)
    found = inspect_world(world)
    found |= try_ticks(world, as_json)
    if device is not None:
        add_limits(found, world, device, as_json)
    if as_json:
        print(json.dumps(found, indent=1))
        return
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in found.items():
        if name != "warnings":
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            table.add_row(f"[bold]{name.replace('_', ' ')}[/]", escape(shown) or "none")
    out.print(table)
    for warning in found["warnings"]:
        out.print(f"[yellow]![/] {escape(warning)}", highlight=False)
    if not found["warnings"]:
        out.print("[green]nothing is wrong with it[/]")
    command = play_command(
        scene, {"tool": tool, "device": device} | options, "--local" in found["tick_with_local"]
    )
    out.print(f"feel it: [bold]{escape(command)}[/]", highlight=False, soft_wrap=True)


def play_command(scene: str, options: dict[str, Any], local: bool) -> str:
    """The command to play what was checked, with the same options; what is not set is left out."""
    told = ["--local"] if local else []
    for name, value in options.items():
        key = f"--{name.replace('_', '-')}"
        if value is True:
            told.append(key)
        elif isinstance(value, list):
            told += [part for one in value for part in (key, one)]
        elif value:
            told += [key, str(value)]
    return shlex.join(["detent", "play", scene, *told])


def add_limits(found: dict[str, Any], world: Any, name: str, as_json: bool) -> None:
    """The stiffness that is felt of a world on a device, and what that can hold."""
    from detent.cli.devices import chosen_device
    from detent.devices.limits import digits
    from detent.session import Session

    session = Session(world, device=chosen_device(name))
    felt = session.limits()
    found["warnings"] += filter(None, [one.warning(session.passivity.law) for one in felt])
    brief: Any = [f"{digits(one.stiffness)} {one.unit}, {one.verdict}" for one in felt]
    if session.device.takes_motion:
        brief = "that of the display: it is told how to move, and senses the hand"
    found["felt_stiffness"] = [one.numbers() for one in felt] if as_json else brief


def try_ticks(world: Any, quiet: bool) -> dict[str, Any]:
    """What a tick costs at the start in both ways, and which gains the step of 1 kHz bounds."""
    from detent.bench.scene import microseconds, scene_costs

    compile_first(quiet)
    try:
        costs = scene_costs(world)
    except DetentError as error:
        return {"tick": f"none: {error}", "tick_with_local": "none", "bounds": []}
    near = f"none: {costs.no_local}" if costs.local is None else microseconds(costs.local)
    return {
        "tick": f"{microseconds(costs.whole)}, with the whole scene at its start",
        "tick_with_local": near + (f"; {costs.advice}" if costs.advice else ""),
        "bounds": costs.bounds,
    }


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what this machine can promise, and what to write where for real-time priority."""
    from detent.cli.doctor import examine
    from detent.servo.loop.rights import lines_to_allow

    compile_first()
    findings, files = examine(), lines_to_allow()
    if as_json:
        print(json.dumps(findings | {"to allow it": files}, indent=1))
        return
    verdict = findings.pop("verdict")
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in findings.items():
        table.add_row(f"[bold]{name}[/]", escape(value))
    out.print(table)
    out.print("\nReal-time priority and locked memory are allowed by any of these, from the next")
    out.print("log-in (limits.d), restart (systemd) or start (container) on:")
    for file, lines in files.items():
        print(f"\n# {file}\n{lines}")
    out.print(f"\n[bold]{escape(verdict)}[/]", highlight=False, soft_wrap=True)


app.command("list")(list_)
app.command()(run)
app.command()(reproduce)
app.command()(play)
app.command("map")(map_)
app.command()(replay)
app.command()(compare)
app.command()(film)
app.command()(export)
app.add_typer(devices_app, name="devices")


if __name__ == "__main__":
    main()
