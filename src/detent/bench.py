"""Speed and memory, everything that is compared in one run, alternating, as ratios."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from detent.hands import Constant
from detent.servo.baseline import sleep_lateness
from detent.servo.live import percentile
from detent.servo.loop import run_lockstep, time_ticks
from detent.session import Prepared, Session
from detent.world.contact import Contact
from detent.world.world import World

PUSH = Constant((3.0, 3.0, -3.0))  # [N] into the corner of the scene corner-boxes
TICKS = 20_000
LIVE_RATE = 4000.0  # [Hz]
Progress = Callable[[float], None]


def run_bench(quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """All measurements; *quick* makes them shorter."""
    parts = (
        bench_tick,
        bench_contacts,
        bench_impulses,
        bench_lockstep,
        bench_live,
        bench_start,
        bench_memory,
    )
    numbers: dict[str, Any] = {}
    for done, part in enumerate(parts):
        numbers |= part(quick)
        if progress is not None:
            progress((done + 1) / len(parts))
    return numbers


def corner_at_rest(rate: float = 1000.0) -> Prepared:
    """The benchmark's scene after it has come to rest in its corner."""
    session = Session(World.builtin("corner-boxes"), Contact(4000.0, 30.0), rate=rate)
    ready = session.prepare(PUSH, rate, ring=4096)
    run_lockstep(ready.servo, 3000)
    return ready


def timed(function: Callable[[], object], count: int) -> float:
    """Microseconds per item of a call that does *count* of them."""
    began = time.perf_counter()
    function()
    return 1e6 * (time.perf_counter() - began) / count


def bench_tick(quick: bool) -> dict[str, Any]:
    """A full tick against mj_step and, where it is installed, PyBullet's step."""
    ready = corner_at_rest()
    model = World.builtin("corner-boxes").model
    data = mujoco.MjData(model)
    data.qpos[:] = ready.data.qpos
    data.xfrc_applied[1, :3] = PUSH.force
    mujoco.mj_step(model, data, nstep=2000)
    bullet = _bullet_corner()
    ours, theirs, bullets = [], [], []
    for _ in range(5 if quick else 15):
        ours.append(timed(lambda: run_lockstep(ready.servo, TICKS), TICKS))
        theirs.append(timed(lambda: mujoco.mj_step(model, data, nstep=TICKS), TICKS))
        if bullet is not None:
            bullets.append(timed(lambda: [bullet() for _ in range(2000)], 2000))
    out = {
        "tick_us": statistics.median(ours),
        "mj_step_us": statistics.median(theirs),
        "tick_over_mj_step": statistics.median(a / b for a, b in zip(ours, theirs, strict=True)),
        "tick_contacts": int(ready.servo.ring["contacts"].max()),
        "mj_step_contacts": int(data.ncon),
    }
    if bullets:
        out["bullet_step_us"] = statistics.median(bullets)
        out["tick_over_bullet"] = statistics.median(
            a / b for a, b in zip(ours, bullets, strict=True)
        )
    return out


def _bullet_corner() -> Callable[[], Any] | None:
    """PyBullet's step of the same scene, or None where it is not installed."""
    try:
        import pybullet as bullet
    except ImportError:
        return None
    bullet.connect(bullet.DIRECT)
    bullet.setGravity(0, 0, -9.81)
    bullet.setTimeStep(0.001)
    walls = (
        ((0.1, 0.1, 0.01), (0, 0, -0.01)),
        ((0.01, 0.1, 0.1), (0.11, 0, 0.1)),
        ((0.1, 0.01, 0.1), (0, 0.11, 0.1)),
    )
    for half, place in walls:
        shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=half)
        bullet.createMultiBody(0, shape, basePosition=place)
    shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=(0.021, 0.015, 0.0105))
    box = bullet.createMultiBody(2.0, shape, basePosition=(0.0791, 0.0851, 0.0104))

    def step() -> None:
        bullet.applyExternalForce(box, -1, PUSH.force, (0, 0, 0), bullet.LINK_FRAME)
        bullet.stepSimulation()

    for _ in range(500):
        step()
    return step


def peg_row(contacts: int) -> World:
    """A free plate that rests on as many spheres as it shall have contacts."""
    spheres = "".join(
        f'<geom type="sphere" size="0.005" pos="{0.03 * (i % 8)} {0.03 * (i // 8)} -0.005"/>'
        for i in range(contacts)
    )
    wide, deep = 0.03 * min(contacts - 1, 7) / 2, 0.03 * ((contacts - 1) // 8) / 2
    return World.from_string(
        f"""<mujoco><option gravity="0 0 -9.81"/><worldbody>
        <geom type="plane" size="1 1 0.1"/>
        <body name="plate" pos="{-wide} {-deep} 0.00995"><freejoint/>
        <inertial pos="{wide} {deep} 0" mass="2" diaginertia="0.01 0.01 0.01"/>{spheres}</body>
        </worldbody></mujoco>""",
        tool="plate",
    )


def bench_contacts(quick: bool) -> dict[str, Any]:
    """Cost of a resting tick against the number of contacts, and the fitted exponent."""
    counts = (1, 2, 4, 8, 16, 32, 64)
    ready = {}
    for n in counts:
        session = Session(peg_row(n), Contact(4000.0, 30.0), rate=1000.0)
        ready[n] = session.prepare(None, 1000.0, ring=4096)
        run_lockstep(ready[n].servo, 200)
    costs: dict[int, list[float]] = {n: [] for n in counts}
    ticks = 2000
    for _ in range(5 if quick else 15):
        for n in counts:
            costs[n].append(timed(lambda n=n: run_lockstep(ready[n].servo, ticks), ticks))  # type: ignore[misc]
    medians = [statistics.median(costs[n]) for n in counts]
    seen = [int(ready[n].servo.ring["contacts"][-1]) for n in counts]
    exponent = float(np.polyfit(np.log(counts), np.log(medians), 1)[0])
    return {
        "contact_counts": seen,
        "contact_tick_us": medians,
        "contact_exponent": exponent,
        "contact_exponent_tail": float(np.polyfit(np.log(counts[3:]), np.log(medians[3:]), 1)[0]),
    }


def bench_impulses(quick: bool) -> dict[str, Any]:
    """Ticks in which a box hits a corner with twelve contacts at once, against resting ones."""
    session = Session(World.builtin("corner-3d"), Contact(4000.0, 30.0, 0.9), rate=1000.0)
    ready = session.prepare(PUSH, 1000.0, ring=1)
    hits, rests = [], []
    for _ in range(20_000 if quick else 60_000):
        before = ready.servo.clock.compute.copy()
        time_ticks(ready.servo, 1)
        cost = int(np.nonzero(ready.servo.clock.compute - before)[0][0])
        row = ready.servo.ring[0]
        if row["collisions"] > 0:
            hits.append(cost)
        elif row["contacts"] > 0:
            rests.append(cost)
    return {
        "impulse_ticks": len(hits),
        "impulse_tick_p50_us": float(np.percentile(hits, 50)) if hits else float("nan"),
        "impulse_tick_p99_us": float(np.percentile(hits, 99)) if hits else float("nan"),
        "resting_tick_p50_us": float(np.percentile(rests, 50)) if rests else float("nan"),
    }


def bench_lockstep(quick: bool) -> dict[str, Any]:
    """Virtual over real time of the corner push."""
    from detent.coupling.four_channel import TABLE_4_1

    world = World.builtin("corner").placed((0.039, -0.0195, 0.0))
    session = Session(world, Contact(4000.0, 30.0), TABLE_4_1, rate=512.0)
    session.run(1.0, Constant((0.32, -0.4)))
    seconds = 4.0
    times = []
    for _ in range(5 if quick else 15):
        began = time.perf_counter()
        session.run(seconds, Constant((0.32, -0.4)))
        times.append(seconds / (time.perf_counter() - began))
    return {"lockstep_times_real_time": statistics.median(times)}


def bench_live(quick: bool) -> dict[str, Any]:
    """Lateness at 4 kHz beside a busy Python thread, against the baseline, alternated."""
    seconds, rounds = (2.0, 2) if quick else (5.0, 4)
    ours, base, skips = [], [], 0
    stop = threading.Event()
    busy = threading.Thread(target=_keep_busy, args=(stop,), daemon=True)
    busy.start()
    try:
        for _ in range(rounds):
            session = Session(World.builtin("peg-in-hole"))
            with session.live(rate=LIVE_RATE, hand=Constant((0.5, -0.5)), realtime=True) as live:
                time.sleep(seconds)
            histogram = live.histogram()
            skips += live.status().skips
            ours.append((percentile(histogram, 0.5), percentile(histogram, 0.99)))
            base.append(_baseline(seconds))
    finally:
        stop.set()
        busy.join()
    return {
        "live_rate_hz": LIVE_RATE,
        "live_lateness_p50_us": statistics.median(o[0] for o in ours),
        "live_lateness_p99_us": statistics.median(o[1] for o in ours),
        "live_skips": skips,
        "baseline": "cyclictest" if shutil.which("cyclictest") else "sleep loop",
        "baseline_lateness_p50_us": statistics.median(b[0] for b in base),
        "baseline_lateness_p99_us": statistics.median(b[1] for b in base),
        "live_over_baseline_p99": statistics.median(
            o[1] / max(b[1], 1.0) for o, b in zip(ours, base, strict=True)
        ),
    }


def _keep_busy(stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        number = (number * 31 + 7) % 1_000_003


def _baseline(seconds: float) -> tuple[float, float]:
    """p50 and p99 of cyclictest at the same period, or of a loop that only sleeps [µs]."""
    histogram = _cyclictest(seconds)
    if histogram is None:
        late = sleep_lateness(LIVE_RATE, seconds) / 1e3
        return float(np.percentile(late, 50)), float(np.percentile(late, 99))
    return percentile(histogram, 0.5), percentile(histogram, 0.99)


def _cyclictest(seconds: float) -> np.ndarray | None:
    """Its histogram [µs], or None where it is not installed or not allowed to run."""
    command = shutil.which("cyclictest")
    if command is None:
        return None
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as file:
        loops = str(round(LIVE_RATE * seconds))
        period = str(round(1e6 / LIVE_RATE))
        subprocess.run(
            [command, "-q", "-p80", "-m", "-t1", "-i", period, "-l", loops, "-h", "4000",
             f"--histfile={file.name}"],
            check=False, capture_output=True,
        )  # fmt: skip
        pairs = re.findall(r"^(\d+)\s+(\d+)$", file.read(), re.MULTILINE)
    histogram = np.zeros(4001, np.int64)
    for bin_, count in pairs:
        histogram[int(bin_)] += int(count)
    return histogram if histogram.any() else None


def bench_start(quick: bool) -> dict[str, Any]:
    """Import, warm first tick and (unless quick) cold compile, in processes of their own."""
    first_tick = (
        "import time; t = time.perf_counter(); import detent; a = time.perf_counter();"
        "from detent.hands import Constant;"
        "detent.Session(detent.World.builtin('corner')).run(0.001, Constant());"
        "import json; print(json.dumps([a - t, time.perf_counter() - t]))"
    )
    warm = [_in_process(first_tick, {}) for _ in range(3)]
    out = {
        "import_s": statistics.median(w[0] for w in warm),
        "warm_first_tick_s": statistics.median(w[1] for w in warm),
    }
    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            out["cold_first_tick_s"] = _in_process(first_tick, {"DETENT_CACHE_DIR": folder})[1]
    return out


def _in_process(code: str, environment: dict[str, str]) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def bench_memory(quick: bool) -> dict[str, Any]:
    """Allocations and growth of memory over a million ticks; both must be zero."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    ready = corner_at_rest()
    run_lockstep(ready.servo, 10_000)
    before, resident = rtsys.get_allocation_stats(), _resident()
    ticks = 100_000 if quick else 1_000_000
    run_lockstep(ready.servo, ticks)
    after = rtsys.get_allocation_stats()
    return {
        "memory_ticks": ticks,
        "allocations": after.alloc - before.alloc,
        "resident_growth_kb": (_resident() - resident) / 1024,
    }


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


#: what a number must be, for the table
BARS = {
    "tick_over_mj_step": "≤ 1.0",
    "tick_over_bullet": "≤ 0.3",
    "contact_exponent": "≤ 1.3",
    "contact_exponent_tail": "≤ 1.3",
    "lockstep_times_real_time": "≥ 200",
    "live_over_baseline_p99": "≤ 1.5",
    "import_s": "≤ 1",
    "warm_first_tick_s": "≤ 2",
    "cold_first_tick_s": "≤ 45",
    "allocations": "= 0",
}


def print_bench(numbers: dict[str, Any], console: Any) -> None:
    """The numbers as a table, the ratios with what they must be."""
    from rich.table import Table

    table = Table("measurement", "value", "must be")
    for name, value in numbers.items():
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        if isinstance(value, list):
            shown = ", ".join(f"{v:.3g}" for v in value)
        table.add_row(name, shown, BARS.get(name, ""))
    console.print(table)
