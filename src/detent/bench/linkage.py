"""The tick of a closed linkage against that of the free box."""

from __future__ import annotations

import statistics
from functools import partial

import mujoco

from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds, shorter
from detent.bench.scenes import RADIUS, at_rest, corner_at_rest
from detent.hands import Constant
from detent.servo.loop.loop import run_lockstep
from detent.world.world import LIBRARY, World

FEET = [(x, y, 0.13) for x in (-0.03, 0.03) for y in (-0.045, -0.015, 0.015, 0.045)]  # [m]
DOWN = Constant((0.0, 0.0, -5.0))  # [N]
TICKS = 10_000


def standing_arm() -> World:
    """The arm with seven hinges, its elbow pinned in space, its hand on eight balls."""
    spec = mujoco.MjSpec.from_file(str(LIBRARY / "arm-7.xml"))
    for place in FEET:
        spec.body("link7").add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0, 0], pos=place
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    feet = data.geom_xpos[model.geom_type == int(mujoco.mjtGeom.mjGEOM_SPHERE)]
    for link in ("link1", "link2"):  # they stand below the floor
        spec.geom(link).contype = 0
    floor = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
    floor.pos = [0.0, 0.0, feet[:, 2].min() - RADIUS + 1e-4]
    floor.contype, floor.conaffinity = 0, 1
    spec.delete(spec.geom("table"))
    spec.delete(spec.geom("wall"))
    elbow = model.body("link4").id
    pin = spec.worldbody.add_site(name="pin", pos=data.xpos[elbow])
    held = spec.body("link4").add_site(name="elbow")
    spec.add_equality(
        type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE,
        name1=held.name, name2=pin.name,
    )  # fmt: skip
    return World(spec, name="standing-arm")


def bench_linkage(quick: bool) -> Numbers:
    """A 7-DOF arm with three closure rows and eight contacts against the box in the corner."""
    ready = {"box": corner_at_rest(), "linkage": at_rest(standing_arm(), DOWN)}
    ticks = shorter(TICKS, quick)
    jobs = {n: Job(partial(run_lockstep, one.servo, ticks), ticks) for n, one in ready.items()}
    costs = alternate(jobs, rounds(quick))
    servo = ready["linkage"].servo
    return {
        "linkage_tick_us": statistics.median(costs["linkage"]),
        "linkage_contacts": int(servo.ring["contacts"].max()),
        "linkage_closures": len(servo.closures.h),
        "linkage_over_box": median_ratio(costs["linkage"], costs["box"]),
    }
