"""A knob on a moteus controller, through an fdcanusb (text over a serial line).

Every command carries a torque, the largest torque and a timeout after which the firmware lets go by
itself, also when everything here was killed: 10 ms after the servo made the command, however often
it was repeated since.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

from detent.devices.drivers.host import READY, STALE, WAY, Reading
from detent.devices.drivers.mailbox import Mailbox
from detent.devices.drivers.serial import PATIENCE, SerialLine, find_line, lines_here, said_of
from detent.devices.port import DEAD_MAN
from detent.errors import DeviceNotReadyError

LINES = ("/dev/fdcanusb", "/dev/serial/by-id/*fdcanusb*", "/dev/ttyACM*")
LEAST = 4e-3  # [s] a timeout that the next frame is sure to come before
STOPPED, POSITION, TIMED_OUT = 0, 10, 11  # modes
FAULT = 1
SIZES = (*range(9), 12, 16, 20, 24, 32, 48, 64)  # of a CAN-FD frame
NOTHING = 0x50  # a byte that means nothing, and fills a frame
TURN = 2.0 * math.pi  # [rad]


def push(torque: float, most: float, timeout: float) -> bytes:
    """A frame: position mode without gains, a torque, its largest value; asks what is.

    Registers 0x20 to 0x27: position, velocity, feedforward torque, two gains, largest torque,
    stop position and timeout. Asked: mode (0) as int8, position to torque (1 to 3) as float.
    """
    values = (math.nan, 0.0, torque, 0.0, 0.0, most, math.nan, timeout)
    told = bytes([0x01, 0x00, POSITION, 0x0C, 8, 0x20]) + struct.pack("<8f", *values)
    return fill(told + bytes([0x11, 0x00, 0x1F, 0x01]))


def stop() -> bytes:
    """A frame that switches the motor off, which clears a fault; asks what is."""
    return fill(bytes([0x01, 0x00, STOPPED, 0x11, 0x00, 0x1F, 0x01]))


def fill(frame: bytes) -> bytes:
    """Filled up to a size that a frame can have."""
    size = next(size for size in SIZES if size >= len(frame))
    return frame + bytes([NOTHING]) * (size - len(frame))


def parse(frame: bytes) -> tuple[int, tuple[float, float, float]]:
    """Mode; position [turns], velocity [turns/s], torque [N·m]. An OSError without them."""
    if frame[:2] != bytes([0x21, 0x00]) or frame[3:5] != bytes([0x2F, 0x01]) or len(frame) < 17:
        raise OSError(f"the controller's answer is strange: {frame.hex()}")
    return frame[2], struct.unpack("<3f", frame[5:17])


class Served:
    """The controller, in the process that serves it."""

    line: SerialLine | None = None

    def __init__(
        self,
        port: str | None = None,
        number: int = 1,
        cap: Sequence[float] = (0.0, 0.3),
        patience: float = PATIENCE,
        **given: Any,
    ) -> None:
        self.port, self.number, self.most = port, number, float(cap[1])
        self.patience = patience

    def open(self) -> None:
        """Switch it off first: what was wrong before is over."""
        self.line = SerialLine("moteus", find_line("moteus", LINES, self.port), self.patience)
        try:
            self._send(stop())
        except OSError as error:
            raise DeviceNotReadyError("moteus", f"controller {self.number}: {error}") from error

    def _send(self, frame: bytes) -> bytes:
        """A frame to the controller; its answer."""
        assert self.line is not None
        self.line.write(f"can send {0x8000 | self.number:04x} {frame.hex()}\n".encode())
        while True:
            words = self.line.read_line().split()
            if words[:1] == ["rcv"] and int(words[1], 16) >> 8 & 0x7F == self.number:
                return bytes.fromhex(words[2])
            if words[:1] == ["ERR"]:
                raise OSError(" ".join(words))

    def exchange(self, wrench: Sequence[float], seconds: float = STALE) -> Reading:
        """A torque about z, and where the knob is.

        Of a command that is almost stale the torque is zero already: no frame could follow within
        its timeout, and that is a fault of the controller.
        """
        torque, timeout = min(max(wrench[5], -self.most), self.most), seconds - WAY
        if timeout < LEAST:
            torque, timeout = 0.0, STALE
        mode, (turns, speed, _) = parse(self._send(push(torque, self.most, timeout)))
        half = 0.5 * TURN * turns
        return Reading(
            quaternion=(math.cos(half), 0.0, 0.0, math.sin(half)),
            twist=(0.0, 0.0, 0.0, 0.0, 0.0, TURN * speed),
            flags=DEAD_MAN if mode in (FAULT, TIMED_OUT) else READY,
        )

    def close(self) -> None:
        """Off, and closed."""
        if self.line is not None:
            with suppress(OSError):  # unplugged: its firmware lets go by itself
                self._send(stop())
            self.line.close()
            self.line = None


class Moteus(Mailbox):
    """A controller on an fdcanusb; ``port`` names the line, ``number`` the controller."""

    name: ClassVar = "moteus"
    needs: ClassVar = "an fdcanusb, /dev/fdcanusb or /dev/ttyACM0, and to be in the group dialout"
    watchdog: ClassVar = "in the firmware: it lets go 10 ms after the servo's last command"
    serves: ClassVar = "detent.devices.drivers.moteus:Served"
    takes: ClassVar = ("port", "number", "patience")

    @classmethod
    def here(cls) -> str:
        """Lines that fit."""
        return said_of(lines_here(LINES), "serial line")
