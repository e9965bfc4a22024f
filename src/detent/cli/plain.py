"""Commands whose ``--help`` says no type where there is none to say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class _Plain:
    """The option ``--help`` takes no value, so its line names none."""

    def get_help_option(self, ctx: Any) -> Any:
        """As Typer makes it, without ``<bool>``."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option


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
