r"""Dry friction of one contact in its tangent plane, by four laws.

Three of the laws stretch a bond between the two surfaces. Its strain u is a vector, in
fractions of the strain at which it breaks: u = z/z₀ in the symbols of the thesis. They
differ in how stiff it is, what happens when it breaks, and when it forms again.

``memory`` belongs to one contact and holds, between ticks (`MEMORY` floats):

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

from detent.kernels.jit import kernel
from detent.kernels.vectors import clear_vector, dot

NONE, RESET_INTEGRATOR, NAHVI, DAHL, CLASSICAL = range(5)
LAWS = ("none", "reset-integrator", "nahvi", "dahl", "classical")

SYMMETRIC, EQ_4_8 = range(2)
DEADBANDS = ("symmetric", "eq4.8")

MEMORY = 5  # floats per contact
MOST_STIFFNESS = 0.25  # K g T² that a fixed step holds with margin
MOST_RELIEF = 1e6  # a bond whose limit falls by more than this within a tick is broken anyway


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
    along = dot(memory, n, 3)
    for k in range(3):  # into the present tangent plane, which can only shorten the bond
        memory[k] -= along * n[k]
    if law == CLASSICAL:
        _classical(v_t, mu_k * f_n, mu_s * f_n, mobility * step, v_min, memory, out)
        return 0
    limit = (mu_k if law == DAHL else mu_s) * f_n
    wanted = breakaway * mu_s / mu_k if law == NAHVI else breakaway
    reach = max(wanted, limit * mobility * step * step / MOST_STIFFNESS)
    _carry_bond(limit, memory)
    if law == RESET_INTEGRATOR:
        beta = _stick_damping(damping, mu_k * f_n / reach, mobility, step)
        if deadband == EQ_4_8 and _points_back(memory):
            _literal_bond(v_t, mu_k * f_n, limit, beta, v_min, step / reach, memory, out)
        else:
            _reset_integrator(v_t, mu_k * f_n, limit, beta, v_min, step / reach, memory, out)
    elif law == NAHVI:
        _nahvi(v_t, mu_k / mu_s, limit, v_min, step / reach, memory, out)
    else:
        _dahl(v_t, limit, step / reach, memory, out)
    return 1 if reach > wanted else 0


@kernel
def _carry_bond(limit: float, memory: np.ndarray) -> None:
    """Bring the bond of the last tick to the present normal force."""
    if memory[3] == 0.0 and memory[4] > 0.0:
        keep = min(memory[4] / limit, MOST_RELIEF)
        for k in range(3):
            memory[k] *= keep
    memory[4] = limit


@kernel
def _stretch_bond(v_t: np.ndarray, travel: float, memory: np.ndarray) -> None:
    r"""Integrate the strain, and return it to the unit ball; it slips if it had left that.

    .. math:: u \leftarrow \frac{u'}{\max(1, \|u'\|)}, \quad u' = u + T v_t / z_0
    """
    squared = 0.0
    for k in range(3):
        memory[k] += travel * v_t[k]
        squared += memory[k] * memory[k]
    if squared >= 1.0:
        memory[3] = 1.0
        shrink = 1.0 / math.sqrt(squared)
        for k in range(3):
            memory[k] *= shrink


@kernel
def _stick_damping(damping: float, stiffness: float, mobility: float, step: float) -> float:
    r"""β of the stick state, as the step can take it [N·s/m].

    .. math:: \beta = 2 \zeta \sqrt{K_r / g}, \qquad \beta_T = \frac{\beta}{1 + \beta T g}

    A positive ``damping`` is β itself, a negative one −ζ (ζ = 1 is TH's "critical" 118 with
    two contacts, though it counts K_r and not the stick stiffness (1+a)K_r: errata B2).
    The second form is the implicit step, stable for any β.
    """
    beta = damping
    if damping < 0.0:
        beta = -2.0 * damping * math.sqrt(stiffness / mobility)
    return beta / (1.0 + beta * step * mobility)


@kernel
def _reset_integrator(
    v_t: np.ndarray,
    slip_force: float,
    limit: float,
    beta: float,
    v_min: float,
    travel: float,
    memory: np.ndarray,
    out: np.ndarray,
) -> None:
    r"""Reset-integrator friction of Haessig and Friedland, as a vector [HF91].

    .. math::
        f = -(1+a) K_r z - \beta v_t \quad \text{(stick)}, \qquad
        f = -K_r z_0 \frac{z}{\|z\|} \quad \text{(slip)}, \qquad \dot z = v_t, \; \|z\| \le z_0

    TH 4.6-4.8 with errata E6, E7; here μ_s f_n u = (1+a) K_r z. The bond breaks when ‖z‖
    reaches z₀. It holds again when it shortens faster than v_min (TH 4.8), or when it has
    shortened so far that sticking would pull no more than slipping does.

    The second rule is ours. In TH 4.8, z rests inside the dead band: a hand that moves back
    more slowly than v_min is pushed along by μ_k f_n for as long as it likes. Here the strain
    goes on following the motion, and the storage function ½(1+a)K_r z₀² − K_r z₀(z₀ − ‖z‖)
    while slipping, ½(1+a)K_r‖z‖² while sticking, never grows by more than the work put in.
    The stick force is limited to μ_s f_n too, damping included.
    """
    strain = math.sqrt(dot(memory, memory, 3))
    shortens = -dot(memory, v_t, 3)  # times the strain
    if strain * limit <= slip_force or shortens >= v_min * strain:
        memory[3] = 0.0
    _stretch_bond(v_t, travel, memory)
    slips = memory[3] != 0.0
    most = slip_force if slips else limit
    squared = 0.0
    for k in range(3):
        out[k] = -limit * memory[k] - (0.0 if slips else beta * v_t[k])
        squared += out[k] * out[k]
    if squared > most * most:
        for k in range(3):
            out[k] *= most / math.sqrt(squared)


@kernel
def _points_back(memory: np.ndarray) -> bool:
    """Whether the bond points along −t, with t along whichever world axis it is closest to."""
    largest = memory[0]
    for k in range(1, 3):
        if abs(memory[k]) > abs(largest):
            largest = memory[k]
    return largest < 0.0


@kernel
def _literal_bond(
    v_t: np.ndarray,
    slip_force: float,
    limit: float,
    beta: float,
    v_min: float,
    travel: float,
    memory: np.ndarray,
    out: np.ndarray,
) -> None:
    r"""The second line of TH 4.8 to the letter, for a bond along −t: it grows without limit.

    .. math:: \dot z = 0 \quad \text{if} \quad -v_{min} < v_t < v_{min}
              \; \text{and} \; z \le -z_0, \qquad \dot z = v_t \quad \text{otherwise}

    Errata E7. Only for ``deadband='eq4.8'``.
    """
    slow = dot(v_t, v_t, 3) < v_min * v_min
    memory[3] = 1.0 if slow and dot(memory, memory, 3) >= 1.0 else 0.0
    for k in range(3):
        if memory[3] != 0.0:
            out[k] = -slip_force * memory[k]
        else:
            memory[k] += travel * v_t[k]
            out[k] = -limit * memory[k] - beta * v_t[k]


@kernel
def _nahvi(
    v_t: np.ndarray,
    ratio: float,
    limit: float,
    v_min: float,
    travel: float,
    memory: np.ndarray,
    out: np.ndarray,
) -> None:
    r"""Friction of a finger pad [Nahvi98]; ``ratio`` is μ_k/μ_s.

    .. math::
        f = -\mu_k f_n \frac{v_t}{\|v_t\|} \quad \text{(slip)}, \qquad
        f = -k_f (a - c) \quad \text{(stick)}, \qquad
        c = a - \frac{\mu_k f_n}{k_f} \frac{v_t}{\|v_t\|}

    TH 4.9-4.10 with errata B2, E6. Slipping ends, with the centre c of stiction set, when
    ‖v_t‖ < v_min; the spring breaks at ‖a − c‖ = μ_s f_n/k_f. Here u = (a − c) k_f/(μ_s f_n),
    so that one expression gives both forces.
    """
    if memory[3] == 0.0:
        _stretch_bond(v_t, travel, memory)
    if memory[3] != 0.0:
        speed = math.sqrt(dot(v_t, v_t, 3))
        if speed > 0.0:
            for k in range(3):
                memory[k] = ratio * v_t[k] / speed
        if speed < v_min:
            memory[3] = 0.0
    for k in range(3):
        out[k] = -limit * memory[k]


@kernel
def _dahl(
    v_t: np.ndarray, limit: float, travel: float, memory: np.ndarray, out: np.ndarray
) -> None:
    r"""The modified Dahl law of Hayward and Armstrong, as a vector [HA00].

    .. math:: f = -\mu_k f_n \frac{z}{z_{max}}, \qquad \dot z = v_t, \; \|z\| \le z_{max}

    TH 4.11-4.12 with errata B2, E6. The factor 1 − (z/z_max) sign(v) of 4.12 keeps z at z_max
    while sliding on; an Euler step overshoots that, so z is returned to the ball instead.
    """
    memory[3] = 0.0
    _stretch_bond(v_t, travel, memory)
    for k in range(3):
        out[k] = -limit * memory[k]


@kernel
def _classical(
    v_t: np.ndarray,
    slip_force: float,
    limit: float,
    response: float,
    v_min: float,
    memory: np.ndarray,
    out: np.ndarray,
) -> None:
    r"""The classical approximation of Coulomb friction; ``response`` is g T.

    .. math:: f = -\mu_s f_n \frac{v}{v_{min}} \; (\|v\| \le v_{min}), \qquad
              f = -\mu_k f_n \frac{v}{\|v\|} \; \text{(faster)}

    TH Fig 4.8, with the two coefficients that TH 4.3.1 gives to all models. It never holds:
    a load F < μ_s f_n drifts at v_min F/(μ_s f_n). The ramp c = μ_s f_n/v_min is too steep
    for an explicit step if c g T > 2 (0.85 in TH 4.3.1, 19 at 4 N), so v is the velocity at
    the end of the step, with the load of the last step: g T F = v_t − v̂_t, where v̂_t is
    what friction alone would have left.
    """
    ramp = limit / v_min
    squared = 0.0
    for k in range(3):
        load = v_t[k] - memory[k] if memory[4] > 0.0 else 0.0
        out[k] = -ramp * (v_t[k] + load) / (1.0 + ramp * response)
        squared += out[k] * out[k]
    memory[3] = 1.0 if squared > limit * limit else 0.0
    shrink = slip_force / math.sqrt(squared) if memory[3] != 0.0 else 1.0
    for k in range(3):
        out[k] *= shrink
        memory[k] = v_t[k] + response * out[k]
    memory[4] = limit
