"""Friction at resting contacts: from normal forces to torques (TH 4.4, 4.6)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.friction import (
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
from detent.kernels.inertia import whiten_rows
from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector, dot
from detent.local.records import ACTIVE
from detent.servo.records import MEMORY_FRICTION, MEMORY_WALL, Rows, Scene, Servo
from detent.servo.sense import add_relative_row, add_wrench


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
def sliding_direction(rows: Rows, r: int, velocity: Vector) -> Vector:
    """A unit tangent: along the sliding, else along the bond, else any."""
    normal, memory = rows.normal, rows.memory
    x, y, z = velocity
    size = x * x + y * y + z * z
    if size < 1e-16:
        x, y = memory[r, MEMORY_FRICTION], memory[r, MEMORY_FRICTION + 1]
        z = memory[r, MEMORY_FRICTION + 2]
        size = x * x + y * y + z * z
    if size < 1e-24:
        return any_tangent(normal[r, 0], normal[r, 1], normal[r, 2])
    scale = 1.0 / math.sqrt(size)
    return scale * x, scale * y, scale * z


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
    """Contacts that are pressed, with their rows along the sliding; how many there are."""
    count, force, friction = 0, rows.force, rows.friction
    rubbing, tangent, slide = rows.rubbing, rows.tangent, rows.slide
    for r in range(rows.tally[0]):
        if force[r] <= 0.0 or friction[r] <= 0.0:
            let_go(rows, r)
            continue
        v = sliding_velocity(sc, rows, r, carried)
        slide[r, 0], slide[r, 1], slide[r, 2] = v
        clear_vector(tangent[count])
        add_relative_row(sc, rows, r, sliding_direction(rows, r, v), tangent[count])
        rubbing[count] = r
        count += 1
    return count


@kernel
def rub_contacts(rows: Rows, count: int, load: float, p: np.ndarray) -> None:
    """rows.rub = the friction forces of the contacts on their second bodies."""
    law, literal, step = p["friction"][0], p["friction_literal"][0], p["step"][0]
    static, breakaway = p["friction_static"][0], p["friction_breakaway"][0]
    damping, slow = p["friction_damping"][0], p["friction_dead_band"][0]
    ratio = p["friction_kinetic"][0] / static if static > 0.0 else 1.0
    friction, slide, force, normal = rows.friction, rows.slide, rows.force, rows.normal
    rubbing, memory, out = rows.rubbing, rows.memory, rows.rub
    default, most = law == RESET_INTEGRATOR and literal == SYMMETRIC, most_friction(law, 1.0, ratio)
    travel, share, last, m = 0.0, 0.0, -1.0, MEMORY_FRICTION
    for i in range(count):
        r = rubbing[i]
        mu, f = friction[r], force[r]
        if mu != last:  # mostly all contacts have one
            last, (travel, _) = mu, bond_travel(law, load, step, mu, ratio * mu, breakaway)
            share = stick_damping(damping, ratio * mu * travel / step, load, 1.0, step)
        beta = share * f if damping < 0.0 else stick_damping(damping, 0.0, load, f, step)
        limit, slips, before = most * mu * f, memory[r, m + 3], memory[r, m + 4]
        v, n = (slide[r, 0], slide[r, 1], slide[r, 2]), (normal[r, 0], normal[r, 1], normal[r, 2])
        u = (memory[r, m], memory[r, m + 1], memory[r, m + 2])
        u = carry_bond(law, n, limit, u, slips, before)
        if default:
            u, slips, drag = reset_integrator(
                v, ratio * mu * f, limit, beta, slow, travel, u, slips
            )
        else:
            u, slips, drag = other_bond(
                law, v, ratio * mu * f, limit, beta, slow, travel, load * step / f, u, slips, before
            )
        memory[r, m], memory[r, m + 1], memory[r, m + 2] = u
        memory[r, m + 3], memory[r, m + 4] = slips, limit
        out[r, 0], out[r, 1], out[r, 2] = drag


@kernel
def add_rubbing(sc: Scene, rows: Rows, count: int, side: int, out: np.ndarray) -> None:
    """out += the torques of the friction forces on the bodies of one side.

    Contacts of one body mostly follow each other: their wrench is summed up first.
    """
    rubbing, bodies, point, rub = rows.rubbing, rows.body, rows.point, rows.rub
    centre, sign, body, root = sc.subtree_com, 1.0 if side == 1 else -1.0, -1, 0
    mx, my, mz, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        r = rubbing[i]
        if bodies[r, side] < 0:
            continue
        if bodies[r, side] != body:
            if body >= 0:
                add_wrench(sc, body, (mx, my, mz), (x, y, z), out)
            body = bodies[r, side]
            root = sc.body_root[body]
            mx, my, mz, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        fx, fy, fz = sign * rub[r, 0], sign * rub[r, 1], sign * rub[r, 2]
        rx, ry = point[r, 0] - centre[root, 0], point[r, 1] - centre[root, 1]
        rz = point[r, 2] - centre[root, 2]
        mx, my, mz = mx + ry * fz - rz * fy, my + rz * fx - rx * fz, mz + rx * fy - ry * fx
        x, y, z = x + fx, y + fy, z + fz
    if body >= 0:
        add_wrench(sc, body, (mx, my, mz), (x, y, z), out)


@kernel
def rub(s: Servo) -> None:
    """Stage: friction forces of all resting contacts into mo.penalty.

    The gains of the bond are bounded by what the step can hold: the load of all contacts,
    Σ f_n G_tt, is what the sum of their stiffnesses, each in proportion to its normal force,
    puts on the bodies.
    """
    sc, mo, rows = s.scene, s.motion, s.rows
    count = find_rubbing(sc, rows, s.local.counts[ACTIVE] != 0)
    whiten_rows(mo.inertia, count, rows.tangent)
    load = 0.0
    for i in range(count):
        mobility = dot(rows.tangent[i], rows.tangent[i], sc.nv)
        load += rows.force[rows.rubbing[i]] * mobility
    if load <= 0.0 or s.parameters["friction_kinetic"][0] <= 0.0:  # loops hold all, or it is ice
        for i in range(count):
            let_go(rows, rows.rubbing[i])
        return
    rub_contacts(rows, count, load, s.parameters)
    for side in range(2):
        add_rubbing(sc, rows, count, side, mo.penalty)
