"""Shared by all tests: `lab` is on the path (see pyproject.toml). A busy machine is no failure."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

TRIES = 20
SECONDS = {"slow": 5.0, "live": 2.0}  # that a test of this mark takes, roughly
KERNELS = Path(__file__).parent / "kernels"
COMPILING = {"test_cached.py", "test_indices.py", "test_machine_code.py", "test_struct.py"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` runs tests of kernels without the compiler, unless they are about it.

    Files that take longest come first: no worker begins one when all others are done.
    """
    from detent.kernels.jit import JIT_ENABLED

    for item in items:
        if item.get_closest_marker("compiled") is None:
            if item.path.parent == KERNELS and item.path.name not in COMPILING:
                item.add_marker("uncompiled")
        elif not JIT_ENABLED:
            item.add_marker(pytest.mark.skip(reason="nothing is compiled"))
    cost: Counter[Path] = Counter()
    for item in items:
        cost[item.path] += sum(s for mark, s in SECONDS.items() if item.get_closest_marker(mark))
    items.sort(key=lambda item: -cost[item.path])


@pytest.fixture(autouse=True)
def fair_timing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate that ticks are too slow for is refused: not because others had the processor."""
    if request.node.get_closest_marker("live") is None:
        return
    from detent import Session

    measure = Session.tick_cost

    def least_cost(session: Session, hand: Any, rate: float) -> float:
        cost = measure(session, hand, rate)
        for _ in range(TRIES):
            if cost <= 1e9 / rate:
                break
            cost = min(cost, measure(session, hand, rate))
        return cost

    monkeypatch.setattr(Session, "tick_cost", least_cost)


@pytest.fixture(autouse=True)
def no_ramp(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces act at once, so that laws can be tested; `ramped` tests begin as a session does."""
    if request.node.get_closest_marker("ramped") is None:
        monkeypatch.setattr("detent.servo.force_path.RAMP_IN", 0.0)
