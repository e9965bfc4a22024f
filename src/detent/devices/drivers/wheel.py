"""Steering wheels and joysticks with force feedback, through Linux's evdev.

One constant effect whose level is the torque: its direction stays (some drivers forget to change
it), and it lasts 50 ms, so that a driver that keeps the kernel's rules lets go by itself. When the
process ends, also by a kill, the kernel erases its effects.
"""

from __future__ import annotations

import errno
import fcntl
import math
import os
import select
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from detent.devices.drivers.host import STALE, Reading
from detent.devices.drivers.mailbox import Mailbox
from detent.devices.drivers.serial import lines_here, said_of
from detent.errors import DeviceMissingError, DeviceNotReadyError

EVENT = struct.Struct("llHHi")  # input_event of 64 bits
EFFECT = struct.Struct("=HhHHHHH2xh4H22x")  # ff_effect: constant, 48 bytes
AXIS = struct.Struct("6i")  # input_absinfo
EV_KEY, EV_ABS, EV_FF = 1, 3, 0x15
ABS_X, CONSTANT, GAIN, AUTOCENTER = 0, 0x52, 0x60, 0x61
SET_EFFECT, ERASE_EFFECT = 0x40304580, 0x40044581  # EVIOCSFF, EVIOCRMFF
GET_AXIS, GET_FEATURES = 0x80184540, 0x80104535  # EVIOCGABS(ABS_X), EVIOCGBIT(EV_FF, 16)
SIDEWAYS, FULL, LASTS = 0x4000, 0x7FFF, 50  # direction; level; [ms]
PERIOD = 0.004  # [s] between two updates: drivers send no more often
LINES = ("/dev/input/by-id/*-event-joystick",)
RULE = 'KERNEL=="event*", SUBSYSTEM=="input", ENV{ID_INPUT_JOYSTICK}=="1", TAG+="uaccess"'


class Served:
    """The wheel, in the process that serves it."""

    file = -1
    effect = -1

    def __init__(
        self,
        port: str | None = None,
        cap: Sequence[float] = (0.0, 0.0),
        turn: float = 900.0,
        ioctl: Callable[..., Any] = fcntl.ioctl,
        **given: Any,
    ) -> None:
        self.port, self.most, self.turn = port, float(cap[1]), math.radians(turn)
        self.ioctl, self.angle, self.speed, self.buttons = ioctl, 0.0, 0.0, 0
        self.time, self.low, self.high = 0.0, 0, 1

    def open(self) -> None:
        """Open it, with the springs of its own off."""
        found = [self.port] if self.port else lines_here(LINES)
        if not found:
            raise DeviceMissingError("wheel", f"no {LINES[0]}: plug one in")
        try:
            self.file = os.open(found[0], os.O_RDWR | os.O_NONBLOCK)
        except PermissionError:
            problem = f"{found[0]} is not yours to open: a udev rule allows it: {RULE}"
            raise DeviceNotReadyError("wheel", problem) from None
        features = bytearray(16)
        self.ioctl(self.file, GET_FEATURES, features)
        if not features[CONSTANT // 8] >> (CONSTANT % 8) & 1:
            raise DeviceNotReadyError("wheel", f"{found[0]} has no constant force")
        axis = bytearray(AXIS.size)
        self.ioctl(self.file, GET_AXIS, axis)
        value, self.low, self.high, *_ = AXIS.unpack(axis)
        self.angle, self.time = self._angle(value), time.monotonic()
        self._write(EV_FF, AUTOCENTER, 0)
        self._write(EV_FF, GAIN, 0xFFFF)
        self._push(0.0)

    def _angle(self, value: int) -> float:
        """[rad] of a value of the axis; the middle is zero."""
        return self.turn * ((value - self.low) / (self.high - self.low) - 0.5)

    def _write(self, kind: int, code: int, value: int) -> None:
        os.write(self.file, EVENT.pack(0, 0, kind, code, value))

    def _push(self, torque: float) -> None:
        """Upload the effect with its level, and play it again: some drivers want that."""
        share = max(-1.0, min(1.0, torque / self.most)) if self.most > 0.0 else 0.0
        level = round(FULL * share)
        effect = bytearray(
            EFFECT.pack(CONSTANT, self.effect, SIDEWAYS, 0, 0, LASTS, 0, level, 0, 0, 0, 0)
        )
        self.ioctl(self.file, SET_EFFECT, effect)
        self.effect = EFFECT.unpack(effect)[1]
        self._write(EV_FF, self.effect, 1)

    def exchange(self, wrench: Sequence[float], seconds: float = STALE) -> Reading:
        """A torque about z, and where the wheel is; waits for the next update."""
        self._push(wrench[5])
        self._read_until(time.monotonic() + PERIOD)
        half = 0.5 * self.angle
        return Reading(
            quaternion=(math.cos(half), 0.0, 0.0, math.sin(half)),
            twist=(0.0, 0.0, 0.0, 0.0, 0.0, self.speed),
            buttons=self.buttons,
        )

    def _read_until(self, deadline: float) -> None:
        before = self.angle
        while (left := deadline - time.monotonic()) > 0.0:
            if select.select([self.file], [], [], left)[0]:
                self._take(os.read(self.file, 64 * EVENT.size))
        now = time.monotonic()
        self.speed += 0.5 * ((self.angle - before) / (now - self.time) - self.speed)
        self.time = now

    def _take(self, data: bytes) -> None:
        if not data:
            raise OSError(errno.ENODEV, "the wheel is gone")
        for *_, kind, code, value in EVENT.iter_unpack(data[: len(data) // 24 * 24]):
            if kind == EV_ABS and code == ABS_X:
                self.angle = self._angle(value)
            elif kind == EV_KEY:
                bit = 1 << (code % 32)
                self.buttons = self.buttons | bit if value else self.buttons & ~bit

    def close(self) -> None:
        """Zero, the effect erased, closed."""
        if self.file < 0:
            return
        try:
            if self.effect >= 0:
                self._push(0.0)
                self.ioctl(self.file, ERASE_EFFECT, self.effect)
        except OSError:
            pass  # unplugged
        os.close(self.file)
        self.file = self.effect = -1


class Wheel(Mailbox):
    """A wheel on evdev; ``port`` names it, ``turn`` is its range [degrees]."""

    name: ClassVar = "wheel"
    needs: ClassVar = "a force-feedback wheel at /dev/input/by-id/*-event-joystick, and its torque"
    watchdog: ClassVar = "none is documented; Linux erases the effects of a process that ended"
    serves: ClassVar = "detent.devices.drivers.wheel:Served"
    takes: ClassVar = ("port", "turn")

    @classmethod
    def here(cls) -> str:
        """Event files of joysticks; whether one has force is asked when it is opened."""
        return said_of(lines_here(LINES), "wheel or joystick")
