"""What this machine can promise."""

from __future__ import annotations

import os
import platform
import resource
import shutil

import mujoco
import numba
import numpy as np

from detent.cli.warm import is_compiled
from detent.kernels.cached import compiled_cache
from detent.servo.loop.baseline import sleep_lateness
from detent.servo.loop.rights import Promises, why_refused

RATES = (10_000, 4_000, 2_000, 1_000, 500)  # [Hz]
SHARE = 0.25  # of a period that a sleep may be late by


def examine() -> dict[str, str]:
    """Findings in words."""
    promises = Promises()
    promises.take(realtime=True)
    held, rights = str(promises), describe_rights(promises)
    late = sleep_lateness(4000.0, 2.0) / 1e3
    promises.release()
    p50, p99 = np.percentile(late, [50, 99])
    return {
        "processor": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "libraries": f"MuJoCo {mujoco.mj_versionString()}, Numba {numba.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}",
        "compiled servo": f"{'ready' if is_compiled() else 'not yet'} in {compiled_cache()}",
        "the servo may have": held,
        **rights,
        "timer at 4 kHz": f"late by {p50:.0f} µs (half), {p99:.0f} µs (99 %), "
        f"{late.max():.0f} µs (worst)",
        "cyclictest": shutil.which("cyclictest") or "not installed (Debian: rt-tests)",
        "browser": shutil.which("chromium") or shutil.which("google-chrome") or "none found",
        "verdict": verdict(float(p99), promises.fifo),
    }


def verdict(late: float, fifo: bool) -> str:
    """Which rate this machine holds, from the lateness [µs] of 99 % of its sleeps."""
    fit = [rate for rate in RATES if late <= SHARE * 1e6 / rate]
    if not fit:
        return f"not fit for live sessions: {late:.0f} µs late; lockstep (detent run) is as good"
    said = f"fit for live sessions at {fit[0]} Hz"
    if fifo:
        return f"{said}, also while the machine is busy"
    return f"{said} as long as nothing else runs: without real-time priority others go first"


def describe_rights(promises: Promises) -> dict[str, str]:
    """What is the case now, in the thread that was promised it."""
    most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    size = "unlimited" if most == resource.RLIM_INFINITY else f"{most // 1024} KiB"
    return {
        "real-time priority": f"allowed (SCHED_FIFO {os.sched_getparam(0).sched_priority})"
        if promises.fifo
        else f"refused: {why_refused()}",
        "locked memory": "allowed" if promises.locked else f"refused: the limit memlock is {size}",
    }
