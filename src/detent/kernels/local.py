"""Local constraints: planes near the tool, seen from a point of one of its links (TH 6.2)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel


@kernel
def plane_separation(
    position: np.ndarray, turn: np.ndarray, p: np.ndarray, c: np.ndarray, n: np.ndarray
) -> float:
    r"""How far a point p of a link is before the plane through c with normal n [m].

    .. math:: s = n^T (x + R p - c)

    TH 6.3, with R (``turn``, row by row) from the link to the world and x its position.
    """
    s = 0.0
    for k in range(3):
        at = turn[3 * k] * p[0] + turn[3 * k + 1] * p[1] + turn[3 * k + 2] * p[2]
        s += n[k] * (position[k] + at - c[k])
    return s


@kernel
def merged_separation(sigma: float, before: float, known: bool) -> float:
    r"""The separation of a constraint after an update, so that penetration never jumps deeper.

    .. math::
        s = \max(\sigma, 0) \text{ if new}, \qquad
        s = \begin{cases}
            \sigma & \sigma > 0 \text{ or } s_p < \sigma < 0 \\
            s_p & \sigma < s_p < 0 \\
            0 & \sigma < 0 < s_p
        \end{cases} \text{ if known}

    TH 6.4-6.7 as errata E11 corrects them. σ is the separation of the undeformed tool,
    s_p (``before``) that of the proxy before the update. What s exceeds σ by is the proxy's
    deformation.
    """
    if not known:
        return max(sigma, 0.0)
    if sigma > 0.0 or before < sigma:
        return sigma
    return min(before, 0.0)


@kernel
def round_separation(at: np.ndarray, middle: np.ndarray, axis: np.ndarray, n: np.ndarray) -> float:
    r"""How far a point is from the middle of a ball, or from the axis of a rod [m]; n ← its normal.

    .. math:: d = (1 - a a^T)(x - m), \qquad s = |d|, \qquad n = d / |d|

    with a = 0 for a ball. So a constraint of a curved surface turns as the tool goes round it. On
    the middle itself the normal stays.
    """
    along, size = 0.0, 0.0
    for k in range(3):
        along += axis[k] * (at[k] - middle[k])
    for k in range(3):
        size += (at[k] - middle[k] - along * axis[k]) ** 2
    size = math.sqrt(size)
    if size > 0.0:
        for k in range(3):
            n[k] = (at[k] - middle[k] - along * axis[k]) / size
    return size


@kernel
def healing_step(s: float, most: float, stiffness: float, heat: float) -> float:
    r"""How far a deformation can be taken back with the energy at hand [m].

    .. math:: \tfrac12 K \left((d + h)^2 - d^2\right) \le Q \quad\Rightarrow\quad
              h = \sqrt{d^2 + 2 Q / K} - d

    with the depth d = −s of a contact that is pressed. Loading its spring by h costs what the
    contact has dissipated before, so that tool and contact together gain nothing.
    """
    depth = max(-s, 0.0)
    free = max(s, 0.0)
    if heat <= 0.0 or stiffness <= 0.0:
        return min(most, free)
    return min(most, free + math.sqrt(depth * depth + 2.0 * heat / stiffness) - depth)


@kernel
def depth_energy(stiffness: float, s: float) -> float:
    """½ K s² of a contact that is pressed [J]."""
    return 0.5 * stiffness * s * s if s < 0.0 else 0.0


@kernel
def struck_restitution(
    restitution: float, approach: float, rate: float, mobility: float, behind: float
) -> float:
    r"""The restitution that a collision with a movable object has for the tool alone (B4).

    .. math::
        -e' v = v - \frac{G}{G + w} (1 + e)(v - u)
        \quad\Rightarrow\quad e' = \frac{(1 + e)(v - u)}{v} \frac{G}{G + w} - 1

    with the tool's normal velocity v < 0 (``approach``), that of the object u (``rate``), and
    their mobilities G and w (``behind``) along the normal. An immovable object has e' = e, one
    without mass e' = −1: no impulse. Within [−1, 1] the collision stays passive for the tool.
    """
    if approach >= 0.0 or approach >= rate:
        return -1.0
    share = mobility / (mobility + behind) if mobility + behind > 0.0 else 0.0
    return min(max((1.0 + restitution) * (approach - rate) / approach * share - 1.0, -1.0), 1.0)
