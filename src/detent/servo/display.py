"""A simulated admittance display in a tick: force sensor, feedback, inner motion loop.

The actuators sit on one side of a compliant structure, the handle on the other: encoders see
the former, the hand holds the latter. An impedance device takes the same feedback as a wrench.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.so3 import integrate_quaternion, rotation_error
from detent.kernels.struct import Struct
from detent.kernels.vectors import copy_vector
from detent.servo.couple import integrate_device, pose_error, slow_down
from detent.servo.records import FAULT, NO_FAULT, TICKS, Clock, Device, Servo

MOTION, WRENCH = range(2)  # what the device takes
NOISE_LENGTH = 2**15  # [ticks] after which the sensor's noise comes again


class Display(Struct):
    """The display's side of the coupling. Pairs are (translation, rotation)."""

    kind: np.ndarray  # (1,) MOTION or WRENCH
    gains: np.ndarray  # (3, 6, 6) K_p [1/s²], K_i [1/s³], K_d [1/s]
    loop: np.ndarray  # (2,) [rad/s, -] frequency and damping ratio of the inner loop
    compliance: np.ndarray  # (2,) [m/N, rad/(N·m)] of the structure
    friction: np.ndarray  # (2,) [N, N·m] backdrive
    resolution: np.ndarray  # (2,) [m, rad] of the position
    noise: np.ndarray  # (ticks, 6) [N, N·m] of the force sensor
    bias: np.ndarray  # (6,) [N, N·m]
    quantum: np.ndarray  # (2,) [N, N·m]
    effector: np.ndarray  # (5,) mass beyond the sensor [kg], gravity [m/s²], 1 = compensated
    origin: np.ndarray  # (7,) pose of the handle at the start
    position: np.ndarray  # (3,) of the actuators
    quaternion: np.ndarray  # (4,)
    speed: np.ndarray  # (6,) that the inner loop is told
    lag: np.ndarray  # (6,) integral of what it misses
    moved: np.ndarray  # (6,) acceleration in the last tick
    seen: np.ndarray  # (7,) pose as the encoders see it
    last: np.ndarray  # (7,) in the last tick
    seen_twist: np.ndarray  # (6,)
    sensed: np.ndarray  # (6,) wrench of the hand as the sensor sees it, compensated
    error: np.ndarray  # (2, 6) of pose and twist, as seen
    sum: np.ndarray  # (6,) ∫ e dt
    feedback: np.ndarray  # (6,) ẍ_fb
    feedforward: np.ndarray  # (6,) ẍ_ff
    reference: np.ndarray  # (7,) pose
    twist: np.ndarray  # (6,) of the reference
    scratch: np.ndarray  # (3, 6)


def make_display(noise: int = 1) -> Display:
    """A display that is not there: all zero, with room for so many ticks of noise."""
    a = np.zeros
    return Display(
        kind=a(1, np.int64), gains=a((3, 6, 6)), loop=a(2), compliance=a(2), friction=a(2),
        resolution=a(2), noise=a((noise, 6)), bias=a(6), quantum=a(2), effector=a(5),
        origin=a(7), position=a(3), quaternion=a(4), speed=a(6), lag=a(6), moved=a(6), seen=a(7),
        last=a(7), seen_twist=a(6),
        sensed=a(6), error=a((2, 6)), sum=a(6), feedback=a(6), feedforward=a(6), reference=a(7),
        twist=a(6), scratch=a((3, 6)),
    )  # fmt: skip


@kernel
def rounded(value: float, quantum: float) -> float:
    """To the nearest multiple, or as it is if there is no quantum."""
    return quantum * math.floor(value / quantum + 0.5) if quantum > 0.0 else value


@kernel
def read_display(di: Display, de: Device) -> None:
    """The pose as the encoders see it: on the actuators' side of the structure."""
    turn = di.scratch[0]
    motion = di.kind[0] == MOTION
    for i in range(3):
        place = di.position[i] if motion else de.position[i]
        di.seen[i] = rounded(place, di.resolution[0])
    here = di.quaternion if motion else de.quaternion
    if di.resolution[1] == 0.0:
        copy_vector(here, di.seen[3:7])
        return
    rotation_error(here, di.origin[3:7], turn[0:3])
    for i in range(3):
        turn[i] = rounded(turn[i], di.resolution[1])
    copy_vector(di.origin[3:7], di.seen[3:7])
    integrate_quaternion(di.seen[3:7], turn[0:3], 1.0)


@kernel
def read_speed(di: Display, de: Device, step: float) -> None:
    """The twist: as it is, or, where an impedance device has encoders only, by differences."""
    if di.kind[0] == MOTION or di.resolution[0] == 0.0:
        copy_vector(de.twist, di.seen_twist)
        return
    pose_error(di.seen[0:3], di.seen[3:7], di.last[0:3], di.last[3:7], di.seen_twist)
    for i in range(6):
        di.seen_twist[i] /= step
    copy_vector(di.seen, di.last)


@kernel
def compare(di: Display, de: Device, step: float) -> None:
    r"""What the display lacks of the reference, and the acceleration that takes it back.

    .. math:: \ddot x_{fb} = K_p e + K_i \int e \, dt + K_d \dot e

    S2 eq. 17; e is of one moment: the reference and the measurement of this tick.
    """
    pose_error(di.reference[0:3], di.reference[3:7], di.seen[0:3], di.seen[3:7], di.error[0])
    for i in range(6):
        di.error[0, i] *= de.mask[i]
        di.error[1, i] = de.mask[i] * (di.twist[i] - di.seen_twist[i])
        di.sum[i] += step * di.error[0, i]
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += di.gains[0, i, k] * di.error[0, k]
            total += di.gains[1, i, k] * di.sum[k]
            total += di.gains[2, i, k] * di.error[1, k]
        di.feedback[i] = total


@kernel
def sense_force(di: Display, de: Device, tick: int) -> None:
    """The hand's wrench as it is known: sensed, or what an impedance device is pulled with.

    The sensor also feels the weight and the inertia of what lies beyond it; both are taken
    away again with the acceleration of the last tick, if that was asked for (S2 II-H).
    """
    if di.kind[0] == WRENCH:
        for i in range(6):
            total = 0.0
            for k in range(6):
                total -= de.mass[i, k] * di.feedback[k]
            di.sensed[i] = total
        return
    row = tick % di.noise.shape[0]
    for i in range(6):
        value = de.hand[i] + di.bias[i] + di.noise[row, i]
        if i < 3:
            value -= di.effector[0] * (di.moved[i] - di.effector[1 + i])
        value = rounded(value, di.quantum[i // 3])
        if i < 3 and di.effector[4] != 0.0:
            value += di.effector[0] * (di.moved[i] - di.effector[1 + i])
        di.sensed[i] = de.mask[i] * value


@kernel
def command(di: Display, de: Device) -> None:
    """What is asked of the device, as a wrench on its inertia (S2 eq. 18)."""
    for i in range(6):
        total = 0.0
        for k in range(6):
            asked = di.feedback[k]
            if di.kind[0] == MOTION:
                asked += di.feedforward[k]
            total += de.mass[i, k] * asked
        de.raw[i] = total


@kernel
def move_display(di: Display, de: Device, ck: Clock, p: np.ndarray) -> None:
    r"""The inner motion loop follows the acceleration that the guard let through.

    .. math:: \dot v = a + 2 \zeta \omega (v_c - v) + \omega^2 \int (v_c - v) dt
              + m^{-1} (F_h - F_f), \qquad \dot v_c = a

    The structure gives way to the hand: x = x_a + F_h / k. Its vibration is left out.
    """
    if di.kind[0] == WRENCH:
        integrate_device(de, ck, p)
        return
    if ck.counts[FAULT] != NO_FAULT:
        return  # a display that is told nothing stands still
    step = p["step"][0]
    first, second = 2.0 * di.loop[0] * di.loop[1], di.loop[0] * di.loop[0]
    for i in range(6):
        asked, pushed = 0.0, 0.0
        for k in range(6):
            asked += de.mobility[i, k] * de.wrench[k]
            pushed += de.mobility[i, k] * de.hand[k]
        miss = di.speed[i] - de.twist[i]
        di.lag[i] += step * miss
        di.speed[i] += step * asked
        di.moved[i] = de.twist[i]
        de.twist[i] += step * (asked + pushed + first * miss + second * di.lag[i])
    slow_down(de.twist[0:3], de.mobility[0, 0], di.friction[0], step)
    slow_down(de.twist[3:6], de.mobility[5, 5], di.friction[1], step)
    for i in range(6):
        di.moved[i] = (de.twist[i] - di.moved[i]) / step
    bend(di, de, step)


@kernel
def bend(di: Display, de: Device, step: float) -> None:
    """Move the actuators, and the handle with the structure's deflection."""
    turn = di.scratch[0]
    for i in range(3):
        di.position[i] += step * de.twist[i]
        de.position[i] = di.position[i] + di.compliance[0] * de.hand[i]
        turn[i] = di.compliance[1] * de.hand[3 + i]
    integrate_quaternion(di.quaternion, de.twist[3:6], step)
    copy_vector(di.quaternion, de.quaternion)
    integrate_quaternion(de.quaternion, turn[0:3], 1.0)


@kernel
def follow_reference(di: Display, de: Device, ck: Clock, p: np.ndarray) -> None:
    """Everything of a tick before the guard, where the reference is known beforehand."""
    read_display(di, de)
    read_speed(di, de, p["step"][0])
    compare(di, de, p["step"][0])
    sense_force(di, de, ck.counts[TICKS])


@kernel
def admit_world(s: Servo) -> None:
    """Stage: a world's held link is the reference; its acceleration is that of the last tick."""
    sc, mo, di, p = s.scene, s.motion, s.display, s.parameters
    step = p["step"][0]
    copy_vector(mo.point, di.reference[0:3])
    copy_vector(sc.xquat[sc.held_body], di.reference[3:7])
    for i in range(6):
        di.feedforward[i] = (mo.twist[i] - di.twist[i]) / step
        di.twist[i] = mo.twist[i]
    follow_reference(di, s.device, s.clock, p)
    command(di, s.device)


@kernel
def travel(s: Servo) -> None:
    """Stage: move the display of a world's session."""
    move_display(s.display, s.device, s.clock, s.parameters)
