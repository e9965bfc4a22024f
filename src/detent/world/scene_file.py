"""Scene files and text: where they are, what they may read, and how they are refused."""

from __future__ import annotations

from pathlib import Path

import mujoco

from detent.errors import ParameterError, SceneError
from detent.world.complaints import in_words
from detent.world.reading import read_spec
from detent.world.screen import is_risky, screen

__all__ = ["is_risky", "may_read", "no_file", "read_scene"]

LISTED = 12  # scene files of a folder that an error names


def no_file(path: Path) -> str:
    """Why a path is no scene; of a folder, which scenes are in it."""
    if not path.is_dir():
        return f"there is no scene file {path}"
    inside = sorted(one.name for one in path.iterdir() if one.suffix in (".xml", ".urdf"))
    more = f" and {len(inside) - LISTED} more" if len(inside) > LISTED else ""
    listed = ", ".join(inside[:LISTED]) + more if inside else "none"
    return f"{path} is a folder; scene files in it: {listed}"


def may_read(root: str | Path | None, folder: Path) -> str:
    """The folder that a scene may read, checked; empty if nobody named one."""
    if root is None:
        return ""
    if not Path(root).is_dir() or not folder.resolve().is_relative_to(Path(root).resolve()):
        raise ParameterError("root", str(root), f"a folder that holds the scene's, {folder}")
    return str(root)


def read_scene(
    source: str, is_text: bool, name: str, outside: bool, root: str, trusted: bool
) -> mujoco.MjSpec:
    """The scene as MuJoCo parses it, after a child process has loaded it without harm."""
    try:
        if not trusted:
            screen(source, is_text, outside, root)
        return read_spec(source, is_text, outside, root)
    except Exception as error:  # MuJoCo raises several types
        raise SceneError(f"{name} is not a scene that Detent loads: {in_words(error)}") from error
