"""What the watch over passivity adds to a tick."""

from __future__ import annotations

from functools import partial

from detent.bench.rounds import Job, Numbers, alternate, rounds, shorter
from detent.bench.scenes import PUSH, RATE, RING, SETTLE
from detent.devices import Inertial
from detent.kernels.stages import IDLE
from detent.servo import places
from detent.servo.loop.loop import run_lockstep
from detent.servo.structs import Servo
from detent.servo.watching import Passivity
from detent.session import Session
from detent.setup.prepared import Prepared
from detent.world.contact import Contact
from detent.world.world import World

TICKS = 10_000


def watched_corner() -> Prepared:
    """The box in a corner, on a device with friction, delay and encoders; somebody watches."""
    device = Inertial(delay_ticks=1, damping=(0.5, 1e-3), friction=(0.05, 0.0), resolution=1e-5)
    session = Session(
        World.builtin("corner-boxes"), Contact(4000.0, 30.0), device=device, passivity=Passivity()
    )
    ready = session.prepare(PUSH, RATE, RING)
    run_lockstep(ready.servo, SETTLE)
    return ready


def run_with(servo: Servo, address: int, ticks: int) -> None:
    """Ticks with this stage, or none, in the place of the watch."""
    servo.stages.flags.writeable = True
    servo.stages[places.PASSIVE] = address
    servo.stages.flags.writeable = False
    run_lockstep(servo, ticks)


def bench_passivity(quick: bool) -> Numbers:
    """A 6-DOF tick with observer and controller against the same without, the best of each."""
    servo = watched_corner().servo
    watch = int(servo.stages[places.PASSIVE])
    ticks = shorter(TICKS, quick)
    jobs = {
        "plain": Job(partial(run_with, servo, IDLE, ticks), ticks),
        "watched": Job(partial(run_with, servo, watch, ticks), ticks),
    }
    costs = alternate(jobs, 2 * rounds(quick))
    plain, watched = min(costs["plain"]), min(costs["watched"])
    return {
        "passivity_us": watched - plain,
        "passivity_over_tick": (watched - plain) / plain,
    }
