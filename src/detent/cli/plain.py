"""Commands whose ``--help`` speaks of numbers and files, and of no type of Python's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

#: what stands for a value of an option that does not say it itself
VALUES = {bool: "", int: "N", float: "X", Path: "PATH"}
WORDS = "NAME"


class _Plain:
    """Arguments have a name already, switches take no value, and other values have a word."""

    def __init__(self, *args: Any, help: str | None = None, **options: Any) -> None:
        paragraphs = (help or "").split("\n\n")  # a screen breaks its lines by itself
        told = "\n\n".join(" ".join(one.split()) for one in paragraphs)
        super().__init__(*args, help=told or None, **options)  # type: ignore[call-arg]

    def get_params(self, ctx: Any) -> list[Any]:
        """As Typer makes them, without ``<str>`` and ``<bool>``."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in params:
            if isinstance(one, TyperArgument):
                one.display_type_rich = _no_type  # type: ignore[method-assign]
            elif one.metavar is None:
                kind = one.type_descriptor.annotation
                one.metavar = "" if one.is_flag else VALUES.get(kind, WORDS)
        return params


def _no_type(ctx: Any) -> None:
    """The name of an argument stands for it."""


class PlainCommand(_Plain, TyperCommand):
    """One command."""


class PlainGroup(_Plain, TyperGroup):
    """A command with commands of its own."""


class App(typer.Typer):
    """An application of such commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=PlainGroup, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """As Typer's, plainly."""
        return super().command(name, cls=PlainCommand, **options)
