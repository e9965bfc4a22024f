"""A driver of two C functions: what somebody with a compiler needs for a device of their own.

.. code-block:: c

    int read(void *device, double reading[14], int64_t counts[4]);
    int write(void *device, const double wrench[7], int64_t latched);

`reading` is position [m], quaternion (w, x, y, z), twist [m/s, rad/s] and gripper; `counts` are the
number of the reading, its time [ns], buttons and flags (`detent.devices.port`). 0 is success.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from detent.devices.drivers.driver import Driver
from detent.devices.drivers.native_ticks import read_native, write_native
from detent.devices.drivers.outside import BEGUN
from detent.devices.preset import Preset
from detent.errors import ParameterError


class Native(Driver):
    """Addresses of the two functions, and of what they are called with."""

    name: ClassVar = "native"
    needs: ClassVar = "two C functions of your own: docs/your-device.md"
    watchdog: ClassVar = "yours"
    stages: ClassVar = (read_native, write_native)
    takes: ClassVar = ()

    def __init__(
        self,
        preset: Preset,
        read: int,
        write: int,
        device: int = 0,
        opened: Callable[[], None] | None = None,
        closed: Callable[[], None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(preset, **options)
        for name, address in (("read", read), ("write", write)):
            if not isinstance(address, int) or address <= 0:
                allowed = "the address of a C function (ctypes.cast(f, ctypes.c_void_p).value)"
                raise ParameterError(name, address, allowed)
        self.functions, self.device = (read, write), device
        self.opened, self.closed = opened, closed
        self._zero: Callable[[], None] | None = None

    def open(self, d: Any) -> None:
        """What is to be done first, and then zero force."""
        if self.opened is not None:
            self.opened()
        d.functions[:2], d.handles[0] = self.functions, self.device
        self._zero = lambda: self._send_zero(d)
        self._zero()

    def _send_zero(self, d: Any) -> None:
        d.wrench[:] = 0.0
        _call = call_plain(self.functions[1])
        _call(self.device, d.wrench.ctypes.data, 1)

    def close(self, d: Any) -> None:
        """Zero, once; then what is to be done last."""
        d.status[BEGUN] = 0
        if self._zero is None:
            return
        self._zero()
        self._zero = None
        if self.closed is not None:
            self.closed()


def call_plain(address: int) -> Callable[[int, int, int], int]:
    """The write function, called from Python."""
    import ctypes

    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    return kind(address)
