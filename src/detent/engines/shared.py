"""Memory that the servo's process and the engine's process share: three slots and a few numbers."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from detent.servo.loop.exchange import FRESH, Slot

# Places of `Shared.numbers`.
# TURN: the number of the process that is to serve; STANDING: of the spare that is ready.
BEATS, BEAT_NS, FRAMES, STOP, SPOKE, SAVED, SEEN, TURN, STANDING = range(9)
NUMBERS = 16
WORDS = 2048  # [bytes] of a message


class Sizes(NamedTuple):
    """Bytes of what crosses."""

    update: int
    state: int
    poses: int
    saved: int  # the engine's own state, for whoever takes over


class Shared:
    """Views on one file in memory. Both sides make them alike."""

    def __init__(self, path: Path, sizes: Sizes, create: bool = False) -> None:
        total = 4096 + sum(3 * -(-n // 64) * 64 + 192 for n in sizes) + sizes.saved + sizes.state
        if create:
            path.write_bytes(bytes(total))
        self._memory = np.memmap(path, np.uint8, "r+", shape=(total,))
        self._used = 0
        self.numbers = self._cut(8 * NUMBERS).view(np.int64)
        self._words = self._cut(WORDS)
        self.saved = self._cut(sizes.saved).view(np.float64)
        self.seen = self._cut(sizes.state).view(np.float64)  # the proxy in the last frame
        self.updates = self._slot(sizes.update, create)
        self.states = self._slot(sizes.state, create)
        self.poses = self._slot(sizes.poses, create)

    def say(self, message: str) -> None:
        """Leave a message for the other side."""
        text = message.encode()[: WORDS - 1]
        self._words[:] = 0
        self._words[: len(text)] = np.frombuffer(text, np.uint8)
        self.numbers[SPOKE] += 1

    @property
    def message(self) -> str:
        """The last message."""
        return bytes(self._words).split(b"\0")[0].decode(errors="replace")

    def mend(self) -> None:
        """Give slots back their third buffer, in case a process died while it swapped two."""
        for slot, lost, kept in (
            (self.updates, "writer", "reader"),
            (self.poses, "writer", "reader"),
            (self.states, "reader", "writer"),
        ):
            while True:  # the other side is alive, and may be swapping right now
                mine, middle = int(getattr(slot, kept)[0]), int(slot.middle[0]) % FRESH
                if mine != middle and mine == int(getattr(slot, kept)[0]):
                    getattr(slot, lost)[0] = 3 - mine - middle
                    break

    def _cut(self, size: int) -> np.ndarray:
        start = self._used
        self._used += -(-size // 64) * 64
        return np.asarray(self._memory[start : start + size])

    def _slot(self, size: int, create: bool) -> Slot:
        slot = Slot(
            self._cut(3 * size).reshape(3, size),
            *(self._cut(8).view(np.int64) for _ in range(3)),
        )
        if create:
            slot.middle[0], slot.writer[0], slot.reader[0] = 1, 0, 2
        return slot


def shared_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for the file: in memory where the system has one."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(
        prefix="detent-", dir=memory if memory.is_dir() else None, ignore_cleanup_errors=True
    )
