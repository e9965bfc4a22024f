"""Shared by all tests: `lab` is on the path (see pyproject.toml)."""

from __future__ import annotations

import sys

import pytest

from waiting import PATIENCE


@pytest.fixture(autouse=True, scope="session")
def patience() -> None:
    """A file that takes seconds to load is refused: on a busy machine, that might be any."""
    if "detent" in sys.modules:
        from detent.world import screen

        screen.PATIENCE = PATIENCE
