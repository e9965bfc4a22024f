"""What the observer of passivity keeps: energies at the ports, and the force that is held."""

from __future__ import annotations

import numpy as np

from detent.devices.constants import MOST_DELAY
from detent.kernels.struct import Struct

# Places of `Observed.energy` [J].
# PORT: W, what came from the hand; OWN: what the device itself took, at least; SOURCES: what the
# world had at the start, and what weights and actuators gave since; ENGINE: what a local model's
# world took from the tool; LOW: the least that the controller has seen; CERTAIN: W again, by what
# has moved for sure, whatever encoders and noise make of it; OUT: what came out since the reading
# before.
PORT, OWN, SOURCES, ENGINE, LOW, CERTAIN, OUT = range(7)

# Places of `Observed.counts`.
# LATEST: number of the last reading; SINCE: ticks since then; ACTED: ticks that the controller
# altered; BEGUN: 1 = there was a reading; QUIET: ticks since a force was held; PUT: commands
# so far; CAUTION: ticks for which the device's own friction is not counted.
LATEST, SINCE, ACTED, BEGUN, QUIET, PUT, CAUTION = range(7)


class Observed(Struct):
    """Beside the wrench on its way: the ledger of energy. Pairs are (translation, rotation)."""

    energy: np.ndarray  # (7,) see above
    counts: np.ndarray  # (7,) see above
    dual: np.ndarray  # (1,) 1 = a display: it is told a motion, and senses the hand's wrench
    delay: np.ndarray  # (1,) [ticks] from a command to its force
    period: np.ndarray  # (1,) [ticks] between two samples of the device
    damping: np.ndarray  # (2,) [N·s/m, N·m·s/rad] of the device, at least
    friction: np.ndarray  # (2,) [N, N·m] likewise
    radius: np.ndarray  # (2,) [m, rad] by which encoders may be off
    blur: np.ndarray  # (2,) [m, rad] by which a reading may be off, with its noise
    spread: np.ndarray  # (2,) [m, rad] likewise, along one axis
    floor: np.ndarray  # (1,) [J] vᵀMv of a step of the encoders in a period
    weight: np.ndarray  # (2, nbody) [kg] on which gravity acts: what moves, and a tool that is led
    height: np.ndarray  # (2,) [J] potential energy of either in the last tick
    step: np.ndarray  # (1,) [m] of the encoders, 0 = exact
    taken: np.ndarray  # (6,) [N, N·m] the command that the device took last
    past: np.ndarray  # (MOST_DELAY + 1, 6) commands, a ring
    sum: np.ndarray  # (6,) Σ of the wrenches held since the last reading
    pose: np.ndarray  # (7,) last reading
    sensed: np.ndarray  # (6,) the hand's wrench at the last reading of a display
    travel: np.ndarray  # (6,) [m, rad] between the last two readings
    slack: np.ndarray  # (6,) see `certain_travel`
    tube: np.ndarray  # (6, 5) see `certain_work`
    still: np.ndarray  # (2,) ticks since a certain travel
    twist: np.ndarray  # (6,) along actuated axes; of a display, the speed at which it yields
    wrench: np.ndarray  # (6,) what the controller added in this tick
    acts: np.ndarray  # (1,) 1 = it did


def make_observed(bodies: int = 0) -> Observed:
    """A ledger with nothing in it."""
    a, whole = np.zeros, np.int64
    return Observed(
        energy=a(7), counts=a(7, whole), dual=a(1, whole), delay=a(1, whole),
        period=np.ones(1, whole), damping=a(2), friction=a(2), radius=a(2), blur=a(2), spread=a(2),
        floor=a(1), weight=a((2, bodies)), height=a(2), step=a(1), taken=a(6),
        past=a((MOST_DELAY + 1, 6)), sum=a(6), pose=a(7), sensed=a(6), travel=a(6), slack=a(6),
        tube=a((6, 5)), still=a(2), twist=a(6), wrench=a(6), acts=a(1, whole),
    )  # fmt: skip
