r"""What a mechanism does to the hand that holds one of its links: torques and constraints.

The hand's twist has k rows in the motion subspace of the device, and the mechanism may move
it in fewer: by its build, or in a singular pose. With the inertia D of the mechanism, and that
of the held link, M, in the frame of the rows of :math:`J_h` (errata to TH 5.2),

.. math:: \dot x = J_h \dot q, \qquad \Lambda_h^{-1} = J_h D^{-1} J_h^T, \qquad M = L L^T,
          \qquad W = L^T \Lambda_h^{-1} L = U \, \mathrm{diag}(\sigma) \, U^T

The σ have no unit and are the same in every frame. None exceeds 1 if the held link is a part
of the mechanism, since then :math:`D \ge J_h^T M J_h`. So one tolerance serves all axes.

The SVD of TH 5.8 is not needed: :math:`F = L^{-T} U_r` and :math:`C = U_r^T L^T J_h` factor
:math:`J_h = F C` with :math:`F^T M F = I` and :math:`C D^{-1} C^T = \mathrm{diag}(\sigma_r)`,
and TH 5.7 becomes `map_torques`. Kinematic loops are in :math:`D^{-1}`, if it is that of the
mechanism with its loops closed.

Near a singularity the wrench of a torque along the direction that is being lost grows with
1/s. It is faded out over the band of the hysteresis; outside that band J# is exact.

Limitations. When the rank changes, so do the constraints, at once. The hysteresis counts
directions; it does not follow them. Two of them that cross within its band, one free and one
constrained, change places.
"""

from __future__ import annotations

import math

from detent.kernels.jit import kernel
from detent.kernels.linalg import (
    Floats,
    cholesky_solve,
)
from detent.kernels.rank import MappingWork

# ---------------------------------------------------------------------------- the rank


# ------------------------------------------------------------------ torques at the hand


@kernel
def map_torques(k: int, rank: int, work: MappingWork, a: Floats, out: Floats) -> None:
    r"""The wrench at the hand of torques T of the mechanism, which give the hand ``a``.

    .. math:: F_{env} = J_h^{\#T} T = L U_r \, \mathrm{diag}(1 / \sigma_r) \, U_r^T L^T a,
              \qquad a = J_h D^{-1} T

    TH 5.7 and 5.12 (B.17 has a slip, see the errata), for forces and for impulses, with the
    ``rank`` and the ``work`` of `weigh`. :math:`J_h^\#` is the inverse with the metrics D and
    M, so the wrench belongs to the mechanism, not to units or to the frame [Doty93].

    With full row rank, M drops out and it is the dynamically consistent inverse (B.18 with
    "row", errata), :math:`F_{env} = \Lambda_h a`; for an invertible Jacobian,
    :math:`J_h^{-T} T` (TH 5.2).
    """
    L, U, y, z = work.L, work.U, work.y, work.z
    if rank < 0:
        for i in range(k):
            out[i] = math.nan
        return
    if work.whole[0]:
        cholesky_solve(work.C, k, a, out)
        return
    if work.lost[0] > 0:
        _map_what_is_left(k, work, a, out)
        return
    for i in range(k):
        s = 0.0
        for j in range(i, k):
            s += L[j, i] * a[j]
        y[i] = s
        z[i] = 0.0
    for j in range(k):
        if work.share[j] == 0.0:
            continue
        s = 0.0
        for i in range(k):
            s += U[i, j] * y[i]
        s *= work.share[j] / work.sigma[j]
        for i in range(k):
            z[i] += s * U[i, j]
    for i in range(k):
        s = 0.0
        for j in range(i + 1):
            s += L[i, j] * z[j]
        out[i] = s


@kernel
def _map_what_is_left(k: int, work: MappingWork, a: Floats, out: Floats) -> None:
    r"""`map_torques` where directions are plainly lost.

    .. math:: F_{env} = (\Lambda_h^{-1} + \tau B B^T)^{-1} (1 - B N^T) a
    """
    B, N, y = work.B, work.N, work.y
    for i in range(k):
        y[i] = a[i]
    for m in range(work.lost[0]):
        s = 0.0
        for i in range(k):
            s += N[i, m] * a[i]
        for i in range(k):
            y[i] -= s * B[i, m]
    cholesky_solve(work.C, k, y, out)


# ------------------------------------------------------------- topological constraints
