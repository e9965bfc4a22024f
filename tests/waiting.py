"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 60.0  # [s] far beyond what a quiet machine needs: a busy one is slower, not wrong


def wait_for(condition: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Whether it became true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return bool(condition())
        time.sleep(0.01)
    return True
