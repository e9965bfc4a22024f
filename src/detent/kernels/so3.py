"""Rotations: quaternions (w, x, y, z) and rotation vectors, in world axes."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel


@kernel
def quaternion_multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """out = a ⊗ b. *out* may be neither a nor b."""
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]


@kernel
def rotation_error(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    r"""The rotation vector of :math:`R_a R_b^T`, of length at most π, in world axes."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = -a[0] * b[1] + a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = -a[0] * b[2] + a[1] * b[3] + a[2] * b[0] - a[3] * b[1]
    z = -a[0] * b[3] - a[1] * b[2] + a[2] * b[1] + a[3] * b[0]
    if w < 0.0:  # the shorter way round
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
    out[0], out[1], out[2] = scale * x, scale * y, scale * z


@kernel
def rotate(q: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    """out = R(q) v. *out* may be v."""
    tx = 2.0 * (q[2] * v[2] - q[3] * v[1])
    ty = 2.0 * (q[3] * v[0] - q[1] * v[2])
    tz = 2.0 * (q[1] * v[1] - q[2] * v[0])
    x = v[0] + q[0] * tx + q[2] * tz - q[3] * ty
    y = v[1] + q[0] * ty + q[3] * tx - q[1] * tz
    z = v[2] + q[0] * tz + q[1] * ty - q[2] * tx
    out[0], out[1], out[2] = x, y, z


@kernel
def integrate_quaternion(q: np.ndarray, omega: np.ndarray, step: float) -> None:
    """q ← exp(ω·step) ⊗ q in place, ω in world axes [rad/s], normalised."""
    angle = math.sqrt(omega[0] ** 2 + omega[1] ** 2 + omega[2] ** 2) * step
    half = 0.5 * angle
    s = 0.5 * step if angle < 1e-12 else math.sin(half) * step / angle
    a0, a1, a2, a3 = math.cos(half), s * omega[0], s * omega[1], s * omega[2]
    w = a0 * q[0] - a1 * q[1] - a2 * q[2] - a3 * q[3]
    x = a0 * q[1] + a1 * q[0] + a2 * q[3] - a3 * q[2]
    y = a0 * q[2] - a1 * q[3] + a2 * q[0] + a3 * q[1]
    z = a0 * q[3] + a1 * q[2] - a2 * q[1] + a3 * q[0]
    norm = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    q[0], q[1], q[2], q[3] = w * norm, x * norm, y * norm, z * norm


@kernel
def turn_body(q: np.ndarray, xi: np.ndarray, out: np.ndarray) -> None:
    """out = q ⊗ exp(ξ), ξ a rotation vector in the body's axes [rad], normalised."""
    half = 0.5 * math.sqrt(xi[0] ** 2 + xi[1] ** 2 + xi[2] ** 2)
    s = 0.5 if half < 1e-12 else 0.5 * math.sin(half) / half
    a, x, y, z = math.cos(half), s * xi[0], s * xi[1], s * xi[2]
    w = q[0] * a - q[1] * x - q[2] * y - q[3] * z
    i = q[0] * x + q[1] * a + q[2] * z - q[3] * y
    j = q[0] * y - q[1] * z + q[2] * a + q[3] * x
    k = q[0] * z + q[1] * y - q[2] * x + q[3] * a
    norm = 1.0 / math.sqrt(w * w + i * i + j * j + k * k)
    out[0], out[1], out[2], out[3] = w * norm, i * norm, j * norm, k * norm


@kernel
def dexp_inverse(xi: np.ndarray, omega: np.ndarray, out: np.ndarray) -> None:
    r"""The rate of ξ at which R = R₀ exp(ξ) turns with ω, both in the body's axes [MK98].

    .. math:: \dot \xi = \omega + \tfrac12 \xi \times \omega
              + (1 - \tfrac\theta2 \cot \tfrac\theta2) \, \xi \times (\xi \times \omega) / \theta^2
    """
    square = xi[0] ** 2 + xi[1] ** 2 + xi[2] ** 2
    if square < 1e-8:
        c = 1.0 / 12.0 + square / 720.0
    else:
        half = 0.5 * math.sqrt(square)
        c = (1.0 - half * math.cos(half) / math.sin(half)) / square
    x = xi[1] * omega[2] - xi[2] * omega[1]
    y = xi[2] * omega[0] - xi[0] * omega[2]
    z = xi[0] * omega[1] - xi[1] * omega[0]
    out[0] = omega[0] + 0.5 * x + c * (xi[1] * z - xi[2] * y)
    out[1] = omega[1] + 0.5 * y + c * (xi[2] * x - xi[0] * z)
    out[2] = omega[2] + 0.5 * z + c * (xi[0] * y - xi[1] * x)


@kernel
def matrix_quaternion(R: np.ndarray, out: np.ndarray) -> None:
    """The unit quaternion of a rotation matrix, of the sign nearer to what *out* was."""
    w0, x0, y0, z0 = out[0], out[1], out[2], out[3]
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    if trace > 0.0:
        s = 2.0 * math.sqrt(1.0 + trace)
        out[0] = 0.25 * s
        out[1] = (R[2, 1] - R[1, 2]) / s
        out[2] = (R[0, 2] - R[2, 0]) / s
        out[3] = (R[1, 0] - R[0, 1]) / s
    else:
        i = 0
        if R[1, 1] > R[0, 0]:
            i = 1
        if R[2, 2] > R[i, i]:
            i = 2
        j, k = (i + 1) % 3, (i + 2) % 3
        s = 2.0 * math.sqrt(max(1.0 + R[i, i] - R[j, j] - R[k, k], 1e-300))
        out[0] = (R[k, j] - R[j, k]) / s
        out[1 + i] = 0.25 * s
        out[1 + j] = (R[j, i] + R[i, j]) / s
        out[1 + k] = (R[k, i] + R[i, k]) / s
    norm = 1.0 / math.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2 + out[3] ** 2)
    if out[0] * w0 + out[1] * x0 + out[2] * y0 + out[3] * z0 < 0.0:
        norm = -norm
    for i in range(4):
        out[i] *= norm


@kernel
def pose_error(
    pa: np.ndarray, qa: np.ndarray, pb: np.ndarray, qb: np.ndarray, out: np.ndarray
) -> None:
    """out = pose a − pose b: difference of positions, rotation vector of R_a R_bᵀ."""
    for i in range(3):
        out[i] = pa[i] - pb[i]
    rotation_error(qa, qb, out[3:6])
