"""Recordings that somebody killed, and disks that are full: what is there can be read."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import detent
from detent import Session, Trace, World
from detent.errors import TraceError
from detent.hands import Impedance
from sweeps import LONG
from waiting import wait_for

KILLS = 100 if LONG else 3
MOST_LOST = 0.1  # [s]
RATE = 4000.0  # [Hz]

RECORDING = """
import sys, time, detent
from detent.hands import Impedance
session = detent.Session(detent.World.builtin("corner"))
for line in sys.stdin:
    with session.live(rate=4000, hand=Impedance(), record=line.strip(), realtime=False) as live:
        while True:
            print(live.status().ticks, flush=True)
            time.sleep(0.005)
"""


@pytest.mark.live
@pytest.mark.slow
def test_a_recording_that_is_killed_at_any_moment_loses_little(tmp_path: Path) -> None:
    chance = random.Random(20)
    for kill in range(KILLS):
        file = tmp_path / f"{kill}.arrow"
        ticks = killed_after(chance.uniform(0.05, 0.6), file)
        back = Trace.load(file)
        np.testing.assert_allclose(np.diff(back["time"]), 1.0 / RATE, atol=1e-9)
        assert back.meta["truncated"] and back.meta["world"] == "corner"
        assert len(back) >= ticks - MOST_LOST * RATE, f"{ticks - len(back)} ticks are lost"


def killed_after(seconds: float, file: Path) -> int:
    """Record into a file, kill the process; how many ticks it had last told of."""
    home = str(Path(detent.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", RECORDING],
        env={**os.environ, "PYTHONPATH": home},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{file}\n")
    process.stdin.flush()
    assert int(process.stdout.readline()) >= 0  # it runs
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    said = process.stdout.read().split()  # all but what was being written
    process.wait()
    return int(said[-2]) if len(said) > 1 else 0


@pytest.mark.live
def test_a_full_disk_stops_the_recording_and_not_the_servo() -> None:
    session = Session(World.builtin("corner"))
    with (
        pytest.raises(TraceError, match=r"recording to /dev/full stopped: .*No space left"),
        session.live(rate=1000, hand=Impedance(), record="/dev/full", realtime=False) as live,
    ):
        assert wait_for(lambda: live.sink_error is not None)
        then = live.status().ticks
        assert wait_for(lambda: live.status().ticks > then + 50)  # the servo goes on
        assert "the recording stopped: " in live.notes()[-1]
