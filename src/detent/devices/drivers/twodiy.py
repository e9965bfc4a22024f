"""Haply 2diy: a pantograph of two motors on a serial line.

The board answers every message of torques with the angles of its two arms. On which side of the
first motor the second one sits is unchecked (as in Campion's pantograph, here). It documents no
watchdog: when the servo is gone, the process that serves it sends zero; if that is killed as well,
nothing is claimed.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

from detent.devices.drivers.host import STALE, WAY, Reading
from detent.devices.drivers.mailbox import Mailbox
from detent.devices.drivers.serial import PATIENCE, SerialLine, find_line, lines_here, said_of
from detent.devices.policy import VELOCITY_HZ

DEVICE, PARAMETERS, TORQUES = 5, 1, 2  # number of the device; kinds of message
ANSWER = 9  # bytes of an answer
NEAR, FAR, BASE = 0.07, 0.09, 0.038  # [m] arms, and between the motors (the plastic version 3)
OFFSETS, COUNTS = (12.0, 168.0), 4880.0  # [degrees] of the encoders on ports 1 and 2; per turn
MOST_TORQUE = 0.25  # [N·m] that a motor is told, at most: about 5 N at the centre
LINES = ("/dev/serial/by-id/*Haply*", "/dev/ttyACM*")


def forward(first: float, second: float) -> tuple[float, float]:
    """Where the handle is [m] at the angles of the arms [rad]; the first motor is in the origin."""
    ax, ay = NEAR * math.cos(first), NEAR * math.sin(first)
    bx, by = NEAR * math.cos(second) - BASE, NEAR * math.sin(second)
    dx, dy = bx - ax, by - ay
    apart = math.hypot(dx, dy)
    high = math.sqrt(max(FAR**2 - 0.25 * apart**2, 0.0))
    return 0.5 * (ax + bx) + high * dy / apart, 0.5 * (ay + by) - high * dx / apart


def jacobian(first: float, second: float) -> list[list[float]]:
    """∂(x, y)/∂(angles) [m/rad]: the far arms keep their length, J_x ẋ = J_q q̇."""
    x, y = forward(first, second)
    rows, speeds = [], []
    for angle, base in ((first, 0.0), (second, -BASE)):
        ex, ey = base + NEAR * math.cos(angle), NEAR * math.sin(angle)
        rows.append((x - ex, y - ey))
        speeds.append(NEAR * ((y - ey) * math.cos(angle) - (x - ex) * math.sin(angle)))
    (a, b), (c, d) = rows
    det = a * d - b * c
    if abs(det) < 1e-6:  # the far arms in one line: no force goes through that
        return [[0.0, 0.0], [0.0, 0.0]]
    return [
        [d * speeds[0] / det, -b * speeds[1] / det],
        [-c * speeds[0] / det, a * speeds[1] / det],
    ]


class Served:
    """The board, in the process that serves it."""

    def __init__(self, port: str | None = None, patience: float = PATIENCE, **given: Any) -> None:
        self.port, self.patience, self.line = port, patience, None
        self.angles, self.last = (math.pi / 3, 2 * math.pi / 3), None
        self.speed, self.time = [0.0, 0.0], 0.0

    line: SerialLine | None
    last: tuple[float, float] | None

    def open(self) -> None:
        """Tell the board what is plugged into its two ports."""
        self.line = SerialLine("2diy", find_line("2diy", LINES, self.port), self.patience)
        ports = bytes([3, 1, 1])  # bits of the ports, and the sense of rotation of each
        floats = struct.pack("<4f", OFFSETS[0], COUNTS, OFFSETS[1], COUNTS)
        self.line.write(bytes([PARAMETERS, DEVICE]) + ports * 2 + bytes([0, 0]) + floats)
        self.exchange((0.0,) * 7)

    def exchange(self, wrench: Sequence[float], seconds: float = STALE) -> Reading:
        """Torques, and the angles that answer them; zero is told if none come in time."""
        assert self.line is not None
        J = jacobian(*self.angles)
        torque = [J[0][k] * wrench[0] + J[1][k] * wrench[1] for k in range(2)]
        scale = min(1.0, MOST_TORQUE / max(map(abs, torque), default=1.0)) if any(torque) else 1.0
        ordered = (scale * torque[1], scale * torque[0])  # port 1 has the second motor
        self._tell(*ordered)
        late = not self.line.waits(seconds - WAY)
        if late:  # it answers twice then, or not at all
            self._tell(0.0, 0.0)
        answer = self.line.read_exactly(ANSWER * (1 + late))[-ANSWER:]
        second, first = (math.radians(angle) for angle in struct.unpack("<2f", answer[1:]))
        self.angles = first, second
        return self._reading(forward(first, second))

    def _tell(self, second: float, first: float) -> None:
        """Torques [N·m] of the two motors: those of ports 1 and 2."""
        assert self.line is not None
        self.line.write(bytes([TORQUES, DEVICE]) + struct.pack("<2f", second, first))

    def _reading(self, place: tuple[float, float]) -> Reading:
        """With a velocity by differences, smoothed as every driver does that has none."""
        now = time.monotonic()
        if self.last is not None and now > self.time:
            step = now - self.time
            blend = 1.0 - math.exp(-2.0 * math.pi * VELOCITY_HZ * step)
            for i in range(2):
                self.speed[i] += blend * ((place[i] - self.last[i]) / step - self.speed[i])
        self.last, self.time = place, now
        return Reading(position=(*place, 0.0), twist=(*self.speed, 0.0, 0.0, 0.0, 0.0))

    def close(self) -> None:
        """Zero torque, and closed."""
        if self.line is not None:
            with suppress(OSError):  # unplugged: there is nobody to tell
                self._tell(0.0, 0.0)
            self.line.close()
            self.line = None


class TwoDiy(Mailbox):
    """A 2diy on a serial line; ``port`` names it where there are several."""

    name: ClassVar = "2diy"
    needs: ClassVar = "its serial line, /dev/ttyACM0, and to be in the group dialout"
    watchdog: ClassVar = "none is documented; the process that serves it sends zero within 10 ms"
    serves: ClassVar = "detent.devices.drivers.twodiy:Served"
    takes: ClassVar = ("port", "patience")

    @classmethod
    def here(cls) -> str:
        """Lines that fit."""
        return said_of(lines_here(LINES), "serial line")
