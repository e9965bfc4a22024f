"""Tests of the page wait for conditions: they may share the machine with other tests."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of this folder are patient."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("patient")
