"""A simulated admittance display behind the port: force sensor, inner motion loop, structure.

The actuators sit on one side of a compliant structure, the handle on the other: encoders see
the former, the hand holds the latter.
"""

from __future__ import annotations

import numpy as np

from detent.devices.port import AT_STOP, FLAGS, SEQUENCE, STAMP, Command, State
from detent.devices.room import Room, make_room, stop_at_end
from detent.devices.simulated import rounded, slow_down
from detent.kernels.jit import kernel
from detent.kernels.so3 import integrate_quaternion, rotation_error
from detent.kernels.struct import Struct
from detent.kernels.vectors import copy_vector


class Display(Struct):
    """The adapter of a simulated admittance display. Pairs are (translation, rotation)."""

    state: State
    command: Command
    hand: np.ndarray  # (6,) [N, N·m] of the simulated hand
    room: Room  # of the actuators
    mobility: np.ndarray  # (6, 6) M⁻¹ in the subspace, zero outside
    mask: np.ndarray  # (6,) 1 inside the subspace
    step: np.ndarray  # (1,) [s]
    loop: np.ndarray  # (2,) [rad/s, -] frequency and damping ratio of the inner loop
    compliance: np.ndarray  # (2,) [m/N, rad/(N·m)] of the structure
    friction: np.ndarray  # (2,) [N, N·m] backdrive
    resolution: np.ndarray  # (2,) [m, rad] of the position
    noise: np.ndarray  # (ticks, 6) [N, N·m] of the force sensor
    bias: np.ndarray  # (6,) [N, N·m]
    quantum: np.ndarray  # (2,) [N, N·m]
    effector: np.ndarray  # (5,) mass beyond the sensor [kg], gravity [m/s²], 1 = compensated
    origin: np.ndarray  # (7,) pose of the handle at the start
    pose: np.ndarray  # (7,) of the actuators
    speed: np.ndarray  # (6,) that the inner loop is told
    lag: np.ndarray  # (6,) integral of what it misses
    moved: np.ndarray  # (6,) acceleration in the last tick
    turn: np.ndarray  # (3,) scratch


def make_display(
    state: State, command: Command, hand: np.ndarray, noise: int, reach: float = 0.0
) -> Display:
    """A display where *state* has it, with room for so many ticks of noise."""
    a = np.zeros
    return Display(
        state=state, command=command, hand=hand, room=make_room(state.true_pose, reach),
        mobility=a((6, 6)), mask=a(6), step=a(1), loop=a(2), compliance=a(2),
        friction=a(2), resolution=a(2), noise=a((noise, 6)), bias=a(6), quantum=a(2),
        effector=a(5), origin=a(7), pose=a(7), speed=a(6), lag=a(6), moved=a(6), turn=a(3),
    )  # fmt: skip


@kernel
def read_actuators(di: Display) -> None:
    """The pose as the encoders see it: on the actuators' side of the structure."""
    st = di.state
    for i in range(3):
        st.position[i] = rounded(di.pose[i], di.resolution[0])
    if di.resolution[1] == 0.0:
        copy_vector(di.pose[3:7], st.quaternion)
        return
    rotation_error(di.pose[3:7], di.origin[3:7], di.turn)
    for i in range(3):
        di.turn[i] = rounded(di.turn[i], di.resolution[1])
    copy_vector(di.origin[3:7], st.quaternion)
    integrate_quaternion(st.quaternion, di.turn, 1.0)


@kernel
def sense_force(di: Display) -> None:
    """The hand's wrench as the sensor sees it.

    The sensor also feels the weight and the inertia of what lies beyond it; both are taken
    away again with the acceleration of the last tick, if that was asked for (S2 II-H).
    """
    row = di.state.counts[SEQUENCE] % di.noise.shape[0]
    for i in range(6):
        value = di.hand[i] + di.bias[i] + di.noise[row, i]
        if i < 3:
            value -= di.effector[0] * (di.moved[i] - di.effector[1 + i])
        value = rounded(value, di.quantum[i // 3])
        if i < 3 and di.effector[4] != 0.0:
            value += di.effector[0] * (di.moved[i] - di.effector[1 + i])
        di.state.wrench[i] = di.mask[i] * value


@kernel
def read_display(di: Display) -> None:
    """Stage: pose, twist, and the hand's wrench as it is sensed."""
    read_actuators(di)
    copy_vector(di.state.true_twist, di.state.twist)
    sense_force(di)


@kernel
def run_loop(di: Display) -> None:
    r"""The inner motion loop follows the acceleration that the guard let through.

    .. math:: \dot v = a + 2 \zeta \omega (v_c - v) + \omega^2 \int (v_c - v) dt
              + m^{-1} (F_h - F_f), \qquad \dot v_c = a
    """
    twist, step = di.state.true_twist, di.step[0]
    first, second = 2.0 * di.loop[0] * di.loop[1], di.loop[0] * di.loop[0]
    for i in range(6):
        asked, pushed = 0.0, 0.0
        for k in range(6):
            asked += di.mobility[i, k] * di.command.wrench[k]
            pushed += di.mobility[i, k] * di.hand[k]
        miss = di.speed[i] - twist[i]
        di.lag[i] += step * miss
        di.speed[i] += step * asked
        di.moved[i] = twist[i]
        twist[i] += step * (asked + pushed + first * miss + second * di.lag[i])
    slow_down(twist[0:3], di.mobility[0, 0], di.friction[0], step)
    slow_down(twist[3:6], di.mobility[5, 5], di.friction[1], step)
    for i in range(6):
        di.moved[i] = (twist[i] - di.moved[i]) / step


@kernel
def bend(di: Display) -> None:
    """Move the actuators, and the handle with the structure's deflection: x = x_a + F_h / k.

    The structure's vibration is left out.
    """
    st, step = di.state, di.step[0]
    for i in range(3):
        di.pose[i] += step * st.true_twist[i]
    stop_at_end(di.room, st, di.pose, st.true_twist)
    for i in range(3):
        if st.counts[FLAGS] & AT_STOP != 0:  # what it was told to do and could not is forgotten
            di.speed[i], di.lag[i] = st.true_twist[i], 0.0
        st.true_pose[i] = di.pose[i] + di.compliance[0] * di.hand[i]
        di.turn[i] = di.compliance[1] * di.hand[3 + i]
    integrate_quaternion(di.pose[3:7], st.true_twist[3:6], step)
    copy_vector(di.pose[3:7], st.true_pose[3:7])
    integrate_quaternion(st.true_pose[3:7], di.turn, 1.0)


@kernel
def write_display(di: Display) -> None:
    """Stage: take the command, and move; a display that is told nothing stands still."""
    if di.command.latched[0] == 0:
        run_loop(di)
        bend(di)
    di.state.counts[SEQUENCE] += 1
    di.state.counts[STAMP] = int(1e9 * di.step[0] * di.state.counts[SEQUENCE] + 0.5)
