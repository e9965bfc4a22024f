"""Friction at resting contacts: from normal forces to torques (TH 4.4, 4.6)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import MEMORY_FRICTION, MEMORY_WALL
from detent.kernels.friction import (
    BRAKE,
    CLASSICAL,
    RESET_INTEGRATOR,
    SYMMETRIC,
    Vector,
    bond_travel,
    carry_bond,
    most_friction,
    other_bond,
    reset_integrator,
    stick_damping,
)
from detent.kernels.jit import kernel
from detent.kernels.spans import project_spans, whiten_open_spans
from detent.kernels.vectors import clear_vector, dot
from detent.local.records import ACTIVE
from detent.servo.constants import FALLING
from detent.servo.contact.brake import brake
from detent.servo.contact.columns import clear_row, columns, same_columns
from detent.servo.contact.groups import row_group
from detent.servo.contact.rows import add_relative_row
from detent.servo.contact.torques import add_forces
from detent.servo.parameters import PULLED
from detent.servo.structs import Motion, Rows, Scene, Servo


@kernel
def sliding_velocity(sc: Scene, rows: Rows, r: int, carried: bool) -> Vector:
    r"""The relative velocity at the contact of row r, without its normal part.

    .. math:: v = \Delta (v_c + \omega \times r), \qquad v_t = v - (n^T v) n

    From MuJoCo's spatial velocities of the bodies, about the centres c of their trees, and that
    of the plane of a local constraint.
    """
    point, normal, centre, twist = rows.point, rows.normal, sc.subtree_com, sc.cvel
    x, y, z = 0.0, 0.0, 0.0
    if carried:
        x, y, z = -rows.carry[r, 0], -rows.carry[r, 1], -rows.carry[r, 2]
    for side in range(2):
        body = rows.body[r, side]
        if body < 0:
            continue
        root, sign = sc.body_root[body], 1.0 if side == 1 else -1.0
        rx, ry = point[r, 0] - centre[root, 0], point[r, 1] - centre[root, 1]
        rz = point[r, 2] - centre[root, 2]
        x += sign * (twist[body, 3] + twist[body, 1] * rz - twist[body, 2] * ry)
        y += sign * (twist[body, 4] + twist[body, 2] * rx - twist[body, 0] * rz)
        z += sign * (twist[body, 5] + twist[body, 0] * ry - twist[body, 1] * rx)
    nx, ny, nz = normal[r, 0], normal[r, 1], normal[r, 2]
    along = nx * x + ny * y + nz * z
    return x - along * nx, y - along * ny, z - along * nz


@kernel
def sliding_direction(rows: Rows, r: int, velocity: Vector) -> tuple[Vector, float]:
    """A tangent and its square: along the sliding, else along the bond, else any."""
    memory = rows.memory
    x, y, z = velocity
    size = x * x + y * y + z * z
    if size < 1e-16:
        x, y = memory[r, MEMORY_FRICTION], memory[r, MEMORY_FRICTION + 1]
        z = memory[r, MEMORY_FRICTION + 2]
        size = x * x + y * y + z * z
    if size < 1e-24:
        n = rows.normal
        return any_tangent(n[r, 0], n[r, 1], n[r, 2]), 1.0
    return (x, y, z), size


@kernel
def any_tangent(x: float, y: float, z: float) -> Vector:
    """The unit tangent of a normal along the axis that is least along the normal."""
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        scale = 1.0 / math.sqrt(y * y + z * z)
        return scale * (1.0 - x * x), -scale * x * y, -scale * x * z
    if abs(y) <= abs(z):
        scale = 1.0 / math.sqrt(x * x + z * z)
        return -scale * y * x, scale * (1.0 - y * y), -scale * y * z
    scale = 1.0 / math.sqrt(x * x + y * y)
    return -scale * z * x, -scale * z * y, scale * (1.0 - z * z)


@kernel
def let_go(rows: Rows, r: int) -> None:
    """Row r does not rub: no force, and no bond."""
    rub, memory = rows.rub, rows.memory
    for k in range(3):
        rub[r, k] = 0.0
    for k in range(MEMORY_FRICTION, MEMORY_WALL):
        memory[r, k] = 0.0


@kernel
def find_rubbing(sc: Scene, rows: Rows, carried: bool) -> int:
    """Contacts that are pressed, with their sliding velocities; how many there are."""
    count, force, friction, rubbing, slide = 0, rows.force, rows.friction, rows.rubbing, rows.slide
    for r in range(rows.count[0]):
        if force[r] <= 0.0 or friction[r] <= 0.0:
            let_go(rows, r)
            continue
        slide[r, 0], slide[r, 1], slide[r, 2] = sliding_velocity(sc, rows, r, carried)
        rubbing[count] = r
        count += 1
    return count


@kernel
def held_mobility(mo: Motion, point: np.ndarray, r: int, t: Vector) -> float:
    r"""Acceleration of the held body's point along t, per force along it.

    .. math:: w^T \Lambda_h^{-1} w, \qquad w = (t, (p - h) \times t)
    """
    A, (x, y, z) = mo.mobility, t
    rx, ry = point[r, 0] - mo.point[0], point[r, 1] - mo.point[1]
    rz = point[r, 2] - mo.point[2]
    mx, my, mz = 2.0 * (ry * z - rz * y), 2.0 * (rz * x - rx * z), 2.0 * (rx * y - ry * x)
    fx = A[0, 0] * x + A[0, 1] * y + A[0, 2] * z + A[0, 3] * mx + A[0, 4] * my + A[0, 5] * mz
    fy = A[1, 0] * x + A[1, 1] * y + A[1, 2] * z + A[1, 3] * mx + A[1, 4] * my + A[1, 5] * mz
    fz = A[2, 0] * x + A[2, 1] * y + A[2, 2] * z + A[2, 3] * mx + A[2, 4] * my + A[2, 5] * mz
    turned = mx * (A[3, 3] * mx + A[3, 4] * my + A[3, 5] * mz)
    turned += my * (A[4, 3] * mx + A[4, 4] * my + A[4, 5] * mz)
    turned += mz * (A[5, 3] * mx + A[5, 4] * my + A[5, 5] * mz)
    return x * fx + y * fy + z * fz + 0.25 * turned


@kernel
def find_load(sc: Scene, mo: Motion, rows: Rows, count: int) -> None:
    """Σ f_n G_tt along the sliding: what bonds put on a group's bodies, per stiffness over f_n.

    Most contacts are those of the held body, whose mobility is known.
    """
    load, others, body = rows.group_load, 0, rows.body
    clear_vector(load)
    tangent, pressing, slide, held = rows.tangent, rows.pressing, rows.slide, sc.held_body
    for i in range(count):
        r = rows.rubbing[i]
        v = (slide[r, 0], slide[r, 1], slide[r, 2])
        direction, size = sliding_direction(rows, r, v)
        pressed = rows.force[r] / size
        if min(body[r, 0], body[r, 1]) < 0 and max(body[r, 0], body[r, 1]) == held:
            load[row_group(rows, r)] += pressed * held_mobility(mo, rows.point, r, direction)
            continue
        clear_row(tangent, others, columns(rows, r))
        add_relative_row(sc, rows, r, direction, tangent[others])
        pressing[others], rows.tangent_row[others] = pressed, r
        others += 1
    whiten_tangents(mo, rows, others)
    for i in range(others):
        r = rows.tangent_row[i]
        load[row_group(rows, r)] += pressing[i] * dot(tangent[i], tangent[i], columns(rows, r))


@kernel
def whiten_tangents(mo: Motion, rows: Rows, count: int) -> None:
    """Whiten those that follow each other and have the same columns together."""
    first, row = 0, rows.tangent_row
    for i in range(1, count + 1):
        if i < count and same_columns(rows, row[first], row[i]):
            continue
        span = rows.span[row[first]]
        whiten_open_spans(mo.inertia, span, 2, first, i, rows.tangent)
        if mo.inertia.closed[0] > 0:
            for k in range(first, i):
                project_spans(mo.inertia, span, 2, rows.tangent[k])
        first = i


@kernel
def has_brake(p: np.ndarray) -> bool:
    """Whether what sticks is braked: no damping was asked for, and forces move the tool."""
    return p["friction_damping"][0] <= -BRAKE and p["tool"][0] == PULLED and is_default(p)


@kernel
def is_default(p: np.ndarray) -> bool:
    """Whether the law is the default one."""
    return p["friction"][0] == RESET_INTEGRATOR and p["friction_literal"][0] == SYMMETRIC


@kernel
def stops_within(v: Vector, rush: float, step: float) -> bool:
    """Whether friction changes a sliding velocity by *rush* [m/s] in a tick, and so ends it.

    A force against the sliding would turn it round: 1 kN on ten grams by 90 m/s. So the contact is
    held as one that sticks (`servo.contact.brake`), whose law is that of the step's end.
    """
    x, y, z = v
    return rush > FALLING * step and x * x + y * y + z * z < rush * rush


@kernel
def rub_contacts(rows: Rows, count: int, p: np.ndarray) -> None:
    """rows.rub = the friction forces of the contacts on their second bodies."""
    law, step = p["friction"][0], p["step"][0]
    static, breakaway = p["friction_static"][0], p["friction_breakaway"][0]
    damping, slow = p["friction_damping"][0], p["friction_dead_band"][0]
    damping = -1.0 if damping <= -BRAKE else damping
    ratio = p["friction_kinetic"][0] / static if static > 0.0 else 1.0
    friction, slide, force, normal = rows.friction, rows.slide, rows.force, rows.normal
    rubbing, memory, out = rows.rubbing, rows.memory, rows.rub
    default, most = is_default(p), most_friction(law, 1.0, ratio)
    travel, share, last, m = 0.0, 0.0, -1.0, MEMORY_FRICTION
    load, group, holds = 0.0, -1, has_brake(p)
    for i in range(count):
        r = rubbing[i]
        mu, f = friction[r], force[r]
        if row_group(rows, r) != group:
            group, last = row_group(rows, r), -1.0
            load = rows.group_load[group]
        if load <= 0.0:  # loops hold all
            let_go(rows, r)
            continue
        if mu != last:  # mostly all contacts have one
            last, (travel, free) = mu, bond_travel(law, load, step, mu, ratio * mu, breakaway)
            if holds:
                travel, free = step / breakaway, True
            if not free and law != CLASSICAL:  # which has no bond
                note_loosened(rows, step / (travel * breakaway))
            share = stick_damping(damping, ratio * mu * travel / step, load, 1.0, step)
        beta = share * f if damping < 0.0 else stick_damping(damping, 0.0, load, f, step)
        beta = 0.0 if holds else beta
        limit, slips, before = most * mu * f, memory[r, m + 3], memory[r, m + 4]
        v, n = (slide[r, 0], slide[r, 1], slide[r, 2]), (normal[r, 0], normal[r, 1], normal[r, 2])
        u = (memory[r, m], memory[r, m + 1], memory[r, m + 2])
        u = carry_bond(law, n, limit, u, slips, before)
        if default:
            u, slips, drag = reset_integrator(
                v, ratio * mu * f, limit, beta, slow, slow if holds else 0.0, travel, u, slips
            )
        else:
            u, slips, drag = other_bond(
                law, v, ratio * mu * f, limit, beta, slow, travel, load * step / f, u, slips, before
            )
        if holds and stops_within(v, ratio * mu * load * step, step):
            slips = 0.0
        memory[r, m], memory[r, m + 1], memory[r, m + 2] = u
        memory[r, m + 3], memory[r, m + 4] = slips, limit
        out[r, 0], out[r, 1], out[r, 2] = drag


@kernel
def note_loosened(rows: Rows, times: float) -> None:
    """A bond was made longer than asked for, because the step cannot hold a stiffer one."""
    rows.loosened[0] = max(rows.loosened[0], times)
    rows.loosened[1] += 1.0


@kernel
def rub(s: Servo) -> None:
    """Stage: friction forces of all resting contacts into mo.penalty.

    The gains of the bond are bounded by what the step can hold, with the load of all contacts
    of a group: each is as stiff as its normal force says.
    """
    sc, mo, rows = s.scene, s.motion, s.rows
    count = find_rubbing(sc, rows, s.local.counts[ACTIVE] != 0)
    if s.parameters["friction_kinetic"][0] <= 0.0:  # it is ice
        for i in range(count):
            let_go(rows, rows.rubbing[i])
        return
    find_load(sc, mo, rows, count)
    rub_contacts(rows, count, s.parameters)
    if has_brake(s.parameters):
        brake(s, count)
    for side in range(2):
        add_forces(sc, rows, count, side, rows.rub, mo.penalty)
