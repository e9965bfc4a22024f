r"""Dry friction of one contact in its tangent plane, by four laws.

Three of the laws stretch a bond between the two surfaces. Its strain u is a vector, in
fractions of the strain at which it breaks: u = z/z₀ in the symbols of the thesis. They
differ in how stiff it is, what happens when it breaks, and when it forms again.

``memory`` belongs to one contact and holds, between ticks (`FRICTION_MEMORY` floats):

==== =======================================================================
0:3  u, strain of the bond over its breaking strain, world axes [-]
3    1 while slipping, 0 while sticking
4    the force at which the bond broke in the last tick [N]; 0: no bond yet
==== =======================================================================

The classical law has no bond: its 0:3 is the velocity that friction alone would have left
[m/s]. All zeros is a new contact, with a relaxed bond; clear it when the law changes.

**When the normal force changes** (TH 4.6 does not say what then), the stiffness and the
limit of the bond follow it. A bond that sticks keeps its
force, so that a load held by friction does not move when f_n ripples; with z kept instead,
every ripple of f_n would shake the load. A bond that slips keeps its strain, so that the
force is μ_k f_n at once. Energy can enter when f_n falls while a bond is stretched, each
time less than the ½ μ_s f_n z₀ that the bond can then hold (2e-7 J in TH 4.3.1).
"""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.constants import MOST_RELIEF, MOST_STIFFNESS
from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector

NONE, RESET_INTEGRATOR, NAHVI, DAHL, CLASSICAL = range(5)
LAWS = ("none", "reset-integrator", "nahvi", "dahl", "classical")

SYMMETRIC, EQ_4_8 = range(2)
DEADBANDS = ("symmetric", "eq4.8")

#: a damping ratio that stands for none asked for: the servo brakes what sticks (`contact.brake`)
BRAKE = 1e3

Vector = tuple[float, float, float]


@kernel
def friction_force(
    law: int,
    deadband: int,
    v_t: np.ndarray,
    f_n: float,
    n: np.ndarray,
    mobility: float,
    step: float,
    mu_s: float,
    mu_k: float,
    breakaway: float,
    damping: float,
    v_min: float,
    memory: np.ndarray,
    out: np.ndarray,
) -> int:
    r"""The friction force on the body that moves with v_t; 1 if the step bounded the law.

    v_t is the sliding velocity [m/s] after the step of length T that led here, n the unit
    normal, ``mobility`` g the acceleration along v_t per unit of friction force [1/kg], with
    all contacts that slide together counted. Limits and breaking strains of the bonds are

    ================== =========== ================
    reset-integrator   μ_s f_n     z₀
    Nahvi              μ_s f_n     z₀ μ_s/μ_k
    Dahl               μ_k f_n     z₀
    ================== =========== ================

    with z₀ the ``breakaway`` distance [m]: so K_r = k_f = μ_k f_n/z₀ (errata B2). Where that
    is stiffer than a fixed step can hold, K g T² > ¼, the breaking strain is enlarged.
    Without normal force, friction or mobility the memory is cleared. μ_s ≥ μ_k, v_min > 0.
    """
    clear_vector(out)
    if law == NONE or f_n * mu_k * mobility <= 0.0:
        clear_vector(memory)
        return 0
    load = f_n * mobility
    travel, free = bond_travel(law, load, step, mu_s, mu_k, breakaway)
    beta = stick_damping(damping, mu_k * travel / step, load, f_n, step)
    limit, slips, before = most_friction(law, mu_s, mu_k) * f_n, memory[3], memory[4]
    v, bond = (v_t[0], v_t[1], v_t[2]), (memory[0], memory[1], memory[2])
    u = carry_bond(law, (n[0], n[1], n[2]), limit, bond, slips, before)
    if law == RESET_INTEGRATOR and deadband == SYMMETRIC:
        u, slips, f = reset_integrator(v, mu_k * f_n, limit, beta, v_min, 0.0, travel, u, slips)
    else:
        u, slips, f = other_bond(
            law, v, mu_k * f_n, limit, beta, v_min, travel, mobility * step, u, slips, before
        )
    for k in range(3):
        memory[k], out[k] = u[k], f[k]
    memory[3], memory[4] = slips, limit
    return 0 if free or law == CLASSICAL else 1


@kernel
def most_friction(law: int, mu_s: float, mu_k: float) -> float:
    """The coefficient at which a bond breaks."""
    return mu_k if law == DAHL else mu_s


@kernel
def bond_travel(
    law: int, load: float, step: float, mu_s: float, mu_k: float, breakaway: float
) -> tuple[float, bool]:
    r"""How far a bond stretches per velocity, over its breaking strain [s/m]; if that is free.

    .. math:: \frac{T}{z_0}, \qquad z_0 \ge \frac{\mu_s f_n g T^2}{1/4}

    ``load`` is f_n g, the same for all contacts that slide together.
    """
    wanted = breakaway * mu_s / mu_k if law == NAHVI else breakaway
    least = most_friction(law, mu_s, mu_k) * load * step * step / MOST_STIFFNESS
    return step / max(wanted, least), least <= wanted


@kernel
def stick_damping(damping: float, stiffness: float, load: float, f_n: float, step: float) -> float:
    r"""β of the stick state, as the step can take it [N·s/m].

    .. math:: \beta = 2 \zeta \sqrt{K_r / g}, \qquad \beta_T = \frac{\beta}{1 + \beta T g}

    A positive ``damping`` is β itself, a negative one −ζ (ζ = 1 is TH's "critical" 118 with
    two contacts, though it counts K_r and not the stick stiffness (1+a)K_r: errata B2).
    The second form is the implicit step, stable for any β. With a ratio β is in proportion to
    the normal force; ``stiffness`` is K_r/f_n, and ``load`` f_n g.
    """
    if damping < 0.0:
        share = -2.0 * damping * math.sqrt(stiffness / load)
        return f_n * share / (1.0 + share * step * load)
    return damping / (1.0 + damping * step * load / f_n)


# Vectors are tuples from here on: they stay in registers, where arrays would be passed in memory.


@kernel
def _inner(a: Vector, b: Vector) -> float:
    """aᵀb."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _times(s: float, a: Vector) -> Vector:
    """s a."""
    return s * a[0], s * a[1], s * a[2]


@kernel
def _plus(a: Vector, s: float, b: Vector) -> Vector:
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@kernel
def carry_bond(law: int, n: Vector, limit: float, u: Vector, slips: float, before: float) -> Vector:
    """The bond of the last tick, whose limit was ``before``, in the present contact.

    It turns into the tangent plane, which can only shorten it, and keeps its force if it sticks.
    """
    u = _plus(u, -_inner(u, n), n)
    if slips == 0.0 and before > 0.0 and law != CLASSICAL:
        u = _times(min(before / limit, MOST_RELIEF), u)
    return u


@kernel
def other_bond(
    law: int,
    v_t: Vector,
    slip_force: float,
    limit: float,
    beta: float,
    v_min: float,
    travel: float,
    response: float,
    u: Vector,
    slips: float,
    before: float,
) -> tuple[Vector, float, Vector]:
    """Bond, slip and force of all laws but `reset_integrator`, TH 4.8 to the letter included.

    ``response`` is g T.
    """
    if law == CLASSICAL:
        return _classical(v_t, slip_force, limit, response, v_min, u, before)
    if law == NAHVI:
        return _nahvi(v_t, slip_force / limit, limit, v_min, travel, u, slips)
    if law == DAHL:
        return _dahl(v_t, limit, travel, u)
    if _points_back(u):
        return _literal_bond(v_t, slip_force, limit, beta, v_min, travel, u)
    return reset_integrator(v_t, slip_force, limit, beta, v_min, 0.0, travel, u, slips)


@kernel
def _stretch_bond(
    v_t: Vector, v_break: float, travel: float, u: Vector, slips: float
) -> tuple[Vector, float]:
    r"""Integrate the strain, and return it to the unit ball; it slips if it left that fast enough.

    .. math:: u \leftarrow \frac{u'}{\max(1, \|u'\|)}, \quad u' = u + T v_t / z_0
    """
    u = _plus(u, travel, v_t)
    squared = _inner(u, u)
    if squared >= 1.0:
        faster = _inner(v_t, v_t) >= v_break * v_break
        return _times(1.0 / math.sqrt(squared), u), 1.0 if faster else slips
    return u, slips


@kernel
def reset_integrator(
    v_t: Vector,
    slip_force: float,
    limit: float,
    beta: float,
    v_min: float,
    v_break: float,
    travel: float,
    u: Vector,
    slips: float,
) -> tuple[Vector, float, Vector]:
    r"""Reset-integrator friction of Haessig and Friedland, as a vector [HF91].

    .. math::
        f = -(1+a) K_r z - \beta v_t \quad \text{(stick)}, \qquad
        f = -K_r z_0 \frac{z}{\|z\|} \quad \text{(slip)}, \qquad \dot z = v_t, \; \|z\| \le z_0

    TH 4.6-4.8 with errata E6, E7; here μ_s f_n u = (1+a) K_r z. The bond breaks when ‖z‖
    reaches z₀, faster than ``v_break`` if that is not zero; more slowly it then yields, with
    μ_s f_n, so that a contact whose normal force falls leaves its load to others instead of
    dropping it. It holds again when it
    shortens faster than v_min (TH 4.8), or when it has shortened so far that sticking would
    pull no more than slipping does.

    The last rule is ours. In TH 4.8, z rests inside the dead band: a hand that moves back
    more slowly than v_min is pushed along by μ_k f_n for as long as it likes. Here the strain
    goes on following the motion, and the storage function ½(1+a)K_r z₀² − K_r z₀(z₀ − ‖z‖)
    while slipping, ½(1+a)K_r‖z‖² while sticking, never grows by more than the work put in.
    The stick force is limited to μ_s f_n too, damping included.
    """
    if slips != 0.0:
        strain = math.sqrt(_inner(u, u))
        shortens = -_inner(u, v_t)  # times the strain
        if strain * limit <= slip_force or shortens >= v_min * strain:
            slips = 0.0
    u, slips = _stretch_bond(v_t, v_break, travel, u, slips)
    f, most = _times(-limit, u), slip_force
    if slips == 0.0:
        f, most = _plus(f, -beta, v_t), limit
    squared = _inner(f, f)
    if squared > most * most:
        f = _times(most / math.sqrt(squared), f)
    return u, slips, f


@kernel
def _points_back(u: Vector) -> bool:
    """Whether the bond points along −t, with t along whichever world axis it is closest to."""
    largest = u[0]
    if abs(u[1]) > abs(largest):
        largest = u[1]
    if abs(u[2]) > abs(largest):
        largest = u[2]
    return largest < 0.0


@kernel
def _literal_bond(
    v_t: Vector,
    slip_force: float,
    limit: float,
    beta: float,
    v_min: float,
    travel: float,
    u: Vector,
) -> tuple[Vector, float, Vector]:
    r"""The second line of TH 4.8 to the letter, for a bond along −t: it grows without limit.

    .. math:: \dot z = 0 \quad \text{if} \quad -v_{min} < v_t < v_{min}
              \; \text{and} \; z \le -z_0, \qquad \dot z = v_t \quad \text{otherwise}

    Errata E7. Only for ``deadband='eq4.8'``.
    """
    slow = _inner(v_t, v_t) < v_min * v_min
    if slow and _inner(u, u) >= 1.0:
        return u, 1.0, _times(-slip_force, u)
    u = _plus(u, travel, v_t)
    return u, 0.0, _plus(_times(-limit, u), -beta, v_t)


@kernel
def _nahvi(
    v_t: Vector,
    ratio: float,
    limit: float,
    v_min: float,
    travel: float,
    u: Vector,
    slips: float,
) -> tuple[Vector, float, Vector]:
    r"""Friction of a finger pad [Nahvi98]; ``ratio`` is μ_k/μ_s.

    .. math::
        f = -\mu_k f_n \frac{v_t}{\|v_t\|} \quad \text{(slip)}, \qquad
        f = -k_f (a - c) \quad \text{(stick)}, \qquad
        c = a - \frac{\mu_k f_n}{k_f} \frac{v_t}{\|v_t\|}

    TH 4.9-4.10 with errata B2, E6. Slipping ends, with the centre c of stiction set, when
    ‖v_t‖ < v_min; the spring breaks at ‖a − c‖ = μ_s f_n/k_f. Here u = (a − c) k_f/(μ_s f_n),
    so that one expression gives both forces.
    """
    if slips == 0.0:
        u, slips = _stretch_bond(v_t, 0.0, travel, u, slips)
    if slips != 0.0:
        speed = math.sqrt(_inner(v_t, v_t))
        if speed > 0.0:
            u = _times(ratio / speed, v_t)
        if speed < v_min:
            slips = 0.0
    return u, slips, _times(-limit, u)


@kernel
def _dahl(v_t: Vector, limit: float, travel: float, u: Vector) -> tuple[Vector, float, Vector]:
    r"""The modified Dahl law of Hayward and Armstrong, as a vector [HA00].

    .. math:: f = -\mu_k f_n \frac{z}{z_{max}}, \qquad \dot z = v_t, \; \|z\| \le z_{max}

    TH 4.11-4.12 with errata B2, E6. The factor 1 − (z/z_max) sign(v) of 4.12 keeps z at z_max
    while sliding on; an Euler step overshoots that, so z is returned to the ball instead.
    """
    u, slips = _stretch_bond(v_t, 0.0, travel, u, 0.0)
    return u, slips, _times(-limit, u)


@kernel
def _classical(
    v_t: Vector,
    slip_force: float,
    limit: float,
    response: float,
    v_min: float,
    left: Vector,
    before: float,
) -> tuple[Vector, float, Vector]:
    r"""The classical approximation of Coulomb friction; ``response`` is g T.

    .. math:: f = -\mu_s f_n \frac{v}{v_{min}} \; (\|v\| \le v_{min}), \qquad
              f = -\mu_k f_n \frac{v}{\|v\|} \; \text{(faster)}

    TH Fig 4.8, with the two coefficients that TH 4.3.1 gives to all models. It never holds:
    a load F < μ_s f_n drifts at v_min F/(μ_s f_n). The ramp c = μ_s f_n/v_min is too steep
    for an explicit step if c g T > 2 (0.85 in TH 4.3.1, 19 at 4 N), so v is the velocity at
    the end of the step, with the load of the last step: g T F = v_t − v̂_t, where v̂_t, the
    memory, is what friction alone would have left.
    """
    ramp = limit / v_min
    ahead = _plus(_times(2.0, v_t), -1.0, left) if before > 0.0 else v_t
    f = _times(-ramp / (1.0 + ramp * response), ahead)
    squared, slips = _inner(f, f), 0.0
    if squared > limit * limit:
        f, slips = _times(slip_force / math.sqrt(squared), f), 1.0
    return _plus(v_t, response, f), slips, f
