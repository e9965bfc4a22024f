"""A mechanism in a tick: constrained dynamics in motion control (S2 Algorithm 1)."""

from __future__ import annotations

import math

from detent.kernels.constrained import (
    accelerate,
    see_acceleration,
)
from detent.kernels.inertia import Inertia, factor_inertia, respond_to
from detent.kernels.jit import kernel
from detent.kernels.linalg import psd_pinv_solve
from detent.kernels.mechanics import Mechanics
from detent.kernels.so3 import matrix_quaternion
from detent.kernels.stages import call_stage
from detent.kernels.stops import hold, strike
from detent.kernels.vectors import copy_vector, dot
from detent.servo import places
from detent.servo.faults import NO_FAULT
from detent.servo.hand.lead import follow_reference
from detent.servo.mechanism_structs import MechanismServo
from detent.servo.structs import FAULT


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
def well_conditioned(factor: Inertia) -> bool:
    """Whether no pivot of a factor is round-off of the largest."""
    least, most = math.inf, 0.0
    for inverse in factor.diaginv:
        least, most = min(least, inverse), max(most, inverse)
    return most < 1e12 * least


@kernel
def constraint_wrench(s: MechanismServo) -> None:
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
def show(s: MechanismServo) -> None:
    """Poses of the bodies, for the page."""
    me = s.mechanics
    for b in range(me.body_position.shape[0]):
        body = s.scene.body[b]
        for k in range(3):
            s.scene.xpos[body, k] = me.body_position[b, k]
        matrix_quaternion(me.body_rotation[b], s.scene.xquat[body])


@kernel
def refer(s: MechanismServo) -> None:
    """The reference manipulandum is where the mechanism is (S2 eq. 1)."""
    me, le = s.mechanics, s.lead
    copy_vector(me.position, le.reference[0:3])
    copy_vector(me.quaternion, le.reference[3:7])
    copy_vector(me.twist, le.twist)


@kernel
def sense_mechanism(s: MechanismServo) -> None:
    """Stage: dynamics and kinematics of the present state, and the reference."""
    call_stage(s.stages[places.SETTLE], s.mechanics)
    call_stage(s.mechanics.observe, s.mechanics)
    show(s)
    refer(s)


@kernel
def approach_mechanism(s: MechanismServo) -> None:
    """Stage: what the display lacks of the reference, and the hand's wrench as it is known."""
    follow_reference(s)
    copy_vector(s.lead.sensed, s.mechanics.hand)


@kernel
def react_mechanism(s: MechanismServo) -> None:
    """Stage: how the mechanism accelerates under that wrench, and the handle with it."""
    call_stage(s.stages[places.ACT], s.mechanics)
    see_acceleration(s.mechanics)
    copy_vector(s.mechanics.acceleration, s.lead.feedforward)


@kernel
def move_mechanism(s: MechanismServo) -> None:
    """Stage: the mechanism moves on its manifold, unless the servo has stopped."""
    if s.clock.counts[FAULT] == NO_FAULT:
        call_stage(s.stages[places.ADVANCE], s.mechanics)
