"""How a person stops the workbench: Ctrl-C, or SIGTERM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopper:
    """Ctrl-C and SIGTERM: an exception while preparing, a flag while running."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.gentle = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to the signals, if this is the main thread; put back what was there."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._told) for number in signals]
        try:
            yield
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)

    def _told(self, number: int, frame: FrameType | None) -> None:
        self.stop.set()
        if not self.gentle:
            raise KeyboardInterrupt
