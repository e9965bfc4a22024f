"""A device that stands in the world larger, turned or elsewhere: what a tick does about it."""

from __future__ import annotations

import math

import numpy as np

from detent.devices.drivers.outside import turn_into
from detent.devices.port import BUTTONS, DEAD_MAN, FLAGS, SEQUENCE, STAMP, Command, Port, State
from detent.kernels.jit import kernel
from detent.kernels.limits import length
from detent.kernels.so3 import integrate_quaternion, rotation_error
from detent.kernels.stages import call_stage
from detent.kernels.struct import Struct
from detent.kernels.vectors import clear_vector, copy_vector

# Places of `stages`, `anchor`, `factor`, `buttons` and `zone`.
READ, WRITE = range(2)
IN_WORLD, OF_DEVICE = range(2)
MOTION, FORCE = range(2)
CLUTCH, ENGAGE = range(2)
RIM, PACE = range(2)
CLOSED, WAY, LEAST, MOST, STRONGEST = range(5)  # gripper [m], control over it, its range, [N]


class Mapping(Struct):
    """The adapter of a mapped device: its state and command are of the world."""

    state: State
    command: Command
    hand: np.ndarray  # (6,) [N, N·m] of the simulated hand, in the world
    inner: Port  # the device's own
    stages: np.ndarray  # (2,) addresses of its own stages
    rotation: np.ndarray  # (3, 3) from axes of the device to those of the world
    factor: np.ndarray  # (2,) motion, world over device; force, device over world
    anchor: np.ndarray  # (2, 7) two poses that belong together
    home: np.ndarray  # (3,) [m] middle of the device's workspace
    buttons: np.ndarray  # (2,) bits that clutch and that engage, 0 = none
    zone: np.ndarray  # (2,) [m, 1/s] rim of the workspace, and how fast it drives beyond; 0 = none
    step: np.ndarray  # (1,) [s]
    clutched: np.ndarray  # (1,) 1 = the device moves alone
    control: np.ndarray  # (1,) of the actuator that the gripper drives
    effort: np.ndarray  # (1,) [N, N·m] of that actuator
    grip: np.ndarray  # (5,) see above; no gripper where the way is 0
    turn: np.ndarray  # (2, 3) scratch


def make_mapping(
    state: State, command: Command, hand: np.ndarray, inner: Port,
    control: np.ndarray, effort: np.ndarray,
) -> Mapping:  # fmt: skip
    """One that maps nothing yet."""
    a, whole = np.zeros, np.int64
    return Mapping(
        state=state, command=command, hand=hand, inner=inner, stages=a(2, whole),
        rotation=np.eye(3), factor=np.ones(2), anchor=a((2, 7)), home=a(3), buttons=a(2, whole),
        zone=a(2), step=a(1), clutched=a(1, whole), control=control, effort=effort, grip=a(5),
        turn=a((2, 3)),
    )  # fmt: skip


@kernel
def turn_back(matrix: np.ndarray, vector: np.ndarray, out: np.ndarray) -> None:
    """out = Rᵀ v."""
    for i in range(3):
        out[i] = matrix[0, i] * vector[0] + matrix[1, i] * vector[1] + matrix[2, i] * vector[2]


@kernel
def to_device(m: Mapping, wrench: np.ndarray, out: np.ndarray) -> None:
    """A wrench of the world as the device has it."""
    turn_back(m.rotation, wrench[0:3], out[0:3])
    turn_back(m.rotation, wrench[3:6], out[3:6])
    for i in range(3):
        out[i] *= m.factor[FORCE]


@kernel
def pose_in_world(
    m: Mapping, position: np.ndarray, quaternion: np.ndarray, place: np.ndarray, turned: np.ndarray
) -> None:
    """place, turned ← a pose of the device, from the anchor on."""
    for i in range(3):
        m.turn[0, i] = m.factor[MOTION] * (position[i] - m.anchor[OF_DEVICE, i])
    turn_into(m.rotation, m.turn[0], m.turn[1])
    for i in range(3):
        place[i] = m.anchor[IN_WORLD, i] + m.turn[1, i]
    rotation_error(quaternion, m.anchor[OF_DEVICE, 3:7], m.turn[0])
    turn_into(m.rotation, m.turn[0], m.turn[1])
    copy_vector(m.anchor[IN_WORLD, 3:7], turned)
    integrate_quaternion(turned, m.turn[1], 1.0)


@kernel
def twist_in_world(m: Mapping, twist: np.ndarray, out: np.ndarray) -> None:
    """out ← a twist of the device."""
    turn_into(m.rotation, twist[0:3], out[0:3])
    turn_into(m.rotation, twist[3:6], out[3:6])
    for i in range(3):
        out[i] *= m.factor[MOTION]


@kernel
def anchor_here(m: Mapping) -> None:
    """What is seen in the world now is where the device is now."""
    copy_vector(m.state.position, m.anchor[IN_WORLD, 0:3])
    copy_vector(m.state.quaternion, m.anchor[IN_WORLD, 3:7])
    copy_vector(m.inner.state.position, m.anchor[OF_DEVICE, 0:3])
    copy_vector(m.inner.state.quaternion, m.anchor[OF_DEVICE, 3:7])


@kernel
def drive_on(m: Mapping) -> None:
    """Beyond the rim the world comes along, the faster the farther out the handle is."""
    for i in range(3):
        m.turn[0, i] = m.inner.state.position[i] - m.home[i]
    out = length(m.turn[0])
    if m.zone[PACE] == 0.0 or out <= m.zone[RIM]:
        return
    pace = m.zone[PACE] * m.step[0] * m.factor[MOTION] * (1.0 - m.zone[RIM] / out)
    turn_into(m.rotation, m.turn[0], m.turn[1])
    for i in range(3):
        m.anchor[IN_WORLD, i] += pace * m.turn[1, i]


@kernel
def show(m: Mapping) -> None:
    """m.state ← what the device says, in the world. A clutched device shows where it was."""
    st, own = m.state, m.inner.state
    if m.clutched[0] == 0:
        pose_in_world(m, own.position, own.quaternion, st.position, st.quaternion)
        twist_in_world(m, own.twist, st.twist)
    else:
        clear_vector(st.twist)
    pose_in_world(m, own.true_pose[0:3], own.true_pose[3:7], st.true_pose[0:3], st.true_pose[3:7])
    twist_in_world(m, own.true_twist, st.true_twist)


@kernel
def heed_buttons(m: Mapping) -> None:
    """Clutch, and dead-man: a clutched device has nobody at it, as far as forces go."""
    pressed = m.state.counts[BUTTONS]
    clutched = int(pressed & m.buttons[CLUTCH] != 0)
    if m.clutched[0] != 0 and clutched == 0:
        anchor_here(m)
    m.clutched[0] = clutched
    absent = m.buttons[ENGAGE] != 0 and pressed & m.buttons[ENGAGE] == 0
    if clutched != 0 or absent:
        m.state.counts[FLAGS] &= ~DEAD_MAN


@kernel
def drive_actuator(m: Mapping) -> None:
    """The gripper's opening tells the actuator where to be, or how hard to pull."""
    if m.grip[WAY] == 0.0 or m.clutched[0] != 0:
        return
    wanted = m.grip[LEAST] + m.grip[WAY] * (m.state.gripper[0] - m.grip[CLOSED])
    low, high = min(m.grip[LEAST], m.grip[MOST]), max(m.grip[LEAST], m.grip[MOST])
    m.control[0] = min(max(wanted, low), high)


@kernel
def feel_actuator(m: Mapping) -> float:
    r"""[N] at the gripper: what the actuator does, the other way round.

    .. math:: f_g \, dg = -f_a \, du, \quad u = u_0 + w (g - g_0)

    Zero where the force of the hand is, ramped in as that, and within what the gripper can give.

    Limitations: that is power where the actuator holds a position; a motor is told a force, and
    its gripper feels one that does not belong to its way.
    """
    held = m.state.counts[FLAGS] & DEAD_MAN != 0 and m.command.latched[0] == 0
    force = -m.grip[WAY] * m.effort[0] * m.command.share[0]
    if not held or not math.isfinite(force):
        return 0.0
    return min(max(force, -m.grip[STRONGEST]), m.grip[STRONGEST])


@kernel
def read_mapped(m: Mapping) -> None:
    """Stage: the device's own reading, in the world."""
    to_device(m, m.hand, m.inner.hand)
    call_stage(m.stages[READ], m.inner.adapter)
    for place in (SEQUENCE, STAMP, BUTTONS, FLAGS):
        m.state.counts[place] = m.inner.state.counts[place]
    m.state.gripper[0] = m.inner.state.gripper[0]
    heed_buttons(m)
    drive_actuator(m)
    if m.clutched[0] == 0:
        drive_on(m)
    show(m)
    sensed = m.inner.state.wrench
    turn_into(m.rotation, sensed[0:3], m.state.wrench[0:3])
    turn_into(m.rotation, sensed[3:6], m.state.wrench[3:6])
    for i in range(3):
        m.state.wrench[i] /= m.factor[FORCE]


@kernel
def write_mapped(m: Mapping) -> None:
    """Stage: the command of the world, to the device; a simulated one moves."""
    cm, own = m.command, m.inner.command
    to_device(m, cm.wrench, own.wrench)
    cm.gripper[0] = feel_actuator(m)
    own.gripper[0] = cm.gripper[0]
    own.sequence[0], own.latched[0] = cm.sequence[0], cm.latched[0]
    call_stage(m.stages[WRITE], m.inner.adapter)
    show(m)
