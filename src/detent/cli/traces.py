"""``detent replay``, ``detent compare`` and ``detent export``: what to do with a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from detent.cli.common import compile_first, option, working
from detent.errors import ParameterError, TraceError

if TYPE_CHECKING:
    from detent.app.rehearsal import Run
    from detent.record.trace import Trace

out = Console(emoji=False)

TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", help="A file that --record wrote.")]
Other = Annotated[
    Path | None, typer.Argument(metavar="[TRACE]", help="Another one, to set beside it.")
]
As = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="K=V",
        help="The same hand with another setting: contact.mode=penalty, "
        "contact.friction.static=0.3, coupling.type=VirtualCoupler, device.delay_ticks=2 …",
    ),
]


def replay(
    trace: TraceFile,
    other: Other = None,
    changes: As = None,
    port: Annotated[int, option("N", None, "Port of the page on this machine.")] = 8080,
    seconds: Annotated[
        float | None, option("S", None, "Stop by itself after so many seconds.")
    ] = None,
) -> None:
    """Scrub through a recording in the browser, or through two of them side by side.

    It runs again, tick by tick, in virtual time: that shows all bodies, and the same hand with
    other settings (--as).
    """
    from detent.app.replay import replay as show

    compile_first()
    runs, notes = both_runs(trace, other, changes or [])
    show(runs, notes, port=port, seconds=seconds)


def compare(
    trace: TraceFile,
    other: Other = None,
    changes: As = None,
    figure: Annotated[
        Path | None, option("FILE", None, "Write a figure: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Set two recordings beside each other, or one and the same hand with other settings (--as)."""
    from detent.record.plots import plot_comparison

    if other is None and not changes:
        raise ParameterError("compare", str(trace), "given another trace, or --as K=V")
    if figure is not None and figure.suffix not in (".png", ".svg", ".pdf"):
        raise ParameterError("--figure", str(figure), "a name that ends with .png, .svg or .pdf")
    compile_first()
    runs, notes = both_runs(trace, other, changes or [])
    print_measures(runs)
    for note in notes:
        out.print(f"note: {note}", highlight=False, markup=False)
    if figure is not None:
        plot_comparison([run.label for run in runs], [run.trace for run in runs], figure)
        out.print(f"the figure is {figure}", highlight=False)


def both_runs(trace: Path, other: Path | None, changes: list[str]) -> tuple[list[Run], list[str]]:
    """The recorded run, and the one beside it, if any; and what there is to say of them."""
    from detent.record.trace import Trace

    first = Trace.load(trace)
    runs, notes = [run_again(trace.stem, first, [])], []
    notes += deviations(first, runs[0])
    if other is not None:
        second = Trace.load(other)
        runs.append(run_again(other.stem, second, changes))
        notes += deviations(second, runs[1]) if not changes else []
    elif changes:
        runs.append(run_again(", ".join(changes), first, changes))
    return runs, notes


def run_again(label: str, trace: Trace, changes: list[str]) -> Run:
    """The session of a trace once more, with its hand."""
    from detent.app.rehearsal import rehearse
    from detent.session import Session

    session = Session.of_trace(trace, changes)
    with working(f"running {label} again") as progress:
        return rehearse(label, session, trace, progress)


def deviations(trace: Trace, run: Run) -> list[str]:
    """Where a run is not what was recorded, and why that may be."""
    from detent.app.rehearsal import first_difference

    notes = []
    if trace.meta.get("truncated"):
        notes.append("the recording was cut off; it is shown as far as it goes")
    when = first_difference(trace, run.trace)
    if when is None:
        return notes
    changed = [f"{time:.2f} s" for time in trace.meta.get("changed", [])]
    why = f": settings were changed at {', '.join(changed)}" if changed else ""
    if trace.meta["versions"] != run.trace.meta["versions"]:
        why += "; it was recorded by other versions"
    if "local" in trace.meta:
        why += "; a live engine has a pace of its own"
    return [*notes, f"from {when:.3f} s on this is not what was recorded{why}"]


def print_measures(runs: list[Run]) -> None:
    """One line per number, and the difference of the second run from the first."""
    from detent.record.summary import measures

    table = Table("", *(run.label for run in runs), "change", "unit", box=None)
    for parts in zip(*(measures(run.trace) for run in runs), strict=True):
        first, last = parts[0].value, parts[-1].value
        change = f"{100.0 * (last - first) / abs(first):+.1f} %" if abs(first) > 1e-12 else "–"
        table.add_row(parts[0].name, *(f"{p.value:.4g}" for p in parts), change, parts[0].unit)
    out.print(table)


def export(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE…", help="Files that --record wrote.")
    ],
    to: Annotated[str, option("FORMAT", None, "csv, parquet, mcap, rerun or lerobot.")] = "csv",
    output: Annotated[
        Path | None, option("FILE", None, "The file (of a data set: the folder) to write.")
    ] = None,
    task: Annotated[
        str | None, option("WORDS", None, "What was done, of a LeRobot data set.")
    ] = None,
    fps: Annotated[
        int | None, option("N", None, "Frames per second of a LeRobot data set.")
    ] = None,
) -> None:
    """Convert recordings: one column per number, with its unit; MCAP opens in Foxglove.

    As a LeRobot data set (v3.0) all recordings go into one folder, an episode each; forces at
    servo rate are in a table beside it.
    """
    from detent.record.export import export_trace
    from detent.record.trace import Trace

    if to == "lerobot":
        out.print(f"wrote {export_episodes(traces, output, task, fps)}", highlight=False)
        return
    if task is not None or fps is not None:
        raise ParameterError("--task and --fps", to, "given with --to lerobot only")
    if output is not None and len(traces) > 1:
        raise ParameterError("--output", str(output), "given with one trace only")
    for trace in traces:
        out.print(f"wrote {export_trace(Trace.load(trace), trace, to, output)}", highlight=False)


def export_episodes(
    traces: list[Path], output: Path | None, task: str | None, fps: int | None
) -> Path:
    """All traces as one LeRobot data set."""
    from detent.record.lerobot import FPS, TASK, write_lerobot
    from detent.record.trace import Trace

    folder = output or traces[0].with_name(f"{traces[0].stem}-lerobot")
    loaded = [Trace.load(trace) for trace in traces]
    words, rate = TASK if task is None else task, FPS if fps is None else fps
    try:
        return write_lerobot(loaded, folder, fps=rate, task=words)
    except OSError as error:
        raise TraceError(f"{folder} cannot be written: {error.strerror}") from error


def film(
    trace: TraceFile,
    other: Other = None,
    changes: As = None,
    output: Annotated[
        Path | None, option("FILE", None, "The film: .gif, or .mp4 with ffmpeg.")
    ] = None,
    slowness: Annotated[float, option("N", None, "So many times slower than it was.")] = 1.0,
) -> None:
    """Make a film of a recording, without a screen; of two, or with --as, side by side."""
    from detent.app.film import film as shoot

    compile_first()
    runs, notes = both_runs(trace, other, changes or [])
    path = output or trace.with_suffix(".gif")
    with working("drawing") as progress:
        shoot(runs, path, slowness, progress=progress)
    for note in notes:
        out.print(f"note: {note}", highlight=False, markup=False)
    out.print(f"the film is {path}", highlight=False)
