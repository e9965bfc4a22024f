"""Rows leave the servo: from its ring into a recording, and into what readers look back at."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Protocol

import numpy as np

from detent.servo.constants import KEEP_SECONDS


class Sink(Protocol):
    """Takes rows as they are drained."""

    def append(self, rows: np.ndarray) -> None:
        """Write a batch."""


class Drain:
    """The rows of the last seconds; each is recorded once, in its order."""

    def __init__(self, servo: Any, rate: float, sink: Sink | None) -> None:
        self.sink, self._servo, self._rate = sink, servo, rate
        self.error: Exception | None = None  # what stopped the recording, if anything
        self.lost = 0  # rows that nobody took in time
        self._taken = 0
        self._lock = threading.Lock()
        self._chunks: deque[np.ndarray] = deque()

    def take(self) -> None:
        """All that the servo has written since the last time."""
        size = self._servo.ring.shape[0]
        written = int(self._servo.written[0])
        if written - self._taken > size // 2:  # too late: only the newer half is safe
            self.lost += written - size // 2 - self._taken
            self._taken = written - size // 2
        if written == self._taken:
            return
        rows = self._servo.ring[np.arange(self._taken, written) % size]
        self._taken = written
        self._record(rows)
        with self._lock:
            self._chunks.append(rows)
            kept = sum(len(chunk) for chunk in self._chunks)
            while kept - len(self._chunks[0]) > KEEP_SECONDS * self._rate:
                kept -= len(self._chunks.popleft())

    def recent(self, seconds: float) -> np.ndarray:
        """The rows of the last *seconds*; a short look copies little."""
        wanted, chunks = round(seconds * self._rate), [np.zeros(0, self._servo.ring.dtype)]
        with self._lock:
            for chunk in reversed(self._chunks):
                if wanted <= 0:
                    break
                chunks.append(chunk[-wanted:])
                wanted -= len(chunk)
        return np.concatenate(chunks[::-1])

    def _record(self, rows: np.ndarray) -> None:
        """Keep the servo and its readers alive if that fails (a full disk)."""
        if self.sink is None:
            return
        try:
            self.sink.append(rows)
        except Exception as error:
            self.sink, self.error = None, error
