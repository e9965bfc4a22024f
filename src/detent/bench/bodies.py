"""What free bodies that rest nearby cost whoever holds one of them, against `mj_step`."""

from __future__ import annotations

import math
from functools import partial

import mujoco
import numpy as np

from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds
from detent.bench.scenes import at_rest
from detent.servo.loop.loop import run_lockstep
from detent.world.world import World

BODIES = (10, 50, 200)  # beside the one that is held
TICKS = 4000  # divided by the number of bodies
HALF, SPACING = 0.02, 0.1  # [m] of the boxes


def boxes(others: int) -> World:
    """A held box among as many free ones, in rows on a floor; none touches another."""
    side = math.ceil(math.sqrt(others + 1))
    bodies = "".join(
        f'<body name="box{i}" pos="{SPACING * (i % side)} {SPACING * (i // side)} {HALF - 1e-4}">'
        f'<freejoint/><geom type="box" size="{HALF} {HALF} {HALF}" mass="0.2"/></body>'
        for i in range(others + 1)
    )
    return World.from_string(
        f"""<mujoco><option gravity="0 0 -9.81" timestep="0.001"/><worldbody>
        <geom type="plane" size="9 9 0.1"/>{bodies}</worldbody></mujoco>""",
        tool="box0",
        name=f"{others + 1} boxes",
    )


def bench_bodies(quick: bool) -> Numbers:
    """Ticks with the whole scene in them, as ratios to MuJoCo's, and the exponent over bodies."""
    numbers: Numbers = {}
    least = []
    for others in BODIES:
        world, ticks = boxes(others), TICKS // others
        ready = at_rest(world, None)
        data = mujoco.MjData(world.model)
        data.qpos[:] = ready.data.qpos
        mujoco.mj_step(world.model, data, nstep=500)  # until it rests there, too
        jobs = {
            "tick": Job(partial(run_lockstep, ready.servo, ticks), ticks),
            "mj_step": Job(partial(mujoco.mj_step, world.model, data, nstep=ticks), ticks),
        }
        costs = alternate(jobs, 2 * rounds(quick))
        least.append(min(costs["tick"]))
        numbers |= {
            f"tick_us_among_{others}_boxes": least[-1],
            f"dropped_among_{others}_boxes": int(ready.servo.rows.lost[2]),
            f"among_{others}_boxes_over_mj_step": median_ratio(costs["tick"], costs["mj_step"]),
        }
    numbers["body_exponent"] = float(np.polyfit(np.log(BODIES), np.log(least), 1)[0])
    return numbers
