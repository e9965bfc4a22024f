"""A run in lockstep: ticks in parts, whose rows are kept, written to a file, and told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from detent.engines.lockstep import Lockstep
from detent.hands import Hand
from detent.setup.prepared import Prepared, batches, raise_fault

Keep = Callable[[np.ndarray], np.ndarray]
Progress = Callable[[float], None]


class Sink(Protocol):
    """Where rows go while they come: a file."""

    def append(self, rows: np.ndarray) -> None:
        """Write a batch of raw rows."""
        ...

    def close(self, added: dict[str, Any] | None = None) -> None:
        """The end, with what was not known at the start."""
        ...


def collect(
    ready: Prepared,
    hand: Hand | None,
    ticks: int,
    engine: Lockstep | None,
    kept: Keep,
    writer: Sink | None,
    progress: Progress | None,
) -> np.ndarray:
    """All rows, as a trace keeps them; a fault is raised, and the file closed whatever happens."""
    parts, done = [], 0
    try:
        for rows in batches(ready, hand, ticks, engine):
            parts.append(kept(rows))
            done += len(rows)
            if writer is not None:
                writer.append(rows)
            if progress is not None:
                progress(done / ticks)
            raise_fault(ready.servo, parts[-1])
    finally:
        if writer is not None:
            writer.close({"notes": ready.said()})
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
