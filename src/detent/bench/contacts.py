"""How the cost of a tick grows with contacts, and with friction."""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np

from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds, shorter
from detent.bench.scenes import at_rest, corner_at_rest, plate
from detent.servo.loop.loop import run_lockstep
from detent.world.friction import Friction

COUNTS = (1, 2, 4, 8, 16, 32, 64)
TAIL = 3  # from the fourth count on, contacts outweigh the fixed cost of a tick
CONTACT_TICKS, FRICTION_TICKS = 2000, 10_000


def bench_contacts(quick: bool) -> Numbers:
    """Resting ticks with 1 to 64 contacts, and the exponent fitted to their cost."""
    ready, ticks = [at_rest(plate(count), None) for count in COUNTS], shorter(CONTACT_TICKS, quick)
    jobs = {
        str(one.servo.ring["contacts"].max()): Job(partial(run_lockstep, one.servo, ticks), ticks)
        for one in ready
    }
    costs = alternate(jobs, rounds(quick))
    medians = {count: statistics.median(cost) for count, cost in costs.items()}
    numbers: Numbers = {f"tick_us_at_{count}_contacts": cost for count, cost in medians.items()}
    logarithms = np.log([(int(count), cost) for count, cost in medians.items()])
    numbers["contact_exponent"] = _slope(logarithms)
    numbers["contact_exponent_tail"] = _slope(logarithms[TAIL:])
    return numbers


def _slope(points: np.ndarray) -> float:
    return float(np.polyfit(points[:, 0], points[:, 1], 1)[0])


def bench_friction(quick: bool) -> Numbers:
    """The tick of the corner with Coulomb friction against the one without."""
    ready = {"smooth": corner_at_rest(), "friction": corner_at_rest(Friction())}
    ticks = shorter(FRICTION_TICKS, quick)
    jobs = {
        name: Job(partial(run_lockstep, one.servo, ticks), ticks) for name, one in ready.items()
    }
    costs = alternate(jobs, rounds(quick))
    numbers: Numbers = {}
    for name, one in ready.items():
        numbers[f"{name}_tick_us"] = statistics.median(costs[name])
        numbers[f"{name}_contacts"] = int(one.servo.ring["contacts"].max())
    numbers["friction_over_smooth"] = median_ratio(costs["friction"], costs["smooth"])
    return numbers
