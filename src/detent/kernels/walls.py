r"""Normal forces of a contact with a history: five virtual walls (S4 section 5).

Signs as in `contact`: the separation s is negative inside, the depth is d = −s, and a
positive force pushes the bodies apart.

``memory`` belongs to one contact and holds, between ticks (`WALL_MEMORY` floats, and one
more for each block of the hysteretic wall):

==== ====================================================
0    samples of this contact so far; 0: the next is its first
1    depth one sample ago [m], negative outside
2    depth two samples ago [m]
3    integral of the depth over this contact [m·s]
4:   positions of the sliding blocks [m], as depths
==== ====================================================

Clear it when the contact ends; a call with s > 0 does that.
"""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import WALL_MEMORY
from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector

ZOH, SEH, PI, PULSE, HYSTERETIC = range(5)
WALLS = ("zoh", "seh", "pi", "pulse", "hysteretic")


@kernel
def wall_force(
    law: int,
    s: float,
    v: float,
    stiffness: float,
    damping: float,
    step: float,
    mass: float,
    integral_gain: float,
    restitution: float,
    blocks: int,
    breakaway: float,
    clamp: int,
    memory: np.ndarray,
) -> float:
    r"""The normal force of a wall on a body at separation s, with normal velocity v.

    .. math::
        f_{zoh} &= K d_k - B v, \qquad f_{pi} = K d_k + K_i T \textstyle\sum_j d_j - B v \\
        f_{seh} &= K (2 d_k - 1.5 d_{k-1} + 0.5 d_{k-2}) - B v \\
        f_{pulse} &= (1 + e) \, m |v| / T \ \text{at the first sample, then } f_{zoh}

    S4 eq 1 [Ellis97], [Massie96], [SV97]; [GW]: see `slide_blocks`. ``mass`` is what moves
    along the normal. ``clamp`` forbids pulling, as in `penalty_force`. The depths before the
    first sample (errata B5) are true signed distances, by the velocity: so the first SEH
    force is that of the depth half a step ahead.

    A free mass under a held force (x⁺ = x + T v + T² f/2m) gains energy from an undamped ZOH
    or PI wall and nearly keeps it with SEH; with velocity-first steps, which Detent's
    servo takes, ZOH is neutral and SEH damps.
    """
    if s > 0.0:
        clear_vector(memory)
        return 0.0
    depth = -s
    if memory[0] == 0.0:
        memory[1] = depth + step * v
        memory[2] = depth + 2.0 * step * v
    force = stiffness * depth - damping * v
    if law == SEH:
        force += stiffness * (depth - 1.5 * memory[1] + 0.5 * memory[2])
    elif law == PI:
        memory[3] += step * depth
        force += integral_gain * memory[3]
    elif law == PULSE:
        if memory[0] == 0.0 and v < 0.0:
            force = -(1.0 + restitution) * mass * v / step
    elif law == HYSTERETIC:
        force = slide_blocks(depth, stiffness, blocks, breakaway, memory) - damping * v
    memory[2] = memory[1]
    memory[1] = depth
    memory[0] += 1.0
    return 0.0 if clamp != 0 and force < 0.0 else force


@kernel
def slide_blocks(
    depth: float, stiffness: float, blocks: int, breakaway: float, memory: np.ndarray
) -> float:
    r"""The force of springs in parallel, each attached to a block with Coulomb friction [GW].

    .. math:: f = \sum_{i=1}^{n} \frac{K}{n} (d - q_i), \qquad
              \frac{K}{n} |d - q_i| \le \frac{i}{n} F_b

    S4 section 5. The blocks have no mass here: one that is pulled harder than its breakaway
    force follows the body. All of them slide, and the wall yields, at F_b (n+1)/2: choose
    F_b so that the hand stays below that.
    """
    each = stiffness / blocks
    force = 0.0
    for i in range(blocks):
        slack = breakaway * (i + 1) / stiffness  # F_b (i+1)/n over K/n
        strain = min(max(depth - memory[WALL_MEMORY + i], -slack), slack)
        memory[WALL_MEMORY + i] = depth - strain
        force += each * strain
    return force
