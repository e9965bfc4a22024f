"""What a tick costs, against other engines and against real time."""

from __future__ import annotations

import statistics
from functools import partial

import mujoco
import numpy as np

from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds, shorter
from detent.bench.scenes import PUSH, bullet_corner, corner_at_rest
from detent.coupling.four_channel import TABLE_4_1
from detent.hands import Constant
from detent.servo.loop.loop import run_lockstep
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

TICKS, BULLET_TICKS = 20_000, 2000
RUN_SECONDS, RUN_RATE = 4.0, 512.0  # [s] of virtual time, [Hz]


def bench_tick(quick: bool) -> Numbers:
    """A full tick against mj_step and, where it is installed, PyBullet's step."""
    ready, ticks = corner_at_rest(), shorter(TICKS, quick)
    model, data = mujoco_corner(ready.data.qpos)
    jobs = {
        "tick": Job(partial(run_lockstep, ready.servo, ticks), ticks),
        "mj_step": Job(partial(mujoco.mj_step, model, data, nstep=ticks), ticks),
    }
    bullet = bullet_corner()
    if bullet is not None:
        steps = shorter(BULLET_TICKS, quick)
        jobs["bullet_step"] = Job(lambda: [bullet() for _ in range(steps)], steps)
    costs = alternate(jobs, rounds(quick))
    numbers: Numbers = {f"{name}_us": statistics.median(cost) for name, cost in costs.items()}
    numbers |= {
        "tick_contacts": int(ready.servo.ring["contacts"].max()),
        "mj_step_contacts": int(data.ncon),
        "tick_over_mj_step": median_ratio(costs["tick"], costs["mj_step"]),
    }
    if bullet is not None:
        numbers["tick_over_bullet_step"] = median_ratio(costs["tick"], costs["bullet_step"])
    return numbers


def mujoco_corner(qpos: np.ndarray) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The same box in the same place, pushed by the same force, in MuJoCo's own hands."""
    world = World.builtin("corner-boxes")
    data = mujoco.MjData(world.model)
    data.qpos[:] = qpos
    data.xfrc_applied[world.tool, :3] = PUSH.force
    mujoco.mj_step(world.model, data, nstep=2000)
    return world.model, data


def bench_lockstep(quick: bool) -> Numbers:
    """A run of the corner push, set-up and trace and all, against MuJoCo's steps of the same."""
    world = World.builtin("corner").placed((0.039, -0.0195, 0.0))
    session = Session(world, Contact(4000.0, 30.0), TABLE_4_1, rate=RUN_RATE)
    hand = Constant((0.32, -0.4))
    session.run(1.0, hand)
    world.model.opt.timestep = 1.0 / RUN_RATE
    steps = round(RUN_SECONDS * RUN_RATE)
    jobs = {
        "run": Job(partial(session.run, RUN_SECONDS, hand), steps),
        "mj_step": Job(partial(steps_of_mujoco, world, hand, steps), steps),
    }
    costs = alternate(jobs, 2 * rounds(quick))
    speed = 1e6 / (RUN_RATE * statistics.median(costs["run"]))
    return {
        "lockstep_times_real_time": speed,
        "run_over_mj_step": median_ratio(costs["run"], costs["mj_step"]),
    }


def steps_of_mujoco(world: World, hand: Constant, steps: int) -> None:
    """The same push of the same tool in MuJoCo's own hands, from its start."""
    data = mujoco.MjData(world.model)
    data.qpos[:] = world.qpos
    data.xfrc_applied[world.tool, : len(hand.force)] = hand.force
    mujoco.mj_step(world.model, data, nstep=steps)
