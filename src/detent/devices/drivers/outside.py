"""A device outside of Detent behind the port: what all drivers share on both sides of a tick.

A driver fills `reading` and `counts` in its own frame; `take_reading` makes a state of them. It
sends `wrench`, which `give_wrench` has made of the command: zero unless the device is begun, the
servo has not stopped, and all of it is finite.
"""

from __future__ import annotations

import numpy as np

from detent.devices.drivers.foreign import call_c
from detent.devices.port import BUTTONS, DEAD_MAN, FLAGS, SEQUENCE, STAMP, Command, State
from detent.kernels.jit import kernel
from detent.kernels.limits import all_finite, uniform_scale
from detent.kernels.so3 import integrate_quaternion, rotation_error
from detent.kernels.struct import Struct
from detent.kernels.vectors import copy_vector

# Places of `Outside.status`.
BEGUN, READ_CODE, WRITE_CODE, TICKS, EVERY, ASKED, ANCHORED = range(7)

CLOCK = 15  # place of `clock_gettime` in `functions`, where a driver stamps by it

# Messages, in numbers of eight bytes: a reading with its counts, a wrench with its order.
READING, ORDER = 18, 9


class Outside(Struct):
    """The adapter of a device outside. Numbers of its own frame, unless said otherwise."""

    state: State
    command: Command
    hand: np.ndarray  # (6,) [N, N·m] nobody knows it
    functions: np.ndarray  # (16,) addresses of C functions
    handles: np.ndarray  # (8,) what those want to know: a device, a file, an effect
    reading: np.ndarray  # (14,) position, quaternion, twist, gripper
    counts: np.ndarray  # (4,) as of a state; behind the reading in memory: they are one message
    wrench: np.ndarray  # (7,) [N, N·m] for the device, and its gripper
    order: np.ndarray  # (2,) time [ns] of a message, and 1 = latched; behind the wrench likewise
    status: np.ndarray  # (8,) see above
    frame: np.ndarray  # (3, 3) from axes of the device to those of the world
    home: np.ndarray  # (7,) pose of the hand point where the session starts, in the world
    anchor: np.ndarray  # (7,) reading that is there
    cap: np.ndarray  # (6,) [N, N·m] in axes of the world
    matrix: np.ndarray  # (3, 3) scratch of the driver
    words: np.ndarray  # (32,) int32 likewise
    time: np.ndarray  # (2,) likewise
    turn: np.ndarray  # (4, 3) scratch


@kernel
def asked(d: Outside) -> bool:
    """Whether the device is asked in this tick: it may be slower than the servo."""
    d.status[ASKED] = int(d.status[BEGUN] != 0 and d.status[TICKS] % d.status[EVERY] == 0)
    d.status[TICKS] += 1
    return d.status[ASKED] != 0


@kernel
def now(d: Outside) -> int:
    """[ns] by the C function `clock_gettime`."""
    call_c(d.functions[CLOCK], (1, d.time.ctypes.data))  # CLOCK_MONOTONIC
    return d.time[0] * 1_000_000_000 + d.time[1]


@kernel
def stamp(d: Outside) -> None:
    """A new reading: its number, and its time."""
    d.counts[SEQUENCE] += 1
    d.counts[STAMP] = now(d)


@kernel
def turn_into(matrix: np.ndarray, vector: np.ndarray, out: np.ndarray) -> None:
    """out = R v."""
    for i in range(3):
        out[i] = matrix[i, 0] * vector[0] + matrix[i, 1] * vector[1] + matrix[i, 2] * vector[2]


@kernel
def take_reading(d: Outside, code: int) -> None:
    """d.state ← d.reading in the world; a code that is not 0 makes it invalid.

    The first reading is where the session starts, so that nothing is pulled when it begins.
    """
    st, reading, turn = d.state, d.reading, d.turn
    d.status[READ_CODE] = code
    if code != 0:
        st.counts[FLAGS] = DEAD_MAN  # neither valid nor ready
        return
    if d.status[ANCHORED] == 0:
        copy_vector(reading, d.anchor)
        d.status[ANCHORED] = 1
    for i in range(3):
        turn[0, i] = reading[i] - d.anchor[i]
    turn_into(d.frame, turn[0], turn[1])
    for i in range(3):
        st.position[i] = d.home[i] + turn[1, i]
    rotation_error(reading[3:7], d.anchor[3:7], turn[0])
    turn_into(d.frame, turn[0], turn[1])
    copy_vector(d.home[3:7], st.quaternion)
    integrate_quaternion(st.quaternion, turn[1], 1.0)
    turn_into(d.frame, reading[7:10], st.twist[0:3])
    turn_into(d.frame, reading[10:13], st.twist[3:6])
    copy_vector(st.position, st.true_pose[0:3])
    copy_vector(st.quaternion, st.true_pose[3:7])
    copy_vector(st.twist, st.true_twist)
    st.gripper[0] = reading[13]
    for place in (SEQUENCE, STAMP, BUTTONS, FLAGS):
        st.counts[place] = d.counts[place]


@kernel
def give_wrench(d: Outside) -> bool:
    """d.wrench ← the command in the device's axes, within its cap; or zero.

    Returns whether it is to be sent: when the device was asked, and whenever the servo has stopped.
    """
    cm = d.command
    for i in range(7):
        d.wrench[i] = 0.0
    d.order[1] = cm.latched[0]
    send = d.status[BEGUN] != 0 and (d.status[ASKED] != 0 or cm.latched[0] != 0)
    if cm.latched[0] != 0 or not (all_finite(cm.wrench) and all_finite(cm.gripper)):
        return send
    scale = uniform_scale(cm.wrench, d.cap)
    for k in range(3):  # Rᵀ F
        for i in range(3):
            d.wrench[k] += scale * d.frame[i, k] * cm.wrench[i]
            d.wrench[3 + k] += scale * d.frame[i, k] * cm.wrench[3 + i]
    d.wrench[6] = cm.gripper[0]
    return send
