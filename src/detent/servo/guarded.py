"""What the last guard knows of the device: its readings so far, its heat, whether it is engaged."""

from __future__ import annotations

import numpy as np

from detent.kernels.struct import Struct

# Bits of `Guarded.off`: why the force is held at zero, without a fault.
LET_GO, TOO_FAST, OUTSIDE = 1, 2, 4
REASONS = ("the dead-man switch was let go", "the device was too fast", "it was out of its reach")

# Places of `Guarded.seen`.
LAST, STAMPED, SILENT, READINGS, TOOK = range(5)  # sequence, time [ns], ticks since, how many, [ns]


class Guarded(Struct):
    """Beside the wrench on its way: limits as they are now, and what was read."""

    actuated: np.ndarray  # (6,) 1 = the axis takes a wrench
    target: np.ndarray  # (6,) what the slew goes towards
    most: np.ndarray  # (6,) cap of each axis in this tick
    room: np.ndarray  # (2,) [N, N·m] by which the wrench may still change in this tick
    heat: np.ndarray  # (2,) [-] 1 = as hot as the continuous wrench makes it
    engaged: np.ndarray  # (1,) ticks since the device was engaged, 0 = it is not
    off: np.ndarray  # (1,) why it is not: bits
    off_ticks: np.ndarray  # (3,) ticks of each reason
    stopped: np.ndarray  # (1,) ticks at the end stop
    home: np.ndarray  # (3,) [m] where the device was at the start
    pose: np.ndarray  # (7,) last reading
    moved: np.ndarray  # (6,) between the last two readings
    moving: np.ndarray  # (6,) scratch
    seen: np.ndarray  # (5,) see above
    blows: np.ndarray  # (2,) ticks in a row that have impulses; ticks with more than a hand bears


def make_guarded() -> Guarded:
    """A guard that has seen nothing yet."""
    a, whole = np.zeros, np.int64
    return Guarded(
        actuated=np.ones(6), target=a(6), most=a(6), room=a(2), heat=a(2), engaged=a(1, whole),
        off=a(1, whole), off_ticks=a(3, whole), stopped=a(1, whole), home=a(3), pose=a(7),
        moved=a(6), moving=a(6), seen=a(5, whole), blows=a(2, whole),
    )  # fmt: skip
