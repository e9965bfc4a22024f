"""What libHD's scheduler calls 1000 times a second, without Python."""

from __future__ import annotations

import numpy as np

from detent.devices.drivers.foreign import call_c
from detent.devices.drivers.mailbox_ticks import MOST_WAITING, NO_WAIT, QUIET
from detent.devices.drivers.outside import ORDER, READING
from detent.devices.port import CALIBRATED, DEAD_MAN, FLAGS, FORCE_ON, SEQUENCE, STAMP, VALID
from detent.kernels.jit import kernel
from detent.kernels.so3 import matrix_quaternion
from detent.kernels.struct import Struct

BUTTONS, TRANSFORM = 0x2000, 0x2052
VELOCITY, ANGULAR_VELOCITY, FORCE, TORQUE = 0x2051, 0x2053, 0x2700, 0x2701
CONTINUE = 1
STALE = 10  # [ms], periods of its scheduler
LOOK = 8  # periods between two looks at its calibration
NEEDS_HAND = 0x5002  # HD_CALIBRATION_NEEDS_MANUAL_INPUT: nobody knows where it is
READY = VALID | CALIBRATED | FORCE_ON | DEAD_MAN

# Places of `Frame.functions`.
BEGIN, END, GET, SET, INTEGERS, ERROR, CALIBRATION, RECV, SENDS, GETTIME = range(10)
NAMES = (
    "hdBeginFrame",
    "hdEndFrame",
    "hdGetDoublev",
    "hdSetDoublev",
    "hdGetIntegerv",
    "hdGetError",
    "hdCheckCalibration",
)

# Places of `Frame.words`.
DEVICE, LINK, AGE, ENDING, TORQUES, ASTRAY = range(6)  # AGE: periods since the last command


class Frame(Struct):
    """What the scheduler's thread works on."""

    functions: np.ndarray  # (10,) addresses
    words: np.ndarray  # (8,) see above
    reading: np.ndarray  # (14,) as of `Outside`, with its counts behind it
    counts: np.ndarray  # (4,)
    wrench: np.ndarray  # (9,) the newest command
    pushed: np.ndarray  # (6,) what the device is told [N, N·m]
    transform: np.ndarray  # (4, 4) of the vendor: transposed, [mm]
    matrix: np.ndarray  # (3, 3)
    time: np.ndarray  # (2,)


def make_frame() -> Frame:
    """Nothing read yet."""
    a, whole = np.zeros, np.int64
    told = a(READING)
    return Frame(
        functions=a(10, whole), words=a(8, whole), reading=told[:14], counts=told[14:].view(whole),
        wrench=a(ORDER), pushed=a(6), transform=a((4, 4)), matrix=a((3, 3)), time=a(2, whole),
    )  # fmt: skip


@kernel
def read_frame(fr: Frame) -> None:
    """Pose [mm], velocities and buttons, as the vendor has them."""
    f, r = fr.functions, fr.reading
    call_c(f[GET], (TRANSFORM, fr.transform.ctypes.data))
    call_c(f[GET], (VELOCITY, r[7:].ctypes.data))
    call_c(f[GET], (ANGULAR_VELOCITY, r[10:].ctypes.data))
    call_c(f[INTEGERS], (BUTTONS, fr.counts[2:].ctypes.data))
    for i in range(3):
        r[i] = 1e-3 * fr.transform[3, i]
        r[7 + i] *= 1e-3
        for k in range(3):
            fr.matrix[i, k] = fr.transform[k, i]
    matrix_quaternion(fr.matrix, r[3:7])


@kernel
def push_frame(fr: Frame) -> None:
    """The tick's newest wrench; zero if it is old, or the session ends."""
    f, words = fr.functions, fr.words
    words[AGE] += 1
    for _ in range(MOST_WAITING):
        size = call_c(f[RECV], (words[LINK], fr.wrench.ctypes.data, 8 * ORDER, NO_WAIT))
        if size != 8 * ORDER:
            break
        words[AGE] = 0
    for i in range(6):
        fr.pushed[i] = fr.wrench[i] if words[AGE] <= STALE and words[ENDING] == 0 else 0.0
    call_c(f[SET], (FORCE, fr.pushed.ctypes.data))
    if words[TORQUES] != 0:
        call_c(f[SET], (TORQUE, fr.pushed[3:].ctypes.data))


@kernel
def serve_frame(fr: Frame) -> int:
    """One period of the scheduler: read, push, and tell the tick. An error makes it invalid."""
    f, words = fr.functions, fr.words
    call_c(f[BEGIN], (words[DEVICE],))
    read_frame(fr)
    push_frame(fr)
    if fr.counts[SEQUENCE] % LOOK == 0:
        words[ASTRAY] = int(call_c(f[CALIBRATION], (0,)) == NEEDS_HAND)
    call_c(f[END], (words[DEVICE],))
    fault = call_c(f[ERROR], (0,)) != 0  # a struct by value: its first word is the code
    call_c(f[GETTIME], (1, fr.time.ctypes.data))
    fr.counts[SEQUENCE] += 1
    fr.counts[STAMP] = fr.time[0] * 1_000_000_000 + fr.time[1]
    fr.counts[FLAGS] = DEAD_MAN if fault else READY
    if words[ASTRAY] != 0:
        fr.counts[FLAGS] &= ~CALIBRATED
    call_c(f[SENDS], (words[LINK], fr.reading.ctypes.data, 8 * READING, NO_WAIT | QUIET))
    return CONTINUE
