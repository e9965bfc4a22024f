"""A simulated impedance device behind the port: a mass with friction, encoders and a delay."""

from __future__ import annotations

import math

import numpy as np

from detent.devices.constants import MOST_DELAY
from detent.devices.port import SEQUENCE, STAMP, Command, State
from detent.kernels.jit import kernel
from detent.kernels.so3 import integrate_quaternion, pose_error
from detent.kernels.struct import Struct
from detent.kernels.vectors import copy_vector, dot

VELOCITY_FIRST, HELD = range(2)  # how it moves within a step


class Mass(Struct):
    """The adapter of a simulated inertia. Pairs are (translation, rotation)."""

    state: State
    command: Command
    hand: np.ndarray  # (6,) [N, N·m] of the simulated hand
    mobility: np.ndarray  # (6, 6) M⁻¹ in the subspace, zero outside
    friction: np.ndarray  # (2,) [N, N·m] Coulomb
    damping: np.ndarray  # (2,) [N·s/m, N·m·s/rad]
    resolution: np.ndarray  # (1,) [m] of the encoders, 0 = exact
    step: np.ndarray  # (1,) [s]
    delay: np.ndarray  # (1,) [ticks] between a command and its effect
    integrator: np.ndarray  # (1,) see above
    differences: np.ndarray  # (1,) 1 = the twist is that of the encoders' differences
    delayed: np.ndarray  # (MOST_DELAY + 1, 6) the last commands
    acceleration: np.ndarray  # (6,)
    mean: np.ndarray  # (6,) velocity that moves it within the step
    last: np.ndarray  # (7,) pose as it was measured in the last tick


def make_mass(state: State, command: Command, hand: np.ndarray) -> Mass:
    """A mass that is nowhere yet."""
    a, whole = np.zeros, np.int64
    return Mass(
        state=state, command=command, hand=hand, mobility=a((6, 6)), friction=a(2), damping=a(2),
        resolution=a(1), step=a(1), delay=a(1, whole), integrator=a(1, whole),
        differences=a(1, whole), delayed=a((MOST_DELAY + 1, 6)), acceleration=a(6), mean=a(6),
        last=a(7),
    )  # fmt: skip


@kernel
def slow_down(velocity: np.ndarray, mobility: float, friction: float, step: float) -> None:
    """Coulomb friction of a device, implicit: it stops what it can stop within the step."""
    speed = math.sqrt(dot(velocity, velocity, 3))
    taken = friction * mobility * step
    keep = 0.0 if speed <= taken else 1.0 - taken / speed
    for i in range(3):
        velocity[i] *= keep


@kernel
def rounded(value: float, quantum: float) -> float:
    """To the nearest multiple, or as it is if there is no quantum."""
    return quantum * math.floor(value / quantum + 0.5) if quantum > 0.0 else value


@kernel
def accelerate_mass(m: Mass) -> None:
    """The acceleration under hand, damping, and the wrench of *delay* ticks before."""
    now, size = m.state.counts[SEQUENCE], m.delayed.shape[0]
    copy_vector(m.command.wrench, m.delayed[now % size])
    old = now - m.delay[0]
    for i in range(6):
        total = 0.0
        for k in range(6):
            felt = m.delayed[old % size, k] if old >= 0 else 0.0
            damped = m.damping[k // 3] * m.state.true_twist[k]
            total += m.mobility[i, k] * (felt + m.hand[k] - damped)
        m.acceleration[i] = total


@kernel
def move_mass(m: Mass) -> None:
    r"""Velocity first, or as a real mass moves under a force that is held for the step.

    .. math:: v^+ = v + T a, \qquad x^+ = x + T v^+ \quad\text{or}\quad x + T (v + v^+)/2
    """
    st, step = m.state, m.step[0]
    share = 0.5 if m.integrator[0] == HELD else 0.0  # of the old velocity
    for i in range(6):
        m.mean[i] = share * st.true_twist[i]
        st.true_twist[i] += step * m.acceleration[i]
    slow_down(st.true_twist[0:3], m.mobility[0, 0], m.friction[0], step)
    slow_down(st.true_twist[3:6], m.mobility[5, 5], m.friction[1], step)
    for i in range(6):
        m.mean[i] += (1.0 - share) * st.true_twist[i]
    for i in range(3):
        st.true_pose[i] += step * m.mean[i]
    integrate_quaternion(st.true_pose[3:7], m.mean[3:6], step)


@kernel
def read_encoders(m: Mass) -> None:
    """The pose as it is measured: positions rounded to the resolution."""
    for i in range(3):
        m.state.position[i] = rounded(m.state.true_pose[i], m.resolution[0])
    copy_vector(m.state.true_pose[3:7], m.state.quaternion)


@kernel
def read_mass(m: Mass) -> None:
    """Stage: pose, twist, and the hand's wrench, which an ideal device knows."""
    st = m.state
    read_encoders(m)
    copy_vector(m.hand, st.wrench)
    if m.differences[0] == 0:
        copy_vector(st.true_twist, st.twist)
        return
    pose_error(st.position, st.quaternion, m.last[0:3], m.last[3:7], st.twist)
    for i in range(6):
        st.twist[i] /= m.step[0]
    copy_vector(st.position, m.last[0:3])
    copy_vector(st.quaternion, m.last[3:7])


@kernel
def write_mass(m: Mass) -> None:
    """Stage: take the command, and move; the answer is the new pose."""
    accelerate_mass(m)
    move_mass(m)
    m.state.counts[SEQUENCE] += 1
    m.state.counts[STAMP] = round(1e9 * m.step[0] * m.state.counts[SEQUENCE])
    read_encoders(m)
