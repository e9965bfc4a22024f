"""Gains of contacts: shared within a face, and bounded by what a fixed step can hold."""

from __future__ import annotations

import math

from detent.kernels.constants import MOST_DAMPING, MOST_STIFFNESS
from detent.kernels.contact import accumulate_outer, gain_scale, quadratic_form
from detent.kernels.inertia import unwhiten
from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_matrix, copy_vector, dot
from detent.servo.constants import TRACE
from detent.servo.structs import Motion, Rows, Scene


@kernel
def share_gains(rows: Rows) -> None:
    r"""Divide stiffness and damping among the contacts of a face, by their depths (B9).

    .. math:: K_i = K \frac{d_i}{\sum_j \max(0, n_i^T n_j)^2 d_j}

    Contacts of equal depth share K, a contact that is only just touched has none of it, and
    one that is reported twice counts once: the resultant depends on the geometry alone, and
    changes without a jump when contacts come and go.
    """
    for r in range(rows.count[0]):
        depth = TRACE - rows.separation[r]
        if rows.geom[r, 0] < 0 or depth < 0.0:
            continue
        total = 0.0
        for i in range(rows.count[0]):
            if rows.geom[i, 0] >= 0 and rows.separation[i] <= 0.0:
                facing = max(dot(rows.normal[r], rows.normal[i], 3), 0.0)
                total += facing * facing * (TRACE - rows.separation[i])
        rows.stiffness[r] *= depth / total
        rows.damping[r] *= depth / total


@kernel
def note_bound(rows: Rows, r: int, soften: float, ease: float) -> None:
    """Remember the row whose gains were bounded most since the start."""
    if min(math.sqrt(soften), ease) < min(math.sqrt(rows.worst[0]), rows.worst[1]):
        rows.worst[0], rows.worst[1] = soften, ease
        rows.worst_geom[0], rows.worst_geom[1] = rows.geom[r, 0], rows.geom[r, 1]


@kernel
def bound_gains(sc: Scene, mo: Motion, rows: Rows, step: float) -> None:
    r"""Bound the gains of touching rows by what a fixed step can hold.

    The load that all contacts put on the direction in which row i moves the bodies is

    .. math:: \kappa_i = \frac{\sum_j K_j G_{ij}^2}{G_{ii}}, \quad G = J D^{-1} J^T

    (K_i/m_eff for a single contact); K_i is scaled so that κ_i T² ≤ ¼, and B_i likewise
    so that β_i T ≤ ½. Cost grows with the number of rows, not with its square.
    """
    stiffest, most_damped = 0.0, 0.0
    for r in range(rows.count[0]):
        if rows.separation[r] <= 0.0:
            mobility = dot(rows.white[r], rows.white[r], sc.nv)
            stiffest += rows.stiffness[r] * mobility
            most_damped += rows.damping[r] * mobility
    # every κ is at most the trace of G K: usually that is enough to know
    if stiffest * step * step <= MOST_STIFFNESS and most_damped * step <= MOST_DAMPING:
        return
    clear_matrix(mo.load[0])
    clear_matrix(mo.load[1])
    for r in range(rows.count[0]):
        if rows.separation[r] <= 0.0:
            accumulate_outer(rows.stiffness[r], rows.jac[r], sc.nv, mo.load[0])
            accumulate_outer(rows.damping[r], rows.jac[r], sc.nv, mo.load[1])
    for r in range(rows.count[0]):
        if rows.separation[r] > 0.0:
            continue
        mobility = dot(rows.white[r], rows.white[r], sc.nv)
        if mobility <= 0.0:
            continue
        copy_vector(rows.white[r], mo.white)
        unwhiten(mo.inertia, mo.white)
        kappa = quadratic_form(mo.load[0], mo.white, sc.nv) / mobility
        beta = quadratic_form(mo.load[1], mo.white, sc.nv) / mobility
        soften = gain_scale(kappa, step * step, MOST_STIFFNESS)
        ease = gain_scale(beta, step, MOST_DAMPING)
        rows.stiffness[r] *= soften
        rows.damping[r] *= ease
        if soften < 1.0 or ease < 1.0:
            rows.bounded[0] += 1
            note_bound(rows, r, soften, ease)
    if rows.bounded[0] > 0:
        rows.worst[2] += 1.0
