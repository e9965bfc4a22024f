"""What several commands share: options that say what is held, worlds, progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

err = Console(stderr=True, emoji=False)

#: options of one kind stand together in `--help`
SCENE, CONTACT, TIE, ENGINE, RUN = (
    "What is felt", "How bodies meet", "Device and coupling", "An engine of its own", "The run",
)  # fmt: skip


def flag(name: str, panel: str | None, help: str) -> Any:
    """An option that is on or off, and says no more than that."""
    return typer.Option(name, metavar="", rich_help_panel=panel, help=help)


def option(metavar: str, panel: str | None, help: str) -> Any:
    """An option with a value, which *metavar* stands for."""
    return typer.Option(metavar=metavar, rich_help_panel=panel, help=help)


Tool = Annotated[
    str | None,
    option("BODY", SCENE, "A body of the tool: its whole mechanism. Held, unless --held."),
]
Held = Annotated[str | None, option("LINK", SCENE, "The link of the tool that the hand holds.")]
Keyframe = Annotated[
    str | None, option("KEY", SCENE, "Name or index of the keyframe to start from.")
]
Root = Annotated[
    Path | None, option("DIR", SCENE, "It may read files of DIR, not of its folder only.")
]
Outside = Annotated[bool, flag("--allow-outside", SCENE, "It may read any file, wherever it lies.")]
Trusted = Annotated[
    bool, flag("--trusted", SCENE, "Load it without a try in a child process, which has limits.")
]
Free = Annotated[
    bool, flag("--free", SCENE, "Roots that are fixed to the world come loose, as of a URDF.")
]
Decompose = Annotated[
    bool, flag("--decompose", SCENE, "Meshes that are not convex collide in convex parts.")
]
Concave = Annotated[
    str | None,
    option(
        "all|NAME[=M],…",
        SCENE,
        "Meshes that are felt as they are, not as their hulls; =M is the thickness of an open "
        "sheet [m].",
    ),
]
Overlaps = Annotated[
    bool,
    flag("--ignore-overlaps", SCENE, "What overlaps at the start passes through each other."),
]
Release = Annotated[
    list[str] | None, option("BODY", SCENE, "A mocap body that lets go what it holds.")
]
Json = Annotated[bool, flag("--json", None, "Print one JSON object.")]


@contextmanager
def working(text: str, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """A progress bar on the error stream; yields a function that takes the fraction done.

    It takes another text, too.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=quiet) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda fraction, said=text: bar.update(task, completed=fraction, description=said)


def compile_first(quiet: bool = False) -> None:
    """Compile the servo if the cache does not hold it, with a progress bar."""
    from detent.cli.warm import compile_servo, is_compiled

    if is_compiled():
        return
    with working("compiling the servo (once for this version)", quiet) as progress:
        compile_servo(progress)


def open_world(scene: str, tool: str | None, **options: Any) -> Any:
    """A built-in world by name, or a file."""
    from detent.world.world import World

    if scene in World.library():
        options |= {"trusted": True, "root": None}
        return World.builtin(scene, tool=tool, **options)
    if not Path(scene).exists() and not Path(scene).suffix:
        return World.builtin(scene)  # raises, and lists the names
    return World.load(scene, tool=tool, **options)
