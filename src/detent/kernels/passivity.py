"""Energy at a port that is sampled, and what takes back energy that nobody put in."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import dot

# Places of what `certain_work` keeps of an axis.
# SLACK: from the rod to the reading; LEAD: from the rod to where the device is, as far as one can
# tell; LOAD, HELD: sum and number of the forces since the reading changed; REST: readings since
# the rod moved.
SLACK, LEAD, LOAD, HELD, REST = range(5)
WITHIN = 1.0 + 1e-9  # a count brings the rod to the edge of the tube, or by rounding just beyond
FADE = (0.5e-3, 1.5e-3)  # [J] of a deficit, between which a wrench gives way to the damper alone


@kernel
def held_work(wrench: np.ndarray, travel: np.ndarray) -> float:
    r"""The work [J] of a wrench that was held over a travel: exact, without any velocity.

    .. math:: \int F \, dx = F_{k-1} \cdot (x_k - x_{k-1})

    [Stramigioli02], [Ryu04]; a rotation is the vector of R_k R_{k-1}ᵀ.
    """
    return dot(wrench, travel, 6)


@kernel
def certain_travel(slack: np.ndarray, travel: np.ndarray, radius: float) -> float:
    """How far a point has moved for sure [m, rad], if readings are off by *radius* at most.

    A rod in a tube of that radius: it moves only as far as the tube pushes it, so its path is no
    longer than the true one. *slack* is from the rod to the reading, and goes on with *travel*.
    """
    size = 0.0
    for i in range(3):
        slack[i] += travel[i]
        size += slack[i] * slack[i]
    size = math.sqrt(size)
    if size <= radius:
        return 0.0
    for i in range(3):
        slack[i] *= radius / size
    return size - radius


@kernel
def certain_work(tube: np.ndarray, travel: float, force: float, radius: float) -> float:
    r"""The work [J] of a held force along one axis, if readings are off by *radius* at most.

    A spring K on readings seems to give K D²/2 with each count of an encoder, and K σ² with each
    reading that has noise. So the place is that of a rod in a tube of that radius, which moves
    only where the tube pushes it: a slow device is just there when a count comes. A fast one is
    ahead of it, at the reading itself where it makes a count with each:

    .. math:: \hat x = x_{rod} \pm r \min\left(1, \frac{|\Delta x_{rod}|}{2 r n}\right)

    n readings after the rod moved last. Without that lead a swing would hide 2 r ΔF wherever it
    turns. The force is the mean of those held since the reading last changed. *tube* is kept from
    reading to reading, in the places SLACK, LEAD, LOAD, HELD and REST.
    """
    if radius == 0.0:
        return force * travel
    tube[LOAD] += force
    tube[HELD] += 1.0
    tube[REST] += 1.0
    if travel == 0.0:
        return 0.0
    mean = tube[LOAD] / tube[HELD]
    tube[LOAD] = tube[HELD] = 0.0
    tube[SLACK] += travel
    moved = abs(tube[SLACK]) - radius * WITHIN
    if moved <= 0.0:
        return 0.0
    moved = math.copysign(abs(tube[SLACK]) - radius, tube[SLACK])
    lead = radius
    if abs(moved) < 2.0 * radius * tube[REST]:
        lead = 0.5 * abs(moved) / tube[REST]
    lead = math.copysign(lead, moved)
    work = mean * (moved + lead - tube[LEAD])
    tube[SLACK] -= moved
    tube[LEAD], tube[REST] = lead, 0.0
    return work


@kernel
def least_loss(moved: float, seconds: float, damping: float, friction: float) -> float:
    r"""The least that viscous and dry friction took [J] on a way of that length in that time.

    .. math:: \int b v^2 dt + \int c |v| dt \ge b \frac{s^2}{t} + c s

    by Cauchy and Schwarz, however the motion went in between.
    """
    return damping * moved * moved / seconds + friction * moved


@kernel
def damper_rate(deficit: float, motion: float, period: float, most: float) -> float:
    r"""a [1/s] of a damper f = −a M v that takes a deficit [J] within a period, if it may.

    .. math:: a = \min\left(\frac{-W}{v^T M v \, T}, \frac{a_{max}}{T}\right)

    [HR02] bounded; *motion* is vᵀMv, *most* is a_max. What it leaves is still there in
    the next tick.
    """
    if deficit >= most * motion:
        return most / period
    return deficit / (motion * period)


@kernel
def tank_share(level: float, power: float, seconds: float) -> float:
    r"""The share of a force that gives *power* [W] which the tank can pay for [Franken11].

    .. math:: F \cdot v \, T \le H
    """
    if power <= 0.0:
        return 1.0
    return min(1.0, max(level, 0.0) / (power * seconds))


@kernel
def share_left(deficit: float) -> float:
    """The share of a wrench that is left at a deficit [J]: none where a damper did not help.

    Beside a delay no damper holds every spring; without the spring it takes energy for sure.
    """
    return min(max((FADE[1] - deficit) / (FADE[1] - FADE[0]), 0.0), 1.0)
