r"""Constrained dynamics of a mechanism, and its way back to the constraint manifold (M30).

.. math:: M \dot u + C u = \tau + A^T \lambda, \qquad A u = 0, \quad \dot q = N(q) u

The derived functions of the mechanism are called through a pointer; they write all that
depends on (q, u, z, ż). What the constraints forbid is taken away in coordinates where the
inertia is the identity, as the closures of loops are (`loops`): the acceleration there is

.. math:: \dot u = -\tilde A \dot A u + M^{-1} P_u (\tau - C u)

S2 eq. 13, without forming P_u, whatever the rank of A.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import CORRECTED, CORRECTIONS
from detent.kernels.inertia import (
    add_momentum,
    factor_inertia,
    kinetic_energy,
    project_on_closures,
    respond_to,
    unwhiten,
    whiten_velocity,
)
from detent.kernels.jit import kernel
from detent.kernels.loops import (
    close_alike,
    close_loops,
    closed_acceleration,
    closure_multipliers,
)
from detent.kernels.mechanics import Mechanics
from detent.kernels.se3 import add_body_damper, add_body_spring
from detent.kernels.so3 import matrix_quaternion, turn_body
from detent.kernels.stages import call_stage
from detent.kernels.vectors import clear_vector, copy_vector, dot


@kernel
def retract(me: Mechanics, base: np.ndarray, xi: np.ndarray, out: np.ndarray) -> None:
    """out = base moved by ξ: added to coordinates, exp(ξ) on orientations."""
    for i in range(me.plain.shape[0]):
        out[me.plain[i, 0]] = base[me.plain[i, 0]] + xi[me.plain[i, 1]]
    for i in range(me.turns.shape[0]):
        a, b = me.turns[i, 0], me.turns[i, 1]
        turn_body(base[a : a + 4], xi[b : b + 3], out[a : a + 4])


@kernel
def task_rates(me: Mechanics, v: np.ndarray, out: np.ndarray) -> None:
    """out = ∂φ/∂q v: v itself where x = q."""
    for i in range(out.shape[0]):
        out[i] = v[i] if me.identity[0] != 0 else dot(me.J_phi[i], v, v.shape[0])


@kernel
def chart_rates(me: Mechanics, x: np.ndarray, out: np.ndarray) -> None:
    r"""out = (∂ψ/∂z)† x by the normal equations (S2 eq. 16), factored in `evaluate`."""
    for i in range(out.shape[0]):
        s = 0.0
        for k in range(x.shape[0]):
            s += me.J_psi[k, i] * x[k]
        out[i] = s
    respond_to(me.psi_metric, out)


@kernel
def evaluate(me: Mechanics) -> None:
    """All derived functions at the present state; where x = q, that is what z says."""
    nz = me.z.shape[0]
    if nz > 0:
        call_stage(me.chart, me)
        factor_inertia(me.psi_gram, me.psi_metric)
        if me.identity[0] != 0:  # S2 Alg. 1, lines 12 and 14
            for i in range(me.psi.shape[0]):
                me.q[i] = me.psi[i]
                me.u[i] = dot(me.J_psi[i], me.w, nz)
    call_stage(me.dynamics, me)


@kernel
def follow_chart(me: Mechanics) -> float:
    r"""q and u as z and ż say: φ(q) = ψ(z), ∂φ/∂q u = ∂ψ/∂z ż; the size of the correction.

    Where φ has no unique inverse the smallest correction in the metric of the inertia is made,
    so that motion in its null space goes on (B12).
    """
    nx, nz, nv = me.psi.shape[0], me.z.shape[0], me.u.shape[0]
    most = 0.0
    error, speed = me.x_wanted, me.x_speed
    for i in range(nx):
        error[i] = me.psi[i] - me.phi[i]
        most = max(most, abs(error[i]))
        speed[i] = dot(me.J_psi[i], me.w, nz) - dot(me.J_phi[i], me.u, nv)
    factor_inertia(me.M, me.task)
    for i in range(nx):
        copy_vector(me.J_phi[i], me.x_row[i])
    close_loops(me.task, nx, me.x_row, me.covered)
    clear_vector(me.xi)
    closed_acceleration(me.task, error, me.rates, me.xi)
    copy_vector(me.q, me.base)
    retract(me, me.base, me.xi, me.q)
    clear_vector(me.xi)
    closed_acceleration(me.task, speed, me.rates, me.xi)
    for j in range(nv):
        me.u[j] += me.xi[j]
    return most


@kernel
def restrict(me: Mechanics, with_stops: bool, alike: bool) -> None:
    """Factor the inertia, and close it by the constraints and by the stops that hold.

    *alike*: the same rows as before, at a state nearby.
    """
    factor_inertia(me.M, me.inertia)
    rows = me.A.shape[0]
    for i in range(rows):
        copy_vector(me.A[i], me.row[i])
        me.wanted[i] = -me.drift[i]
    n = rows
    if with_stops:
        for i in range(me.stop.shape[0]):
            if me.active[i] != 0:
                copy_vector(me.G[i], me.row[n])
                me.wanted[n] = me.held[i] - me.stop_drift[i]
                n += 1
    if alike:
        close_alike(me.inertia, n, me.row, me.covered)
    else:
        close_loops(me.inertia, n, me.row, me.covered)


@kernel
def return_to_manifold(me: Mechanics) -> float:
    r"""Project q onto h(q) = 0 in the metric of the inertia; the size of the correction.

    .. math:: \delta q = -M^{-1} A^T (A M^{-1} A^T)^{-1} h

    One step of Newton's method: the error is of the integrator's order, what is left its
    square. Stops that were passed by round-off are taken back likewise.
    """
    rows, most = me.A.shape[0], 0.0
    n = rows
    for i in range(me.stop.shape[0]):
        if me.stop[i] < 0.0:
            n += 1
    if n > rows:
        for i in range(rows):
            copy_vector(me.A[i], me.row[i])
        n = rows
        for i in range(me.stop.shape[0]):
            if me.stop[i] < 0.0:
                copy_vector(me.G[i], me.row[n])
                me.back[n] = -me.stop[i]
                most = max(most, -me.stop[i])
                n += 1
        close_loops(me.inertia, n, me.row, me.covered)
    for i in range(rows):
        me.back[i] = -me.h[i] if i < me.h.shape[0] else 0.0
        most = max(most, abs(me.back[i]))
    if most > 0.0:
        clear_vector(me.xi)
        closed_acceleration(me.inertia, me.back, me.rates, me.xi)
        copy_vector(me.q, me.base)
        retract(me, me.base, me.xi, me.q)
    if n > rows:
        restrict(me, False, False)
    return most


@kernel
def settle(me: Mechanics) -> None:
    """Stage: evaluate at the present state, and take back what an integrator's step left.

    Positions go back to the manifold (by ψ, or by projection), velocities lose what the
    constraints forbid: P_uᵀ u, which is the nearest in the metric of the inertia.
    """
    for _ in range(CORRECTIONS):
        evaluate(me)
        copy_vector(me.u, me.white[0])
        moved = 0.0
        if me.z.shape[0] > 0 and me.identity[0] == 0:
            moved = follow_chart(me)
        restrict(me, False, False)
        if me.z.shape[0] == 0 or me.stop.shape[0] > 0:
            moved = max(moved, return_to_manifold(me))
        forbid(me)
        for j in range(me.u.shape[0]):
            moved = max(moved, abs(me.u[j] - me.white[0, j]))
        if moved < CORRECTED:
            break
    see_handle(me)


@kernel
def forbid(me: Mechanics) -> None:
    """Take from u what the constraints forbid, and let ż follow."""
    if me.A.shape[0] > 0:
        whiten_velocity(me.inertia, me.u)
        project_on_closures(me.inertia, me.u)
        unwhiten(me.inertia, me.u)
    follow_velocity(me)


@kernel
def follow_velocity(me: Mechanics) -> None:
    """ż as u says (S2 eq. 14-16, one derivative lower)."""
    if me.z.shape[0] > 0:
        task_rates(me, me.u, me.x_speed)
        chart_rates(me, me.x_speed, me.w)


@kernel
def see_handle(me: Mechanics) -> None:
    """Pose, twist and energy of the present state."""
    nv = me.u.shape[0]
    matrix_quaternion(me.rotation, me.quaternion)
    for i in range(6):
        me.twist[i] = dot(me.J[i], me.u, nv)
    me.energy[0] = kinetic_energy(me.M, me.inertia, me.u)


@kernel
def add_forces(me: Mechanics, out: np.ndarray) -> None:
    """out = all torques but those of constraints: τ − C u (S2 II-E)."""
    nv = me.u.shape[0]
    for i in range(6):
        me.wrench[i] = me.hand[i]
        me.twist[i] = dot(me.J[i], me.u, nv)
    add_body_damper(me.twist, me.dampers, me.wrench)
    me.energy[1] = 0.0
    if me.springs.shape[0] > 0:
        matrix_quaternion(me.rotation, me.quaternion)
        for k in range(me.springs.shape[0]):
            one = me.springs[k]
            me.energy[1] += add_body_spring(
                me.position, me.quaternion, one[2:9], one[0:2], me.turn, me.wrench
            )
    for j in range(nv):
        total = me.load[j] - me.bias[j]
        for i in range(6):
            total += me.J[i, j] * me.wrench[i]
        out[j] = total


@kernel
def accelerate(me: Mechanics) -> None:
    """u̇ and z̈ of the present evaluation (S2 eq. 13, 14 and 16)."""
    add_forces(me, me.torque[0])
    copy_vector(me.torque[0], me.rate)
    closed_acceleration(me.inertia, me.wanted, me.rates, me.rate)
    if me.z.shape[0] > 0:
        x = me.x_wanted
        task_rates(me, me.rate, x)
        for i in range(me.phi.shape[0]):
            x[i] += me.phi_drift[i]
        for i in range(me.psi.shape[0]):
            x[i] -= me.psi_drift[i]
        chart_rates(me, x, me.z_rate)


@kernel
def find_multipliers(me: Mechanics) -> None:
    r"""λ of constraints and stops (S2 eq. 11): Aᵀλ = M u̇ + C u − τ."""
    out = me.torque[1]
    for i in range(me.u.shape[0]):
        out[i] = -me.torque[0, i]
    add_momentum(me.M, me.inertia, me.rate, out)
    copy_vector(out, me.xi)
    closure_multipliers(me.inertia, me.xi, me.rates, me.multipliers)


@kernel
def see_acceleration(me: Mechanics) -> None:
    """The acceleration of the handle, S2 eq. 14: what the display is fed forward."""
    for i in range(6):
        me.acceleration[i] = dot(me.J[i], me.rate, me.u.shape[0]) + me.J_drift[i]
