r"""The inertia of a mechanism, factored, and the metric that it gives to everything else.

D comes in MuJoCo's layout: the lower triangle as rows of a flat array. The columns of a row
are the dofs it hangs from, ascending, and itself last; so the row of an ancestor is a prefix
of it, and the factor :math:`D = L^T \Delta L` has no fill-in.

*Whitened* is where the inertia is the identity: rows and forces as
:math:`x = \Delta^{-1/2} L^{-T} j`, velocities as :math:`u = \Delta^{1/2} L \dot q`. Closed
loops forbid velocities along some orthonormal whitened rows Q (see `loops`). Whatever force
is whitened here loses its part along them, so that all which is built on it (responses,
collisions, the inertia at the hand) happens on the manifold of the closed mechanism:

.. math:: D_c^{-1} = L^{-1} \Delta^{-1/2} (1 - Q^T Q) \Delta^{-1/2} L^{-T}
          = D^{-1} - D^{-1} W^T (W D^{-1} W^T)^\dagger W D^{-1}

which is S3 eq. 9 before the hand's Jacobian is applied to both sides.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.linalg import Floats, Indices, Ints
from detent.kernels.struct import Struct


class Inertia(Struct):
    """A factored inertia, and the closures that restrict it."""

    nv: int
    rownnz: Ints  # MuJoCo's layout
    rowadr: Ints
    colind: Ints
    LD: Floats  # L, with Δ on its diagonal
    diaginv: Floats  # [nv] 1/Δ
    root: Floats  # [nv] its square root
    closed: Indices  # [1] how many rows of Q
    Q: Floats  # [closures, nv] whitened, orthonormal
    R: Floats  # [closures, closures] the rows of kept closures in terms of Q
    kept: Indices  # [closures] which closures those are
    scale: Floats  # [closures] what made their whitened rows unit rows


def make_inertia(rownnz: Ints, rowadr: Ints, colind: Ints, closures: int = 0) -> Inertia:
    """Room for the factor of an inertia of this layout, and for *closures* rows."""
    nv = len(rownnz)
    return Inertia(
        nv=nv,
        rownnz=rownnz,
        rowadr=rowadr,
        colind=colind,
        LD=np.zeros(len(colind)),
        diaginv=np.zeros(nv),
        root=np.zeros(nv),
        closed=np.zeros(1, np.int64),
        Q=np.zeros((closures, nv)),
        R=np.zeros((closures, closures)),
        kept=np.zeros(closures, np.int64),
        scale=np.zeros(closures),
    )


@kernel
def factor_inertia(M: Floats, inertia: Inertia) -> bool:
    r"""Factor D without fill-in; False if it is not positive definite.

    .. math:: D = L^T \Delta L

    ``L`` is unit lower triangular. The same numbers as MuJoCo's ``mj_factorM``.
    """
    return factor_block(M, inertia, 0, inertia.nv)


@kernel
def factor_block(M: Floats, inertia: Inertia, first: int, end: int) -> bool:
    """`factor_inertia` of the dofs *first* to *end* alone: those of whole trees."""
    rownnz, rowadr, colind = inertia.rownnz, inertia.rowadr, inertia.colind
    LD, diaginv = inertia.LD, inertia.diaginv
    if end <= first:
        return True
    for a in range(rowadr[first], rowadr[end - 1] + rownnz[end - 1]):
        LD[a] = M[a]
    for k in range(end - 1, first - 1, -1):
        start = rowadr[k]
        diagonal = start + rownnz[k] - 1
        if not LD[diagonal] > 0.0:
            return False
        inverse = 1.0 / LD[diagonal]
        diaginv[k] = inverse
        inertia.root[k] = math.sqrt(inverse)
        for a in range(diagonal - 1, start - 1, -1):
            i = colind[a]
            factor = LD[a] * inverse
            for j in range(rownnz[i]):
                LD[rowadr[i] + j] -= factor * LD[start + j]
        for a in range(start, diagonal):
            LD[a] *= inverse
    return True


@kernel
def kinetic_energy(M: Floats, inertia: Inertia, qd: Floats) -> float:
    r"""The kinetic energy, with the ½ that TH 4.27, 4.33, 4.40 and 4.43 leave out.

    .. math:: KE = \tfrac12 \dot q^T D \dot q
    """
    rownnz, rowadr, colind = inertia.rownnz, inertia.rowadr, inertia.colind
    total = 0.0
    for k in range(inertia.nv):
        if qd[k] == 0.0:
            continue
        diagonal = rowadr[k] + rownnz[k] - 1
        s = 0.5 * M[diagonal] * qd[k]  # errata E5
        for a in range(rowadr[k], diagonal):
            s += M[a] * qd[colind[a]]
        total += s * qd[k]
    return total


@kernel
def add_momentum(M: Floats, inertia: Inertia, qd: Floats, out: Floats) -> None:
    r"""The momentum, or the force behind an acceleration: ``out`` :math:`+= D \dot q`."""
    rownnz, rowadr, colind = inertia.rownnz, inertia.rowadr, inertia.colind
    for k in range(inertia.nv):
        diagonal = rowadr[k] + rownnz[k] - 1
        s = M[diagonal] * qd[k]
        for a in range(rowadr[k], diagonal):
            s += M[a] * qd[colind[a]]
            out[colind[a]] += M[a] * qd[k]
        out[k] += s


@kernel
def _solve_transposed(inertia: Inertia, first: int, end: int, x: Floats) -> None:
    """``x`` becomes L⁻ᵀ x, in the dofs *first* to *end*."""
    rownnz, rowadr, colind, LD = inertia.rownnz, inertia.rowadr, inertia.colind, inertia.LD
    for k in range(end - 1, first - 1, -1):
        if x[k] == 0.0:  # mostly of a tree that has no part in this
            continue
        for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
            x[colind[a]] -= LD[a] * x[k]


@kernel
def _solve_unit_lower(inertia: Inertia, first: int, end: int, x: Floats) -> None:
    """``x`` becomes L⁻¹ x, in the dofs *first* to *end*."""
    rownnz, rowadr, colind, LD = inertia.rownnz, inertia.rowadr, inertia.colind, inertia.LD
    for k in range(first, end):
        s = x[k]
        for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
            s -= LD[a] * x[colind[a]]
        x[k] = s


@kernel
def project_on_closures(inertia: Inertia, x: Floats) -> float:
    """Take away what the closures of loops forbid: x ← (1 − QᵀQ) x, whitened; how much, |Q x|²."""
    taken = 0.0
    for i in range(inertia.closed[0]):
        s = 0.0
        for k in range(inertia.nv):
            s += inertia.Q[i, k] * x[k]
        for k in range(inertia.nv):
            x[k] -= s * inertia.Q[i, k]
        taken += s * s
    return taken


@kernel
def whiten_open(inertia: Inertia, x: Floats) -> None:
    r"""Take a row of a Jacobian, or a force, to where the inertia is the identity.

    .. math:: x \leftarrow \Delta^{-1/2} L^{-T} x

    As if all loops were open.
    """
    _solve_transposed(inertia, 0, inertia.nv, x)
    for k in range(inertia.nv):
        x[k] *= inertia.root[k]


@kernel
def whiten(inertia: Inertia, x: Floats) -> None:
    r"""The same in the closed mechanism.

    .. math:: x \leftarrow (1 - Q^T Q) \Delta^{-1/2} L^{-T} x, \quad
              x_a^T x_b = j_a D_c^{-1} j_b^T
    """
    whiten_open(inertia, x)
    if inertia.closed[0] > 0:
        project_on_closures(inertia, x)


@kernel
def whiten_rows(inertia: Inertia, m: int, N: Floats) -> None:
    """`whiten` of the first m rows of ``N`` together, several times as fast."""
    whiten_open_rows(inertia, m, N)
    if inertia.closed[0] > 0:
        for i in range(m):
            project_on_closures(inertia, N[i])


@kernel
def _any_moves(N: Floats, start: int, end: int, k: int) -> bool:
    """Whether any of these rows moves what is in column k; none does if it is of another tree."""
    for i in range(start, end):
        if N[i, k] != 0.0:
            return True
    return False


@kernel
def is_diagonal(inertia: Inertia, first: int, last: int) -> bool:
    """Whether these dofs are not coupled at all: so MuJoCo says of a body about its middle."""
    rownnz, rowadr = inertia.rownnz, inertia.rowadr
    return last > first and rowadr[last - 1] + rownnz[last - 1] - rowadr[first] == last - first


@kernel
def whiten_block_rows(
    inertia: Inertia, start: int, end: int, first: int, last: int, shift: int, N: Floats
) -> None:
    """`whiten_open` of the rows *start* to *end* of ``N`` together, in some dofs alone.

    These are *first* to *last*, in the columns that are *shift* less; no other is coupled to them.
    """
    rownnz, rowadr, colind, LD = inertia.rownnz, inertia.rowadr, inertia.colind, inertia.LD
    if is_diagonal(inertia, first, last):
        root = inertia.root
        for i in range(start, end):
            for k in range(first, last):
                N[i, k - shift] *= root[k]
        return
    for k in range(last - 1, first - 1, -1):
        column = k - shift
        if not _any_moves(N, start, end, column):
            continue
        for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
            j, factor = colind[a] - shift, LD[a]
            for i in range(start, end):
                N[i, j] -= factor * N[i, column]
        factor = inertia.root[k]
        for i in range(start, end):
            N[i, column] *= factor


@kernel
def whiten_open_rows(inertia: Inertia, m: int, N: Floats) -> None:
    """`whiten_open` of the first m rows of ``N`` together."""
    whiten_block_rows(inertia, 0, m, 0, inertia.nv, 0, N)


@kernel
def unwhiten(inertia: Inertia, x: Floats) -> None:
    r"""Take a velocity back from where the inertia is the identity.

    .. math:: x \leftarrow L^{-1} \Delta^{-1/2} x

    After `whiten` of a row j it gives :math:`D_c^{-1} j^T`.
    """
    for k in range(inertia.nv):
        x[k] *= inertia.root[k]
    _solve_unit_lower(inertia, 0, inertia.nv, x)


@kernel
def whiten_velocity(inertia: Inertia, x: Floats) -> None:
    r"""Take a velocity to where the inertia is the identity: undoes `unwhiten`.

    .. math:: x \leftarrow \Delta^{1/2} L x, \quad x^T x = \dot q^T D \dot q
    """
    rownnz, rowadr, colind, LD = inertia.rownnz, inertia.rowadr, inertia.colind, inertia.LD
    for k in range(inertia.nv - 1, -1, -1):
        s = x[k]
        for a in range(rowadr[k], rowadr[k] + rownnz[k] - 1):
            s += LD[a] * x[colind[a]]
        x[k] = s / inertia.root[k]


@kernel
def respond_to(inertia: Inertia, x: Floats) -> None:
    r"""A force becomes the acceleration that it causes in the closed mechanism, in place.

    .. math:: x \leftarrow D_c^{-1} x
    """
    if inertia.closed[0] > 0:
        whiten(inertia, x)
        unwhiten(inertia, x)
        return
    respond_block(inertia, 0, inertia.nv, x)


@kernel
def respond_block(inertia: Inertia, first: int, end: int, x: Floats) -> None:
    """The same in the dofs *first* to *end* alone, those of whole trees, with loops open."""
    _solve_transposed(inertia, first, end, x)
    for k in range(first, end):
        x[k] *= inertia.diaginv[k]
    _solve_unit_lower(inertia, first, end, x)
