"""Rigid bodies that collide at several points at once, without a world or a servo."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from detent.checks import fraction
from detent.errors import ParameterError, UnknownNameError
from detent.kernels.impact import impact_work, resolve_complementarity, resolve_equality
from detent.kernels.inertia import Inertia, factor_inertia, make_inertia
from detent.kernels.projection import iteration_limit

METHODS = ("complementarity", "equality")

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Collision(NamedTuple):
    r"""The velocity after a collision and the impulse that caused it.

    .. math:: D (\dot q^+ - \dot q_0) = J^T p
    """

    velocity: Floats  # [nv] the velocity after
    impulse: Floats  # [rows] one per row of J, positive: pushing


def resolve_collision(
    D: ArrayLike,
    J: ArrayLike,
    qd: ArrayLike,
    restitution: float = 0.0,
    method: str = "complementarity",
) -> Collision:
    r"""Resolve simultaneous collisions (TH 4.14-4.37).

    ``complementarity`` (default) finds impulses that only push:

    .. math::
        D (\dot q^+ - \dot q_0) = J^T p, \qquad
        0 \le p \perp J \dot q^+ + e J \dot q_0 \ge 0

    ``equality`` is TH 4.36 to the letter, whose impulses may pull (errata E4):

    .. math:: p = -(1 + e) (J D^{-1} J^T)^\dagger J \dot q_0

    Neither raises the kinetic energy, and e = 1 keeps it. Rows may be duplicated or
    linearly dependent.

    Args:
        D: inertia matrix, symmetric and positive definite [nv, nv]
        J: contact rows, ``J @ qd`` < 0 means approaching [rows, nv]
        qd: velocity before the collision [nv]
        restitution: e, from 0 (plastic) to 1 (elastic)
        method: ``complementarity`` or ``equality``
    """
    D, J, qd = _finite("D", D, 2), _finite("J", J, 2), _finite("qd", qd, 1)
    _check(D, J, qd, restitution, method)
    rows, nv = J.shape
    inertia = dense_inertia(D)
    work = impact_work(rows, nv)
    velocity, impulse = np.zeros(nv), np.zeros(rows)
    e = float(restitution)
    if method == "equality":
        resolve_equality(inertia, J, rows, qd, e, work, velocity, impulse)
    else:
        limit = iteration_limit(rows, nv)
        resolve_complementarity(inertia, J, rows, qd, e, limit, work, velocity, impulse)
    return Collision(velocity, impulse)


def dense_inertia(D: Floats) -> Inertia:
    """The factor of a full matrix, as that of a mechanism in which all dofs hang together."""
    nv = len(D)
    rownnz = np.arange(1, nv + 1, dtype=np.int32)
    rowadr = np.cumsum(rownnz, dtype=np.int32) - rownnz
    colind = np.concatenate([np.arange(n, dtype=np.int32) for n in rownnz])
    inertia = make_inertia(rownnz, rowadr, colind)
    if not factor_inertia(D[np.tril_indices(nv)], inertia):
        raise ParameterError("D", D, "positive definite")
    return inertia


def _finite(name: str, value: ArrayLike, ndim: int) -> Floats:
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, value, "an array of numbers") from None
    if array.ndim != ndim:
        raise ParameterError(name, value, f"an array of {ndim} dimension(s)")
    if not np.isfinite(array).all():
        raise ParameterError(name, value, "finite")
    return array


def _check(D: Floats, J: Floats, qd: Floats, restitution: float, method: str) -> None:
    nv = len(qd)
    if nv == 0:
        raise ParameterError("qd", qd, "of at least one degree of freedom")
    if D.shape != (nv, nv):
        raise ParameterError("D", D, f"of shape ({nv}, {nv}), as qd has {nv} entries")
    if J.shape[1] != nv:
        raise ParameterError("J", J, f"of shape (rows, {nv}), as qd has {nv} entries")
    if np.abs(D - D.T).max() > 1e-9 * np.abs(D).max():
        raise ParameterError("D", D, "symmetric")
    fraction("restitution", restitution)
    if method not in METHODS:
        raise UnknownNameError("collision method", method, METHODS)
