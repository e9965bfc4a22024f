"""Topological constraints: the wrenches that joints resist, and their penalty (TH 5.23, M20)."""

from __future__ import annotations

import math

from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats, cholesky_factor, cholesky_solve
from detent.kernels.rank import MappingWork


@kernel
def constraint_directions(k: int, rank: int, work: MappingWork) -> int:
    r"""The wrenches that the structure of the mechanism balances, to ``work.N``; their number.

    .. math:: N = L U_0, \qquad \Lambda_h^{-1} N = L^{-T} U_0 \, \mathrm{diag}(\sigma_0) \approx 0,
              \qquad N^T M^{-1} N = I

    TH 5.4: the null space of :math:`\Lambda_h^{-1}`, which is that of :math:`J_h^T` (TH C;
    its proof is wrong, not its claim, see the errata). There are k − rank of them, the columns
    of N. Near a singularity σ_0 is small but not zero, and N stands for what is all but
    impossible: the directions with the least mobility as the held link's inertia measures
    it. The SVD of :math:`J_h` or of :math:`\Lambda_h^{-1}` would pick slightly others there, and
    others again in millimetres.
    """
    if rank < 0:
        return 0
    if work.lost[0] == 0:  # else `weigh` has found them
        _write_directions(k, k - rank, work)
    return k - rank


@kernel
def _write_directions(k: int, count: int, work: MappingWork) -> None:
    """The first columns of N = L U."""
    L, U, N = work.L, work.U, work.N
    for i in range(k):
        for j in range(count):
            s = 0.0
            for m in range(i + 1):
                s += L[i, m] * U[m, j]
            N[i, j] = s


@kernel
def _whitened_directions(k: int, work: MappingWork, old: Floats) -> None:
    """The directions of this tick as unit vectors, to the columns of ``old``.

    Those of the spectrum; where directions are plainly lost :math:`L^{-1} N`; else as they were.
    """
    L, U, N = work.L, work.U, work.N
    if work.whole[0] != 0:
        return
    for j in range(k):
        for i in range(k):
            s = U[i, j]
            if work.lost[0] > 0:
                s = N[i, j] if j < work.lost[0] else 0.0
                for m in range(i):
                    s -= L[i, m] * old[m, j]
                s /= L[i, i]
            old[i, j] = s


@kernel
def _carry_over(k: int, work: MappingWork, tied: Floats) -> None:
    r"""How far the directions of this tick were tied in the last one, whatever their order was.

    .. math:: w_j \leftarrow \sum_i w_i (u_j^T u_i)^2
    """
    old, now, was = work.E, work.S, work.y
    for j in range(k):
        was[j] = tied[j]
        for i in range(k):
            now[i, j] = old[i, j]
    _whitened_directions(k, work, now)
    for j in range(k):
        tied[j] = 0.0
        for i in range(k):
            if was[i] > 0.0:
                s = 0.0
                for m in range(k):
                    s += now[m, j] * old[m, i]
                tied[j] += was[i] * s * s
    for j in range(k):
        for i in range(k):
            old[i, j] = now[i, j]


@kernel
def tied_directions(
    k: int, rank: int, ease: float, work: MappingWork, tied: Floats, came: Floats
) -> int:
    r"""The same for constraints that come and go: how far each counts, to ``tied``; their number.

    .. math:: w \to 1 - \mathrm{share}(s), \qquad |\Delta w| \le ease

    with the share of `weigh`, so that nothing steps where a direction is lost or found. Directions
    that are found again keep the N that they had until they have gone. With ``ease`` 1 or more, a
    direction counts or does not, as the rank says. ``came`` is 1 for those that begin to count.
    """
    if ease >= 1.0 or rank < 0:
        count = constraint_directions(k, rank, work)
        for j in range(k):
            tied[j] = 1.0 if j < count else 0.0
        return count
    count, spectrum = 0, work.lost[0] == 0 and work.whole[0] == 0
    if work.whole[0] == 0:
        _carry_over(k, work, tied)
    for j in range(k):
        target = 1.0 if j < work.lost[0] else 0.0
        if spectrum:
            target = 1.0 - work.share[j]
        came[j] = 1.0 if tied[j] < 0.5 * ease and target > 0.0 else 0.0
        tied[j] = min(max(tied[j] + min(max(target - tied[j], -ease), ease), 0.0), 1.0)
        if tied[j] > 0.0 and (spectrum or work.whole[0] != 0 or j < work.lost[0]):
            count = j + 1
    if spectrum:
        _write_directions(k, count, work)
    return count


@kernel
def orthonormal_directions(k: int, count: int, work: MappingWork) -> None:
    r"""The directions n_tc of the thesis, to ``work.E``: unit vectors that span the same space.

    .. math:: \mathrm{span}(E) = \mathrm{span}(N), \qquad E^T E = I

    TH 5.23. Adds squares of forces and torques, so it depends on the units (errata).
    """
    N, E = work.N, work.E
    for j in range(count):
        for i in range(k):
            E[i, j] = N[i, j]
        for _ in range(2):  # Gram-Schmidt, twice is enough
            for m in range(j):
                s = 0.0
                for i in range(k):
                    s += E[i, m] * E[i, j]
                for i in range(k):
                    E[i, j] -= s * E[i, m]
            s = 0.0
            for i in range(k):
                s += E[i, j] * E[i, j]
            s = 1.0 / math.sqrt(s)
            for i in range(k):
                E[i, j] *= s


@kernel
def _weighted_penalty(
    k: int, count: int, device_mobility: Floats, tied: Floats, work: MappingWork, out: Floats
) -> None:
    """N w (w Nᵀ M_d⁻¹ N w + 1 − w²)⁻¹ w Nᵀ of the error in ``work.y``."""
    N, S, T, y, z = work.N, work.S, work.T, work.y, work.z
    for j in range(count):
        s = 0.0
        for i in range(k):
            s += N[i, j] * y[i]
        z[j] = tied[j] * s
        for i in range(k):
            s = 0.0
            for m in range(k):
                s += device_mobility[i, m] * N[m, j]
            T[i, j] = s
        for m in range(j + 1):
            s = 0.0
            for i in range(k):
                s += N[i, m] * T[i, j]
            S[j, m] = tied[j] * tied[m] * s
        S[j, j] += 1.0 - tied[j] * tied[j]
    if cholesky_factor(S, count, S) < count:
        z[0] = math.nan  # the device cannot move there, or the numbers are not finite
        count = 1
    else:
        cholesky_solve(S, count, z, z)
    for i in range(k):
        s = 0.0
        for j in range(count):
            s += N[i, j] * tied[j] * z[j]
        out[i] = s


@kernel
def _literal_penalty(
    k: int, count: int, device_mass: Floats, work: MappingWork, out: Floats
) -> None:
    """M_d Σ n nᵀ of the error in ``work.y``."""
    E, y, z = work.E, work.y, work.z
    orthonormal_directions(k, count, work)
    for i in range(k):
        z[i] = 0.0
    for j in range(count):
        s = 0.0
        for i in range(k):
            s += E[i, j] * y[i]
        for i in range(k):
            z[i] += s * E[i, j]
    for i in range(k):
        s = 0.0
        for m in range(k):
            s += device_mass[i, m] * z[m]
        out[i] = s


@kernel
def topology_wrench(
    k: int,
    count: int,
    work: MappingWork,
    device_mass: Floats,
    device_mobility: Floats,
    dx: Floats,
    dv: Floats,
    stiffness: float,
    damping: float,
    euclidean: bool,
    tied: Floats,
    out: Floats,
) -> None:
    r"""The wrench on the device that keeps it where the mechanism can follow.

    .. math:: u = N (N^T M_d^{-1} N)^{-1} N^T (k_{tc} \Delta x + b_{tc} \Delta \dot x),
              \qquad \Delta x = x_{tool} - x_{device}

    The penalty of TH 5.23-5.24, with the inertia M_d of the device as the metric (errata): u is
    :math:`M_d a` of the acceleration of least :math:`a^T M_d a` that meets
    :math:`N^T a = N^T (k_{tc} \Delta x + b_{tc} \Delta \dot x)`. Any basis N gives the same u,
    which does no work on a motion that is free, and belongs to no unit or frame.

    With ``euclidean``, as the thesis has it,
    :math:`u = M_d \sum_i n_i n_i^T (k_{tc} \Delta x + b_{tc} \Delta \dot x)`: it takes the
    wrench n for an acceleration, and depends on the units. The two agree for M_d = I.

    ``count`` and ``work`` are those of `constraint_directions`; ``stiffness`` [1/s²] and
    ``damping`` [1/s] are per unit of the device's inertia. A direction of which only w is ``tied``
    (`tied_directions`) counts as :math:`w n`, beside its part of a unit mobility:
    :math:`N W (W N^T M_d^{-1} N W + 1 - W^2)^{-1} W N^T`, which is continuous in w, and symmetric.
    """
    if count == 0:
        for i in range(k):
            out[i] = 0.0
        return
    for i in range(k):
        work.y[i] = stiffness * dx[i] + damping * dv[i]
    if euclidean:
        _literal_penalty(k, count, device_mass, work, out)
    else:
        _weighted_penalty(k, count, device_mobility, tied, work, out)
