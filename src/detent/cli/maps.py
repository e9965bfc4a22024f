"""``detent map``: a map of stability over two parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from detent.cli.common import compile_first, working

if TYPE_CHECKING:
    from detent.maps import Grid, Setting

out = Console(emoji=False)
Axes = Annotated[
    list[str], typer.Argument(help="Two of NAME=FROM:TO:COUNT[:log], such as rate=500:8000:5:log.")
]


def map_(
    axes: Axes,
    folder: Annotated[Path, typer.Option("--out", help="Folder for rows and figure.")] = Path(
        "map"
    ),
    world: Annotated[str, typer.Option(help="wall, a built-in world or a file.")] = "wall",
    device: Annotated[str, typer.Option(help="inertial, or a preset.")] = "inertial",
    coupling: Annotated[
        str, typer.Option(help="direct, four-channel, virtual or unilateral.")
    ] = "direct",
    passivity: Annotated[
        str, typer.Option(help="off, observe, damper, reference or tank.")
    ] = "observe",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another number.")
    ] = None,
    where: Annotated[
        str,
        typer.Option("--on", help="local, local:WORKERS, dask:ADDRESS or slurm:PARTITION."),
    ] = "local",
    replace: Annotated[
        bool, typer.Option("--replace", help="In place of another map in the folder.")
    ] = False,
    chunk: Annotated[
        int | None, typer.Option(help="Cells of a task; else what takes a second or more.")
    ] = None,
) -> None:
    """Map where a device is stable, over two of: stiffness, damping, rate, delay, mass,
    own_damping, coulomb, resolution, hand.

    The folder gets map.parquet, a row for each cell (docs/passivity.md says what its columns
    are), and map.png, with theory drawn in where the world is the wall. What is in the folder
    already is not computed again.
    """
    from detent.maps import Setting, run_map
    from detent.maps.figure import draw_map
    from detent.maps.run import claim_folder

    grid = grid_of(Setting(world, device, coupling, passivity), axes, settings or [])
    claim_folder(grid, folder, replace)
    compile_first()
    with working("mapping") as progress:
        rows = run_map(grid, folder, where, chunk, progress)
    figure = draw_map(grid, rows, folder / "map.png")
    failed = sum(bool(row["error"]) for row in rows)
    out.print(f"{len(rows)} cells, {failed} failed: {folder / 'map.parquet'}, {figure}")
    say_flaws(rows)
    if failed == len(rows):
        raise typer.Exit(1)


def grid_of(base: Setting, axes: list[str], settings: list[str]) -> Grid:
    """Two axes, and the numbers that all cells share."""
    from detent.checks import finite, one_of
    from detent.errors import ParameterError
    from detent.maps import PARAMETERS, Grid, parse_axis

    if len(axes) != 2:
        raise ParameterError("axes", axes, "two")
    numbers = {}
    for text in settings:
        name, _, value = text.partition("=")
        try:
            numbers[one_of("parameter of a map", name, PARAMETERS)] = float(value)
        except ValueError:
            raise ParameterError("--set", text, "of the form NAME=VALUE") from None
        finite(f"--set {name}", numbers[name])
    grid = Grid(base.at(**numbers), parse_axis(axes[0]), parse_axis(axes[1]))
    for axis in (grid.first, grid.second):
        if axis.name in numbers:
            raise ParameterError("--set", axis.name, "a parameter that the map does not go over")
    return grid


def say_flaws(rows: list[dict[str, Any]]) -> None:
    """Why cells failed, and which do not show what they should."""
    for said in list(dict.fromkeys(row["error"] for row in rows if row["error"]))[:3]:
        out.print(f"  {said}", highlight=False)
    ended = sum(row["at_end"] > 0 for row in rows)
    if ended:
        out.print(
            f"  in {ended} cells the device was at its end stop (column at_end): what they show is "
            "not the world's; choose a world within its reach, or the wall",
            highlight=False,
        )
