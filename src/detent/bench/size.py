"""What the rest of a scene costs whoever holds one light object in it."""

from __future__ import annotations

import statistics
from functools import partial

from detent.bench.local import settled
from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds, shorter
from detent.local.model import LocalModel
from detent.servo.loop.loop import run_lockstep
from detent.world.world import World

ARMS = (0, 4, 16)  # of seven joints each, beside the object
TICKS = 2000


def _arm(number: int) -> str:
    link = '<body pos="0 0 .2"><joint axis="{}" damping="1" armature=".01"/>{}'
    geom = '<geom type="capsule" fromto="0 0 .03 0 0 .17" size=".02"/>'
    axes = ("0 0 1", "0 1 0") * 4
    links = "".join(link.format(axes[i], geom) for i in range(7))
    return f'<body pos="{1 + 0.5 * number} 1 .2">{links}{"</body>" * 7}</body>'


def robot_hall(arms: int) -> World:
    """A free box on a floor, and that many arms out of its reach."""
    robots = "".join(map(_arm, range(arms)))
    return World.from_string(
        f"""<mujoco><custom><text name="detent.friction" data="none"/></custom><worldbody>
        <geom name="floor" type="plane" size="9 9 .1"/>
        <body name="box" pos="0 0 .0495"><freejoint/>
          <geom name="box" type="box" size=".05 .05 .05" mass="1"/></body>
        {robots}</worldbody></mujoco>""",
        tool="box",
        name=f"hall of {arms} arms",
    )


def bench_size(quick: bool) -> Numbers:
    """A tick of the held box among 0 to 16 arms, with the whole scene in it or a local model."""
    jobs, ticks, freedom = {}, shorter(TICKS, quick), {arms: 6 + 7 * arms for arms in ARMS}
    for arms in ARMS:
        world = robot_hall(arms)
        for kind, local in (("whole", None), ("local", LocalModel(age_limit=1e9))):
            servo = settled(world, local, quick).servo
            job = Job(partial(run_lockstep, servo, ticks), ticks)
            jobs[f"{kind}_tick_us_at_{freedom[arms]}_dofs"] = job
    costs = alternate(jobs, rounds(quick))
    numbers: Numbers = {name: statistics.median(cost) for name, cost in costs.items()}
    small, large = freedom[ARMS[0]], freedom[ARMS[-1]]
    for kind in ("whole", "local"):
        ours, alone = (costs[f"{kind}_tick_us_at_{size}_dofs"] for size in (large, small))
        numbers[f"{kind}_among_arms_over_alone"] = median_ratio(ours, alone)
    return numbers
