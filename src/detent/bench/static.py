"""What bodies that do not move cost whoever holds something among them."""

from __future__ import annotations

import statistics
from functools import partial

import mujoco

from detent.bench.boxes import bullet_boxes, mujoco_at_rest, static_boxes
from detent.bench.local import settled
from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds
from detent.bench.scenes import at_rest
from detent.local.model import LocalModel
from detent.servo.loop.loop import run_lockstep

BODIES = (10, 100, 1000)
TICKS = 200  # short turns, so that other jobs leave some alone
BULLET_TICKS = 2000  # divided by the number of bodies


def bench_static(quick: bool) -> Numbers:
    """A held box among static ones that touch the floor: whole and local ticks, others' steps."""
    jobs: dict[str, Job] = {}
    for others in BODIES:
        world = static_boxes(others)
        whole, local = at_rest(world, None), settled(world, LocalModel(age_limit=1e9), quick, None)
        data = mujoco_at_rest(world, whole.data.qpos, quick)
        jobs[f"whole_{others}"] = Job(partial(run_lockstep, whole.servo, TICKS), TICKS)
        jobs[f"local_{others}"] = Job(partial(run_lockstep, local.servo, TICKS), TICKS)
        step = partial(mujoco.mj_step, world.model, data, nstep=TICKS)
        jobs[f"mj_step_{others}"] = Job(step, TICKS)
        bullet = bullet_boxes(others, free=False)
        if bullet is not None:
            ticks = BULLET_TICKS // others
            jobs[f"bullet_{others}"] = Job(partial(bullet, ticks), ticks)
    costs = alternate(jobs, (1 if quick else 8) * rounds(quick))
    numbers: Numbers = {}
    for others in BODIES:
        ours = costs[f"whole_{others}"]
        name = f"among_{others}_static"
        numbers[f"tick_us_{name}"] = statistics.median(ours)
        numbers[f"{name}_over_mj_step"] = median_ratio(ours, costs[f"mj_step_{others}"])
        if f"bullet_{others}" in costs:
            numbers[f"{name}_over_bullet"] = median_ratio(ours, costs[f"bullet_{others}"])
    many, few = (costs[f"local_{others}"] for others in (BODIES[-1], BODIES[0]))
    return numbers | {"local_among_1000_over_10_static": median_ratio(many, few)}
