"""The wall clock of the live servo: absolute deadlines, skips counted, no drift."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import types

from detent.kernels.jit import JIT_ENABLED, kernel

CLOCK_MONOTONIC, TIMER_ABSTIME = 1, 1


def _external(name: str, *args: Any) -> Any:
    if JIT_ENABLED:
        return types.ExternalFunction(name, types.int32(*args))
    return getattr(ctypes.CDLL(None), name)


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
