"""What several commands share: options that say what is held, worlds, progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

err = Console(stderr=True)

Tool = Annotated[
    str | None, typer.Option(help="A body of the tool: its whole mechanism. Held, unless --held.")
]
Held = Annotated[str | None, typer.Option(help="The link of the tool that the hand holds.")]
Keyframe = Annotated[str | None, typer.Option(help="Name or index of the keyframe to start from.")]
Root = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="It may read files of DIR, not of its folder only."),
]
Outside = Annotated[
    bool, typer.Option("--allow-outside", help="It may read any file, wherever it lies.")
]
Trusted = Annotated[
    bool,
    typer.Option("--trusted", help="Load it without a try in a child process, which has limits."),
]
Free = Annotated[
    bool, typer.Option("--free", help="Roots that are fixed to the world come loose, as of a URDF.")
]
Decompose = Annotated[
    bool, typer.Option("--decompose", help="Meshes that are not convex collide in convex parts.")
]
Overlaps = Annotated[
    bool,
    typer.Option("--ignore-overlaps", help="What overlaps at the start passes through each other."),
]

Release = Annotated[
    list[str] | None,
    typer.Option("--release", metavar="BODY", help="A mocap body that lets go what it holds."),
]


@contextmanager
def working(text: str, quiet: bool = False) -> Iterator[Callable[[float], None]]:
    """A progress bar on the error stream; yields a function that takes the fraction done."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=quiet) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


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
