"""What free bodies nearby cost whoever holds one of them: at rest, all awake, heaped up."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import mujoco
import numpy as np

from detent.bench.boxes import HALF, bullet_boxes, free_boxes, heap, mujoco_at_rest
from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds, shorter
from detent.bench.scenes import RATE, RING
from detent.hands import Sinusoid
from detent.servo.loop.loop import run_lockstep
from detent.session import Session
from detent.setup.prepared import Prepared
from detent.world.contact import Contact
from detent.world.world import World

BODIES = (10, 50, 200)  # beside the one that is held
AWAKE = (50, 200)
HEAPED = 50
TICKS = 4000  # divided by the number of bodies
NUDGE = 1e-3  # [m/s] to and fro, every tick
STIR = Sinusoid(force=(4.0, 2.0, 0.0), frequency=3.0, bias_force=(2.0, 0.0, 0.0))
STIRRED = 400  # [ticks] of stirring before it is timed


class Boxes(NamedTuple):
    """Free boxes that came to rest, in Detent's hands and in MuJoCo's."""

    world: World
    ready: Prepared
    data: mujoco.MjData
    ticks: int  # per turn


def bench_bodies(quick: bool) -> Numbers:
    """Free boxes: ticks with the whole scene in them, as ratios to MuJoCo's and Bullet's."""
    numbers, least = dict[str, float | int | str](), []
    for others in BODIES:
        world = free_boxes(others)
        ready = Session(world, Contact(4000.0, 30.0)).prepare(None, RATE, RING)
        run_lockstep(ready.servo, round(2.0 * RATE))
        if others == BODIES[-1]:
            numbers |= at_rest_numbers(ready, others)
        data = mujoco_at_rest(world, ready.data.qpos, quick)
        boxes = Boxes(world, ready, data, TICKS // others)
        numbers |= among_resting(boxes, others, quick)
        least.append(float(numbers[f"tick_us_among_{others}_boxes"]))
        if others in AWAKE:
            numbers[f"among_{others}_awake_over_mj_step"] = among_awake(boxes, quick)
        if others == AWAKE[0]:
            numbers |= waking_numbers(ready)
    numbers["body_exponent"] = float(np.polyfit(np.log(BODIES), np.log(least), 1)[0])
    return numbers | {"stirred_heap_over_mj_step": in_a_heap(quick)}


def at_rest_numbers(ready: Prepared, others: int) -> Numbers:
    """The boxes after two seconds: how level their tops are, and whether impulses still act."""
    tops = ready.data.qpos.reshape(-1, 7)[:, 2] + HALF
    late = ready.servo.ring["collisions"][round(RATE) : round(2.0 * RATE)]
    return {
        f"tops_apart_um_among_{others}_boxes": 1e6 * float(np.ptp(tops)),
        f"impulses_at_rest_among_{others}_boxes": int(late.sum()),
        f"asleep_among_{others}_boxes": int(ready.servo.sleep.sleepers[0]),
    }


def among_resting(boxes: Boxes, others: int, quick: bool) -> Numbers:
    """Boxes that came to rest: they sleep."""
    world, ready, data, ticks = boxes
    jobs = {
        "tick": Job(partial(run_lockstep, ready.servo, ticks), ticks),
        "mj_step": Job(partial(mujoco.mj_step, world.model, data, nstep=ticks), ticks),
    }
    bullet = bullet_boxes(others, free=True)
    if bullet is not None:
        jobs["bullet"] = Job(partial(bullet, ticks), ticks)
    costs = alternate(jobs, 2 * rounds(quick))
    numbers: Numbers = {
        f"tick_us_among_{others}_boxes": min(costs["tick"]),
        f"dropped_among_{others}_boxes": int(ready.servo.rows.lost[2]),
        f"among_{others}_boxes_over_mj_step": median_ratio(costs["tick"], costs["mj_step"]),
    }
    if bullet is not None:
        ratio = median_ratio(costs["tick"], costs["bullet"])
        numbers[f"among_{others}_boxes_over_bullet"] = ratio
    return numbers


def nudged(ready: Prepared, ticks: int) -> None:
    """Ticks, each after a small push to and fro of all other boxes."""
    qvel = ready.data.qvel.reshape(-1, 6)
    for i in range(ticks):
        qvel[1:, 0] += NUDGE if i % 2 == 0 else -NUDGE
        run_lockstep(ready.servo, 1)


def nudged_in_mujoco(world: World, data: mujoco.MjData, ticks: int) -> None:
    """The same in MuJoCo's hands."""
    qvel = data.qvel.reshape(-1, 6)
    for i in range(ticks):
        qvel[1:, 0] += NUDGE if i % 2 == 0 else -NUDGE
        mujoco.mj_step(world.model, data)


def among_awake(boxes: Boxes, quick: bool) -> float:
    """Boxes that cannot sleep, since each is nudged every tick, over `mj_step`."""
    world, ready, data, ticks = boxes
    jobs = {
        "tick": Job(partial(nudged, ready, ticks), ticks),
        "mj_step": Job(partial(nudged_in_mujoco, world, data, ticks), ticks),
    }
    costs = alternate(jobs, 2 * rounds(quick))
    assert ready.servo.sleep.sleepers[0] == 0
    return median_ratio(costs["tick"], costs["mj_step"])


def in_a_heap(quick: bool) -> float:
    """A heap of boxes that touch each other, stirred by the held one, over `mj_step`."""
    world, ticks = heap(HEAPED), shorter(TICKS, quick) // HEAPED
    session = Session(world, Contact(4000.0, 30.0))
    ready = session.prepare(STIR, RATE, RING)
    run_lockstep(ready.servo, shorter(STIRRED, quick))
    data = mujoco_at_rest(world, world.qpos, quick)
    data.xfrc_applied[world.tool, :3] = np.add(STIR.force, STIR.bias_force)
    jobs = {
        "tick": Job(partial(run_lockstep, ready.servo, ticks), ticks),
        "mj_step": Job(partial(mujoco.mj_step, world.model, data, nstep=ticks), ticks),
    }
    costs = alternate(jobs, 2 * rounds(quick))
    return median_ratio(costs["tick"], costs["mj_step"])


def waking_numbers(ready: Prepared) -> Numbers:
    """What ticks leave in memory while trees fall asleep and wake."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    nudged(ready, 2)
    before, slept = rtsys.get_allocation_stats().alloc, ready.servo.sleep.sleepers[0]
    run_lockstep(ready.servo, 1000)
    assert ready.servo.sleep.sleepers[0] > slept  # they fell asleep again
    return {"sleep_allocations": rtsys.get_allocation_stats().alloc - before}
