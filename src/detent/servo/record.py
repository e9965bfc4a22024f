"""One row of the trace, written once in a tick."""

from __future__ import annotations

from typing import Any

import numpy as np

from detent.kernels.constrained import find_multipliers
from detent.kernels.contact import group_root
from detent.kernels.inertia import kinetic_energy
from detent.kernels.jit import kernel
from detent.kernels.mechanics import Mechanics
from detent.kernels.vectors import dot, largest
from detent.local.constants import OBJECTS
from detent.local.records import (
    ACTIVE,
    AGE,
    FIRST_OBJECT,
    HEALED,
    LOADED,
    LOST,
    OBJECT,
    RESETS,
    SEQUENCE,
    TRUST,
    Local,
)
from detent.servo.constants import TOUCH
from detent.servo.contact.columns import columns
from detent.servo.contact.groups import row_group
from detent.servo.mechanism import constraint_wrench
from detent.servo.mechanism_structs import MechanismServo
from detent.servo.observed import ENGINE, PORT, Observed
from detent.servo.parameters import RIGID
from detent.servo.passivity import energy_left
from detent.servo.structs import FREE, RESTING, TICKS, Closures, Lead, Motion, Rows, Scene, Servo


@kernel
def tool_energy(sc: Scene, mo: Motion) -> float:
    """Kinetic energy of the tool's tree [J]."""
    only = mo.scratch
    for j in range(sc.nv):
        only[j] = sc.qvel[j] if sc.in_tool[sc.dof_tree[j]] != 0 else 0.0
    return kinetic_energy(sc.M, mo.inertia, only)


@kernel
def device_energy(mass: np.ndarray, twist: np.ndarray) -> float:
    """Kinetic energy of the device [J]."""
    total = 0.0
    for i in range(6):
        for k in range(6):
            total += 0.5 * twist[i] * mass[i, k] * twist[k]
    return total


@kernel
def record_energy(ob: Observed, row: np.ndarray) -> None:
    """The ledger of passivity; all zero where nobody watches."""
    row["port_energy"][0] = ob.energy[PORT]
    row["passive_energy"][0] = energy_left(ob)
    row["engine_energy"][0] = ob.energy[ENGINE]
    row["passive"][0] = ob.acts[0]
    for i in range(6):
        row["passivity_wrench"][0, i] = ob.wrench[i]


@kernel
def record_device(s: Any, row: np.ndarray) -> None:
    """Time, the device, and the wrenches on their way to it: the same for every servo."""
    st, de = s.port.state, s.device
    row["time"][0] = s.clock.counts[TICKS] * s.parameters["step"][0]
    for i in range(3):
        row["device_position"][0, i] = st.true_pose[i]
    for i in range(4):
        row["device_quaternion"][0, i] = st.true_pose[3 + i]
    for i in range(6):
        row["device_twist"][0, i] = st.true_twist[i]
        row["hand_wrench"][0, i] = s.port.hand[i]
        row["environment_wrench"][0, i] = de.environment[i]
        row["raw_wrench"][0, i] = de.raw[i]
        row["device_wrench"][0, i] = s.port.command.wrench[i]
    row["device_energy"][0] = device_energy(de.mass, st.true_twist)
    row["altered"][0] = de.altered[0]
    record_energy(de.observed, row)


@kernel
def record_tool(
    row: np.ndarray, position: np.ndarray, quaternion: np.ndarray, twist: np.ndarray
) -> None:
    """Where the hand point of the tool, or the reference of a mechanism, is."""
    for i in range(3):
        row["tool_position"][0, i] = position[i]
    for i in range(4):
        row["tool_quaternion"][0, i] = quaternion[i]
    for i in range(6):
        row["tool_twist"][0, i] = twist[i]


@kernel
def moves_something(rows: Rows, r: int) -> bool:
    """Whether any motion opens row r: none does where a joint holds two links in each other."""
    for c in range(columns(rows, r)):
        if rows.jac[r, c] != 0.0:
            return True
    return False


@kernel
def record_contacts(rows: Rows, tool_tree: int, touch: float, row: np.ndarray) -> None:
    """What the tool's contact group is doing."""
    root = group_root(rows.parent, tool_tree)
    touching = 0
    depth = 0.0
    for r in range(rows.count[0]):
        if rows.separation[r] <= touch and row_group(rows, r) == root:
            touching += 1
            deeper = rows.geom[r, 0] >= 0 and -rows.separation[r] > depth  # no angle of a limit
            if deeper and moves_something(rows, r):
                depth = -rows.separation[r]
    row["state"][0] = rows.group_state[root]
    row["contacts"][0] = touching
    row["collisions"][0] = rows.struck[0]
    row["dropped"][0] = rows.dropped[0]
    row["bounded"][0] = rows.bounded[0]
    row["depth"][0] = depth
    row["impact_energy"][0] = rows.impact[0]
    row["yielded"][0], row["taken_energy"][0] = rows.yielded[0], rows.yielded[1]


@kernel
def record_closures(cl: Closures, row: np.ndarray) -> None:
    """How far loops are open: lengths and angles apart."""
    row["closure"][0], row["closure_angle"][0] = 0.0, 0.0
    for r in range(cl.h.shape[0]):
        if cl.angular[r] != 0:
            row["closure_angle"][0] = max(row["closure_angle"][0], abs(cl.h[r]))
        else:
            row["closure"][0] = max(row["closure"][0], abs(cl.h[r]))


@kernel
def record_local(lo: Local, row: np.ndarray) -> None:
    """How the local model does."""
    row["update"][0] = int(lo.head[SEQUENCE])
    row["local"][0] = lo.number[0]
    row["dropped"][0] += lo.counts[LOST]
    row["age"][0], row["trust"][0] = lo.times[AGE], lo.times[TRUST]
    row["update_energy"][0], row["healed"][0] = lo.times[LOADED], lo.times[HEALED]
    row["resets"][0] = lo.counts[RESETS]
    row["update_step"][0, 0], row["update_step"][0, 1] = lo.step[0], lo.step[1]
    for k in range(OBJECTS):
        first = FIRST_OBJECT + k * OBJECT
        row["near_body"][0, k] = int(lo.head[first])
        for j in range(7):
            row["near_pose"][0, 7 * k + j] = lo.head[first + 1 + j]
    row["deformation"][0] = 0.0
    for i in range(lo.number[0]):
        row["deformation"][0] = max(row["deformation"][0], lo.held["offset"][i])


@kernel
def record(s: Servo) -> None:
    """Stage: the row of a world's tick."""
    sc, mo, p = s.scene, s.motion, s.parameters
    index = s.written[0] % s.ring.shape[0]
    row = s.ring[index : index + 1]
    record_device(s, row)
    record_tool(row, mo.point, sc.xquat[sc.held_body], mo.twist)
    for i in range(6):
        row["topology_wrench"][0, i] = s.device.topology[i]
    touch = TOUCH if p["contact_mode"][0] == RIGID else 0.0
    record_contacts(s.rows, sc.tool_tree, touch, row)
    row["constraints"][0] = mo.rank[1]
    record_closures(s.closures, row)
    row["tool_energy"][0] = tool_energy(sc, mo)
    row["trust"][0] = 1.0
    if s.local.counts[ACTIVE] != 0:
        record_local(s.local, row)


@kernel
def record_lead(le: Lead, row: np.ndarray, position: np.ndarray, quaternion: np.ndarray) -> None:
    """What an admittance knows, and where the display is as its encoders see it."""
    for i in range(3):
        row["seen_position"][0, i] = position[i]
    for i in range(4):
        row["seen_quaternion"][0, i] = quaternion[i]
    for i in range(6):
        row["sensed_wrench"][0, i] = le.sensed[i]
        row["tracking_error"][0, i] = le.error[0, i]


@kernel
def record_mechanics(me: Mechanics, row: np.ndarray) -> None:
    """Coordinates, constraints, stops and energies of a mechanism."""
    nv, held, worst = me.u.shape[0], 0, 0.0
    for i in range(me.q.shape[0]):
        row["coordinates"][0, i] = me.q[i]
    for i in range(nv):
        row["velocities"][0, i] = me.u[i]
    for i in range(me.A.shape[0]):
        worst = max(worst, abs(dot(me.A[i], me.u, nv)))
    for i in range(me.multipliers.shape[0]):
        row["multipliers"][0, i] = me.multipliers[i]
    for i in range(me.energies.shape[0]):
        row["part_energies"][0, i] = me.energies[i]
    for i in range(me.active.shape[0]):
        held += me.active[i]
    for i in range(3):
        row["track"][0, i] = me.track[i]
    for i in range(6):
        row["reference_acceleration"][0, i] = me.acceleration[i]
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


@kernel
def record_mechanism(s: MechanismServo) -> None:
    """Stage: the row of a mechanism's tick: the tool is the reference, the device the display."""
    me, st = s.mechanics, s.port.state
    index = s.written[0] % s.ring.shape[0]
    row = s.ring[index : index + 1]
    find_multipliers(me)
    constraint_wrench(s)
    record_device(s, row)
    record_tool(row, me.position, me.quaternion, me.twist)
    record_lead(s.lead, row, st.position, st.quaternion)
    record_mechanics(me, row)
