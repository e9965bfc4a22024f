"""The command line: ``detent --help``."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from detent.cli.common import (
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
    err,
    open_world,
    working,
)
from detent.cli.devices import app as devices_app
from detent.cli.play import play
from detent.errors import DetentError, ParameterError, ToolNotNamedError

app = typer.Typer(
    name="detent",
    help="Feel a rigid-body world.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console()

Names = Annotated[
    list[str] | None, typer.Argument(help="Experiments; all of them if none is named.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="K=V", help="Set a parameter; `detent list NAME` shows them."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
CheckedDevice = Annotated[
    str | None,
    typer.Option("--device", help="Also how stiff the world is on it, and what it can hold."),
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
        sys.exit(2)


def make_folder(folder: Path | None) -> None:
    """The folder for results, before anything is computed."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("--out", str(folder), f"a folder ({error.strerror})") from error


def parse_settings(settings: list[str] | None) -> dict[str, str]:
    """``["gap_x=0.02"]`` as a dict."""
    pairs = {}
    for item in settings or []:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ParameterError("--set", item, "of the form NAME=VALUE")
        pairs[name.strip()] = value.strip()
    return pairs


@app.command("list")
def list_(
    name: Annotated[
        str | None, typer.Argument(help="An experiment, whose parameters are listed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List worlds, mechanisms, experiments and devices, or the parameters of an experiment."""
    found = library() if name is None else {"parameters": parameters_of(name)}
    allowed = {} if name is None else ranges_of(name)
    if as_json:
        print(json.dumps(found, indent=1))
        return
    described = found.pop("descriptions", {})
    found.pop("parameters" if name is None else "", None)
    for kind, names in found.items():
        table = Table(title=kind, title_justify="left", show_header=False, box=None, padding=(0, 2))
        lines = names if isinstance(names, dict) else described.get(kind, dict.fromkeys(names, ""))
        for one, line in lines.items():
            table.add_row(one, escape(str(line)), allowed.get(one, ""))
        if not lines:
            table.add_row("none", "")
        out.print(table)
    if name is None:
        out.print("detent list EXPERIMENT shows what --set can change", highlight=False)


def library() -> dict[str, Any]:
    """Names of all that there is, what it is, and the parameters of experiments."""
    from detent.cli.devices import list_devices
    from detent.experiments import EXPERIMENTS
    from detent.mechanism.library import descriptions
    from detent.world.world import World

    return {
        "worlds": World.library(),
        "mechanisms": list(descriptions()),
        "experiments": {e.name: e.title for e in EXPERIMENTS.values()},
        "devices": list_devices(),
        "descriptions": {"worlds": World.descriptions(), "mechanisms": descriptions()},
        "parameters": {name: parameters_of(name) for name in EXPERIMENTS},
    }


def parameters_of(name: str) -> dict[str, Any]:
    """What an experiment can be told, and its defaults."""
    from detent.experiments import find

    return find(name).parameters


def ranges_of(name: str) -> dict[str, str]:
    """What its parameters may be, in words."""
    from detent.experiments import find

    return {parameter: str(one) for parameter, one in find(name).ranges.items()}


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="An experiment, see `detent list`.")],
    settings: Set = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for figure and traces.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run one experiment: metrics, claims, figure, trace."""
    from detent.experiments import find
    from detent.experiments.report import write_outputs

    experiment = find(name)
    parameters = experiment.complete(parse_settings(settings))
    make_folder(folder)
    compile_first()
    with working(f"running {name}"):
        result = experiment.attempt(parameters)
    report = experiment.report(parameters, result)
    if folder is not None:
        write_outputs(name, result, folder, traces=True)
        (folder / f"{name}.json").write_text(json.dumps(report, indent=1))
    if as_json:
        print(json.dumps(report))
    else:
        print_report(report)
        if folder is not None:
            out.print(f"figure and traces are in {folder}")
    if not all(claim["passed"] for claim in report["claims"]):
        raise typer.Exit(1)


def print_report(report: dict[str, Any]) -> None:
    """Metrics and claims as tables."""
    metrics = Table("metric", "value", title=report["experiment"], title_justify="left")
    for name, value in report["metrics"].items():
        metrics.add_row(name, f"{value:.6g}")
    out.print(metrics)
    claims = Table("", "claim", "measured", "required", "verdict", "source")
    for claim in report["claims"]:
        mark = "[green]✓[/]" if claim["passed"] else "[red]✗[/]"
        words = [escape(claim[part]) for part in ("text", "required", "verdict", "source")]
        claims.add_row(mark, words[0], f"{claim['measured']:.4g}", *words[1:])
    out.print(claims)


@app.command()
def reproduce(
    names: Names = None,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path("results"),
) -> None:
    """Check every claim of the documents; exit 1 if a verdict is not the one on record.

    Writes report.json, report.html and the figures.
    """
    from detent.experiments import EXPERIMENTS, find
    from detent.experiments.report import write_outputs, write_report

    chosen = [find(name) for name in names or EXPERIMENTS]
    make_folder(folder)
    compile_first()
    reports = []
    with working("reproducing") as progress:
        for done, experiment in enumerate(chosen):
            result = experiment()
            reports.append(experiment.report(experiment.parameters, result))
            write_outputs(experiment.name, result, folder, traces=False)
            progress((done + 1) / len(chosen))
    write_report(reports, folder)
    claims = [claim for report in reports for claim in report["claims"]]
    failed = [claim for claim in claims if not claim["passed"]]
    for report in reports:
        good = sum(claim["passed"] for claim in report["claims"])
        known = f"{good} of {len(report['claims'])} verdicts are those on record"
        out.print(f"{report['experiment']}: {known}")
    for claim in failed:
        number = f"{claim['measured']:.4g}, required {claim['required']}: {claim['verdict']}"
        out.print(f"[red]✗[/] {claim['id']}: {escape(claim['text'])}: {escape(number)}")
    out.print(f"the report is {folder / 'report.html'}")
    if failed:
        raise typer.Exit(1)


@app.command()
def bench(
    json_file: Annotated[
        Path | None,
        typer.Option("--json", dir_okay=False, help="Write numbers and bars to a file."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs, wider spread.")] = False,
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
    ignore_overlaps: Overlaps = False,
    release: Release = None,
    device: CheckedDevice = None,
    as_json: Json = False,
) -> None:
    """Say what Detent sees in a scene, and what is wrong with it."""
    from detent.world.inspect import inspect_world

    def opened(tool: str | None) -> Any:
        return open_world(
            scene, tool, held=held, keyframe=keyframe, root=root, allow_outside=allow_outside,
            trusted=trusted, free=free, decompose=decompose, ignore_overlaps=ignore_overlaps,
            release=release or (),
        )  # fmt: skip

    try:
        world = opened(tool)
    except ToolNotNamedError as error:
        world = opened(error.names[0])
        err.print(f"no tool is named: as if {escape(error.names[0])} were held", highlight=False)
    found = inspect_world(world)
    found |= try_ticks(world, as_json)
    if device is not None:
        found |= {"felt_stiffness": device_limits(world, device)}
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


def device_limits(world: Any, name: str) -> list[str]:
    """The stiffness that is felt of a world on a device, and what that can hold."""
    from detent.cli.devices import chosen_device
    from detent.session import Session
    from detent.setup.limits import asked_of_device

    session = Session(world, device=chosen_device(name))
    servo = session.subject.allocate(session, None, session.rate, 1, None).servo
    return [str(one) for one in asked_of_device(servo.device, servo.parameters)]


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
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in findings.items():
        table.add_row(f"[bold]{name}[/]", escape(value))
    out.print(table)
    out.print("\nReal-time priority and locked memory are allowed by any of these, from the next")
    out.print("log-in (limits.d), restart (systemd) or start (container) on:")
    for file, lines in files.items():
        print(f"\n# {file}\n{lines}")


app.command()(play)
app.add_typer(devices_app, name="devices")


@app.command()
def export(
    trace: Annotated[Path, typer.Argument(help="A trace file.")],
    to: Annotated[str, typer.Option("--to", help="csv or parquet.")] = "csv",
    output: Annotated[Path | None, typer.Option("--output", help="The file to write.")] = None,
) -> None:
    """Convert a trace to another format."""
    from detent.record.export import export_trace
    from detent.record.trace import Trace

    out.print(f"wrote {export_trace(Trace.load(trace), trace, to, output)}")


if __name__ == "__main__":
    main()
