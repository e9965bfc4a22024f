"""Where a simulated device can go: to its end stop, and no farther."""

from __future__ import annotations

import numpy as np

from detent.devices.port import AT_STOP, FLAGS, State
from detent.kernels.jit import kernel
from detent.kernels.limits import length
from detent.kernels.struct import Struct
from detent.kernels.vectors import dot


class Room(Struct):
    """A ball about where the device was at the start; rotation has no stops."""

    home: np.ndarray  # (3,) [m] its centre
    reach: np.ndarray  # (1,) [m] its radius, 0 = anywhere
    stopped: np.ndarray  # (1,) [ticks] for which it still counts as at its stop
    lasts: np.ndarray  # (1,) [ticks] in which three readings show that it has stopped
    out: np.ndarray  # (3,) scratch


def make_room(home: np.ndarray, reach: float) -> Room:
    """About a place; a reach of 0 is no end stop."""
    return Room(
        home=home[:3].copy(), reach=np.array([reach]), stopped=np.zeros(1, np.int64),
        lasts=np.full(1, 3), out=np.zeros(3),
    )  # fmt: skip


@kernel
def stop_at_end(room: Room, state: State, position: np.ndarray, twist: np.ndarray) -> None:
    r"""A hard, plastic end stop: nothing outwards is left of the motion, and nothing comes back.

    .. math:: x \leftarrow x_0 + r n, \quad v \leftarrow v - \max(n \cdot v, 0)\, n, \qquad
              n = (x - x_0) / |x - x_0|

    where |x − x₀| > r. It slides along the stop without friction.
    """
    reach = room.reach[0]
    if reach == 0.0:
        return
    room.stopped[0] -= 1
    if room.stopped[0] <= 0:
        state.counts[FLAGS] &= ~AT_STOP
    for i in range(3):
        room.out[i] = position[i] - room.home[i]
    far = length(room.out)
    if not far > reach:
        return
    outwards = max(dot(room.out, twist, 3) / far, 0.0) / far
    for i in range(3):
        position[i] = room.home[i] + reach / far * room.out[i]
        twist[i] -= outwards * room.out[i]
    state.counts[FLAGS] |= AT_STOP
    room.stopped[0] = room.lasts[0]
