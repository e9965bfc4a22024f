r"""Inside or outside: the generalized winding number of a surface (Jacobson et al. 2013).

.. math:: w(q) = \frac{1}{4 \pi} \sum_t \Omega_t(q)

with the solid angles :math:`\Omega_t` of the triangles (van Oosterom and Strackee 1983); parts
that are far away count as dipoles (Barill et al. 2018). Its sign is right on closed meshes that
are dirty, where pseudonormals are not. Limitations: near an open hole it is a matter of taste.
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, cross, inner
from detent.shapes.constants import WINDING_REACH
from detent.shapes.triangles import corner, minus


@kernel
def solid_angle(p: Triple, tri: np.ndarray, t: int) -> float:
    """[sr] of a triangle seen from p, positive if p looks at its back."""
    a, b, c = (
        minus(corner(tri, t, 0), p),
        minus(corner(tri, t, 1), p),
        minus(corner(tri, t, 2), p),
    )
    la, lb, lc = math.sqrt(inner(a, a)), math.sqrt(inner(b, b)), math.sqrt(inner(c, c))
    below = la * lb * lc + inner(a, b) * lc + inner(b, c) * la + inner(c, a) * lb
    return 2.0 * math.atan2(inner(a, cross(b, c)), below)


@kernel
def winding(
    p: Triple, tri: np.ndarray, link: np.ndarray, dipole: np.ndarray, stack: np.ndarray
) -> float:
    """[-] How often the surface goes round p: 1 inside, 0 outside."""
    total, depth = 0.0, 1
    stack[0] = 0
    while depth > 0:
        depth -= 1
        i = stack[depth]
        d = (dipole[i, 3] - p[0], dipole[i, 4] - p[1], dipole[i, 5] - p[2])
        far, reach = inner(d, d), WINDING_REACH * dipole[i, 6]
        if far > reach * reach:
            moment = (dipole[i, 0], dipole[i, 1], dipole[i, 2])
            total += inner(moment, d) / (far * math.sqrt(far))
        elif link[i, 1] == 0:
            stack[depth], stack[depth + 1] = link[i, 0], i + 1
            depth += 2
        else:
            for t in range(link[i, 0], link[i, 0] + link[i, 1]):
                total += solid_angle(p, tri, t)
    return total / (4.0 * math.pi)


@kernel
def make_dipoles(tri: np.ndarray, box: np.ndarray, link: np.ndarray, out: np.ndarray) -> None:
    """out[i] ← Σ area · normal, centre weighted by area, and radius of what is below node i.

    Nodes come after their parents, so sums go backwards; out[i, 7] is the area.
    """
    for k in range(out.shape[0]):
        i = out.shape[0] - 1 - k
        for j in range(8):
            out[i, j] = 0.0
        if link[i, 1] == 0:
            for second in range(2):
                child = link[i, 0] if second == 1 else i + 1
                for j in range(3):
                    out[i, j] += out[child, j]
                    out[i, 3 + j] += out[child, 3 + j] * out[child, 7]
                out[i, 7] += out[child, 7]
        else:
            for t in range(link[i, 0], link[i, 0] + link[i, 1]):
                add_triangle(tri, t, out, i)
        for j in range(3):
            out[i, 3 + j] /= out[i, 7]
        reach = 0.0
        for j in range(3):
            side = max(box[i, 3 + j] - out[i, 3 + j], out[i, 3 + j] - box[i, j])
            reach += side * side
        out[i, 6] = math.sqrt(reach)


@kernel
def add_triangle(tri: np.ndarray, t: int, out: np.ndarray, i: int) -> None:
    """Area, moment and centre of one triangle are added to node i."""
    a, b, c = corner(tri, t, 0), corner(tri, t, 1), corner(tri, t, 2)
    n = cross(minus(b, a), minus(c, a))
    area = 0.5 * math.sqrt(inner(n, n))
    out[i, 7] += area
    for j in range(3):
        out[i, j] += 0.5 * n[j]
        out[i, 3 + j] += area * (a[j] + b[j] + c[j]) / 3.0
