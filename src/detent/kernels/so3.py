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
