r"""Constrained dynamics of a mechanism, and their integration on the constraint manifold (M30).

.. math:: M \dot u + C u = \tau + A^T \lambda, \qquad A u = 0, \quad \dot q = N(q) u

The derived functions of the mechanism are called through a pointer; they write all that
depends on (q, u, z, ż). What the constraints forbid is taken away in coordinates where the
inertia is the identity, as the closures of loops are (`loops`): the acceleration there is

.. math:: \dot u = -\tilde A \dot A u + M^{-1} P_u (\tau - C u)

S2 eq. 13, without forming P_u, whatever the rank of A.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.inertia import (
    Inertia,
    add_momentum,
    factor_inertia,
    kinetic_energy,
    make_inertia,
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
from detent.kernels.projection import ProjectionWork, projection_work
from detent.kernels.se3 import add_body_damper, add_body_spring
from detent.kernels.so3 import dexp_inverse, matrix_quaternion, turn_body
from detent.kernels.stages import call_stage
from detent.kernels.struct import Struct
from detent.kernels.vectors import clear_vector, copy_vector, dot

TAYLOR, RUNGE_KUTTA = range(2)
SETTLED = 1e-9  # [m, rad, m/s, rad/s] a correction below this needs no new evaluation
SETTLE_TIMES = 4


class Mechanics(Struct):
    """A mechanism: its state, what is derived from it, and scratch."""

    dynamics: int  # addresses of the derived stages
    chart: int
    observe: int
    advance: int  # and of the one that is compiled for its sizes
    q: np.ndarray  # (nq,)
    u: np.ndarray  # (nv,)
    z: np.ndarray  # (nz,) parameters of the manifold, where there is ψ
    w: np.ndarray  # (nz,) their rates
    c: np.ndarray  # (nc,) constants
    plain: np.ndarray  # (n, 2) places of ordinary coordinates in q and u
    turns: np.ndarray  # (n, 2) places of orientations in q and u
    identity: np.ndarray  # (1,) 1 = x is q
    integrator: np.ndarray  # (1,)
    step: np.ndarray  # (1,) [s]
    # written by the derived stages
    M: np.ndarray  # lower triangle, row by row, in the layout of `inertia`
    bias: np.ndarray  # (nv,) C u
    load: np.ndarray  # (nv,) springs, dampers, gravity
    A: np.ndarray  # (rows, nv)
    drift: np.ndarray  # (rows,) Ȧ u
    h: np.ndarray  # (holonomic,)
    position: np.ndarray  # (3,) of the handle
    rotation: np.ndarray  # (3, 3)
    J: np.ndarray  # (6, nv)
    J_drift: np.ndarray  # (6,)
    J_gram: np.ndarray  # Jᵀ J, in the layout of `J_metric`
    phi: np.ndarray  # (x,)
    J_phi: np.ndarray  # (x, nv)
    phi_drift: np.ndarray  # (x,)
    psi: np.ndarray  # (x,)
    J_psi: np.ndarray  # (x, nz)
    psi_gram: np.ndarray  # (∂ψ/∂z)ᵀ ∂ψ/∂z, in the layout of `psi_metric`
    psi_drift: np.ndarray  # (x,)
    stop: np.ndarray  # (stops,)
    G: np.ndarray  # (stops, nv)
    stop_drift: np.ndarray  # (stops,)
    potential: np.ndarray  # (1,)
    energies: np.ndarray
    track: np.ndarray  # (3,)
    body_position: np.ndarray  # (bodies, 3)
    body_rotation: np.ndarray  # (bodies, 3, 3)
    # forces
    hand: np.ndarray  # (6,) wrench of the hand on the handle, as it is sensed
    springs: np.ndarray  # (n, 9) k_t, k_r, origin
    dampers: np.ndarray  # (2,) b_t, b_r
    wrench: np.ndarray  # (6,) all wrenches on the handle
    energy: np.ndarray  # (2,) kinetic; of springs in SE(3) [J]
    # results
    quaternion: np.ndarray  # (4,) of the handle
    twist: np.ndarray  # (6,)
    acceleration: np.ndarray  # (6,) of the handle
    rate: np.ndarray  # (nv,) u̇
    z_rate: np.ndarray  # (nz,) z̈
    multipliers: np.ndarray  # (rows + stops,)
    active: np.ndarray  # (stops,) 1 = held in this step
    held: np.ndarray  # (stops,) its acceleration then
    restitution: np.ndarray  # (1,)
    struck: np.ndarray  # (1,) [J] kinetic energy taken by stops in this tick
    # scratch
    inertia: Inertia
    task: Inertia  # the same, closed by the rows of ∂φ/∂q
    J_metric: Inertia  # factors of the Gram matrices
    psi_metric: Inertia
    row: np.ndarray  # (rows + stops, nv)
    wanted: np.ndarray  # (rows + stops,)
    back: np.ndarray  # (rows + stops,) way back to the manifold
    rates: np.ndarray
    covered: np.ndarray
    x_row: np.ndarray  # (x, nv)
    x_wanted: np.ndarray  # (x,)
    x_speed: np.ndarray  # (x,)
    torque: np.ndarray  # (2, nv)
    turn: np.ndarray  # (3,)
    base: np.ndarray  # (nq,) at the start of a step
    start: np.ndarray  # (3, n) u, z, ż then
    slope: np.ndarray  # (4, n) of ξ, u, z, ż in a stage
    total: np.ndarray  # (4, n)
    xi: np.ndarray  # (nv,)
    pushed: ProjectionWork
    stop_row: np.ndarray  # (stops, nv)
    stop_bound: np.ndarray  # (stops,)
    stop_push: np.ndarray  # (stops,)
    stop_list: np.ndarray  # (stops,)
    white: np.ndarray  # (2, nv)


def make_mechanics(
    sizes: dict[str, int],
    columns: dict[str, list[list[int]]],
    plain: np.ndarray,
    turns: np.ndarray,
) -> Mechanics:
    """Room for a mechanism of these sizes; addresses and values come later."""
    nq, nv, nz, rows, stops = (sizes[k] for k in ("nq", "nv", "nz", "rows", "stops"))
    nx, all_rows, wide = sizes["psi"], rows + stops, max(nv, nz)
    a = np.zeros
    layout = {field: _layout(rows) for field, rows in columns.items()}
    entries = {field: len(colind) for field, (_, _, colind) in layout.items()}
    return Mechanics(
        dynamics=0, chart=0, observe=0, advance=0, q=a(nq), u=a(nv), z=a(nz), w=a(nz),
        c=a(sizes["nc"]), plain=plain, turns=turns, identity=a(1, np.int64),
        integrator=a(1, np.int64), step=a(1),
        M=a(entries["M"]), bias=a(nv), load=a(nv), A=a((rows, nv)), drift=a(rows),
        h=a(sizes["holonomic"]), position=a(3), rotation=np.eye(3), J=a((6, nv)), J_drift=a(6),
        J_gram=a(entries["J_gram"]), phi=a(sizes["phi"]), J_phi=a((sizes["phi"], nv)),
        phi_drift=a(sizes["phi"]), psi=a(nx), J_psi=a((nx, nz)), psi_gram=a(entries["psi_gram"]),
        psi_drift=a(nx), stop=a(stops), G=a((stops, nv)),
        stop_drift=a(stops), potential=a(1), energies=a(sizes["energies"]), track=a(3),
        body_position=a((sizes["bodies"], 3)), body_rotation=a((sizes["bodies"], 3, 3)),
        hand=a(6), springs=a((0, 9)), dampers=a(2), wrench=a(6), energy=a(2),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]), twist=a(6), acceleration=a(6), rate=a(nv),
        z_rate=a(nz), multipliers=a(all_rows), active=a(stops, np.int64), held=a(stops),
        restitution=a(1), struck=a(1), inertia=make_inertia(*layout["M"], all_rows),
        task=make_inertia(*layout["M"], nx), J_metric=make_inertia(*layout["J_gram"]),
        psi_metric=make_inertia(*layout["psi_gram"]), row=a((all_rows, nv)),
        wanted=a(all_rows), back=a(all_rows), rates=a(max(all_rows, nx)),
        covered=a(max(all_rows, nx)),
        x_row=a((nx, nv)), x_wanted=a(nx), x_speed=a(nx),
        torque=a((2, nv)), turn=a(3), base=a(nq), start=a((3, wide)), slope=a((4, wide)),
        total=a((4, wide)), xi=a(nv), pushed=projection_work(max(stops, 1), nv),
        stop_row=a((stops, nv)), stop_bound=a(stops), stop_push=a(stops),
        stop_list=a(stops, np.int64), white=a((2, nv)),
    )  # fmt: skip


def _layout(columns: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns of each row of a symmetric matrix in MuJoCo's layout."""
    rownnz = np.array([len(row) for row in columns], np.int32)
    rowadr = (np.cumsum(rownnz) - rownnz).astype(np.int32)
    colind = np.array([j for row in columns for j in row], np.int32)
    return rownnz, rowadr, colind


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
    for _ in range(SETTLE_TIMES):
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
        if moved < SETTLED:
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


@kernel
def take_slope(me: Mechanics) -> None:
    """Slopes of ξ, u, z and ż at the present evaluation."""
    for i in range(me.plain.shape[0]):
        v = me.plain[i, 1]
        me.slope[0, v] = me.u[v]
    for i in range(me.turns.shape[0]):
        b = me.turns[i, 1]
        dexp_inverse(me.xi[b : b + 3], me.u[b : b + 3], me.slope[0, b : b + 3])
    for j in range(me.u.shape[0]):
        me.slope[1, j] = me.rate[j]
    for i in range(me.z.shape[0]):
        me.slope[2, i] = me.w[i]
        me.slope[3, i] = me.z_rate[i]


@kernel
def go_to(me: Mechanics, slope: np.ndarray, step: float) -> None:
    """The state that a slope leads to from the start of the step."""
    for j in range(me.u.shape[0]):
        me.xi[j] = step * slope[0, j]
        me.u[j] = me.start[0, j] + step * slope[1, j]
    retract(me, me.base, me.xi, me.q)
    for i in range(me.z.shape[0]):
        me.z[i] = me.start[1, i] + step * slope[2, i]
        me.w[i] = me.start[2, i] + step * slope[3, i]


@kernel
def advance(me: Mechanics) -> None:
    """Stage: integrate over a step under the sensed wrench, from an evaluation that is there.

    It evaluates three times more, which is half of a tick: so it is compiled for the sizes of
    the mechanism.

    By default Runge and Kutta's four stages, in exponential coordinates for orientations
    [MK98]; TAYLOR is S2 Alg. 1, line 11, to the letter.
    """
    step = me.step[0]
    copy_vector(me.q, me.base)
    for j in range(me.u.shape[0]):
        me.start[0, j] = me.u[j]
        me.xi[j] = 0.0
    for i in range(me.z.shape[0]):
        me.start[1, i] = me.z[i]
        me.start[2, i] = me.w[i]
    take_slope(me)
    if me.integrator[0] == TAYLOR:
        for j in range(me.u.shape[0]):
            me.slope[0, j] += 0.5 * step * me.slope[1, j]
        for i in range(me.z.shape[0]):
            me.slope[2, i] += 0.5 * step * me.slope[3, i]
        go_to(me, me.slope, step)
        return
    for k in range(4):
        for j in range(me.slope.shape[1]):
            me.total[k, j] = me.slope[k, j] / 6.0
    for stage in range(1, 4):
        go_to(me, me.slope, step if stage == 3 else 0.5 * step)
        evaluate(me)
        restrict(me, True, True)
        accelerate(me)
        take_slope(me)
        weight = 1.0 / 6.0 if stage == 3 else 1.0 / 3.0
        for k in range(4):
            for j in range(me.slope.shape[1]):
                me.total[k, j] += weight * me.slope[k, j]
    go_to(me, me.total, step)
