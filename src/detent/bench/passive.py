"""What the watch over passivity adds to a tick."""

from __future__ import annotations

from functools import partial

from detent.bench.rounds import Job, Numbers, alternate, rounds
from detent.bench.scenes import PUSH, RATE, RING, SETTLE
from detent.devices import Inertial
from detent.servo.loop.loop import run_lockstep
from detent.servo.watching import OFF, Passivity
from detent.session import Session
from detent.setup.prepared import Prepared
from detent.world.contact import Contact
from detent.world.world import World

TICKS = 10_000


def watched_corner(passivity: Passivity) -> Prepared:
    """The box in a corner, on a device with friction, delay and encoders; somebody watches."""
    device = Inertial(delay_ticks=1, damping=(0.5, 1e-3), friction=(0.05, 0.0), resolution=1e-5)
    session = Session(
        World.builtin("corner-boxes"), Contact(4000.0, 30.0), device=device, passivity=passivity
    )
    ready = session.prepare(PUSH, RATE, RING)
    run_lockstep(ready.servo, SETTLE)
    return ready


def bench_passivity(quick: bool) -> Numbers:
    """A 6-DOF tick with observer and controller against the same without, the best of each."""
    ready = {"plain": watched_corner(OFF), "watched": watched_corner(Passivity())}
    jobs = {n: Job(partial(run_lockstep, one.servo, TICKS), TICKS) for n, one in ready.items()}
    costs = alternate(jobs, 2 * rounds(quick))
    plain, watched = min(costs["plain"]), min(costs["watched"])
    return {
        "passivity_us": watched - plain,
        "passivity_over_tick": (watched - plain) / plain,
    }
