"""What the tests of experiments ask of every result."""

from __future__ import annotations

from pathlib import Path

from detent.experiments.protocol import Claim, Result


def failed(claims: list[Claim]) -> set[str]:
    """The names of claims that do not hold."""
    return {claim.id for claim in claims if not claim.passed}


def check_figure(result: Result, folder: Path) -> None:
    """The figure is drawn, and not empty."""
    assert result.figure is not None
    result.figure(folder / "figure.png")
    assert (folder / "figure.png").stat().st_size > 20_000
