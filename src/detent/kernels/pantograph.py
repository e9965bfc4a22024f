r"""The twin pantograph: two five-bars whose endpoints a crank joins, in a plane (TH D, S4 §2).

Each five-bar has two motors at its base; the handle is in the middle of the crank and turns without
end. A pose is (x, y, ψ) of the handle [m, rad] from the centre of the workspace, joints are
the angles of the four motors [rad] in the order left, right of the first five-bar, left, right of
the second. Point masses at the ends of a uniform rod with the mass matrix

.. math:: \frac m6 \begin{pmatrix} 2 & 1 \\ 1 & 2 \end{pmatrix}

move as the rod does. So all inertia is that of points: with their Jacobian J and the constant
matrix of their masses M_c

.. math:: M_d = J^T M_c J, \quad C_d = J^T M_c \dot J, \quad \dot M_d - 2 C_d \text{ skew}
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from detent.kernels.jit import kernel

Floats = NDArray[np.float64]

# Places in `links` [m], and in `masses`: of a proximal link about its motor, the rotor's included
# [kg·m²], of a distal link [kg], of handle and crank [kg, kg·m²].
PROXIMAL, DISTAL, HALF_BASE, HEIGHT, HALF_CRANK = range(5)
SWING, ROD, HANDLE, HANDLE_TURNING = range(4)
MOTORS = 4


@kernel
def motor_angle(x: float, y: float, side: float, links: Floats) -> float:
    """Of the motor on a side (-1 left, 1 right) of a five-bar whose endpoint is at (x, y).

    Elbows point outwards. NaN where the links do not reach.
    """
    near, far = links[PROXIMAL], links[DISTAL]
    dx, dy = x - side * links[HALF_BASE], y + links[HEIGHT]
    distance = math.sqrt(dx * dx + dy * dy)
    bend = (near * near + distance * distance - far * far) / (2.0 * near * distance)
    if not -1.0 <= bend <= 1.0:
        return math.nan
    return math.atan2(dy, dx) - side * math.acos(bend)


@kernel
def endpoint_of(left: float, right: float, links: Floats) -> tuple[float, float]:
    """Where the distal links meet, beyond the elbows; NaN if they do not."""
    near, base = links[PROXIMAL], links[HALF_BASE]
    lx, ly = near * math.cos(left) - base, near * math.sin(left)
    rx, ry = near * math.cos(right) + base, near * math.sin(right)
    hx, hy = 0.5 * (rx - lx), 0.5 * (ry - ly)
    half = hx * hx + hy * hy
    high = links[DISTAL] * links[DISTAL] - half
    if not (high >= 0.0 and half > 0.0):
        return math.nan, math.nan
    up = math.sqrt(high / half)
    return 0.5 * (lx + rx) - up * hy, 0.5 * (ly + ry) + up * hx - links[HEIGHT]


@kernel
def inverse_pantograph(pose: Floats, links: Floats, joints: Floats) -> None:
    """The angles (4,) of all motors for a pose (3,) of the handle."""
    for k in range(MOTORS):
        end, side = 2.0 * (k // 2) - 1.0, 2.0 * (k % 2) - 1.0
        reach = end * links[HALF_CRANK]
        x, y = pose[0] + reach * math.cos(pose[2]), pose[1] + reach * math.sin(pose[2])
        joints[k] = motor_angle(x, y, side, links)


@kernel
def forward_pantograph(joints: Floats, links: Floats, pose: Floats) -> None:
    """The pose (3,) of the handle, in the middle of the endpoints whatever their distance."""
    ax, ay = endpoint_of(joints[0], joints[1], links)
    bx, by = endpoint_of(joints[2], joints[3], links)
    pose[0], pose[1] = 0.5 * (ax + bx), 0.5 * (ay + by)
    pose[2] = math.atan2(by - ay, bx - ax)


@kernel
def pantograph_rows(
    pose: Floats, rate: Floats, joints: Floats, links: Floats, J: Floats, dJ: Floats
) -> None:
    r"""How fast the motors turn: J (4, 3) and its rate dJ.

    .. math:: \dot\theta = J \dot x = J_p^{-1} J_o \dot x, \qquad
              d^T (\dot P - l \dot\theta t) = 0

    with a distal link d from its elbow to the endpoint P, t across the proximal one. The first
    two columns of a five-bar's rows are its own inverse Jacobian J_p⁻¹.
    """
    near, w = links[PROXIMAL], rate[2]
    for k in range(MOTORS):
        end, side = 2.0 * (k // 2) - 1.0, 2.0 * (k % 2) - 1.0
        rx = end * links[HALF_CRANK] * math.cos(pose[2])
        ry = end * links[HALF_CRANK] * math.sin(pose[2])
        vx, vy = rate[0] - w * ry, rate[1] + w * rx  # of the endpoint
        ux, uy = math.cos(joints[k]), math.sin(joints[k])
        dx = pose[0] + rx - side * links[HALF_BASE] - near * ux
        dy = pose[1] + ry + links[HEIGHT] - near * uy
        across = near * (dy * ux - dx * uy)
        ax, ay = dx / across, dy / across
        speed = ax * vx + ay * vy
        wx, wy = vx + near * speed * uy, vy - near * speed * ux  # rate of d
        turning = near * (wy * ux - wx * uy - speed * (dx * ux + dy * uy))
        bx, by = (wx - ax * turning) / across, (wy - ay * turning) / across
        J[k, 0], J[k, 1], J[k, 2] = ax, ay, ay * rx - ax * ry
        dJ[k, 0], dJ[k, 1] = bx, by
        dJ[k, 2] = by * rx - bx * ry - w * (ax * rx + ay * ry)


@kernel
def add_distal_link(
    angle: float, arm: tuple[float, float], rate: Floats, row: Floats, drow: Floats,
    near: float, mass: float, M: Floats, C: Floats,
) -> None:  # fmt: skip
    """M, C += those of a distal link; *arm* goes from the handle to its end.

    Its elbow moves with J_E = l t J, its end with J_P: the cross terms of the rod, and J_PᵀJ_P.
    """
    (rx, ry), w = arm, rate[2]
    ux, uy = math.cos(angle), math.sin(angle)
    tx, ty = -uy, ux
    across = (tx, ty, ty * rx - tx * ry)  # tᵀJ_P
    along = (ux, uy, uy * rx - ux * ry)  # uᵀJ_P
    slope = -w * (tx * rx + ty * ry)  # tᵀJ̇_P, in the last column alone
    speed = row[0] * rate[0] + row[1] * rate[1] + row[2] * rate[2]
    cross, own = mass * near / 6.0, mass / 3.0
    for i in range(3):
        for j in range(3):
            M[i, j] += cross * (row[i] * across[j] + across[i] * row[j])
            C[i, j] += cross * (across[i] * drow[j] - speed * along[i] * row[j])
        C[i, 2] += cross * row[i] * slope
    end = (-ry, rx)
    for i in range(2):
        M[i, i] += own
        M[i, 2] += own * end[i]
        M[2, i] += own * end[i]
    M[2, 2] += own * (rx * rx + ry * ry)
    C[0, 2] -= own * w * rx
    C[1, 2] -= own * w * ry


@kernel
def weigh_pantograph(
    pose: Floats, rate: Floats, joints: Floats, links: Floats, masses: Floats,
    J: Floats, dJ: Floats, M: Floats, C: Floats,
) -> None:  # fmt: skip
    """M_d and C_d (3, 3) at the handle, J and dJ (4, 3) on the way (TH D.2, D.3)."""
    pantograph_rows(pose, rate, joints, links, J, dJ)
    M[:] = 0.0
    C[:] = 0.0
    M[0, 0] = M[1, 1] = masses[HANDLE]
    M[2, 2] = masses[HANDLE_TURNING]
    near, mass = links[PROXIMAL], masses[ROD]
    swing = masses[SWING] + mass * near * near / 3.0  # with the elbow's end of the distal link
    for k in range(MOTORS):
        reach = (2.0 * (k // 2) - 1.0) * links[HALF_CRANK]
        arm = (reach * math.cos(pose[2]), reach * math.sin(pose[2]))
        for i in range(3):
            for j in range(3):
                M[i, j] += swing * J[k, i] * J[k, j]
                C[i, j] += swing * J[k, i] * dJ[k, j]
        add_distal_link(joints[k], arm, rate, J[k], dJ[k], near, mass, M, C)


@kernel
def endpoint_forces(u: Floats, angle: float, links: Floats, f: Floats) -> None:
    r"""f (4,): the endpoints' forces that make a wrench u (3,) without stretching the crank.

    .. math:: f = (J_o^T)^\dagger u = J_o (J_o^T J_o)^{-1} u

    TH D.4: the smallest of all. J_oᵀ forgets what pulls the endpoints apart along the crank, and
    the smallest solution has nothing of it.
    """
    across = u[2] / (2.0 * links[HALF_CRANK])
    nx, ny = -across * math.sin(angle), across * math.cos(angle)
    f[0], f[1] = 0.5 * u[0] - nx, 0.5 * u[1] - ny
    f[2], f[3] = 0.5 * u[0] + nx, 0.5 * u[1] + ny


@kernel
def motor_torques(u: Floats, angle: float, J: Floats, links: Floats, f: Floats, T: Floats) -> None:
    r"""T (4,) = J_pᵀ (J_oᵀ)† u (TH D.4); f (4,) as of `endpoint_forces`."""
    endpoint_forces(u, angle, links, f)
    for e in range(2):
        ax, ay, bx, by = J[2 * e, 0], J[2 * e, 1], J[2 * e + 1, 0], J[2 * e + 1, 1]
        over = 1.0 / (ax * by - bx * ay)
        fx, fy = f[2 * e], f[2 * e + 1]
        T[2 * e] = over * (by * fx - bx * fy)
        T[2 * e + 1] = over * (ax * fy - ay * fx)


@kernel
def handle_wrench(T: Floats, J: Floats, u: Floats) -> None:
    """u (3,) = JᵀT: what torques of the motors are at the handle."""
    for i in range(3):
        u[i] = 0.0
        for k in range(MOTORS):
            u[i] += J[k, i] * T[k]
