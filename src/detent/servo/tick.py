"""One tick of the servo, the same for lockstep and live (design: "The tick")."""

from __future__ import annotations

import numpy as np

from detent.kernels.contact import group_root
from detent.kernels.impact import kinetic_energy
from detent.kernels.jit import kernel
from detent.kernels.limits import all_finite
from detent.kernels.linalg import ltdl_solve
from detent.kernels.stages import call_stage, stage_address
from detent.kernels.vectors import copy_vector
from detent.servo.couple import (
    add_hand_torque,
    coordinate,
    device_command,
    follow_device,
    force_path,
    hand_wrench,
    integrate_device,
    map_to_hand,
    read_encoders,
    update_hand_point,
)
from detent.servo.exchange import latest
from detent.servo.limit import limit_response
from detent.servo.records import (
    DIRECT,
    FAULT,
    FOUR_CHANNEL,
    HELD,
    NO_FAULT,
    RIGID,
    SCALE,
    STAGE_APPROACH,
    STAGE_COLLIDE,
    STAGE_COUPLE,
    STAGE_LIMIT,
    STAGE_PROJECT,
    STAGE_REACT,
    STAGE_RUB,
    STAGE_SENSE,
    STAGE_TICK,
    TICKS,
    UNILATERAL,
    WORLD_NOT_FINITE,
    Clock,
    Device,
    Motion,
    Rows,
    Scene,
    Servo,
)
from detent.servo.response import project_rigid, react, resolve_hits, resolve_sliding_hits
from detent.servo.rub import rub
from detent.servo.sense import TOUCH, row_group, sense
from detent.world.bridge import mj_integratePos


@kernel
def smooth_torques(sc: Scene, mo: Motion) -> None:
    """All torques but contacts: passive, actuators, bias, and the coupling's wrench."""
    for j in range(sc.nv):
        mo.torque[j] = sc.passive[j] + sc.actuator[j] - sc.bias[j]
    add_hand_torque(mo, mo.hand6[0], sc.nv, mo.torque)


@kernel
def weight_torque(sc: Scene, j: int) -> float:
    """−G: the torque of gravity on degree of freedom j, from MuJoCo's spatial axes."""
    body = sc.dof_body[j]
    total = 0.0
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        arm_a = sc.subtree_com[body, a] - sc.subtree_com[sc.tool_root, a]
        arm_b = sc.subtree_com[body, b] - sc.subtree_com[sc.tool_root, b]
        moves = sc.cdof[j, 3 + k] + sc.cdof[j, a] * arm_b - sc.cdof[j, b] * arm_a
        total += sc.gravity[k] * moves
    return total * sc.subtree_mass[body]


@kernel
def external_torques(sc: Scene, mo: Motion) -> None:
    """T_ext on the tool: contacts, limits, passive, actuators and weight, not the hand."""
    for j in range(sc.nv):
        mo.external[j] = 0.0
        if sc.dof_tree[j] == sc.tool_tree:
            mo.external[j] = mo.penalty[j] + mo.impulsive[j] + sc.passive[j] + sc.actuator[j]
            if sc.features[2] != 0:
                mo.external[j] += weight_torque(sc, j)


@kernel
def integrate_world(s: Servo) -> None:
    """Velocity first: q̇⁺ = q̇ + T (D + T·C)⁻¹ τ, then q⁺ on the manifold.

    mo.velocity already holds the impulses. A directly coupled tool is then made to arrive
    where the device arrives, and a god object as near to it as contacts let it.
    """
    sc, mo, de, p = s.scene, s.motion, s.device, s.parameters
    step = p["step"][0]
    for j in range(sc.nv):
        mo.torque[j] += mo.penalty[j]
    ltdl_solve(mo.LDT, mo.LDT_diag, sc.M_rownnz, sc.M_rowadr, sc.M_colind, sc.nv, mo.torque)
    held = p["integrator"][0] == HELD
    for j in range(sc.nv):
        mo.scratch[j] = sc.qvel[j]
        sc.qvel[j] = mo.velocity[j] + step * mo.torque[j]
    kind = p["coupling"][0]
    if kind in (DIRECT, UNILATERAL):
        read_encoders(de, p["device_resolution"][0])
        follow_device(sc, mo, de, step)
    if kind == UNILATERAL:
        hold_back(s)
    for j in range(sc.nv):  # as under a force that is held for the step
        mo.scratch[j] = 0.5 * (mo.scratch[j] + sc.qvel[j]) if held else sc.qvel[j]
    mj_integratePos(sc.model, sc.qpos.ctypes.data, mo.scratch.ctypes.data, step)


@kernel
def hold_back(s: Servo) -> None:
    """A god object follows the device as far as rigid contacts allow (M14, M16)."""
    copy_vector(s.scene.qvel, s.motion.after)
    call_stage(s.stages[STAGE_PROJECT], s)
    copy_vector(s.motion.after, s.scene.qvel)
    s.rows.constrained[0] = 0
    for r in range(s.rows.tally[0]):
        tool = s.scene.tool_tree
        held = s.rows.tree[r, 0] == tool or s.rows.tree[r, 1] == tool
        if held and s.rows.hit_impulse[r] > 0.0:
            s.rows.constrained[0] = 1


@kernel
def tool_energy(sc: Scene, mo: Motion) -> float:
    """Kinetic energy of the tool's tree [J]."""
    only = mo.scratch
    for j in range(sc.nv):
        only[j] = sc.qvel[j] if sc.dof_tree[j] == sc.tool_tree else 0.0
    return kinetic_energy(sc.M, sc.M_rownnz, sc.M_rowadr, sc.M_colind, sc.nv, only)


@kernel
def device_energy(de: Device) -> float:
    """Kinetic energy of the simulated device [J]."""
    total = 0.0
    for i in range(6):
        for k in range(6):
            total += 0.5 * de.twist[i] * de.mass[i, k] * de.twist[k]
    return total


@kernel
def record_state(
    sc: Scene, mo: Motion, de: Device, ck: Clock, p: np.ndarray, row: np.ndarray
) -> None:
    """The part of the row that belongs to the start of the tick."""
    row["time"][0] = ck.counts[TICKS] * p["step"][0]
    for i in range(3):
        row["device_position"][0, i] = de.position[i]
        row["tool_position"][0, i] = mo.point[i]
    for i in range(4):
        row["device_quaternion"][0, i] = de.quaternion[i]
        row["tool_quaternion"][0, i] = sc.xquat[sc.held_body, i]
    for i in range(6):
        row["device_twist"][0, i] = de.twist[i]
        row["tool_twist"][0, i] = mo.twist[i]
    row["tool_energy"][0] = tool_energy(sc, mo)
    row["device_energy"][0] = device_energy(de)


@kernel
def record_forces(de: Device, rows: Rows, tool_tree: int, touch: float, row: np.ndarray) -> None:
    """The part of the row that this tick computed."""
    for i in range(6):
        row["hand_wrench"][0, i] = de.hand[i]
        row["environment_wrench"][0, i] = de.environment[i]
        row["raw_wrench"][0, i] = de.raw[i]
        row["device_wrench"][0, i] = de.wrench[i]
    root = group_root(rows.parent, tool_tree)
    touching = 0
    depth = 0.0
    for r in range(rows.tally[0]):
        if rows.separation[r] <= touch and row_group(rows, r) == root:
            touching += 1
            depth = max(depth, -rows.separation[r])
    row["state"][0] = rows.group_state[root]
    row["contacts"][0] = touching
    row["collisions"][0] = rows.tally[3]
    row["dropped"][0] = rows.tally[1]
    row["bounded"][0] = rows.tally[2]
    row["depth"][0] = depth
    row["impact_energy"][0] = rows.impact[0]


@kernel
def check_world(mo: Motion, ck: Clock) -> None:
    """A world that has blown up stops the servo before its next wrench."""
    if ck.counts[FAULT] == NO_FAULT and not (all_finite(mo.torque) and all_finite(mo.velocity)):
        ck.counts[FAULT] = WORLD_NOT_FINITE


@kernel
def approach(s: Servo) -> None:
    """The tick before contact: hand, position channels, smooth torques."""
    sc, mo, de, p = s.scene, s.motion, s.device, s.parameters
    read_encoders(de, p["device_resolution"][0])
    update_hand_point(sc, mo)
    hand_wrench(de, s.target, p, s.clock.counts[TICKS] * p["step"][0], de.hand)
    copy_vector(sc.qvel, mo.velocity)
    coordinate(sc, mo, de, p)
    kind = p["coupling"][0]
    for i in range(6):
        if kind in (DIRECT, UNILATERAL):  # moved by the device, not pulled
            mo.hand6[0, i] *= 1.0 - de.mask[i]
        elif kind == FOUR_CHANNEL:
            mo.hand6[0, i] += de.hand[i]
    smooth_torques(sc, mo)


@kernel
def couple(s: Servo) -> None:
    """Stage: map to the hand, guard, record and integrate."""
    sc, mo, de, ck, p = s.scene, s.motion, s.device, s.clock, s.parameters
    index = s.written[0] % s.ring.shape[0]
    row = s.ring[index : index + 1]
    record_state(sc, mo, de, ck, p, row)
    external_torques(sc, mo)
    map_to_hand(sc, mo, mo.external, de.environment)
    if p["strategy"][0] >= SCALE:
        call_stage(s.stages[STAGE_LIMIT], s)
    device_command(mo, de, s.rows.constrained[0] != 0, p)
    check_world(mo, ck)
    row["altered"][0] = int(force_path(de, ck, p))
    touch = TOUCH if p["contact_mode"][0] == RIGID else 0.0
    record_forces(de, s.rows, sc.tool_tree, touch, row)
    integrate_device(de, ck, p)
    if ck.counts[FAULT] == NO_FAULT:
        integrate_world(s)
    ck.counts[TICKS] += 1


@kernel
def tick(s: Servo) -> None:
    """Stage: take what is new, sense, react, couple."""
    latest(s.commands, s.parameter_bytes)
    latest(s.targets, s.target_bytes)
    call_stage(s.stages[STAGE_SENSE], s)
    call_stage(s.stages[STAGE_APPROACH], s)
    call_stage(s.stages[STAGE_REACT], s)
    call_stage(s.stages[STAGE_COUPLE], s)


@kernel
def idle(s: Servo) -> None:
    """Stage: nothing. It stands in for stages that the configuration does not call."""


def compile_stages(servo: Servo) -> None:
    """Compile, or load from the cache, everything that ticks of this configuration call."""
    p = servo.parameters[0]
    rigid = p["contact_mode"] == RIGID or p["coupling"] == UNILATERAL
    sliding = p["friction_impacts"] != 0
    wanted = {
        STAGE_SENSE: sense,
        STAGE_APPROACH: approach,
        STAGE_COLLIDE: resolve_sliding_hits if sliding else resolve_hits,
        STAGE_PROJECT: project_rigid if rigid else idle,
        STAGE_LIMIT: limit_response if p["strategy"] >= SCALE else idle,
        STAGE_RUB: rub if p["friction"] != 0 else idle,
        STAGE_REACT: react,
        STAGE_COUPLE: couple,
        STAGE_TICK: tick,
    }
    for place, function in wanted.items():
        servo.stages[place] = stage_address(function, servo)
