"""A loop that does nothing but keep time: what the machine gives anybody."""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel
from detent.servo.loop.clock import now_ns, sleep_until


@kernel
def _sleep_loop(period: int, spin: int, timespec: np.ndarray, out: np.ndarray) -> None:
    deadline = now_ns(timespec) + period
    for i in range(out.shape[0]):
        out[i] = sleep_until(deadline, spin, timespec) - deadline
        deadline += period


def sleep_lateness(rate: float, seconds: float, spin_ns: int = 0) -> np.ndarray:
    """How late the thread wakes, tick by tick [ns]."""
    out = np.zeros(max(1, round(rate * seconds)), np.int64)
    _sleep_loop(round(1e9 / rate), spin_ns, np.zeros(2, np.int64), out)
    return out
