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
def coherence_thresholds(
    period: float, speed: float, turning: float, most_angle: float
) -> tuple[float, float]:
    r"""How far a constraint may move, and the cosine by which it may turn, in one update.

    .. math::
        \epsilon_t = \Delta t\, v_{max}, \qquad
        \epsilon_r = \max(\cos(\Delta t\, \omega_{max}), \cos\theta_{max})

    TH 6.13-6.14, with the cosine that (6.14) lacks (errata B2).
    """
    return period * speed, math.cos(min(period * turning, most_angle))


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
