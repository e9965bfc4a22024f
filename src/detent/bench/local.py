"""The tick of a local model against that of the whole world, and what an update costs."""

from __future__ import annotations

import statistics
from functools import partial

import mujoco

from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds, shorter
from detent.bench.scenes import PUSH, RATE, RING, SETTLE
from detent.hands import Constant
from detent.local.model import LocalModel
from detent.local.records import COUNT, SEQUENCE, TIME, update_views
from detent.servo.loop.exchange import publish
from detent.servo.loop.loop import run_lockstep
from detent.servo.structs import Servo
from detent.session import Session
from detent.setup.prepared import Prepared, advance
from detent.world.contact import Contact
from detent.world.world import LIBRARY, World

TICKS = 10_000
MERGES = 2000  # updates that are timed, one per tick


def studded_corner() -> World:
    """The box in the corner of box walls, with four knobs more: sixteen contacts."""
    spec = mujoco.MjSpec.from_file(str(LIBRARY / "corner-boxes.xml"))
    box = spec.body("box")
    half = spec.compile().geom("box").size
    for x in (-0.5, 0.5):
        for y in (-0.5, 0.5):
            place = [x * half[0], y * half[1], -half[2] + 0.002]
            box.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.002, 0, 0], pos=place)
    return World(spec, name="studded-corner")


def settled(
    world: World, local: LocalModel | None, quick: bool, hand: Constant | None = PUSH
) -> Prepared:
    """The box at rest, with an engine that looks sixty times a second, or without."""
    session = Session(world, Contact(4000.0, 30.0), local=local)
    ready = session.prepare(hand, RATE, RING)
    engine = None if local is None else session.play_engine(ready)
    advance(ready, hand, 0, shorter(SETTLE, quick), engine)
    return ready


def bench_local(quick: bool) -> Numbers:
    """Sixteen constraints of a free box; and a tick that merges an update, against one without."""
    world = studded_corner()
    patient = LocalModel(age_limit=1e9)
    ready = {"local": settled(world, patient, quick), "whole": settled(world, None, quick)}
    merging = settled(world, patient, quick).servo
    ticks, merges = shorter(TICKS, quick), shorter(MERGES, quick)
    jobs = {n: Job(partial(run_lockstep, one.servo, ticks), ticks) for n, one in ready.items()}
    jobs |= {
        "merging": Job(partial(tick_singly, merging, True, 1, merges), merges),
        "publishing": Job(partial(tick_singly, merging, True, 0, merges), merges),
        "ticking": Job(partial(tick_singly, merging, False, 1, merges), merges),
        "calling": Job(partial(tick_singly, merging, False, 0, merges), merges),
    }
    costs = alternate(jobs, rounds(quick))
    extra = [
        m - p - t + c
        for m, p, t, c in zip(
            *(costs[n] for n in ("merging", "publishing", "ticking", "calling")), strict=True
        )
    ]
    return {
        "local_constraints": int(ready["local"].servo.local.number[0]),
        "whole_contacts": int(ready["whole"].servo.ring["contacts"].max()),
        "local_tick_us": statistics.median(costs["local"]),
        "merge_us": statistics.median(extra),
        "local_over_whole": median_ratio(costs["local"], costs["whole"]),
        "merge_over_tick": median_ratio(extra, costs["local"]),
    }


def tick_singly(servo: Servo, updates: bool, ticks: int, times: int) -> None:
    """Ticks one by one, each after a new update or not."""
    memory = servo.updates.buffers[servo.updates.reader[0]].copy()
    head, _ = update_views(memory)
    head[COUNT] = servo.local.number[0]
    for _ in range(times):
        head[SEQUENCE] += 1
        head[TIME] += 1.0 / RATE
        if updates:
            publish(servo.updates, memory)
        run_lockstep(servo, ticks)
