"""A simulated impedance device behind the port: a mass with friction, encoders and a delay."""

from __future__ import annotations

import math

import numpy as np

from detent.devices.constants import MOST_DELAY
from detent.devices.port import SEQUENCE, STAMP, Command, State
from detent.devices.room import Room, make_room, stop_at_end
from detent.kernels.constants import HELD, VELOCITY_FIRST
from detent.kernels.jit import kernel
from detent.kernels.so3 import integrate_quaternion, pose_error
from detent.kernels.struct import Struct
from detent.kernels.vectors import copy_vector, dot


class Mass(Struct):
    """The adapter of a simulated inertia. Pairs are (translation, rotation)."""

    state: State
    command: Command
    hand: np.ndarray  # (6,) [N, N·m] of the simulated hand
    room: Room
    mobility: np.ndarray  # (6, 6) M⁻¹ in the subspace, zero outside
    friction: np.ndarray  # (2,) [N, N·m] Coulomb
    damping: np.ndarray  # (2,) [N·s/m, N·m·s/rad]
    resolution: np.ndarray  # (1,) [m] of the encoders, 0 = exact
    noise: np.ndarray  # (n, 3) [m] that is read on top of the position, over and over
    step: np.ndarray  # (1,) [s]
    delay: np.ndarray  # (1,) [ticks] between a command and its effect
    integrator: np.ndarray  # (1,) see above
    response: np.ndarray  # (3, 6, 6) of a held force: see `held_response`
    differences: np.ndarray  # (1,) 1 = the twist is that of the encoders' differences
    blend: np.ndarray  # (1,) [-] of the low pass on those differences, 1 = none
    senses: np.ndarray  # (1,) 1 = it knows the hand's wrench
    hold: np.ndarray  # (1,) [ticks] between two of its own samples: a slower device
    ticks: np.ndarray  # (1,) so far
    delayed: np.ndarray  # (MOST_DELAY + 1, 6) the last commands
    push: np.ndarray  # (6,) [N, N·m] all that acts on it
    acceleration: np.ndarray  # (6,)
    free: np.ndarray  # (6,) the same without friction
    after: np.ndarray  # (6,) twist after the step
    travel: np.ndarray  # (6,) [m, rad] of the step
    last: np.ndarray  # (7,) pose as it was measured in the last tick


def make_mass(
    state: State, command: Command, hand: np.ndarray, noise: int = 1, reach: float = 0.0
) -> Mass:
    """A mass where *state* has it, with room for so many ticks of noise."""
    a, whole = np.zeros, np.int64
    return Mass(
        state=state, command=command, hand=hand, room=make_room(state.true_pose, reach),
        mobility=a((6, 6)), friction=a(2), damping=a(2), resolution=a(1), noise=a((noise, 3)),
        step=a(1), delay=a(1, whole), integrator=a(1, whole), response=a((3, 6, 6)),
        differences=a(1, whole), blend=np.ones(1), senses=np.ones(1, whole),
        hold=np.ones(1, whole), ticks=a(1, whole), delayed=a((MOST_DELAY + 1, 6)),
        push=a(6), acceleration=a(6), free=a(6), after=a(6), travel=a(6), last=a(7),
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


def held_response(mobility: np.ndarray, damping: np.ndarray, step: float) -> np.ndarray:
    r"""(3, 6, 6) How a damped mass moves in a step while the force on it is held.

    .. math::
        v^+ = \Phi v + \Gamma a, \quad x^+ = x + \Gamma v + \Gamma_2 a, \qquad
        \Phi = e^{A T},\ \Gamma = \int_0^T e^{A s} ds,\ \Gamma_2 = \int_0^T \Gamma(s) ds

    with A = −M⁻¹B and a = M⁻¹F. With R = √B and RM⁻¹R = U λ Uᵀ each of them is that of no damping
    less M⁻¹R U g(λ) Uᵀ R, g an integral of e^{-λ t}. Without damping: v + T a, x + T v + T²a/2.
    """
    root = np.sqrt(np.repeat(damping, 3))
    values, U = np.linalg.eigh(root[:, None] * mobility * root)
    into, out = mobility * root @ U, U.T * root
    decays = _decays(np.maximum(values, 0.0) * step)
    free = (1.0, step, 0.5 * step**2)
    scales = (step, step**2, step**3)
    return np.stack(
        [f * np.eye(6) - into * (s * g) @ out for f, s, g in zip(free, scales, decays, strict=True)]
    )


def _decays(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Σ (−x)ᵏ/(k + n)! for n = 1, 2, 3; the first is (1 − e⁻ˣ)/x, which serves where x is large."""
    terms = [(-x) ** k for k in range(16)]
    small = [sum(t / math.factorial(k + n) for k, t in enumerate(terms)) for n in (1, 2, 3)]
    y = np.where(x > 0.5, x, 1.0)
    first = -np.expm1(-y) / y
    second = (1.0 - first) / y
    large = (first, second, (0.5 - second) / y)
    one, two, three = (np.where(x > 0.5, g, s) for g, s in zip(large, small, strict=True))
    return one, two, three


@kernel
def accelerate_mass(m: Mass) -> None:
    """By what the hand and the wrench of *delay* ticks before accelerate it.

    Damping is in it where it is explicit, else in `held_response`.
    """
    explicit = m.integrator[0] == VELOCITY_FIRST
    now, size, push = m.ticks[0], m.delayed.shape[0], m.push
    if now % m.hold[0] == 0:
        copy_vector(m.command.wrench, m.delayed[now % size])
    else:  # between its samples it goes on with what it was told before
        copy_vector(m.delayed[(now - 1) % size], m.delayed[now % size])
    old = now - m.delay[0]
    felt = m.delayed[old % size]
    for k in range(6):
        damped = m.damping[k // 3] * m.state.true_twist[k] if explicit else 0.0
        push[k] = (felt[k] if old >= 0 else 0.0) + m.hand[k] - damped
    for i in range(6):
        m.acceleration[i] = dot(m.mobility[i], push, 6)


@kernel
def move_velocity_first(m: Mass) -> None:
    r"""The documents' ideal inertia: v⁺ = v + T a, then x⁺ = x + T v⁺.

    On it an undamped sampled wall is stable at any stiffness below 4 m/T², where a real device
    hums from 2b/T on.
    """
    st, step = m.state, m.step[0]
    for i in range(6):
        st.true_twist[i] += step * m.acceleration[i]
    slow_down(st.true_twist[0:3], m.mobility[0, 0], m.friction[0], step)
    slow_down(st.true_twist[3:6], m.mobility[5, 5], m.friction[1], step)
    for i in range(3):
        st.true_pose[i] += step * st.true_twist[i]
    integrate_quaternion(st.true_pose[3:7], st.true_twist[3:6], step)


@kernel
def respond_held(m: Mass) -> None:
    """m.after, m.travel ← twist and travel of the step under m.acceleration, held."""
    twist, step = m.state.true_twist, m.step[0]
    if m.damping[0] == 0.0 and m.damping[1] == 0.0:
        for i in range(6):
            m.after[i] = twist[i] + step * m.acceleration[i]
            m.travel[i] = 0.5 * step * (twist[i] + m.after[i])
        return
    for i in range(6):
        speed, way = 0.0, 0.0
        for k in range(6):
            speed += m.response[0, i, k] * twist[k] + m.response[1, i, k] * m.acceleration[k]
            way += m.response[1, i, k] * twist[k] + m.response[2, i, k] * m.acceleration[k]
        m.after[i], m.travel[i] = speed, way


@kernel
def rub(acceleration: np.ndarray, velocity: np.ndarray, most: float) -> None:
    """Coulomb friction of a block: against its motion, or, at rest, against what pushes it."""
    speed = math.sqrt(dot(velocity, velocity, 3))
    push = math.sqrt(dot(acceleration, acceleration, 3))
    for i in range(3):
        if speed > 0.0:
            acceleration[i] -= most * velocity[i] / speed
        elif push > most:
            acceleration[i] -= most * acceleration[i] / push
        else:
            acceleration[i] = 0.0


@kernel
def stop_within(
    free: np.ndarray, velocity: np.ndarray, after: np.ndarray, travel: np.ndarray,
    most: float, step: float,
) -> None:  # fmt: skip
    """A block that friction brings to rest within the step: there it stays, or starts anew.

    *free* is its acceleration without friction. It stops where a constant deceleration does.
    """
    speed = math.sqrt(dot(velocity, velocity, 3))
    if speed == 0.0 or dot(velocity, after, 3) > 0.0:
        return
    slower = most - dot(free, velocity, 3) / speed  # [m/s²] along the motion
    time = min(speed / slower, step) if slower > 0.0 else step
    push = math.sqrt(dot(free, free, 3))
    left = 1.0 - most / push if push > most else 0.0  # of the push, once it rests
    rest = step - time
    for i in range(3):
        after[i] = left * free[i] * rest
        travel[i] = 0.5 * velocity[i] * time + 0.5 * left * free[i] * rest * rest


@kernel
def move_held(m: Mass) -> None:
    """As a real mass does under a force that is held for the step (`held_response`), with friction.

    Limitations: in the step in which friction stops it, damping is left out, and friction is that
    of an isotropic block.
    """
    st, step = m.state, m.step[0]
    copy_vector(m.acceleration, m.free)
    for block in range(2):
        part = slice(3 * block, 3 * block + 3)
        most = m.friction[block] * m.mobility[5 * block, 5 * block]
        if most > 0.0:
            rub(m.acceleration[part], st.true_twist[part], most)
    respond_held(m)
    for block in range(2):
        part = slice(3 * block, 3 * block + 3)
        most = m.friction[block] * m.mobility[5 * block, 5 * block]
        if most > 0.0:
            stop_within(
                m.free[part], st.true_twist[part], m.after[part], m.travel[part], most, step
            )
    copy_vector(m.after, st.true_twist)
    for i in range(3):
        st.true_pose[i] += m.travel[i]
    integrate_quaternion(st.true_pose[3:7], m.travel[3:6], 1.0)


@kernel
def read_encoders(m: Mass) -> None:
    """The pose as it is measured: positions with their noise, rounded to the resolution."""
    row = m.ticks[0] % m.noise.shape[0]
    for i in range(3):
        m.state.position[i] = rounded(m.state.true_pose[i] + m.noise[row, i], m.resolution[0])
    copy_vector(m.state.true_pose[3:7], m.state.quaternion)


@kernel
def read_mass(m: Mass) -> None:
    """Stage: pose, twist, and the hand's wrench, which an ideal device knows."""
    st = m.state
    if m.senses[0] != 0:
        copy_vector(m.hand, st.wrench)
    if m.ticks[0] % m.hold[0] != 0:
        return
    read_encoders(m)
    if m.differences[0] == 0:
        copy_vector(st.true_twist, st.twist)
        return
    pose_error(st.position, st.quaternion, m.last[0:3], m.last[3:7], m.travel)
    for i in range(6):
        speed = m.travel[i] / (m.hold[0] * m.step[0])
        smooth = st.twist[i] + m.blend[0] * (speed - st.twist[i])
        st.twist[i] = speed if m.blend[0] == 1.0 else smooth
    copy_vector(st.position, m.last[0:3])
    copy_vector(st.quaternion, m.last[3:7])


@kernel
def write_mass(m: Mass) -> None:
    """Stage: take the command, and move; the answer is the new pose."""
    accelerate_mass(m)
    if m.integrator[0] == HELD:
        move_held(m)
    else:
        move_velocity_first(m)
    stop_at_end(m.room, m.state, m.state.true_pose, m.state.true_twist)
    m.ticks[0] += 1
    if m.ticks[0] % m.hold[0] == 0:
        m.state.counts[SEQUENCE] += 1
        m.state.counts[STAMP] = int(1e9 * m.step[0] * m.ticks[0] + 0.5)
        read_encoders(m)
