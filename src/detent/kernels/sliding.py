"""What collisions and rigid steps with friction share: room, tangents, mobilities of contacts."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import NO_MOTION, ROUND_OFF, SINGULAR_CONTACT, SOFTENING
from detent.kernels.impact_restitution import RestitutionWork, restitution_work
from detent.kernels.inertia import Inertia, whiten_rows
from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats
from detent.kernels.struct import Struct


class FrictionWork(Struct):
    """Scratch of `resolve_friction`."""

    T: Floats  # [2 rows, nv] whitened tangential rows, the two of a contact orthogonal
    turn: Floats  # [rows, 2] cosine and sine of the turn that made them so
    W: Floats  # [rows, 6] products nn, na, nb, aa, bb of a contact's rows; its softening
    u: Floats  # [nv] the whitened velocity
    p: Floats  # [rows, 3] impulses of compression: normal, and along both rows of T
    q: Floats  # [rows, 3] impulses of restitution
    s: Floats  # [rows] impulses of the last projection
    drift: Floats  # [rows, 2] by which contacts that stick are to slide back, along both rows
    v: Floats  # [nv] the whitened velocity that the normal impulses of compression met
    restitution: RestitutionWork


def friction_work(rows: int, nv: int) -> FrictionWork:
    """Allocate the scratch for up to *rows* contacts of *nv* degrees of freedom."""
    return FrictionWork(
        T=np.zeros((2 * rows, nv)),
        turn=np.zeros((rows, 2)),
        W=np.zeros((rows, 6)),
        u=np.zeros(nv),
        p=np.zeros((rows, 3)),
        q=np.zeros((rows, 3)),
        s=np.zeros(rows),
        drift=np.zeros((rows, 2)),
        v=np.zeros(nv),
        restitution=restitution_work(rows, nv),
    )


@kernel
def whiten_tangents(
    inertia: Inertia,
    Jt: Floats,
    m: int,
    T: Floats,
) -> None:
    """The tangential rows where the inertia is the identity; in 2-D every second is zero."""
    nv = inertia.nv
    for i in range(m):
        for k in range(nv):
            T[2 * i, k] = Jt[i, 0, k]
            T[2 * i + 1, k] = 0.0
        for j in range(1, Jt.shape[1]):
            for k in range(nv):
                T[2 * i + j, k] = Jt[i, j, k]
    whiten_rows(inertia, 2 * m, T)


@kernel
def turn_tangents(m: int, nv: int, T: Floats, turn: Floats) -> None:
    """Turn the two tangential rows of each contact until they are orthogonal (Jacobi)."""
    for i in range(m):
        aa, ab, bb = 0.0, 0.0, 0.0
        for k in range(nv):
            aa += T[2 * i, k] * T[2 * i, k]
            ab += T[2 * i, k] * T[2 * i + 1, k]
            bb += T[2 * i + 1, k] * T[2 * i + 1, k]
        c, s = 1.0, 0.0
        if ab != 0.0:
            theta = 0.5 * (aa - bb) / ab
            t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
            c = 1.0 / math.sqrt(t * t + 1.0)
            s = t * c
        turn[i, 0], turn[i, 1] = c, s
        for k in range(nv):
            a, b = T[2 * i, k], T[2 * i + 1, k]
            T[2 * i, k] = c * a + s * b
            T[2 * i + 1, k] = c * b - s * a


@kernel
def turned(turn: Floats, i: int, a: float, b: float) -> tuple[float, float]:
    """What has these parts along the tangents that were given, along the turned ones."""
    return turn[i, 0] * a + turn[i, 1] * b, turn[i, 0] * b - turn[i, 1] * a


@kernel
def turn_back(turn: Floats, i: int, a: float, b: float) -> tuple[float, float]:
    """The reverse."""
    return turn[i, 0] * a - turn[i, 1] * b, turn[i, 1] * a + turn[i, 0] * b


@kernel
def contact_mobilities(m: int, nv: int, work: FrictionWork) -> None:
    """How the impulse of a contact moves that contact, without what is round-off."""
    N, T, W = work.restitution.impact.N, work.T, work.W
    largest = 0.0
    for i in range(m):
        nn, na, nb, aa, bb = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(nv):
            n, a, b = N[i, k], T[2 * i, k], T[2 * i + 1, k]
            nn, na, nb = nn + n * n, na + n * a, nb + n * b
            aa, bb = aa + a * a, bb + b * b
        W[i, 0], W[i, 1], W[i, 2], W[i, 3], W[i, 4], W[i, 5] = nn, na, nb, aa, bb, 0.0
        largest = max(largest, nn, aa, bb)
    negligible = NO_MOTION * NO_MOTION * largest
    for i in range(m):
        if W[i, 0] <= negligible:
            W[i, 0] = 0.0  # not a contact
        for j in range(2):
            least = max(negligible, ROUND_OFF * W[i, 4 - j])
            if W[i, 3 + j] <= least:  # no motion that way, as out of the plane in 2-D
                W[i, 1 + j], W[i, 3 + j] = 0.0, max(W[i, 4 - j], negligible)
        if W[i, 3] == 0.0:  # nothing moves at all, as where a contact is on the axis of a hinge
            W[i, 3], W[i, 4] = 1.0, 1.0
        held = W[i, 0] - W[i, 1] * W[i, 1] / W[i, 3] - W[i, 2] * W[i, 2] / W[i, 4]
        if held <= SINGULAR_CONTACT * W[i, 0]:
            W[i, 5] = SOFTENING * 0.5 * (W[i, 3] + W[i, 4])
