"""The tick's side of a mailbox: two system calls that never wait."""

from __future__ import annotations

from detent.devices.drivers.foreign import call_c
from detent.devices.drivers.outside import (
    BEGUN,
    ORDER,
    READING,
    Outside,
    asked,
    give_wrench,
    now,
    take_reading,
)
from detent.kernels.jit import kernel

RECEIVE, SEND = range(2)  # places of `Outside.functions`
NO_WAIT, QUIET = 0x40, 0x4000  # MSG_DONTWAIT, MSG_NOSIGNAL of Linux
MOST_WAITING = 64  # messages that are taken in a tick; only the newest counts


@kernel
def read_mailbox(d: Outside) -> None:
    """Stage: the newest reading, if there is one; lost, if nobody is at the other end."""
    asked(d)
    if d.status[BEGUN] == 0:
        return
    size, fresh = 0, False
    for _ in range(MOST_WAITING):
        size = call_c(
            d.functions[RECEIVE], (d.handles[0], d.reading.ctypes.data, 8 * READING, NO_WAIT)
        )
        if size <= 0:
            break
        fresh = fresh or size == 8 * READING
    if size == 0:
        take_reading(d, 1)
    elif fresh:
        take_reading(d, 0)


@kernel
def write_mailbox(d: Outside) -> None:
    """Stage: leave the command; one that finds no room is replaced by the next."""
    if give_wrench(d):
        d.order[0] = now(d)
        call_c(d.functions[SEND], (d.handles[0], d.wrench.ctypes.data, 8 * ORDER, NO_WAIT | QUIET))
