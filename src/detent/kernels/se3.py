"""Springs and dampers of a rigid body (S2 App. I-II, M31), as wrenches in world axes."""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.so3 import rotation_error


@kernel
def add_body_spring(
    position: np.ndarray,
    quaternion: np.ndarray,
    origin: np.ndarray,
    gains: np.ndarray,
    turn: np.ndarray,
    out: np.ndarray,
) -> float:
    r"""Add to ``out`` the wrench on the body that pulls it to the origin; its energy [J].

    .. math:: f = k_t (p_o - p), \qquad n = k_r \theta K, \qquad
              \exp(\theta \hat K) = R_o R^T

    S2 eq. 44-46 in world axes: the body-frame wrench of eq. 44, turned by R; as a wrench on
    the body its sign is that of a restoring one (errata B3). The axis comes from the
    quaternion of the net rotation, so nothing is singular at θ = 0, and at π one of the two
    shortest ways is taken. Through J^T it acts on any coordinates: for S2's it is
    [R f; E(q)^T n].

    ``origin`` is (p_o, quaternion), ``gains`` (k_t, k_r), ``turn`` scratch.
    """
    rotation_error(origin[3:7], quaternion, turn)
    energy = 0.0
    for i in range(3):
        stretch = origin[i] - position[i]
        out[i] += gains[0] * stretch
        out[3 + i] += gains[1] * turn[i]
        energy += 0.5 * (gains[0] * stretch * stretch + gains[1] * turn[i] * turn[i])
    return energy


@kernel
def add_body_damper(twist: np.ndarray, gains: np.ndarray, out: np.ndarray) -> None:
    r"""Add to ``out`` the wrench on the body that brakes it.

    .. math:: f = -b_t v, \qquad n = -b_r \omega

    S2 eq. 41; isotropic, so that body and world axes give the same wrench.
    """
    for i in range(3):
        out[i] -= gains[0] * twist[i]
        out[3 + i] -= gains[1] * twist[3 + i]
