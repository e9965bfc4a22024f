"""Kinematic loops in a tick: the closures of this state, from MuJoCo's kinematics (M32)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.inertia import Inertia
from detent.kernels.jit import kernel
from detent.kernels.loops import close_loops, closed_acceleration
from detent.kernels.so3 import quaternion_multiply, rotate, rotation_error
from detent.kernels.vectors import clear_vector, copy_vector, dot, largest
from detent.servo.constants import CLOSING, VANISHING
from detent.servo.structs import (
    JOINT_DAMPING,
    Closures,
    Motion,
    Scene,
    Servo,
)
from detent.servo.world.axes import add_point_row, add_tendon_row, forget_round_off
from detent.servo.world.loop_energy import keep_energy
from detent.world.bridge import mj_jacDot

PIN, WELD, COUPLED, GEARED = range(4)
ROWS_OF = (3, 6, 1, 1)


@kernel
def find_places(sc: Scene, cl: Closures, i: int) -> None:
    """Where the two points of a closure are, and how their frames are turned."""
    for side in range(2):
        body = cl.body[i, side]
        place = cl.place[side]
        rotate(sc.xquat[body], cl.point[i, side], place[0:3])
        for k in range(3):
            place[k] += sc.xpos[body, k]
        quaternion_multiply(sc.xquat[body], cl.quaternion[i, side], place[3:7])


@kernel
def add_turn_row(sc: Scene, body: int, axis: int, sign: float, out: np.ndarray) -> None:
    """out += sign · the rate of turning of a body about an axis of the world."""
    j = sc.body_last_dof[body]
    while j >= 0:
        out[j] += sign * sc.cdof[j, axis]
        j = sc.dof_parent[j]


@kernel
def write_tie(sc: Scene, cl: Closures, i: int) -> None:
    """Rows of a pin or a weld: first frame minus second; cl.wanted takes Ẇq̇."""
    first = cl.first[i]
    find_places(sc, cl, i)
    for k in range(3):
        cl.h[first + k] = cl.place[0, k] - cl.place[1, k]
    if cl.kind[i] == WELD:
        rotation_error(cl.place[0, 3:7], cl.place[1, 3:7], cl.h[first + 3 : first + 6])
    for side in range(2):
        body, sign = cl.body[i, side], 1.0 - 2.0 * side
        if sc.body_last_dof[body] < 0:
            continue
        jac = cl.jac[side]
        mj_jacDot(
            sc.model, sc.data, jac[0].ctypes.data, jac[3].ctypes.data,
            cl.place[side].ctypes.data, body,
        )  # fmt: skip
        for k in range(cl.first[i + 1] - first):
            if k < 3:
                add_point_row(sc, body, cl.place[side], sc.axes[k], sign, 0, cl.W[first + k])
            else:
                add_turn_row(sc, body, k - 3, sign, cl.W[first + k])
            cl.wanted[first + k] += sign * dot(jac[k], sc.qvel, sc.nv)


@kernel
def coupled_motion(sc: Scene, cl: Closures, i: int) -> tuple[float, float, float]:
    """p(x), p'(x) and p''(x) of the second of two coupled joints or tendons (Horner)."""
    x = 0.0
    if cl.dof[i, 1] >= 0:
        x = sc.qpos[cl.qpos[i, 1]] - cl.reference[i, 1]
    elif cl.tendon[i, 1] >= 0:
        x = sc.tendon_length[cl.tendon[i, 1]] - cl.reference[i, 1]
    value, slope, curve = 0.0, 0.0, 0.0
    for a in range(4, -1, -1):
        curve = curve * x + 2.0 * slope
        slope = slope * x + value
        value = value * x + cl.polynomial[i, a]
    return value, slope, curve


@kernel
def write_coupling(sc: Scene, cl: Closures, i: int) -> None:
    r"""The row of two coupled joints: their offsets from the scene's own pose.

    .. math:: h = y - p(x), \quad \dot h = \dot y - p' \dot x, \quad
              \ddot h = \ddot y - p' \ddot x - p'' \dot x^2
    """
    r = cl.first[i]
    value, slope, curve = coupled_motion(sc, cl, i)
    cl.h[r] = sc.qpos[cl.qpos[i, 0]] - cl.reference[i, 0] - value
    cl.W[r, cl.dof[i, 0]] = 1.0
    if cl.dof[i, 1] >= 0:
        speed = sc.qvel[cl.dof[i, 1]]
        cl.W[r, cl.dof[i, 1]] = -slope
        cl.wanted[r] = -curve * speed * speed


@kernel
def write_gear(sc: Scene, cl: Closures, i: int) -> None:
    """The row of two coupled tendons, as that of joints; J̇q̇ of tendons that bend is left out."""
    r, first, second = cl.first[i], cl.tendon[i, 0], cl.tendon[i, 1]
    value, slope, curve = coupled_motion(sc, cl, i)
    cl.h[r] = sc.tendon_length[first] - cl.reference[i, 0] - value
    add_tendon_row(sc, first, 1.0, 0, cl.W[r])
    if second >= 0:
        speed = sc.tendon_velocity[second]
        add_tendon_row(sc, second, -slope, 0, cl.W[r])
        cl.wanted[r] = -curve * speed * speed


@kernel
def copy_closures(source: Inertia, out: Inertia) -> None:
    """The closures of one factor for another that is the same."""
    out.closed[0] = source.closed[0]
    for i in range(source.closed[0]):
        out.kept[i] = source.kept[i]
        copy_vector(source.Q[i], out.Q[i])
        copy_vector(source.R[source.kept[i]], out.R[source.kept[i]])
    copy_vector(source.scale, out.scale)


@kernel
def stay_closed(sc: Scene, mo: Motion, cl: Closures, step: float) -> None:
    r"""Let the velocities in mo.scratch, by which positions move, end where loops are closed.

    .. math:: h + T W \dot q + \tfrac12 T^2 \dot W \dot q = 0

    to the third order in T, by the least change in the metric of the inertia, and no faster than a
    loop that is open at the start may close.
    """
    for r in range(cl.h.shape[0]):
        rate = dot(cl.W[r], mo.scratch, sc.nv)
        drift = cl.trust[r] * cl.h[r] / step
        cl.covered[r] = -(rate + drift + 0.5 * step * cl.turning[r])
    clear_vector(mo.white)
    closed_acceleration(mo.inertia, cl.covered, cl.rates, mo.white)
    most = largest(mo.white)
    share = CLOSING / most if most > CLOSING else 1.0  # near a singular pose that is a long way
    for j in range(sc.nv):
        mo.scratch[j] += share * mo.white[j]


@kernel
def trust_rows(mo: Motion, cl: Closures) -> None:
    r"""How much each closure can be corrected: less and less as its row vanishes.

    .. math:: \frac{\rho^2}{\rho^2 + \epsilon^2}, \qquad \rho = |w| / \max |w|

    of whitened rows w. Near a singular pose a row vanishes before its error and its rate do, and
    the quotient of the two would be anything (damped least squares [Wampler86]). The longest is
    that of the same closure: a length is not compared with an angle, nor a loop with another.
    """
    for i in range(cl.kind.shape[0]):
        for angular in range(2):
            least = math.inf
            for r in range(cl.first[i], cl.first[i + 1]):
                if cl.angular[r] == angular and mo.inertia.scale[r] > 0.0:
                    least = min(least, mo.inertia.scale[r])
            for r in range(cl.first[i], cl.first[i + 1]):
                if cl.angular[r] == angular:
                    scale = mo.inertia.scale[r]
                    size = least / scale if scale > 0.0 else 0.0
                    cl.trust[r] = size * size / (size * size + VANISHING * VANISHING)


@kernel
def close(s: Servo) -> None:
    r"""Stage: closures of all loops, restricted inertias, and what drift asks for.

    .. math:: W \ddot q = -(\dot W \dot q + 2 \alpha \beta W \dot q + \alpha^2 h)

    S3 eq. 3 with errata E14. Where positions are projected, the velocity follows within a tick.
    """
    sc, mo, cl = s.scene, s.motion, s.closures
    rows = cl.h.shape[0]
    if s.parameters["closure_projected"][0] != 0:
        keep_energy(sc, mo, cl)
    clear_vector(cl.wanted)
    for r in range(rows):
        clear_vector(cl.W[r])
    for i in range(cl.kind.shape[0]):
        if cl.kind[i] == COUPLED:
            write_coupling(sc, cl, i)
        elif cl.kind[i] == GEARED:
            write_gear(sc, cl, i)
        else:
            write_tie(sc, cl, i)
    p = s.parameters
    alpha, damping = p["closure_alpha"][0], 2.0 * p["closure_alpha"][0] * p["closure_beta"][0]
    if p["closure_projected"][0] != 0:  # `stay_closed` sees to h
        alpha, damping = 0.0, 1.0 / p["step"][0]
    for r in range(rows):
        forget_round_off(cl.W[r])
        copy_vector(cl.W[r], cl.white[r])
    close_loops(mo.inertia, rows, cl.white, cl.covered)
    if p["closure_projected"][0] != 0:
        trust_rows(mo, cl)
    for r in range(rows):
        rate = dot(cl.W[r], sc.qvel, sc.nv)
        cl.turning[r] = cl.trust[r] * cl.wanted[r]
        cl.wanted[r] = -(cl.turning[r] + damping * rate + alpha * alpha * cl.h[r])
    if sc.features[JOINT_DAMPING] == 0:
        copy_closures(mo.inertia, mo.damped)
        return
    for r in range(rows):
        copy_vector(cl.W[r], cl.white[r])
    close_loops(mo.damped, rows, cl.white, cl.covered)
