"""One step of a mechanism: Runge and Kutta's on the manifold, or the document's."""

from __future__ import annotations

import numpy as np

from detent.kernels.constrained import accelerate, evaluate, restrict, retract
from detent.kernels.jit import kernel
from detent.kernels.mechanics import Mechanics
from detent.kernels.so3 import dexp_inverse
from detent.kernels.vectors import copy_vector

TAYLOR, RUNGE_KUTTA = range(2)


@kernel
def take_slope(me: Mechanics) -> None:
    """Slopes of ξ, u, z and ż at the present evaluation."""
    for i in range(me.plain.shape[0]):
        v = me.plain[i, 1]
        me.slope[0, v] = me.u[v]
    for i in range(me.turns.shape[0]):
        b = me.turns[i, 1]
        dexp_inverse(me.xi[b : b + 3], me.u[b : b + 3], me.slope[0, b : b + 3])
    for j in range(me.u.shape[0]):
        me.slope[1, j] = me.rate[j]
    for i in range(me.z.shape[0]):
        me.slope[2, i] = me.w[i]
        me.slope[3, i] = me.z_rate[i]


@kernel
def go_to(me: Mechanics, slope: np.ndarray, step: float) -> None:
    """The state that a slope leads to from the start of the step."""
    for j in range(me.u.shape[0]):
        me.xi[j] = step * slope[0, j]
        me.u[j] = me.start[0, j] + step * slope[1, j]
    retract(me, me.base, me.xi, me.q)
    for i in range(me.z.shape[0]):
        me.z[i] = me.start[1, i] + step * slope[2, i]
        me.w[i] = me.start[2, i] + step * slope[3, i]


@kernel
def advance(me: Mechanics) -> None:
    """Stage: integrate over a step under the sensed wrench, from an evaluation that is there.

    By default Runge and Kutta's four stages, in exponential coordinates for orientations
    [MK98]; TAYLOR is S2 Alg. 1, line 11, to the letter.
    """
    step = me.step[0]
    copy_vector(me.q, me.base)
    for j in range(me.u.shape[0]):
        me.start[0, j] = me.u[j]
        me.xi[j] = 0.0
    for i in range(me.z.shape[0]):
        me.start[1, i] = me.z[i]
        me.start[2, i] = me.w[i]
    take_slope(me)
    if me.integrator[0] == TAYLOR:
        for j in range(me.u.shape[0]):
            me.slope[0, j] += 0.5 * step * me.slope[1, j]
        for i in range(me.z.shape[0]):
            me.slope[2, i] += 0.5 * step * me.slope[3, i]
        go_to(me, me.slope, step)
        return
    for k in range(4):
        for j in range(me.slope.shape[1]):
            me.total[k, j] = me.slope[k, j] / 6.0
    for stage in range(1, 4):
        go_to(me, me.slope, step if stage == 3 else 0.5 * step)
        evaluate(me)
        restrict(me, True, True)
        accelerate(me)
        take_slope(me)
        weight = 1.0 / 6.0 if stage == 3 else 1.0 / 3.0
        for k in range(4):
            for j in range(me.slope.shape[1]):
                me.total[k, j] += weight * me.slope[k, j]
    go_to(me, me.total, step)
