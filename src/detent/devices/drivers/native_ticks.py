"""The tick's side of two C functions of somebody's own."""

from __future__ import annotations

from detent.devices.drivers.foreign import call_c
from detent.devices.drivers.outside import WRITE_CODE, Outside, asked, give_wrench, take_reading
from detent.kernels.jit import kernel

READ, WRITE = range(2)  # places of `Outside.functions`


@kernel
def read_native(d: Outside) -> None:
    """Stage: a reading by the device's own function."""
    if not asked(d):
        return
    code = call_c(d.functions[READ], (d.handles[0], d.reading.ctypes.data, d.counts.ctypes.data))
    take_reading(d, code if code != 0 else d.status[WRITE_CODE])


@kernel
def write_native(d: Outside) -> None:
    """Stage: a wrench to the device's own function."""
    if give_wrench(d):
        d.status[WRITE_CODE] = call_c(
            d.functions[WRITE], (d.handles[0], d.wrench.ctypes.data, d.order[1])
        )
