r"""Torsional and rolling friction of contacts (``condim`` 4 and 6), by bonds that turn.

A contact that is pressed with f_n resists spin about its normal with at most μ_t f_n and rolling
about its tangents with at most μ_r f_n, both coefficients in metres [MJ]. Each holds by a bond as
that of the reset integrator, whose strain u is the angle since it formed, in fractions of the
angle θ₀ at which it breaks:

.. math::
    \tau = -\mu f_n u - \beta \omega \quad (\text{stick}), \qquad
    \tau = -\tfrac{\mu_k}{\mu_s} \mu f_n \frac{u}{|u|} \quad (\text{slip}), \qquad
    \dot u = \omega / \theta_0, \quad
    \theta_0 \ge 4 T^2 \sum_i \mu_i f_{n,i} G_{\omega,i}

G_ω is the angular mobility about the axes of the bond, summed over the contacts of a group, so
that the step can hold it. The law is this one whatever the law of sliding is. Impulses of
collisions have neither torsional nor rolling friction. In rigid mode, where the normal forces of
a step are not known before it, those of the last one are taken.

``memory`` has, from `MEMORY_TURNING` on: u (world axes; along the normal that of spin, across it
that of rolling), whether spin slips, whether rolling slips, and f_n of the last tick.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import MEMORY_TURNING, MEMORY_WALL, MOST_STIFFNESS
from detent.kernels.friction import Vector, reset_integrator, stick_damping
from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector, dot
from detent.servo.constants import SLOW_TURN, STICK_TURN
from detent.servo.contact.columns import clear_row, column_shift, columns
from detent.servo.contact.groups import row_group
from detent.servo.contact.rub import whiten_tangents
from detent.servo.structs import Motion, Rows, Scene, Servo
from detent.servo.world.axes import add_wrench

NOWHERE = (0.0, 0.0, 0.0)


@kernel
def resists_turning(rows: Rows, r: int) -> bool:
    """Whether the contact of row r is pressed and has torsional or rolling friction."""
    return rows.force[r] > 0.0 and rows.turning[r, 0] + rows.turning[r, 1] > 0.0


@kernel
def add_turning_row(sc: Scene, rows: Rows, r: int, axis: Vector, out: np.ndarray) -> None:
    """out += axisᵀ(ω₂ − ω₁) of the bodies of row r, in its columns."""
    for side in range(2):
        if rows.body[r, side] >= 0:
            sign = 1.0 if side == 1 else -1.0
            turn = (sign * axis[0], sign * axis[1], sign * axis[2])
            shift = column_shift(sc, rows, r, rows.tree[r, side])
            add_wrench(sc, rows.body[r, side], turn, NOWHERE, shift, out)


@kernel
def turning_velocity(sc: Scene, rows: Rows, r: int) -> Vector:
    """ω₂ − ω₁, from MuJoCo's spatial velocities of the bodies."""
    x, y, z, twist = 0.0, 0.0, 0.0, sc.cvel
    for side in range(2):
        body = rows.body[r, side]
        if body >= 0:
            sign = 1.0 if side == 1 else -1.0
            x, y, z = (
                x + sign * twist[body, 0],
                y + sign * twist[body, 1],
                z + sign * twist[body, 2],
            )
    return x, y, z


@kernel
def find_turning_load(sc: Scene, mo: Motion, rows: Rows) -> int:
    """rows.turning_load ← Σ μ f_n G_ω of each group; how many contacts resist turning.

    Of rolling both axes across the normal count: 3 of x, y and z have the trace of all, less
    that about the normal.
    """
    tangent, load, count = rows.tangent, rows.turning_load, 0
    clear_vector(load)
    for k in range(3):
        count = 0
        for r in range(rows.count[0]):
            if resists_turning(rows, r):
                clear_row(tangent, count, columns(rows, r))
                add_turning_row(sc, rows, r, sc.axes[k], tangent[count])
                rows.tangent_row[count] = r
                count += 1
        whiten_tangents(mo, rows, count)
        for i in range(count):
            r = rows.tangent_row[i]
            along = rows.normal[r, k] * rows.normal[r, k]
            most = along * rows.turning[r, 0] + (1.0 - along) * rows.turning[r, 1]
            mobility = dot(tangent[i], tangent[i], columns(rows, r))
            load[row_group(rows, r)] += rows.force[r] * most * mobility
    return count


@kernel
def part(v: Vector, n: np.ndarray, r: int, across: bool) -> Vector:
    """The part of a vector along the normal of row r, or the rest of it."""
    along = v[0] * n[r, 0] + v[1] * n[r, 1] + v[2] * n[r, 2]
    x, y, z = along * n[r, 0], along * n[r, 1], along * n[r, 2]
    return (v[0] - x, v[1] - y, v[2] - z) if across else (x, y, z)


@kernel
def hold_turning(sc: Scene, rows: Rows, r: int, p: np.ndarray, torque: np.ndarray) -> None:
    """torque ← what the bonds of row r do to its second body."""
    m, step, memory = MEMORY_TURNING, p["step"][0], rows.memory[r]
    ratio = p["friction_kinetic"][0] / p["friction_static"][0]
    load = rows.turning_load[row_group(rows, r)]
    clear_vector(torque)
    if load <= 0.0:  # loops hold all
        clear_vector(memory[m:MEMORY_WALL])
        return
    travel = step / max(STICK_TURN, load * step * step / MOST_STIFFNESS)
    damping = stick_damping(-1.0, travel / step, load, 1.0, step)
    kept = memory[m + 5] / rows.force[r] if memory[m + 5] > 0.0 else 1.0
    w, u = turning_velocity(sc, rows, r), (memory[m], memory[m + 1], memory[m + 2])
    for k in range(3):
        memory[m + k] = 0.0
    for which in range(2):
        most = rows.turning[r, which] * rows.force[r]
        if most <= 0.0:
            memory[m + 3 + which] = 0.0
            continue
        x, y, z = part(u, rows.normal, r, which == 1)
        slips = memory[m + 3 + which]
        if slips == 0.0:  # a bond that sticks keeps its torque
            x, y, z = kept * x, kept * y, kept * z
        v = part(w, rows.normal, r, which == 1)
        bond, slips, drag = reset_integrator(
            v, ratio * most, most, most * damping, SLOW_TURN, 0.0, travel, (x, y, z), slips
        )
        memory[m + 3 + which] = slips
        for k in range(3):
            memory[m + k] += bond[k]
            torque[k] += drag[k]
    memory[m + 5] = rows.force[r]


@kernel
def turn(s: Servo) -> None:
    """Stage: torsional and rolling friction of all pressed contacts into mo.penalty."""
    sc, mo, rows, p = s.scene, s.motion, s.rows, s.parameters
    torque = mo.turn[:3]
    if p["friction_kinetic"][0] <= 0.0 or find_turning_load(sc, mo, rows) == 0:
        return
    for r in range(rows.count[0]):
        if not resists_turning(rows, r):
            clear_vector(rows.memory[r, MEMORY_TURNING:MEMORY_WALL])
            continue
        hold_turning(sc, rows, r, p, torque)
        for side in range(2):
            if rows.body[r, side] >= 0:
                sign = 1.0 if side == 1 else -1.0
                push = (sign * torque[0], sign * torque[1], sign * torque[2])
                add_wrench(sc, rows.body[r, side], push, NOWHERE, 0, mo.penalty)
