"""What a process that serves a fake needs beside the driver itself: the ioctls of a wheel."""

from __future__ import annotations

import os
import struct
from typing import Any

from detent.devices.drivers import wheel

LEVEL = 0xFFF


def ioctl(file: int, request: int, argument: Any) -> int:
    """As the kernel would, with the level of an effect passed on as an event."""
    if request == wheel.GET_FEATURES:
        argument[wheel.CONSTANT // 8] |= 1 << (wheel.CONSTANT % 8)
    elif request == wheel.GET_AXIS:
        argument[:] = wheel.AXIS.pack(32768, 0, 65535, 0, 0, 0)
    elif request == wheel.SET_EFFECT:
        values = list(wheel.EFFECT.unpack(bytes(argument)))
        values[1] = 0
        argument[:] = wheel.EFFECT.pack(*values)
        level = wheel.EFFECT.unpack(bytes(argument))[7]
        os.write(file, struct.pack("llHHi", 0, 0, 0x15, LEVEL, level))
    return 0


class Served(wheel.Served):
    """A wheel whose ioctls are those above."""

    def __init__(self, **given: Any) -> None:
        super().__init__(ioctl=ioctl, **given)
