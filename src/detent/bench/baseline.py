"""How late the machine wakes anybody: cyclictest, or a loop that only sleeps."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile

import numpy as np

from detent.servo.loop.baseline import sleep_lateness
from detent.servo.loop.rights import PRIORITY, Promises

BINS = 4000  # [µs] beyond them lateness is only counted


def baseline_lateness(rate: float, seconds: float, fifo: bool) -> tuple[str, np.ndarray]:
    """What was measured, and its histogram [µs]; with real-time priority or plain."""
    histogram = cyclictest(rate, seconds, fifo)
    if histogram is not None:
        return "cyclictest", histogram
    promises = Promises()
    if fifo:
        promises.take(realtime=True)
    try:
        late = sleep_lateness(rate, seconds) // 1000
    finally:
        promises.release()
    return "sleep loop", np.bincount(np.clip(late, 0, BINS), minlength=BINS + 1)


def cyclictest(rate: float, seconds: float, fifo: bool) -> np.ndarray | None:
    """Its histogram [µs], or None where it is not installed or not allowed to run."""
    command = shutil.which("cyclictest")
    if command is None:
        return None
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as file:
        arguments = {
            "--threads": 1,
            "--interval": round(1e6 / rate),
            "--duration": math.ceil(seconds),
            "--histogram": BINS,
            "--histfile": file.name,
        }
        if fifo:
            arguments["--priority"] = PRIORITY
        options = [f"{name}={value}" for name, value in arguments.items()]
        options += ["--mlockall"] if fifo else []
        subprocess.run([command, "--quiet", *options], check=False, capture_output=True)
        return read_histogram(file.read())


def read_histogram(text: str) -> np.ndarray | None:
    """cyclictest's histogram, with what lies beyond it in a last bin; None if it is empty."""
    histogram = np.zeros(BINS + 1, np.int64)
    for place, count in re.findall(r"^(\d+)\s+(\d+)$", text, re.MULTILINE):
        histogram[int(place)] += int(count)
    for count in re.findall(r"^# Histogram Overflows:\s+(\d+)", text, re.MULTILINE):
        histogram[BINS] += int(count)
    return histogram if histogram.any() else None
