"""``detent run`` and ``detent reproduce``: the documents' claims, measured here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from detent.cli.common import Json, compile_first, flag, working
from detent.errors import ParameterError

out = Console(emoji=False)

Names = Annotated[
    list[str] | None, typer.Argument(help="Experiments; all of them if none is named.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="K=V", help="Set a parameter; `detent list NAME` shows them."),
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Experiments at a time; as many as cores unless given.")
]

#: how a verdict looks in a terminal
MARKS = {
    "confirmed": "[green]✓[/]",
    "confirmed after correction": "[cyan]◐[/]",
    "refuted": "[yellow]✗[/]",
}


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


def run(
    name: Annotated[str, typer.Argument(help="An experiment, see `detent list`.")],
    settings: Set = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for figure (PNG, SVG, PDF) and traces.")
    ] = None,
    metrics: Annotated[bool, flag("--metrics", None, "Print all metrics, too.")] = False,
    as_json: Json = False,
) -> None:
    """Run one experiment: its claims and verdicts; figure, metrics and traces on request."""
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
        print_report(report, experiment.title, metrics)
        if folder is not None:
            out.print(f"figure, metrics and traces are in {folder}", highlight=False)
    if not all(claim["passed"] for claim in report["claims"]):
        raise typer.Exit(1)


def print_report(report: dict[str, Any], title: str, metrics: bool) -> None:
    """The result in one line, then every claim; metrics only if they are asked for."""
    from detent.experiments.report import summary

    good, count = sum(c["passed"] for c in report["claims"]), len(report["claims"])
    colour = "green" if good == count else "red"
    out.print(f"[bold]{escape(title)}[/]: {summary(report['claims'])}", highlight=False)
    out.print(f"[{colour}]{good} of {count} verdicts are those on record[/]\n", highlight=False)
    claims = Table("", "claim", "measured", "required", "verdict", "source", box=None)
    for claim in report["claims"]:
        mark = MARKS[claim["verdict"]] if claim["passed"] else "[bold red]![/]"
        words = [escape(claim[part]) for part in ("text", "required", "verdict", "source")]
        claims.add_row(mark, words[0], f"{claim['measured']:.4g}", *words[1:])
    out.print(claims)
    if not metrics:
        number = len(report["metrics"])
        out.print(f"\n{number} metrics: --metrics prints them, --out writes them", highlight=False)
        return
    table = Table("metric", "value (SI units)", box=None)
    for name, value in report["metrics"].items():
        table.add_row(name, f"{value:.6g}")
    out.print(table)


def reproduce(
    names: Names = None,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path("results"),
    jobs: Jobs = None,
) -> None:
    """Check every claim of the documents; exit 1 if a verdict is not the one on record.

    Writes report.html, which needs no other file, report.json and the figures (PNG, SVG, PDF).
    """
    from detent.experiments import EXPERIMENTS, find
    from detent.experiments.origin import origin
    from detent.experiments.report import all_claims, summary, write_report
    from detent.experiments.reproduction import cores, reproduce_all

    chosen = list(dict.fromkeys(find(name).name for name in names or EXPERIMENTS))
    make_folder(folder)
    compile_first()
    with working(f"{len(chosen)} experiments") as progress:

        def tell(name: str, done: int) -> None:
            progress(done / len(chosen), f"{done} of {len(chosen)} experiments, last {name}")

        reports = reproduce_all(chosen, folder, jobs or cores(), tell)
    write_report(reports, folder, origin())
    claims = all_claims(reports)
    failed = [claim for claim in claims if not claim["passed"]]
    colour = "red" if failed else "green"
    out.print(
        f"[{colour}]{len(claims) - len(failed)} of {len(claims)} verdicts are those on record[/]: "
        f"{summary(claims)}",
        highlight=False,
    )
    for claim in failed:
        number = f"{claim['measured']:.4g}, required {claim['required']}: {claim['verdict']}"
        out.print(f"[red]✗[/] {claim['id']}: {escape(claim['text'])}: {escape(number)}")
    print_sums(reports)
    out.print(f"the report is {folder / 'report.html'}", highlight=False)
    if failed:
        raise typer.Exit(1)


def print_sums(reports: list[dict[str, Any]]) -> None:
    """One line per experiment."""
    table = Table("experiment", "on record", "confirmed", "corrected", "refuted", "time", box=None)
    for report in reports:
        claims = report["claims"]
        verdicts = [claim["verdict"] for claim in claims]
        counts = [str(verdicts.count(verdict) or "–") for verdict in MARKS]
        good = f"{sum(claim['passed'] for claim in claims)} of {len(claims)}"
        table.add_row(report["experiment"], good, *counts, f"{report['seconds']:.1f} s")
    out.print(table)
