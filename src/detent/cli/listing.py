"""``detent list``: what there is, and what each is, without importing it all every time."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from detent.cli.common import Json, working

out = Console(emoji=False)
_PACKAGE = Path(__file__).resolve().parents[1]
_SOURCES = (".py", ".xml", ".json")


def list_(
    name: Annotated[
        str | None, typer.Argument(help="An experiment, whose parameters are listed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List worlds, mechanisms, experiments and devices, or the parameters of an experiment."""
    if name is not None:
        list_parameters(name, as_json)
        return
    found = library()
    if as_json:
        print(json.dumps(found, indent=1))
        return
    described = found["descriptions"]
    for kind in ("worlds", "mechanisms", "experiments", "devices"):
        lines = found[kind] if isinstance(found[kind], dict) else described[kind]
        table = Table(title=kind, title_justify="left", show_header=False, box=None, padding=(0, 2))
        for one, line in lines.items():
            table.add_row(one, escape(str(line)))
        out.print(table)
    out.print("detent play WORLD feels one, detent run EXPERIMENT checks one,", highlight=False)
    out.print("detent list EXPERIMENT shows what --set can change", highlight=False)


def list_parameters(name: str, as_json: bool) -> None:
    """What an experiment can be told, its defaults, and what is allowed."""
    from detent.experiments import find

    experiment = find(name)
    if as_json:
        print(json.dumps({"parameters": experiment.parameters}, indent=1))
        return
    table = Table(title=experiment.title, title_justify="left", show_header=False, box=None)
    for parameter, default in experiment.parameters.items():
        allowed = str(experiment.ranges.get(parameter, ""))
        table.add_row(f"  {parameter}", f"  {escape(str(default))}", f"  {allowed}")
    if not experiment.parameters:
        table.add_row("  nothing can be changed")
    out.print(table)


def library() -> dict[str, Any]:
    """Names of all that there is, what it is, and the parameters of experiments.

    To gather them means to import everything, which takes seconds; so they are kept beside the
    compiled code, under a name that changes with any source.
    """
    file = _cache() / f"list-{_stamp()}.json"
    try:
        kept: dict[str, Any] = json.loads(file.read_text())
        return kept
    except (OSError, ValueError):
        pass
    with working("looking at everything (once for this version)"):
        found = gather()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(found))
        part.replace(file)
    except OSError:  # a cache that cannot be written is no reason to fail
        pass
    return found


def gather() -> dict[str, Any]:
    """The same, from the sources themselves."""
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
        "parameters": {name: e.parameters for name, e in EXPERIMENTS.items()},
    }


def _cache() -> Path:
    """As kernels/cached.py has it, whose import alone takes most of a second."""
    explicit = os.environ.get("DETENT_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    return Path(explicit) if explicit else Path(base) / "detent"


def _stamp() -> str:
    """Of name, size and time of every source of the package."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*")):
        if path.suffix in _SOURCES:
            known = path.stat()
            digest.update(f"{path} {known.st_size} {known.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
