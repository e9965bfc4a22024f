"""The rank of a linkage at the hand: in which directions the held link moves (TH 5.4, App C)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import PLAIN, ROUND_OFF
from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats, Indices, cholesky_factor, cholesky_solve, eigh_small
from detent.kernels.struct import Struct

#: What `weigh` reports for numbers that are not finite, or an M that is not positive definite.
#: As the previous rank it means that there was none.
NO_RANK = -1


TWIST = 6


class MappingWork(Struct):
    """What `weigh` finds out, for the other kernels of this file, and their scratch."""

    floor: Floats  # [1] the least that the largest σ counts for: more than 0 where loops are closed
    whole: Indices  # [1] whether the rank is known to be full without the spectrum
    lost: Indices  # [1] or how many directions are known to be lost, without it; else 0
    C: Floats  # [6, 6] if whole or lost: the factor of Λ_h⁻¹, of which the lost part is filled up
    B: Floats  # [6, 6] columns: if lost, M⁻¹ N
    L: Floats  # [6, 6] the factor of M
    W: Floats  # [6, 6] Λ_h⁻¹ weighted by it
    sigma: Floats  # [6] if neither: its eigenvalues, ascending
    U: Floats  # [6, 6] columns: and its eigenvectors
    share: Floats  # [6] how much of a torque along each reaches the hand
    N: Floats  # [6, 6] columns: the wrenches of topological constraint
    E: Floats  # [6, 6] columns: the same as an orthonormal basis, where it is asked for
    S: Floats  # [6, 6] scratch
    T: Floats  # [6, 6] scratch
    y: Floats  # [6] scratch
    z: Floats  # [6] scratch


def mapping_work() -> MappingWork:
    """Allocate the scratch for a hand."""
    return MappingWork(
        floor=np.zeros(1),
        whole=np.zeros(1, np.int64),
        lost=np.zeros(1, np.int64),
        C=np.zeros((TWIST, TWIST)),
        B=np.zeros((TWIST, TWIST)),
        L=np.zeros((TWIST, TWIST)),
        W=np.zeros((TWIST, TWIST)),
        sigma=np.zeros(TWIST),
        U=np.zeros((TWIST, TWIST)),
        share=np.zeros(TWIST),
        N=np.zeros((TWIST, TWIST)),
        E=np.zeros((TWIST, TWIST)),
        S=np.zeros((TWIST, TWIST)),
        T=np.zeros((TWIST, TWIST)),
        y=np.zeros(TWIST),
        z=np.zeros(TWIST),
    )


@kernel
def weighted_trace(mobility: Floats, M: Floats, k: int) -> float:
    r"""The trace of W: :math:`\sum_{ij} (\Lambda_h^{-1})_{ij} M_{ij}`."""
    total = 0.0
    for i in range(k):
        s = 0.0
        for j in range(k):
            s += mobility[i, j] * M[i, j]
        total += s
    return total


@kernel
def _means_show_it(trace: float, k: int, least: float, work: MappingWork) -> bool:
    r"""Whether determinant and trace alone show that every s exceeds ``least``.

    .. math:: g = \det W \left(\frac{k}{\mathrm{tr}\, W}\right)^k \le \frac{4 r}{(1 + r)^2},
              \qquad r = \frac{\sigma_{min}}{\sigma_{max}}

    The geometric against the arithmetic mean: of all spectra with that r, the one with every
    other σ at :math:`(\sigma_{min} + \sigma_{max}) / 2` has the largest g. [Merikoski97]
    """
    C, L = work.C, work.L
    g, scale = 1.0, k / trace
    for i in range(k):
        root = C[i, i] * L[i, i]
        g *= root * root * scale
    bound = 2.0 * least / (1.0 + least * least)
    return trace > k * ROUND_OFF and g > bound * bound


@kernel
def _weight(mobility: Floats, k: int, work: MappingWork) -> float:
    r"""Weight the mobility, :math:`W = L^T \Lambda_h^{-1} L`; the trace.

    L is zero above its diagonal, so rows of full length do no harm, and one instruction
    serves several columns.
    """
    L, T, W = work.L, work.T, work.W
    for i in range(k):
        for j in range(TWIST):
            T[i, j] = 0.0
        for m in range(k):
            for j in range(TWIST):
                T[i, j] += mobility[i, m] * L[m, j]
    trace = 0.0
    for i in range(k):
        for j in range(TWIST):
            W[i, j] = 0.0
        for m in range(i, k):
            for j in range(TWIST):
                W[i, j] += L[m, i] * T[m, j]
        trace += W[i, i]
    return trace


@kernel
def _shift_shows_it(k: int, least: float, trace: float, work: MappingWork) -> bool:
    r"""Whether a shifted Cholesky factorisation shows that every s exceeds ``least``.

    .. math:: W - \ell^2 \|W\|_F I \succ 0 \;\Rightarrow\; \sigma_{min} > \ell^2 \sigma_{max}

    Dearer than `_means_show_it`, but not misled by a light handle on a heavy mechanism, whose
    σ are apart: it misses at most a factor of :math:`k^{1/4}` in s.
    """
    W, S = work.W, work.S
    squares = 0.0
    for i in range(k):
        for j in range(i):
            S[i, j] = W[i, j]
            squares += 2.0 * W[i, j] * W[i, j]
        squares += W[i, i] * W[i, i]
    shift = least * least * math.sqrt(squares)
    for i in range(k):
        S[i, i] = W[i, i] - shift
    return trace > k * ROUND_OFF and cholesky_factor(S, k, S) == k


@kernel
def _sweep(mobility: Floats, M: Floats, k: int, rank: int, work: MappingWork) -> float:
    r"""The wrenches that meet no mobility if it has this rank, to ``work.N``; what they do meet.

    .. math:: N = \begin{pmatrix} -A_{PP}^{-1} A_{PF} \\ 1 \end{pmatrix}, \qquad
              \sum_{i \in F} M_{ii} (A_{FF} - A_{FP} A_{PP}^{-1} A_{PF})_{ii}, \qquad
              A = \Lambda_h^{-1}

    Gauss-Jordan elimination with the ``rank`` pivots P on the diagonal that are largest
    measured by the held link's inertia, so that units do not matter.
    """
    N, S, left = work.N, work.S, work.y
    for i in range(k):
        left[i] = M[i, i]
        for j in range(TWIST):
            S[i, j] = mobility[i, j] if j < k else 0.0
    for _ in range(rank):
        p = 0
        for i in range(1, k):
            if S[i, i] * left[i] > S[p, p] * left[p]:
                p = i
        if not S[p, p] * left[p] > 0.0:
            return math.inf
        left[p] = 0.0
        inverse = 1.0 / S[p, p]
        for j in range(TWIST):
            S[p, j] *= inverse
        for i in range(k):
            factor = S[i, p] if i != p else 0.0
            for j in range(TWIST):
                S[i, j] -= factor * S[p, j]
    met, count = 0.0, 0
    for j in range(k):
        if left[j] == 0.0:
            continue
        met += abs(S[j, j]) * left[j]
        for i in range(k):
            N[i, count] = -S[i, j] if left[i] == 0.0 else 0.0
        N[j, count] = 1.0
        count += 1
    return met


@kernel
def _make_orthonormal(k: int, count: int, work: MappingWork) -> None:
    """Gram-Schmidt in the metric of M⁻¹: Nᵀ B = 1 of N and ``work.B``, which is M⁻¹ N."""
    N, B, y = work.N, work.B, work.y
    for c in range(count):
        for i in range(k):
            y[i] = N[i, c]
        cholesky_solve(work.L, k, y, y)
        for i in range(k):
            B[i, c] = y[i]
        for m in range(c + 1):  # at last, itself
            s = 0.0
            for i in range(k):
                s += B[i, m] * N[i, c]
            keep, take = (1.0, s) if m < c else (1.0 / math.sqrt(s), 0.0)
            for i in range(k):
                N[i, c] = keep * N[i, c] - take * N[i, m]
                B[i, c] = keep * B[i, c] - take * B[i, m]


@kernel
def _loss_is_plain(
    mobility: Floats, M: Floats, k: int, rank: int, enter: float, leave: float, work: MappingWork
) -> bool:
    r"""Whether all but ``rank`` directions are lost to round-off, and the others plainly free.

    .. math:: C C^T = \Lambda_h^{-1} + \tau B B^T, \qquad B = M^{-1} N, \qquad N^T B = 1,
              \qquad \tau = \mathrm{tr}\, W / r

    So it is where the build of the mechanism takes directions from the hand, away from
    singular poses. Filled up with their mean, the σ are shown to be large as those of a whole
    mobility, and the spectrum is not needed.
    """
    trace = weighted_trace(mobility, M, k)
    if not _sweep(mobility, M, k, rank, work) < min(PLAIN, enter * enter) * trace / (k * k):
        return False
    _make_orthonormal(k, k - rank, work)
    B, C, mean = work.B, work.C, trace / rank
    for i in range(k):
        for j in range(i + 1):
            s = 0.0
            for m in range(k - rank):
                s += B[i, m] * B[j, m]
            C[i, j] = mobility[i, j] + mean * s
    return cholesky_factor(C, k, C) == k and _means_show_it(k * mean, k, leave, work)


@kernel
def rank_of(
    sigma: Floats, floor: float, k: int, enter: float, leave: float, previous_rank: int
) -> int:
    r"""How many directions are free, given ascending σ, without chatter at a singularity.

    .. math:: \#\{s_i > s_{leave}\} \le r \le \#\{s_i > s_{enter}\}, \qquad
              s_i = \sqrt{\sigma_i / \max(\sigma_{max}, \sigma_{floor})}

    The r nearest to the previous one. So a direction becomes constrained below ``enter`` and
    free above ``leave``, and noise of less than half that band cannot make the rank chatter.
    Without a previous rank (negative), the threshold is the geometric mean of the two.

    If no σ exceeds `ROUND_OFF`, the hand feels a million million times the inertia of the held
    link in every direction, or a mechanism that loops lock: the rank is 0. Loops that all but lock
    it leave a σ_max of any size, by which nothing can be judged: hence the floor.
    """
    if k == 0 or not sigma[k - 1] > ROUND_OFF:
        return 0
    surely, about, perhaps = 0, 0, 0
    for i in range(k):
        part = sigma[i] / max(sigma[k - 1], floor)
        surely += part > leave * leave
        about += part > enter * leave
        perhaps += part > enter * enter
    return about if previous_rank < 0 else min(max(previous_rank, surely), perhaps)


@kernel
def _fade(k: int, enter: float, leave: float, work: MappingWork) -> None:
    r"""Which part of a torque along each direction reaches the hand, to ``work.share``.

    .. math:: w = 3 t^2 - 2 t^3, \qquad t = \frac{s - s_{enter}}{s_{leave} - s_{enter}}

    A wrench that grows with 1/s must not vanish at once where its direction is given up.
    """
    sigma, share = work.sigma, work.share
    for i in range(k):
        share[i] = 0.0
        if not sigma[k - 1] > ROUND_OFF:
            continue
        s = math.sqrt(max(sigma[i], 0.0) / max(sigma[k - 1], work.floor[0]))
        if s >= leave:
            share[i] = 1.0
        elif s > enter:
            t = (s - enter) / (leave - enter)
            share[i] = t * t * (3.0 - 2.0 * t)


@kernel
def weigh(
    mobility: Floats,
    M: Floats,
    k: int,
    enter: float,
    leave: float,
    previous_rank: int,
    work: MappingWork,
) -> int:
    r"""Find the directions in which the hand can move, ``mobility`` Λ_h⁻¹; their number.

    .. math:: W = L^T \Lambda_h^{-1} L = U \, \mathrm{diag}(\sigma) \, U^T

    TH 5.7 needs a numerical rank (errata to TH 5.23); `rank_of` says how it is decided, with
    0 < ``enter`` ≤ ``leave`` < 1. Below 1e-7 is round-off, because the σ are squares. Where
    bounds show that the rank is full, or still the previous one, the spectrum is not computed.

    ``mobility`` and ``M`` are symmetric. The result is `NO_RANK` for what is not finite and
    for an M that is not positive definite: then `map_torques` yields NaN, not a wrong wrench.
    """
    work.whole[0], work.lost[0] = 0, 0
    if k == 0:
        return 0
    if cholesky_factor(M, k, work.L) < k:
        return NO_RANK
    lost = 0 <= previous_rank < k  # and hardly found again in this tick
    bounds = not weighted_trace(mobility, M, k) < k * work.floor[0]  # else the floor is above σ_max
    if bounds and lost and _loss_is_plain(mobility, M, k, previous_rank, enter, leave, work):
        work.lost[0] = k - previous_rank
        return previous_rank
    whole = bounds and not lost and cholesky_factor(mobility, k, work.C) == k
    if whole and _means_show_it(weighted_trace(mobility, M, k), k, leave, work):
        work.whole[0] = 1
        return k
    trace = _weight(mobility, k, work)
    if not abs(trace) < math.inf:
        return NO_RANK
    if whole and _shift_shows_it(k, leave, trace, work):
        work.whole[0] = 1
        return k
    eigh_small(work.W, k, work.y, work.sigma, work.U)
    _fade(k, enter, leave, work)
    return rank_of(work.sigma, work.floor[0], k, enter, leave, previous_rank)


@kernel
def trust_mobility(mobility: Floats, k: int, work: MappingWork) -> None:
    """`weigh` of a hand that is known to move in all k directions."""
    work.whole[0] = 1
    cholesky_factor(mobility, k, work.C)
