"""One tick of the servo, the same for lockstep and live (design: "The tick")."""

from __future__ import annotations

import numpy as np

from detent.kernels.contact import group_root
from detent.kernels.inertia import kinetic_energy
from detent.kernels.jit import kernel
from detent.kernels.limits import all_finite
from detent.kernels.stages import call_stage
from detent.kernels.vectors import copy_vector, largest
from detent.local.records import ACTIVE, AGE, LOADED, LOST, SEQUENCE, TRUST, Local
from detent.servo.couple import (
    add_hand_torque,
    coordinate,
    device_command,
    force_path,
    hand_wrench,
    integrate_device,
    map_to_hand,
    read_encoders,
    update_hand_point,
)
from detent.servo.exchange import latest
from detent.servo.records import (
    ADMITTANCE,
    DIRECT,
    FAULT,
    FOUR_CHANNEL,
    GRAVITY,
    NO_FAULT,
    RIGID,
    SCALE,
    STAGE_ADMIT,
    STAGE_APPROACH,
    STAGE_COUPLE,
    STAGE_LIMIT,
    STAGE_MOVE,
    STAGE_REACT,
    STAGE_REPORT,
    STAGE_RESONATE,
    STAGE_SENSE,
    STAGE_SHAPE,
    STAGE_SMOOTH,
    STAGE_TRAVEL,
    STAGE_WEIGH,
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
from detent.servo.sense import TOUCH, row_group
from detent.servo.weight import weight_torque


@kernel
def smooth_torques(sc: Scene, mo: Motion) -> None:
    """All torques but contacts: passive, actuators, bias, and the coupling's wrench."""
    for j in range(sc.nv):
        mo.torque[j] = sc.passive[j] + sc.actuator[j] - sc.bias[j] + mo.reaction[j]
    add_hand_torque(mo, mo.hand6[0], sc.nv, mo.torque)


@kernel
def external_torques(sc: Scene, mo: Motion) -> None:
    """T_ext on the tool: contacts, limits, passive, actuators and weight, not the hand."""
    for j in range(sc.nv):
        mo.external[j] = 0.0
        if sc.in_tool[sc.dof_tree[j]] != 0:
            mo.external[j] = mo.penalty[j] + mo.impulsive[j] + sc.passive[j] + sc.actuator[j]
            if sc.features[GRAVITY] != 0:
                mo.external[j] += weight_torque(sc, j)


@kernel
def tool_energy(sc: Scene, mo: Motion) -> float:
    """Kinetic energy of the tool's tree [J]."""
    only = mo.scratch
    for j in range(sc.nv):
        only[j] = sc.qvel[j] if sc.in_tool[sc.dof_tree[j]] != 0 else 0.0
    return kinetic_energy(sc.M, mo.inertia, only)


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
    row["dropped"][0] = 0
    row["trust"][0] = 1.0
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
        row["topology_wrench"][0, i] = de.topology[i]
    root = group_root(rows.parent, tool_tree)
    touching = 0
    depth = 0.0
    for r in range(rows.tally[0]):
        if rows.separation[r] <= touch and row_group(rows, r) == root:
            touching += 1
            if rows.geom[r, 0] >= 0:  # that of a joint limit may be an angle
                depth = max(depth, -rows.separation[r])
    row["state"][0] = rows.group_state[root]
    row["contacts"][0] = touching
    row["collisions"][0] = rows.tally[3]
    row["dropped"][0] += rows.tally[1]
    row["bounded"][0] = rows.tally[2]
    row["depth"][0] = depth
    row["impact_energy"][0] = rows.impact[0]


@kernel
def record_local(lo: Local, row: np.ndarray) -> None:
    """How the local model does."""
    row["update"][0] = int(lo.head[SEQUENCE])
    row["local"][0] = lo.number[0]
    row["dropped"][0] = lo.counts[LOST]
    row["age"][0], row["trust"][0] = lo.times[AGE], lo.times[TRUST]
    row["update_energy"][0] = lo.times[LOADED]
    row["update_step"][0, 0], row["update_step"][0, 1] = lo.step[0], lo.step[1]
    row["deformation"][0] = 0.0
    for i in range(lo.number[0]):
        row["deformation"][0] = max(row["deformation"][0], lo.held["offset"][i])


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
    hand_wrench(de, s.target, s.script, p, s.clock.counts[TICKS], de.hand)
    if p["coupling"][0] == ADMITTANCE:
        call_stage(s.stages[STAGE_ADMIT], s)
    copy_vector(sc.qvel, mo.velocity)
    coordinate(sc, mo, de, p)
    kind = p["coupling"][0]
    for i in range(6):
        if kind in (DIRECT, UNILATERAL):  # moved by the device, not pulled
            mo.hand6[0, i] *= 1.0 - de.mask[i]
        elif kind == FOUR_CHANNEL:
            mo.hand6[0, i] += de.hand[i]
        elif kind == ADMITTANCE:
            mo.hand6[0, i] += s.display.sensed[i]
    call_stage(s.stages[STAGE_WEIGH], s)
    smooth_torques(sc, mo)


@kernel
def couple(s: Servo) -> None:
    """Stage: map to the hand, guard, record and integrate."""
    sc, mo, de, ck, p = s.scene, s.motion, s.device, s.clock, s.parameters
    index = s.written[0] % s.ring.shape[0]
    row = s.ring[index : index + 1]
    record_state(sc, mo, de, ck, p, row)
    if s.local.counts[ACTIVE] != 0:
        call_stage(s.stages[STAGE_SMOOTH], s)
        record_local(s.local, row)
    external_torques(sc, mo)
    map_to_hand(mo, de, mo.external, de.environment)
    if p["strategy"][0] >= SCALE:
        call_stage(s.stages[STAGE_LIMIT], s)
    copy_vector(de.environment, de.felt)
    if de.resonating[0] != 0 or (p["material"][0] != 0 and s.rows.tally[3] > 0):
        call_stage(s.stages[STAGE_RESONATE], s)
    if p["shaping"][0] != 0:
        call_stage(s.stages[STAGE_SHAPE], s)
    elif p["coupling"][0] != ADMITTANCE:  # else a stage of its own has done so
        device_command(mo, de, s.rows.constrained[0] != 0, p)
    check_world(mo, ck)
    row["altered"][0] = int(force_path(de, ck, p))
    touch = TOUCH if p["contact_mode"][0] == RIGID else 0.0
    record_forces(de, s.rows, sc.tool_tree, touch, row)
    row["constraints"][0] = mo.rank[1]
    row["closure"][0] = largest(s.closures.h)
    if p["coupling"][0] == ADMITTANCE:
        call_stage(s.stages[STAGE_TRAVEL], s)
    else:
        integrate_device(de, ck, p)
    if ck.counts[FAULT] == NO_FAULT:
        call_stage(s.stages[STAGE_MOVE], s)
    ck.counts[TICKS] += 1
    if s.local.counts[ACTIVE] != 0:
        call_stage(s.stages[STAGE_REPORT], s)


@kernel
def tick(s: Servo) -> None:
    """Stage: take what is new, sense, react, couple."""
    latest(s.commands, s.parameter_bytes)
    latest(s.targets, s.target_bytes)
    call_stage(s.stages[STAGE_SENSE], s)
    call_stage(s.stages[STAGE_APPROACH], s)
    call_stage(s.stages[STAGE_REACT], s)
    call_stage(s.stages[STAGE_COUPLE], s)
