"""The tick of an admittance session: a mechanism's constrained dynamics in motion control.

S2 Algorithm 1 with the errata: read the display, sense the force, constrained acceleration,
feedforward and feedback, guard, record, move the display, integrate on the manifold.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constrained import (
    accelerate,
    find_multipliers,
    see_acceleration,
)
from detent.kernels.inertia import Inertia, factor_inertia, respond_to
from detent.kernels.jit import kernel
from detent.kernels.limits import all_finite
from detent.kernels.linalg import psd_pinv_solve
from detent.kernels.mechanics import Mechanics
from detent.kernels.so3 import matrix_quaternion
from detent.kernels.stages import call_stage
from detent.kernels.stops import hold, strike
from detent.kernels.struct import Struct
from detent.kernels.vectors import copy_vector, dot, largest
from detent.mechanism.mechanism import MOST, MOST_ENERGIES
from detent.servo.couple import force_path, hand_wrench
from detent.servo.display import Display, command, follow_reference, move_display
from detent.servo.exchange import Slot, latest
from detent.servo.records import (
    FAULT,
    FREE,
    NO_FAULT,
    RESTING,
    ROW,
    TICKS,
    WORLD_NOT_FINITE,
    Clock,
    Device,
)
from detent.servo.tick import device_energy

#: a row of a mechanism: the tool is the reference, the device the display
ADMIT_ROW = np.dtype(
    [
        *ROW.descr,
        ("coordinates", "f8", MOST),  # q
        ("velocities", "f8", MOST),  # u
        ("multipliers", "f8", MOST),  # λ of constraints, then of stops that hold
        ("reference_acceleration", "f8", 6),  # ẍ_ff
        ("seen_position", "f8", 3),  # [m] of the display, as the encoders see it
        ("seen_quaternion", "f8", 4),
        ("tracking_error", "f8", 6),  # [m, rad] reference minus what is seen
        ("sensed_wrench", "f8", 6),  # [N, N·m] what the mechanism is pushed with
        ("potential_energy", "f8"),  # [J]
        ("part_energies", "f8", MOST_ENERGIES),  # [J] kinetic, of the parts that were named
        ("forbidden_rate", "f8"),  # largest element of A u
        ("stop_energy", "f8"),  # [J] taken by stops in this tick
        ("track", "f8", 3),  # [m]
    ]
)


class Drawn(Struct):
    """What the page shows: poses of the bodies of the mechanism's scene."""

    xpos: np.ndarray  # (nbody, 3)
    xquat: np.ndarray  # (nbody, 4)
    qpos: np.ndarray  # q and u of the mechanism
    qvel: np.ndarray
    body: np.ndarray  # (bodies,) which bodies the mechanism moves


class AdmitServo(Struct):
    """All that the loop works on; names that `loop` and `live` use are those of `Servo`."""

    scene: Drawn
    mechanics: Mechanics
    display: Display
    device: Device
    clock: Clock
    parameters: np.ndarray
    parameter_bytes: np.ndarray
    target: np.ndarray
    target_bytes: np.ndarray
    script: np.ndarray
    poses: np.ndarray
    pose_bytes: np.ndarray
    commands: Slot
    targets: Slot
    views: Slot
    ring: np.ndarray  # (n,) ADMIT_ROW
    ring_bytes: np.ndarray
    written: np.ndarray
    stages: np.ndarray
    work: np.ndarray  # (4, 6, 6) scratch


# Places of `AdmitServo.stages`; that of the tick is `records.STAGE_TICK`, as in other servos.
STAGE_SETTLE, STAGE_ACT, STAGE_ADVANCE, STAGE_NOTE = range(4)


@kernel
def act(me: Mechanics) -> None:
    """Stage: the acceleration under the sensed wrench, by S2 eq. 13."""
    accelerate(me)


@kernel
def act_with_stops(me: Mechanics) -> None:
    """Stage: the same where there are stops: they strike, and hold."""
    strike(me)
    accelerate(me)
    hold(me)


@kernel
def note(s: AdmitServo) -> None:
    """Stage: what the mechanism is doing, into the row of this tick."""
    me, di, de = s.mechanics, s.display, s.device
    index = s.written[0] % s.ring.shape[0]
    row = s.ring[index : index + 1]
    find_multipliers(me)
    constraint_wrench(s)
    for i in range(me.q.shape[0]):
        row["coordinates"][0, i] = me.q[i]
    rows, worst = me.A.shape[0], 0.0
    for i in range(me.u.shape[0]):
        row["velocities"][0, i] = me.u[i]
    for i in range(rows):
        worst = max(worst, abs(dot(me.A[i], me.u, me.u.shape[0])))
    for i in range(me.multipliers.shape[0]):
        row["multipliers"][0, i] = me.multipliers[i]
    for i in range(me.energies.shape[0]):
        row["part_energies"][0, i] = me.energies[i]
    held = 0
    for i in range(me.active.shape[0]):
        held += me.active[i]
    row["forbidden_rate"][0] = worst
    row["closure"][0] = largest(me.h)
    row["constraints"][0] = me.inertia.closed[0]
    row["contacts"][0] = held
    row["state"][0] = RESTING if held > 0 else FREE
    row["stop_energy"][0] = me.struck[0]
    row["impact_energy"][0] = -me.struck[0]
    row["collisions"][0] = 1 if me.struck[0] > 0.0 else 0
    row["tool_energy"][0] = me.energy[0]
    row["potential_energy"][0] = me.potential[0] + me.energy[1]
    row["device_energy"][0] = device_energy(de)
    row["time"][0] = s.clock.counts[TICKS] * s.parameters["step"][0]
    for i in range(3):
        row["device_position"][0, i] = de.position[i]
        row["tool_position"][0, i] = me.position[i]
        row["seen_position"][0, i] = di.seen[i]
        row["track"][0, i] = me.track[i]
    for i in range(4):
        row["device_quaternion"][0, i] = de.quaternion[i]
        row["tool_quaternion"][0, i] = me.quaternion[i]
        row["seen_quaternion"][0, i] = di.seen[3 + i]
    for i in range(6):
        row["device_twist"][0, i] = de.twist[i]
        row["tool_twist"][0, i] = me.twist[i]
        row["hand_wrench"][0, i] = de.hand[i]
        row["environment_wrench"][0, i] = de.environment[i]
        row["sensed_wrench"][0, i] = di.sensed[i]
        row["tracking_error"][0, i] = di.error[0, i]
        row["reference_acceleration"][0, i] = me.acceleration[i]


@kernel
def well_conditioned(factor: Inertia) -> bool:
    """Whether no pivot of a factor is round-off of the largest."""
    least, most = math.inf, 0.0
    for inverse in factor.diaginv:
        least, most = min(least, inverse), max(most, inverse)
    return most < 1e12 * least


@kernel
def constraint_wrench(s: AdmitServo) -> None:
    r"""The wrench at the handle that stands for the constraints' forces, Jᵀ F = Aᵀ λ.

    The shortest of those that do; for the record and for the eye, nothing moves by it.
    """
    me, work, out = s.mechanics, s.work, s.device.environment
    nv = me.u.shape[0]
    right, metric = work[3, 0], me.J_metric
    if me.J_gram.shape[0] > 0 and factor_inertia(me.J_gram, metric) and well_conditioned(metric):
        copy_vector(me.torque[1], me.xi)  # J (Jᵀ J)⁻¹ τ, where the handle sees all velocities
        respond_to(metric, me.xi)
        for i in range(6):
            out[i] = dot(me.J[i], me.xi, nv)
        return
    for i in range(6):
        right[i] = dot(me.J[i], me.torque[1], nv)
        for k in range(i + 1):
            work[0, i, k] = dot(me.J[i], me.J[k], nv)
            work[0, k, i] = work[0, i, k]
    psd_pinv_solve(work[0], 6, right, 1e-9, work[1], work[2], work[3, 1], out)


@kernel
def show(s: AdmitServo) -> None:
    """Poses of the bodies for the page, and of the reference for the display."""
    me = s.mechanics
    for b in range(me.body_position.shape[0]):
        body = s.scene.body[b]
        for k in range(3):
            s.scene.xpos[body, k] = me.body_position[b, k]
        matrix_quaternion(me.body_rotation[b], s.scene.xquat[body])


@kernel
def refer(s: AdmitServo) -> None:
    """The reference manipulandum is where the mechanism is (S2 eq. 1)."""
    me, di = s.mechanics, s.display
    copy_vector(me.position, di.reference[0:3])
    copy_vector(me.quaternion, di.reference[3:7])
    copy_vector(me.twist, di.twist)


@kernel
def admit(s: AdmitServo) -> None:
    """Stage: one tick."""
    me, di, de, ck, p = s.mechanics, s.display, s.device, s.clock, s.parameters
    latest(s.commands, s.parameter_bytes)
    latest(s.targets, s.target_bytes)
    call_stage(s.stages[STAGE_SETTLE], me)
    call_stage(me.observe, me)
    show(s)
    refer(s)
    hand_wrench(de, s.target, s.script, p, ck.counts[TICKS], de.hand)
    follow_reference(di, de, ck, p)
    copy_vector(di.sensed, me.hand)
    call_stage(s.stages[STAGE_ACT], me)
    see_acceleration(me)
    copy_vector(me.acceleration, di.feedforward)
    command(di, de)
    if ck.counts[FAULT] == NO_FAULT and not (all_finite(me.q) and all_finite(me.rate)):
        ck.counts[FAULT] = WORLD_NOT_FINITE
    altered = force_path(de, ck, p)
    call_stage(s.stages[STAGE_NOTE], s)
    index = s.written[0] % s.ring.shape[0]
    s.ring["altered"][index] = int(altered)
    for i in range(6):
        s.ring["raw_wrench"][index, i] = de.raw[i]
        s.ring["device_wrench"][index, i] = de.wrench[i]
    move_display(di, de, ck, p)
    if ck.counts[FAULT] == NO_FAULT:
        call_stage(s.stages[STAGE_ADVANCE], me)
    ck.counts[TICKS] += 1
