"""The watch over what a device says: a reading that cannot be stops the servo with zero force.

Letting go of a dead-man switch, being too fast or out of reach is no fault: the force is zero as
long as it lasts, and ramps in afterwards.
"""

from __future__ import annotations

import numpy as np

from detent.devices.port import (
    AT_STOP,
    CALIBRATED,
    DEAD_MAN,
    FLAGS,
    FORCE_ON,
    SEQUENCE,
    STAMP,
    VALID,
    State,
)
from detent.kernels.jit import kernel
from detent.kernels.limits import all_finite, length
from detent.kernels.so3 import pose_error
from detent.kernels.vectors import copy_vector
from detent.servo.constants import BACK_INSIDE, JUMP, JUMP_RATE, SLOW_AGAIN
from detent.servo.faults import (
    DEVICE_FORCE_OFF,
    DEVICE_JUMPED,
    DEVICE_LOST,
    DEVICE_NOT_CALIBRATED,
    DEVICE_NOT_FINITE,
    DEVICE_SILENT,
    NO_FAULT,
)
from detent.servo.guarded import (
    LAST,
    LET_GO,
    OUTSIDE,
    READINGS,
    SILENT,
    STAMPED,
    TOO_FAST,
    TOOK,
    Guarded,
)
from detent.servo.structs import FAULT, Clock


@kernel
def flag_fault(flags: int) -> int:
    """What the flags of a reading complain about."""
    if flags & VALID == 0:
        return DEVICE_LOST
    if flags & CALIBRATED == 0:
        return DEVICE_NOT_CALIBRATED
    if flags & FORCE_ON == 0:
        return DEVICE_FORCE_OFF
    return NO_FAULT


@kernel
def has_jumped(st: State, gd: Guarded, step: float, times: float) -> bool:
    r"""Whether a device moved as no hand moves it, between three readings.

    .. math:: \min(|\Delta x_k - \Delta x_{k-1}|,
              |\Delta x_k - \Delta x_{k-1} \Delta t_k / \Delta t_{k-1}|)
              > \max(j, a \, \Delta t_k^2)

    A hand and motors of newtons accelerate a device by some hundred m/s²; j leaves room for
    encoders and for readings that come late. The second is that of a host that stalled: its device
    went on, and goes a usual way with the next reading. A device that is mapped moves *times* as
    far. One that is at its end stop may have stopped at once, which says nothing of how it turns.
    """
    pose_error(st.position, st.quaternion, gd.pose[0:3], gd.pose[3:7], gd.moving)
    passed = max(1e-9 * (st.counts[STAMP] - gd.seen[STAMPED]), step)
    before = max(1e-9 * gd.seen[TOOK], step)
    worst = 0.0
    for block in range(2):
        room = max(JUMP[block], JUMP_RATE[block] * passed * passed)
        for i in range(3 * block, 3 * block + 3):
            change = abs(gd.moving[i] - gd.moved[i])
            steady = abs(gd.moving[i] - gd.moved[i] * passed / before)
            if block == 1 or st.counts[FLAGS] & AT_STOP == 0:
                worst = max(worst, min(change, steady) / room)
            gd.moved[i] = gd.moving[i]
    return worst > times and gd.seen[READINGS] > 1


@kernel
def reading_fault(st: State, gd: Guarded, p: np.ndarray) -> int:
    """What is wrong with the newest reading, or with there being none."""
    fault = flag_fault(st.counts[FLAGS])
    if fault != NO_FAULT:
        return fault
    sound = all_finite(st.position) and all_finite(st.quaternion) and all_finite(st.twist)
    if not (sound and all_finite(st.gripper)):
        return DEVICE_NOT_FINITE
    if gd.seen[READINGS] > 0 and st.counts[SEQUENCE] == gd.seen[LAST]:
        gd.seen[SILENT] += 1
        silent = p["silence"][0] > 0 and gd.seen[SILENT] > p["silence"][0]
        return DEVICE_SILENT if silent else NO_FAULT
    jumped = False
    if p["jumps"][0] != 0:
        jumped = gd.seen[READINGS] > 0 and has_jumped(st, gd, p["step"][0], float(p["jumps"][0]))
        copy_vector(st.position, gd.pose[0:3])
        copy_vector(st.quaternion, gd.pose[3:7])
    gd.seen[SILENT] = 0
    gd.seen[READINGS] += 1
    gd.seen[TOOK] = st.counts[STAMP] - gd.seen[STAMPED]
    gd.seen[LAST], gd.seen[STAMPED] = st.counts[SEQUENCE], st.counts[STAMP]
    return DEVICE_JUMPED if jumped else NO_FAULT


@kernel
def reasons_to_let_go(st: State, gd: Guarded, p: np.ndarray) -> int:
    """Bits: the dead-man switch, the speed, the reach; each with a little hysteresis."""
    off = 0
    if st.counts[FLAGS] & DEAD_MAN == 0:
        off |= LET_GO
    slow = SLOW_AGAIN if gd.off[0] & TOO_FAST != 0 else 1.0
    for block in range(2):
        most = p["speed"][0, block]
        if most > 0.0 and length(st.twist[3 * block : 3 * block + 3]) > slow * most:
            off |= TOO_FAST
    near = BACK_INSIDE if gd.off[0] & OUTSIDE != 0 else 1.0
    if p["reach"][0] > 0.0:
        for i in range(3):
            gd.moving[i] = st.position[i] - gd.home[i]
        if length(gd.moving[0:3]) > near * p["reach"][0]:
            off |= OUTSIDE
    return off


@kernel
def watch(st: State, gd: Guarded, ck: Clock, p: np.ndarray) -> None:
    """A fault, or zero force for a while, where the device gives reason to."""
    fault = reading_fault(st, gd, p)
    if ck.counts[FAULT] == NO_FAULT:
        ck.counts[FAULT] = fault
    gd.off[0] = reasons_to_let_go(st, gd, p)
    for reason in range(3):
        gd.off_ticks[reason] += (gd.off[0] >> reason) & 1
    gd.stopped[0] += int(st.counts[FLAGS] & AT_STOP != 0)
