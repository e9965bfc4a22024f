r"""Impulses that feel like a material: the same momentum, as a decaying sinusoid.

A collision changes the momentum by p, and a force p/T for one tick delivers it (TH 4.45).
Tapping a real surface rings instead. TH chapter 7 proposes to shape the impulse by that:

.. math:: f(t) \propto e^{-b t} \sin \omega t, \qquad \sum_k f_k T = p

The ring is a rotating and shrinking state, :math:`z \leftarrow e^{(i \omega - b) T} z` and
:math:`f = \mathrm{Im}\, z`. So impulses that overlap add up in one state, without a history.

Limitations. Only the momentum is kept. A ring also pulls, and the velocity changes while it
lasts, so it does other work than the impulse of one tick: it is not passive by itself. Shape
what the hand feels, never what moves the simulated bodies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detent.kernels.constants import QUIET
from detent.kernels.jit import kernel

Floats = NDArray[np.float64]


class Material(NamedTuple):
    """How a tapped surface rings."""

    frequency: float  # [rad/s]
    decay: float  # [1/s]


#: Representative values, after [Okamura01] and [Okamura98]: a stylus that taps rubber, wood and
#: aluminium. Their amplitude per speed of impact is not used: the momentum sets it.
MATERIALS = {
    "rubber": Material(frequency=2.0 * math.pi * 18.0, decay=60.0),
    "wood": Material(frequency=2.0 * math.pi * 100.0, decay=80.0),
    "metal": Material(frequency=2.0 * math.pi * 300.0, decay=90.0),
}


def ring_memory(axes: int) -> Floats:
    """A memory at rest for `ring_force`."""
    return np.zeros((axes, 4))


@kernel
def _admission(
    memory: Floats, impulse: Floats, re: float, im: float, gain: float, step: float, cap: Floats
) -> float:
    r"""Which part of the momentum that waits may join the ring: :math:`|z| \le cap` everywhere.

    One part for all axes, so that the direction is kept (errata E8). What waits is what is
    owed but not in the ring, whose sum to come is :math:`T\, \mathrm{Im}(q z / (1 - q))`.
    """
    part = 1.0
    for i in range(memory.shape[0]):
        memory[i, 2] += impulse[i]
        waiting = memory[i, 2] - step * (re * memory[i, 1] + im * memory[i, 0])
        room = math.sqrt(max(cap[i] * cap[i] - memory[i, 1] * memory[i, 1], 0.0))
        room -= math.copysign(memory[i, 0], memory[i, 0] * waiting)
        if part * abs(gain * waiting) > room:
            part = max(room, 0.0) / abs(gain * waiting)
    return part


@kernel
def ring_force(
    memory: Floats,
    impulse: Floats,
    omega: float,
    decay: float,
    step: float,
    cap: Floats,
    out: Floats,
) -> bool:
    r"""The force of this tick, after new ``impulse`` [N·s] arrived; whether more will follow.

    .. math::
        z \leftarrow q \, (z + g \, \alpha w), \quad f = \mathrm{Im}\, z, \quad
        q = e^{(i \omega - b) T}, \quad g = \frac{|1 - q|^2}{T \, \mathrm{Im}\, q}

    Catalogue B7, [Okamura01]. ``memory`` [axes, 4] holds z, the momentum that is still owed,
    and the peak of the ring; w is what is owed but does not ring yet, and α ≤ 1 the part of
    it for which no axis ever exceeds its ``cap`` (above zero, may be infinite). The rest
    waits for the ring to turn: a large impulse is stretched, in its direction. The forces add
    up to the impulses: the last tick of a ring settles what is owed, so also after a change
    of ``omega`` or ``decay`` on the way.

    Needs ``omega`` × ``step`` well below π. A ring starts with the tick of its impulse.
    """
    shrink = math.exp(-decay * step)
    qr, qi = shrink * math.cos(omega * step), shrink * math.sin(omega * step)
    squared = (1.0 - qr) ** 2 + qi * qi
    re, im = (qr - shrink * shrink) / squared, qi / squared  # q / (1 - q)
    gain = 1.0 / (step * im)
    part = _admission(memory, impulse, re, im, gain, step, cap)
    quiet = part == 1.0
    for i in range(memory.shape[0]):
        a, b, owed = memory[i, 0], memory[i, 1], memory[i, 2]
        a += part * gain * (owed - step * (re * b + im * a))
        a, b = qr * a - qi * b, qr * b + qi * a
        memory[i, 0], memory[i, 1], memory[i, 2] = a, b, owed - step * b
        memory[i, 3] = max(memory[i, 3], abs(b))
        out[i] = b
        quiet = quiet and a * a + b * b <= squared * (QUIET * memory[i, 3]) ** 2
    if quiet:
        for i in range(memory.shape[0]):
            out[i] += memory[i, 2] / step
            for j in range(4):
                memory[i, j] = 0.0
    return not quiet
