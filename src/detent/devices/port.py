"""The port between the tick and a device: what is read from it, what is written to it.

A tick knows no device. It calls two stages, `read` and `write`, with the address of whatever
stands behind the port (an *adapter*: a simulated mass, a vendor's library, a mailbox), and finds
what came of it in `State` and `Command`.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.struct import Struct

# Places of `State.counts`.
SEQUENCE, STAMP, BUTTONS, FLAGS = range(4)  # number of the reading, its time [ns], bits, bits

# Bits of the flags of a state. A driver sets them; the tick records nothing of them yet, and what
# is done about a device that is not ready is the driver's.
VALID, CALIBRATED, FORCE_ON, DEAD_MAN = 1, 2, 4, 8
AT_STOP = 16  # a simulated device is at its end stop


class State(Struct):
    """What was read from a device. A twist and a wrench are at the hand point, in world axes."""

    position: np.ndarray  # (3,) [m] as it is measured
    quaternion: np.ndarray  # (4,)
    twist: np.ndarray  # (6,) [m/s, rad/s]
    wrench: np.ndarray  # (6,) [N, N·m] of the hand, as a sensor sees it; zero without one
    true_pose: np.ndarray  # (7,) where a simulated device really is; else what was measured
    true_twist: np.ndarray  # (6,)
    gripper: np.ndarray  # (1,) [m, rad] opening
    counts: np.ndarray  # (4,) see above


class Command(Struct):
    """What a device is told."""

    wrench: np.ndarray  # (6,) [N, N·m] after the force path
    gripper: np.ndarray  # (1,) [N, N·m]
    sequence: np.ndarray  # (1,) number of the command
    latched: np.ndarray  # (1,) 1 = the servo has stopped: zero, and nothing after it
    share: np.ndarray  # (1,) [-] of its force that a gripper may give: the ramp's, 0 = let go


class Port(Struct):
    """Both, with the hand that holds a simulated device, and who is behind it all."""

    state: State
    command: Command
    hand: np.ndarray  # (6,) [N, N·m] F_h: what a simulated hand applies, or what is known of a real
    adapter: int  # address of the adapter's struct, with which its stages are called


def make_state() -> State:
    """A state that nobody has read yet."""
    a = np.zeros
    return State(
        position=a(3), quaternion=a(4), twist=a(6), wrench=a(6), true_pose=a(7), true_twist=a(6),
        gripper=a(1), counts=a(4, np.int64),
    )  # fmt: skip


def make_command() -> Command:
    """A command of zero force."""
    whole = np.int64
    return Command(
        wrench=np.zeros(6), gripper=np.zeros(1), sequence=np.zeros(1, whole),
        latched=np.zeros(1, whole), share=np.ones(1),
    )  # fmt: skip
