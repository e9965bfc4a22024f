"""The end of a tick: from torques to the next state of the world."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import HELD
from detent.kernels.inertia import respond_block, respond_to
from detent.kernels.jit import kernel
from detent.kernels.loops import closed_acceleration
from detent.kernels.stages import call_stage
from detent.kernels.vectors import clear_vector, copy_vector
from detent.servo import places
from detent.servo.constants import GIMBAL_SWEEPS, GOD_TURN, MOST_TURN
from detent.servo.contact.identity import keeps_memory, remember
from detent.servo.faults import NO_FAULT
from detent.servo.hand.follow import follow_device
from detent.servo.parameters import GOD_OBJECT, PULLED
from detent.servo.structs import FAULT, Closures, Motion, Scene, Servo
from detent.servo.world.close import stay_closed
from detent.servo.world.loop_energy import expect_energy
from detent.servo.world.spin import spin_bodies
from detent.world.bridge import mj_integratePos


@kernel
def accelerate(sc: Scene, mo: Motion, cl: Closures, x: np.ndarray) -> None:
    """Torques become the accelerations of this step, joint damping and loops included.

    Those of trees that sleep are not asked for.
    """
    if mo.damped.closed[0] > 0:
        closed_acceleration(mo.damped, cl.wanted, cl.rates, x)
        return
    for t in range(sc.tree_dofs.shape[0]):
        if sc.tree_awake[t] != 0:
            first, size = sc.tree_dofs[t, 0], sc.tree_dofs[t, 1]
            respond_block(mo.damped, first, first + size, x)


@kernel
def slow_hinge(sc: Scene, mo: Motion, j: int, most: float) -> None:
    """An impulse about hinge j alone, against its motion, that leaves it *most* [rad/s]."""
    clear_vector(mo.white)
    mo.white[j] = 1.0
    respond_to(mo.inertia, mo.white)
    if mo.white[j] > 0.0:
        push = math.copysign(abs(sc.qvel[j]) - most, sc.qvel[j]) / mo.white[j]
        for k in range(sc.nv):
            sc.qvel[k] -= push * mo.white[k]


@kernel
def slow_gimbals(sc: Scene, mo: Motion, step: float) -> None:
    r"""Bound the rates of three hinges in a row by what a step can follow.

    Where the first and the third axis come to coincide (gimbal lock), two rates grow without
    bound and the inertia of their difference vanishes: without armature no fixed step holds
    that. Each impulse takes energy, as it opposes the rate before it and after it:

    .. math:: \Delta KE = -\tfrac12 p_j (\dot q_j + \dot q_j^+) < 0
    """
    most, found = MOST_TURN / step, False
    for sweep in range(GIMBAL_SWEEPS):
        again = False
        for i in range(sc.gimbal_dof.shape[0]):
            j = sc.gimbal_dof[i]
            if not abs(sc.qvel[j]) > most:
                continue
            again = found = True
            if sweep == 0 and abs(sc.qvel[j]) > mo.spun[2]:
                mo.spun[1], mo.spun[2] = j, abs(sc.qvel[j])
            slow_hinge(sc, mo, j, most)
        if not again:
            break
    if found:
        mo.spun[0] += 1.0


@kernel
def activate(sc: Scene, step: float) -> None:
    """Actuators that have a state of their own: muscles, filters, integrators."""
    for i in range(sc.activation.shape[0]):
        tau = sc.activation_time[i]
        span = tau * -math.expm1(-step / tau) if tau > 0.0 else step
        value = sc.activation[i] + span * sc.activation_rate[i]
        sc.activation[i] = min(max(value, sc.activation_range[i, 0]), sc.activation_range[i, 1])


@kernel
def move(s: Servo) -> None:
    """Stage: velocity first: q̇⁺ = q̇ + T (D + T·C)⁻¹ τ, then q⁺ on the manifold.

    mo.velocity already holds the impulses. A directly coupled tool is then made to arrive
    where the device arrives, and a god object as near to it as contacts let it. Trees that
    sleep stay as they are.
    """
    if s.clock.counts[FAULT] != NO_FAULT:
        return
    sc, mo, de, p = s.scene, s.motion, s.device, s.parameters
    step = p["step"][0]
    for j in range(sc.nv):
        mo.torque[j] += mo.penalty[j]
    accelerate(sc, mo, s.closures, mo.torque)
    for t in range(sc.tree_dofs.shape[0]):
        if sc.tree_awake[t] != 0:
            for j in range(sc.tree_dofs[t, 0], sc.tree_dofs[t, 0] + sc.tree_dofs[t, 1]):
                mo.scratch[j] = sc.qvel[j]
                sc.qvel[j] = mo.velocity[j] + step * mo.torque[j]
    if sc.gimbal_dof.shape[0] > 0:
        slow_gimbals(sc, mo, step)
    if p["tool"][0] != PULLED:
        held = p["tool"][0] == GOD_OBJECT and s.rows.constrained[0] != 0
        follow_device(sc, mo, s.port.state, de, step, GOD_TURN if held else math.inf)
    if p["tool"][0] == GOD_OBJECT:
        hold_back(s)
    projected = p["closure_projected"][0] != 0 and mo.inertia.closed[0] > 0
    if projected and p["frozen"][0] == 0:
        expect_energy(sc, mo, s.closures, step)
    find_path(s, step)
    if projected:
        stay_closed(sc, mo, s.closures, step)
        keep_asleep(sc, mo)
    activate(sc, step)
    mj_integratePos(sc.model, sc.qpos.ctypes.data, mo.scratch.ctypes.data, step)


@kernel
def keep_asleep(sc: Scene, mo: Motion) -> None:
    """What loops tie sleeps together: round-off of their closing would wake it."""
    for t in range(sc.tree_dofs.shape[0]):
        if sc.tree_awake[t] == 0:
            for j in range(sc.tree_dofs[t, 0], sc.tree_dofs[t, 0] + sc.tree_dofs[t, 1]):
                sc.qvel[j], mo.scratch[j] = 0.0, 0.0


@kernel
def find_path(s: Servo, step: float) -> None:
    """mo.scratch ← the velocity by which positions move: q̇⁺, or the mean with a held force.

    On entry it is the velocity before the step. Bodies that spin have a step of their own, where
    the bias has their gyration.
    """
    sc, mo, p = s.scene, s.motion, s.parameters
    if p["integrator"][0] == HELD:
        for j in range(sc.nv):
            mo.scratch[j] = 0.5 * (mo.scratch[j] + sc.qvel[j])
        return
    if p["frozen"][0] == 0 and sc.spin_dof.shape[0] > 0:
        copy_vector(mo.scratch, mo.white)
        copy_vector(sc.qvel, mo.scratch)
        for i in range(sc.spin_dof.shape[0]):
            for k in range(3):
                mo.scratch[sc.spin_dof[i] + k] = mo.white[sc.spin_dof[i] + k]
        spin_bodies(sc, mo, s.rows, p)
    else:
        copy_vector(sc.qvel, mo.scratch)


@kernel
def hold_back(s: Servo) -> None:
    """A god object follows the device as far as rigid contacts allow (M14, M16).

    With friction it stays where it is, until the way to the device is outside of the cone
    [MH05]. What slides is told by how it moved, not by where it is to go.
    """
    copy_vector(s.scene.qvel, s.motion.after)
    copy_vector(s.motion.scratch, s.scene.qvel)
    call_stage(s.stages[places.PROJECT], s)
    copy_vector(s.motion.after, s.scene.qvel)
    if keeps_memory(s.parameters, s.rows):
        remember(s.rows, math.inf)
    s.rows.constrained[0] = 0
    for h in range(s.rows.hits[0]):
        r = s.rows.hit_row[h]
        first, second = s.rows.tree[r, 0], s.rows.tree[r, 1]
        tool = s.scene.in_tool
        held = (first >= 0 and tool[first] != 0) or (second >= 0 and tool[second] != 0)
        if held and s.rows.hit_impulse[h] > 0.0:
            s.rows.constrained[0] = 1
