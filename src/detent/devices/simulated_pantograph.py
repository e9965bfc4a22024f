"""The simulated twin pantograph behind the port: links, motors, encoders, and its observer."""

from __future__ import annotations

import math

import numpy as np

from detent.devices.constants import FOLDED, FRICTION_SWEEPS, MOST_DELAY
from detent.devices.port import SEQUENCE, STAMP, Command, State
from detent.devices.simulated import rounded
from detent.kernels.jit import kernel
from detent.kernels.linalg import cholesky_factor, cholesky_solve
from detent.kernels.pantograph import (
    MOTORS,
    forward_pantograph,
    handle_wrench,
    inverse_pantograph,
    motor_torques,
    weigh_pantograph,
)
from detent.kernels.struct import Struct
from detent.kernels.vectors import copy_vector

AXES = (0, 1, 5)  # of a wrench: x, y, and the turning about z
# Places in `motor`, in `stops`, and in `observing`.
TORQUE_CONSTANT, CONTINUOUS, PEAK, WARMING, QUANTUM, COULOMB, VISCOUS = range(7)
HALF_WIDTH, STOP_STIFFNESS, STOP_DAMPING = range(3)
KEEP, BLUR = range(2)


class Linkage(Struct):
    """The adapter of a simulated twin pantograph. Poses of the handle are (x, y, ψ)."""

    state: State
    command: Command
    hand: np.ndarray  # (6,) [N, N·m] of the simulated hand
    links: np.ndarray  # (5,) see kernels/pantograph.py
    masses: np.ndarray  # (4,)
    motor: np.ndarray  # (7,) k_t, currents [A], 1 - e^(-T/τ), a count [rad], friction [N·m, N·m·s]
    stops: np.ndarray  # (3,) [m, N/m, N·s/m] of the workspace
    observing: np.ndarray  # (2,) pole e^(-ωT) of the observer; [rad/s] below which friction fades
    observes: np.ndarray  # (1,) 1 = the hand's wrench is what the observer says
    step: np.ndarray  # (1,) [s]
    delay: np.ndarray  # (1,) [ticks]
    ticks: np.ndarray  # (1,) so far
    start: np.ndarray  # (7,) pose of the hand point at the start
    home: np.ndarray  # (3,) pose of the handle at the start
    pose: np.ndarray  # (3,) of the handle, as it is
    rate: np.ndarray  # (3,)
    heat: np.ndarray  # (4,) of each motor: 1 = as hot as the continuous current makes it
    delayed: np.ndarray  # (MOST_DELAY + 1, 4) [N·m] torques that were asked for
    torque: np.ndarray  # (4,) [N·m] that the motors give
    rubbing: np.ndarray  # (4,) [N·m] friction of the joints
    seen: np.ndarray  # (3,) pose that the encoders say
    guess: np.ndarray  # (3, 3) observer: pose, rate, and acceleration by the hand
    joints: np.ndarray  # (4,) scratch, and so is all that follows
    J: np.ndarray  # (4, 3)
    dJ: np.ndarray  # (4, 3)
    M: np.ndarray  # (3, 3)
    factor: np.ndarray  # (3, 3) of M
    C: np.ndarray  # (3, 3)
    gram: np.ndarray  # (4, 3) M⁻¹ of each row of J
    push: np.ndarray  # (3,)
    slope: np.ndarray  # (4, 2, 3) rates of pose and rate at the stages of a step
    middle: np.ndarray  # (2, 3) pose and rate there
    short: np.ndarray  # (4,)


def make_linkage(state: State, command: Command, hand: np.ndarray) -> Linkage:
    """A pantograph that is nowhere yet."""
    a, whole = np.zeros, np.int64
    return Linkage(
        state=state, command=command, hand=hand, links=a(5), masses=a(4), motor=a(7), stops=a(3),
        observing=a(2), observes=a(1, whole), step=a(1), delay=a(1, whole), ticks=a(1, whole),
        start=a(7), home=a(3), pose=a(3), rate=a(3), heat=a(MOTORS),
        delayed=a((MOST_DELAY + 1, MOTORS)), torque=a(MOTORS), rubbing=a(MOTORS), seen=a(3),
        guess=a((3, 3)), joints=a(MOTORS), J=a((MOTORS, 3)), dJ=a((MOTORS, 3)), M=a((3, 3)),
        factor=a((3, 3)), C=a((3, 3)), gram=a((MOTORS, 3)), push=a(3), slope=a((4, 2, 3)),
        middle=a((2, 3)), short=a(MOTORS),
    )  # fmt: skip


# --- where it is


@kernel
def in_world(ln: Linkage, pose: np.ndarray, position: np.ndarray, quaternion: np.ndarray) -> None:
    """A pose of the handle as one of the hand point: turned about z, from the start."""
    for i in range(2):
        position[i] = ln.start[i] + pose[i] - ln.home[i]
    position[2] = ln.start[2]
    half = 0.5 * (pose[2] - ln.home[2])
    c, s = math.cos(half), math.sin(half)
    w, x, y, z = ln.start[3], ln.start[4], ln.start[5], ln.start[6]
    quaternion[0], quaternion[1] = c * w - s * z, c * x - s * y
    quaternion[2], quaternion[3] = c * y + s * x, c * z + s * w


@kernel
def show_truth(ln: Linkage) -> None:
    """The port's true pose and twist."""
    st = ln.state
    in_world(ln, ln.pose, st.true_pose[0:3], st.true_pose[3:7])
    for i in range(3):
        st.true_twist[AXES[i]] = ln.rate[i]


@kernel
def read_counts(ln: Linkage) -> None:
    """ln.seen ← what four encoders know of the pose."""
    inverse_pantograph(ln.pose, ln.links, ln.joints)
    for k in range(MOTORS):
        ln.joints[k] = rounded(ln.joints[k], ln.motor[QUANTUM])
    forward_pantograph(ln.joints, ln.links, ln.seen)
    in_world(ln, ln.seen, ln.state.position, ln.state.quaternion)


@kernel
def weigh(ln: Linkage, pose: np.ndarray, rate: np.ndarray) -> None:
    """ln.joints, J, dJ, C, M_d and its factor, there."""
    inverse_pantograph(pose, ln.links, ln.joints)
    weigh_pantograph(pose, rate, ln.joints, ln.links, ln.masses, ln.J, ln.dJ, ln.M, ln.C)
    cholesky_factor(ln.M, 3, ln.factor)


@kernel
def gyrate(ln: Linkage, rate: np.ndarray) -> None:
    """ln.push −= C_d ẋ."""
    for i in range(3):
        for j in range(3):
            ln.push[i] -= ln.C[i, j] * rate[j]


@kernel
def solve(ln: Linkage, b: np.ndarray, x: np.ndarray) -> None:
    """x = M_d⁻¹ b."""
    cholesky_solve(ln.factor, 3, b, x)


@kernel
def joint_speed(J: np.ndarray, rate: np.ndarray, k: int) -> float:
    """[rad/s] of one motor."""
    return float(J[k, 0] * rate[0] + J[k, 1] * rate[1] + J[k, 2] * rate[2])


# --- how it moves


@kernel
def add_stops(ln: Linkage, pose: np.ndarray, rate: np.ndarray) -> None:
    """ln.push += what the stops do to a handle at the edge of its workspace: they push only."""
    for i in range(2):
        side = 1.0 if pose[i] > 0.0 else -1.0
        over = side * pose[i] - ln.stops[HALF_WIDTH]
        if over > 0.0:
            back = ln.stops[STOP_STIFFNESS] * over + ln.stops[STOP_DAMPING] * side * rate[i]
            ln.push[i] -= side * max(back, 0.0)


@kernel
def push_linkage(ln: Linkage, pose: np.ndarray, rate: np.ndarray) -> None:
    """ln.push ← all that acts at the handle while torques are held, there."""
    weigh(ln, pose, rate)
    for k in range(MOTORS):
        viscous = ln.motor[VISCOUS] * joint_speed(ln.J, rate, k)
        ln.short[k] = ln.torque[k] + ln.rubbing[k] - viscous
    handle_wrench(ln.short, ln.J, ln.push)
    for i in range(3):
        ln.push[i] += ln.hand[AXES[i]]
    gyrate(ln, rate)
    add_stops(ln, pose, rate)


@kernel
def rub_joints(ln: Linkage) -> None:
    r"""ln.rubbing ← Coulomb friction of the joints, held over the step.

    The one with which the joints would come to rest at the end of the step, within ± c:
    projected Gauss-Seidel on

    .. math:: \dot\theta^+ = \dot\theta^* + T J M^{-1} J^T \lambda, \quad |\lambda_k| \le c

    from the friction of the last step on, so that a joint which sticks stays where it is.
    """
    step, most = ln.step[0], ln.motor[COULOMB]
    if most == 0.0:
        return
    push_linkage(ln, ln.pose, ln.rate)  # with the friction of the last step
    after = ln.middle[0]
    solve(ln, ln.push, after)
    for i in range(3):
        after[i] = ln.rate[i] + step * after[i]
    for k in range(MOTORS):
        solve(ln, ln.J[k], ln.gram[k])
    for _ in range(FRICTION_SWEEPS):
        for k in range(MOTORS):
            size = step * joint_speed(ln.J, ln.gram[k], k)
            wanted = ln.rubbing[k] - joint_speed(ln.J, after, k) / size
            wanted = min(max(wanted, -most), most)
            for i in range(3):
                after[i] += step * ln.gram[k, i] * (wanted - ln.rubbing[k])
            ln.rubbing[k] = wanted


@kernel
def slope_at(ln: Linkage, stage: int, before: int, share: float) -> None:
    """ln.slope[stage] at pose + share × slope[before], rate likewise (a stage of Runge-Kutta)."""
    for i in range(3):
        ln.middle[0, i] = ln.pose[i] + share * ln.slope[before, 0, i]
        ln.middle[1, i] = ln.rate[i] + share * ln.slope[before, 1, i]
    push_linkage(ln, ln.middle[0], ln.middle[1])
    copy_vector(ln.middle[1], ln.slope[stage, 0])
    solve(ln, ln.push, ln.slope[stage, 1])


@kernel
def move_linkage(ln: Linkage) -> None:
    """One step of Runge-Kutta's fourth order, with torques and the hand's wrench held."""
    step, slope = ln.step[0], ln.slope
    rub_joints(ln)
    slope_at(ln, 0, 0, 0.0)
    slope_at(ln, 1, 0, 0.5 * step)
    slope_at(ln, 2, 1, 0.5 * step)
    slope_at(ln, 3, 2, step)
    for i in range(3):
        for half in range(2):
            mean = slope[0, half, i] + slope[3, half, i]
            mean = (mean + 2.0 * (slope[1, half, i] + slope[2, half, i])) / 6.0
            if half == 0:
                ln.pose[i] += step * mean
            else:
                ln.rate[i] += step * mean


# --- motors


@kernel
def drive_motors(ln: Linkage) -> None:
    r"""ln.torque ← what the motors give of what was asked: currents within their limits.

    .. math:: T = k_t i, \qquad \tau \dot h = (i / i_c)^2 - h

    All four are scaled alike, so that the wrench keeps its direction and the crank is not
    stretched. A motor that is nearly as hot as its continuous current makes it (h = 1) gives up
    its peak.
    """
    scale = 1.0
    for k in range(MOTORS):
        cool = min(max((1.0 - ln.heat[k]) / FOLDED, 0.0), 1.0)
        most = ln.motor[CONTINUOUS] + (ln.motor[PEAK] - ln.motor[CONTINUOUS]) * cool
        current = abs(ln.torque[k]) / ln.motor[TORQUE_CONSTANT]
        if current * scale > most:
            scale = most / current
    for k in range(MOTORS):
        ln.torque[k] *= scale
        load = ln.torque[k] / (ln.motor[TORQUE_CONSTANT] * ln.motor[CONTINUOUS])
        ln.heat[k] += ln.motor[WARMING] * (load * load - ln.heat[k])


@kernel
def ask_motors(ln: Linkage) -> None:
    """ln.torque ← those of the command of *delay* ticks before, at the pose that was seen then."""
    now, size = ln.ticks[0], ln.delayed.shape[0]
    weigh(ln, ln.seen, ln.guess[1])
    for i in range(3):
        ln.push[i] = ln.command.wrench[AXES[i]]
    motor_torques(ln.push, ln.seen[2], ln.J, ln.links, ln.short, ln.delayed[now % size])
    old = now - ln.delay[0]
    for k in range(MOTORS):
        ln.torque[k] = ln.delayed[old % size, k] if old >= 0 else 0.0


# --- the observer


@kernel
def known_push(ln: Linkage) -> None:
    """ln.push ← what the model knows to act at the guessed pose: motors, joints, gyration."""
    pose, rate = ln.guess[0], ln.guess[1]
    weigh(ln, pose, rate)
    for k in range(MOTORS):
        speed = joint_speed(ln.J, rate, k)
        sliding = min(max(speed / ln.observing[BLUR], -1.0), 1.0)
        ln.short[k] = ln.torque[k] - ln.motor[COULOMB] * sliding - ln.motor[VISCOUS] * speed
    handle_wrench(ln.short, ln.J, ln.push)
    gyrate(ln, rate)


@kernel
def observe(ln: Linkage) -> None:
    r"""Pose, rate and hand's wrench from encoders and the motors' torques (TH D.1, M29, [HS94]).

    .. math:: \ddot x = M_d^{-1} (u - C_d \dot x - F_{fr}) + d, \quad \dot d = 0, \quad
              \hat F_h = M_d d

    corrected by what the encoders say, with three poles at z = e^{-ωT}: 1 − z³, 3/2 (1 − z)²(1 + z)
    and (1 − z)³. Limitations: at rest it cannot tell a hand from friction.
    """
    step, z, guess = ln.step[0], ln.observing[KEEP], ln.guess
    known_push(ln)
    solve(ln, ln.push, ln.push)
    for i in range(3):
        a = ln.push[i] + guess[2, i]
        guess[0, i] += step * guess[1, i] + 0.5 * step * step * a
        guess[1, i] += step * a
        miss = ln.seen[i] - guess[0, i]
        if i == 2:  # it may have turned any number of times
            miss -= 2.0 * math.pi * math.floor(miss / (2.0 * math.pi) + 0.5)
        guess[0, i] += (1.0 - z * z * z) * miss
        guess[1, i] += 1.5 * (1.0 - z) * (1.0 - z) * (1.0 + z) * miss / step
        guess[2, i] += (1.0 - z) * (1.0 - z) * (1.0 - z) * miss / (step * step)
    for i in range(3):
        ln.state.twist[AXES[i]] = guess[1, i]
        force = ln.M[i, 0] * guess[2, 0] + ln.M[i, 1] * guess[2, 1] + ln.M[i, 2] * guess[2, 2]
        ln.state.wrench[AXES[i]] = force if ln.observes[0] != 0 else 0.0


# --- the port


@kernel
def read_linkage(ln: Linkage) -> None:
    """Stage: pose of the encoders, twist and the hand's wrench of the observer."""
    read_counts(ln)
    if ln.ticks[0] == 0:
        copy_vector(ln.seen, ln.guess[0])
    else:
        observe(ln)


@kernel
def write_linkage(ln: Linkage) -> None:
    """Stage: take the command, and move."""
    ask_motors(ln)
    drive_motors(ln)
    move_linkage(ln)
    ln.ticks[0] += 1
    ln.state.counts[SEQUENCE] += 1
    ln.state.counts[STAMP] = int(1e9 * ln.step[0] * ln.ticks[0] + 0.5)
    show_truth(ln)
