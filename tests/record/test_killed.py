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
from detent.record.trace import TraceWriter
from detent.servo.columns import ROW
from sweeps import LONG
from waiting import wait_for

KILLS = 100 if LONG else 3
MOST_LOST = 0.1  # [s]
RATE = 4000.0  # [Hz]

# each recording is a process of its own, which need not import all again
RECORDING = """
import os, sys, time, detent
from detent.hands import Impedance
session = detent.Session(detent.World.builtin("corner"))
session.warm(4000)
for line in sys.stdin:
    if child := os.fork():
        print("ended by", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    print(os.getpid(), flush=True)
    with session.live(rate=4000, hand=Impedance(), record=line.strip(), realtime=False) as live:
        while True:
            print(live.status().ticks, flush=True)
            time.sleep(0.005)
"""


@pytest.mark.live
@pytest.mark.slow
def test_a_recording_that_is_killed_at_any_moment_loses_little(tmp_path: Path) -> None:
    chance = random.Random(20)
    home = str(Path(detent.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", RECORDING],
        env={**os.environ, "PYTHONPATH": home},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for kill in range(KILLS):
            file = tmp_path / f"{kill}.arrow"
            ticks = killed_after(chance.uniform(0.0, 0.6), file, process)
            back = Trace.load(file)
            np.testing.assert_allclose(np.diff(back["time"]), 1.0 / RATE, atol=1e-9)
            assert back.meta["truncated"] and back.meta["world"] == "corner"
            assert len(back) >= ticks - MOST_LOST * RATE, f"{ticks - len(back)} ticks are lost"
        process.stdin.close()  # type: ignore[union-attr]
    assert process.returncode == 0


def killed_after(seconds: float, file: Path, process: subprocess.Popen[str]) -> int:
    """Record into a file, kill the process that does; how many ticks it had last told of."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{file}\n")
    process.stdin.flush()
    recording = int(process.stdout.readline())
    ticks = int(process.stdout.readline())  # it runs
    time.sleep(seconds)
    os.kill(recording, signal.SIGKILL)
    for line in process.stdout:
        if line.startswith("ended"):
            assert line.split()[-1] == str(-signal.SIGKILL)
            return ticks
        ticks = int(line)
    raise AssertionError("the recording ended by itself")


def test_who_is_killed_before_the_first_rows_leaves_a_file_that_opens(tmp_path: Path) -> None:
    file = tmp_path / "early.arrow"
    writer = TraceWriter(file, {"world": "corner"}, ROW)
    back = Trace.load(file)  # as it is on the disk now
    assert len(back) == 0 and back.meta == {"world": "corner", "truncated": True}
    writer.append(np.zeros(3, ROW))
    writer.close()
    assert len(Trace.load(file)) == 3


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
