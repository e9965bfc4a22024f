"""The tick's side of libdrd: its functions, called straight."""

from __future__ import annotations

from detent.devices.drivers.foreign import call_c
from detent.devices.drivers.outside import (
    WRITE_CODE,
    Outside,
    asked,
    give_wrench,
    stamp,
    take_reading,
)
from detent.devices.port import BUTTONS, CALIBRATED, DEAD_MAN, FLAGS, FORCE_ON, VALID
from detent.kernels.jit import kernel
from detent.kernels.so3 import matrix_quaternion

LOOK = 8  # readings between two looks at the device's status
CONNECTED, RESET, FORCE = 1, 3, 5  # places of `dhdGetStatus`

# Places of `Outside.handles`.
DEVICE, WRIST, LOOKED, GRIPPER = range(4)

# Places of `Outside.functions`.
POSE, LINEAR, ANGULAR, PUSH, MASK, STATUS, GAP = range(7)
NAMES = (
    "dhdGetPositionAndOrientationFrame", "dhdGetLinearVelocity", "dhdGetAngularVelocityRad",
    "dhdSetForceAndTorqueAndGripperForce", "dhdGetButtonMask", "dhdGetStatus", "dhdGetGripperGap",
)  # fmt: skip


@kernel
def look_at_status(d: Outside, device: int) -> int:
    """Flags of a device that says how it is."""
    call_c(d.functions[STATUS], (d.words.ctypes.data, device))
    flags = VALID | DEAD_MAN if d.words[CONNECTED] != 0 else DEAD_MAN
    if d.words[RESET] == 0:
        flags |= CALIBRATED
    if d.words[FORCE] != 0:
        flags |= FORCE_ON
    return flags


@kernel
def read_drd(d: Outside) -> None:
    """Stage: pose, twist, gripper, buttons. TimeGuard (+1) is no error: there is nothing new."""
    if not asked(d):
        return
    r, f, device = d.reading, d.functions, d.handles[DEVICE]
    code = call_c(
        f[POSE],
        (r.ctypes.data, r[1:].ctypes.data, r[2:].ctypes.data, d.matrix.ctypes.data, device),
    )
    if code == 0:
        matrix_quaternion(d.matrix, r[3:7])
        stamp(d)
        call_c(f[LINEAR], (r[7:].ctypes.data, r[8:].ctypes.data, r[9:].ctypes.data, device))
        if d.handles[WRIST] != 0:
            call_c(f[ANGULAR], (r[10:].ctypes.data, r[11:].ctypes.data, r[12:].ctypes.data, device))
        if d.handles[GRIPPER] != 0:
            code = min(call_c(f[GAP], (r[13:].ctypes.data, device)), 0)
        d.counts[BUTTONS] = call_c(f[MASK], (device,))
    d.handles[LOOKED] += 1
    if d.handles[LOOKED] % LOOK == 1:
        d.counts[FLAGS] = look_at_status(d, device)
    take_reading(d, min(code, d.status[WRITE_CODE], 0))


@kernel
def write_drd(d: Outside) -> None:
    """Stage: force, torque and grip. A saturated motor (+2) is no error."""
    if not give_wrench(d):
        return
    w = d.wrench
    code = call_c(d.functions[PUSH], (w[0], w[1], w[2], w[3], w[4], w[5], w[6], d.handles[DEVICE]))
    d.status[WRITE_CODE] = min(code, 0)
