"""What every driver is: a preset whose sheet says what the device is, and the way to the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from detent.checks import not_negative, one_of
from detent.devices.adapters import Adapter, Placed, behind_port
from detent.devices.drivers.outside import (
    ANCHORED,
    BEGUN,
    EVERY,
    ORDER,
    READING,
    TICKS,
    WRITE_CODE,
    Outside,
)
from detent.devices.preset import Preset
from detent.devices.safety import Safety
from detent.errors import ParameterError


def make_outside(placed: Placed, cap: np.ndarray, every: int) -> Outside:
    """A device that has not begun: it rests where the session starts."""
    state, command, hand = placed.begin()
    a, whole = np.zeros, np.int64
    told, tell = a(READING), a(ORDER)
    out = Outside(
        state=state, command=command, hand=hand, functions=a(16, whole), handles=a(8, whole),
        reading=told[:14], counts=told[14:].view(whole), wrench=tell[:7],
        order=tell[7:].view(whole), status=a(8, whole), frame=np.eye(3),
        home=placed.pose.copy(), anchor=a(7), cap=cap.copy(), matrix=np.eye(3),
        words=a(32, np.int32), time=a(2, whole), turn=a((4, 3)),
    )  # fmt: skip
    out.status[EVERY] = max(1, every)
    out.reading[3] = 1.0
    return out


class Driver:
    """A real device. A subclass says how it is opened and closed, and which stages it has.

    What a session asks of a device the preset answers. The device is opened when a live session
    starts, and closed when it ends, whatever ended it. *frame* turns axes of the device into those
    of the world; *silence* [s] without a reading is a loss, if longer than the preset's.
    """

    name: ClassVar[str]
    needs: ClassVar[str]  # what must be installed, plugged in or allowed
    watchdog: ClassVar[str]  # who takes the force away when the servo is killed
    stages: ClassVar[tuple[Any, Any]]  # read, write
    offset: Sequence[float] = (0.0, 0.0, 0.0)
    takes: ClassVar[Sequence[str] | None] = None  # names of its options; None: whoever serves knows
    takes_motion = False

    def __init__(
        self,
        preset: Preset,
        frame: np.ndarray | None = None,
        silence: float = 0.0,
        **options: Any,
    ) -> None:
        for option in options if self.takes is not None else ():
            one_of(f"option of the driver {self.name}", option, self.takes or ("none",))
        self.preset, self.options = preset, options
        self.silence = not_negative("silence", silence)
        self.frame = np.eye(3) if frame is None else rotation(frame)

    @classmethod
    def here(cls) -> str:
        """What of it is on this machine, without opening anything."""
        raise NotImplementedError

    @property
    def subspace(self) -> str | None:
        """That of the preset."""
        return self.preset.subspace

    def mask(self, tool_mask: np.ndarray) -> np.ndarray:
        """(6,) what it senses."""
        return self.preset.mask(tool_mask)

    def inertia(self, at_hand: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(6, 6) [kg, kg·m²]."""
        return self.preset.inertia(at_hand, mask)

    def cap(self) -> np.ndarray:
        """(6,) [N, N·m]."""
        return self.preset.cap()

    @property
    def safety(self) -> Safety:
        """The limits of the preset."""
        own = self.preset.safety
        return replace(own, silence=max(own.silence, self.silence))

    def adapter(self, placed: Placed) -> Adapter:
        """The device behind its port, not opened yet."""
        placed.notes.extend(self.preset.said())
        every = round(1.0 / (self.preset.sheet.need("rate") * placed.step))
        outside = make_outside(placed, self.cap(), every)
        outside.frame[:] = self.frame
        read, write = self.stages
        adapter = behind_port(outside, read, write)
        return adapter._replace(begin=lambda: self._begin(outside), end=lambda: self.close(outside))

    def _begin(self, outside: Any) -> None:
        """Open it; the first reading is where the session starts."""
        outside.status[ANCHORED] = outside.status[TICKS] = outside.status[WRITE_CODE] = 0
        try:
            self.open(outside)
        except BaseException:
            self.close(outside)
            raise
        outside.status[BEGUN] = 1

    def open(self, d: Any) -> None:
        """Open the device with zero force; raises what is missing, busy or not ready."""
        raise NotImplementedError

    def close(self, d: Any) -> None:
        """Zero force, and closed; it may be called again."""
        raise NotImplementedError


def rotation(frame: Any) -> np.ndarray:
    """(3, 3) from axes of the device to those of the world; refused if it is no rotation."""
    try:
        out = np.asarray(frame, float)
    except (TypeError, ValueError):
        out = np.empty(0)
    proper = out.shape == (3, 3) and np.allclose(out @ out.T, np.eye(3), atol=1e-9)
    if not proper or np.linalg.det(out) < 0.0:
        raise ParameterError("frame", frame, "a rotation, (3, 3)")
    return out
