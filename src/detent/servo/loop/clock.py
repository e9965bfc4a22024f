"""The wall clock of the live servo: absolute deadlines, skips counted, no drift."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
from numba import types

from detent.kernels.jit import JIT_ENABLED, kernel

CLOCK_MONOTONIC, TIMER_ABSTIME = 1, 1
_PR_SET_TIMERSLACK = 29
_MCL_CURRENT_AND_FUTURE = 3
_LIBC = ctypes.CDLL(None, use_errno=True)


def _external(name: str, *args: Any) -> Any:
    if JIT_ENABLED:
        return types.ExternalFunction(name, types.int32(*args))
    return getattr(_LIBC, name)


_clock_gettime = _external("clock_gettime", types.int32, types.intp)
_clock_nanosleep = _external("clock_nanosleep", types.int32, types.int32, types.intp, types.intp)
if not JIT_ENABLED:
    _clock_gettime.argtypes = [ctypes.c_int, ctypes.c_ssize_t]
    _clock_nanosleep.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_ssize_t, ctypes.c_ssize_t]


@kernel
def now_ns(timespec: np.ndarray) -> int:
    """The monotonic clock [ns]. *timespec* is two int64 of scratch."""
    _clock_gettime(CLOCK_MONOTONIC, timespec.ctypes.data)
    return timespec[0] * 1_000_000_000 + timespec[1]


@kernel
def sleep_until(deadline: int, spin: int, timespec: np.ndarray) -> int:
    """Sleep to *spin* ns before the deadline, spin the rest; returns the time [ns]."""
    wake = deadline - spin
    timespec[0] = wake // 1_000_000_000
    timespec[1] = wake % 1_000_000_000
    _clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, timespec.ctypes.data, 0)
    time = now_ns(timespec)
    while time < deadline:
        time = now_ns(timespec)
    return time


class Promises:
    """What the machine allowed the servo thread to have, for the user to see."""

    def __init__(self) -> None:
        self.timer_slack = False
        self.fifo = False
        self.locked = False
        self._latency: int | None = None

    @property
    def low_latency(self) -> bool:
        """Whether the processor is kept out of deep sleep."""
        return self._latency is not None

    def take(self, realtime: bool) -> None:
        """Ask for a precise timer and, if *realtime*, for priority and locked memory.

        Call it in the servo thread: priority and timer slack belong to a thread.
        """
        self.timer_slack = _LIBC.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0
        if not realtime:
            return
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(80))
            self.fifo = True
        except OSError:
            pass
        self.locked = _LIBC.mlockall(_MCL_CURRENT_AND_FUTURE) == 0
        try:
            self._latency = os.open("/dev/cpu_dma_latency", os.O_WRONLY)
            os.write(self._latency, bytes(4))
        except OSError:
            self._release_latency()

    def release(self) -> None:
        """Give back what was taken. Call it in the servo thread."""
        if self.fifo:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if self.locked:
            _LIBC.munlockall()
        self._release_latency()

    def _release_latency(self) -> None:
        if self._latency is not None:
            os.close(self._latency)
            self._latency = None

    def __str__(self) -> str:
        named = {
            "precise timer": self.timer_slack,
            "SCHED_FIFO": self.fifo,
            "locked memory": self.locked,
            "low latency": self.low_latency,
        }
        return ", ".join(name for name, held in named.items() if held) or "nothing"
