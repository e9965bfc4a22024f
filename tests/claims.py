"""What the tests of experiments ask of every result."""

from __future__ import annotations

import re
from pathlib import Path

from detent.experiments.protocol import Claim, Result


def failed(claims: list[Claim]) -> set[str]:
    """The names of claims that do not hold."""
    return {claim.id for claim in claims if not claim.passed}


def check_figure(result: Result, folder: Path) -> None:
    """The figure is drawn, and not empty: lettered panels, each with a statement and units."""
    assert result.figure is not None
    drawn = result.figure(folder / "figure.png")
    assert (folder / "figure.png").stat().st_size > 20_000
    panels = [ax for ax in drawn.axes if ax.get_subplotspec() is not None]
    letters = [text.get_text() for ax in panels for text in ax.texts if text.get_gid() == "letter"]
    if len(panels) > 1:
        assert sorted(letters) == list("abcdefghijklmnop"[: len(panels)])
        assert [ax for ax in panels if len(ax.get_title(loc="left")) < 8] == []
    assert [ax for ax in panels if re.match(r"\(?Fig", ax.get_title(loc="left"))] == []
    assert [ax for ax in panels if not ax.get_ylabel() and ax.get_yticks().size] == []
