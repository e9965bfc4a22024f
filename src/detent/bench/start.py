"""How long it takes until the first tick."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

from detent.bench.rounds import Numbers

#: prints the seconds to import Detent, and to its first tick
FIRST_TICK = """
import json, time
began = time.perf_counter()
import detent
imported = time.perf_counter()
detent.Session(detent.World.builtin("corner")).run(0.001, detent.hands.Constant())
print(json.dumps([imported - began, time.perf_counter() - began]))
"""


def bench_start(quick: bool) -> Numbers:
    """Import, warm first tick and (unless quick) cold compile, in processes of their own."""
    warm = [first_tick({}) for _ in range(1 if quick else 3)]
    numbers: Numbers = {
        "import_s": statistics.median(import_ for import_, _ in warm),
        "warm_first_tick_s": statistics.median(tick for _, tick in warm),
    }
    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            numbers["cold_first_tick_s"] = first_tick({"DETENT_CACHE_DIR": folder})[1]
    return numbers


def first_tick(environment: dict[str, str]) -> tuple[float, float]:
    """Seconds until Detent is imported, and until its first tick, in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_TICK],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    imported, ticked = json.loads(done.stdout)
    return imported, ticked
