"""The process that serves a device behind a mailbox: it exchanges wrench and reading, in turn.

A command that is older than 10 ms is zero, and so is everything once the servo hangs up: whether
it ended, was killed, or forgot.
"""

from __future__ import annotations

import importlib
import json
import math
import signal
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from detent.devices.port import CALIBRATED, DEAD_MAN, FORCE_ON, VALID
from detent.errors import DeviceMissingError, DeviceNotReadyError

STALE = 0.01  # [s] after which a command counts no longer
WAY = 1e-3  # [s] that a message may take to the device
READY = VALID | CALIBRATED | FORCE_ON | DEAD_MAN
_READING, _ORDER = struct.Struct("14d4q"), struct.Struct("7d2q")
ZERO = (0.0,) * 7


@dataclass
class Reading:
    """What a device says, in its own axes."""

    position: Sequence[float] = (0.0, 0.0, 0.0)  # [m]
    quaternion: Sequence[float] = (1.0, 0.0, 0.0, 0.0)  # w, x, y, z
    twist: Sequence[float] = field(default_factory=lambda: [0.0] * 6)  # [m/s, rad/s]
    gripper: float = 0.0  # [m, rad]
    buttons: int = 0  # bits
    flags: int = READY  # of `detent.devices.port`


class Served(Protocol):
    """A device that is served: all that a driver in mailbox form has to write."""

    def open(self) -> None:
        """Raises what is missing, or not ready."""
        ...

    def exchange(self, wrench: Sequence[float], seconds: float = STALE) -> Reading | None:
        """Send (force, torque, grip) [N, N·m], wait for the answer; None: nothing new.

        It may act for those seconds: a device that lets go by itself is told so. Raises an OSError
        if the device is gone.
        """
        ...

    def close(self) -> None:
        """Zero force, and closed. It may be called again, and when the device is gone."""
        ...


class Newest:
    """The newest command, and how old it is since the servo sent it."""

    def __init__(self, link: socket.socket) -> None:
        self.link, self.wrench, self.since, self.over = link, ZERO, -math.inf, False

    def take(self) -> tuple[Sequence[float], float]:
        """What the device is to be told now, and for how long [s] that counts."""
        while True:
            try:
                message = self.link.recv(_ORDER.size, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                message = b""
            if not message:
                self.over = True
                break
            if len(message) == _ORDER.size:
                *wrench, sent, latched = _ORDER.unpack(message)
                sound = all(map(math.isfinite, wrench)) and not latched
                self.wrench = tuple(wrench) if sound else ZERO
                self.since = 1e-9 * sent
        left = self.since + STALE - time.monotonic()
        return (self.wrench, left) if left > 0.0 and not self.over else (ZERO, STALE)


def run(device: Served, link: socket.socket) -> None:
    """Exchange until the servo hangs up or the device is gone; the last word is zero."""
    newest, number = Newest(link), 0
    try:
        while not newest.over:
            reading = device.exchange(*newest.take())
            if reading is None:
                continue
            number += 1
            message = _READING.pack(
                *reading.position, *reading.quaternion, *reading.twist, reading.gripper,
                number, time.monotonic_ns(), reading.buttons, reading.flags,
            )  # fmt: skip
            with suppress(BlockingIOError):  # a slow servo takes what is there first
                link.send(message, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    except OSError:
        pass  # gone: the servo sees that nobody is here
    finally:
        device.close()
        link.close()


def serve(descriptor: str, what: str, options: str) -> None:
    """What the process does: open the device, say so, exchange."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it hangs up
    for ends in (signal.SIGTERM, signal.SIGHUP):  # the last word is zero, see `run`
        signal.signal(ends, _leave)
    link = socket.socket(fileno=int(descriptor))
    module, _, name = what.partition(":")
    device: Served = getattr(importlib.import_module(module), name)(**json.loads(options))
    try:
        device.open()
    except DeviceMissingError as error:
        return _say({"missing": error.remedy})
    except DeviceNotReadyError as error:
        return _say({"not ready": error.problem})
    except OSError as error:
        return _say({"not ready": str(error)})
    try:
        _say({"open": True})
    except BrokenPipeError:  # whoever started it was killed meanwhile
        return device.close()
    run(device, link)


def _leave(number: int, frame: FrameType | None) -> None:
    """An error on the way out of `run`, which sends zero and closes."""
    raise SystemExit(128 + number)


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)
