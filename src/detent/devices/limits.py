"""How stiff a wall may be on a device: what sampling, delay, friction and encoders allow.

Notation: m, b, c mass, damping and Coulomb friction of the device, D a step of its encoders, T its
period, d its delay in periods; K and B stiffness and damping of the wall.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from detent.checks import not_negative, positive
from detent.errors import ParameterError
from detent.kernels.constants import MOST_DAMPING, MOST_STIFFNESS

MOST_LATE = 1000  # [periods] of delay that limits are computed for
_FREQUENCIES = 4096  # at which the condition of passivity is looked at
_HALVINGS = 60  # of an interval that has a stiffness in it


def digits(value: float) -> str:
    """Four digits that count, without a power of ten: 13,070."""
    return f"{float(f'{value:.4g}'):,.10g}"


@dataclass(frozen=True)
class StiffnessLimits:
    """The largest stiffness of a wall [N/m, N·m/rad] on a device, by what it must not do."""

    stable: float  # oscillate on its own, without a hand [Gil04], [Hulin06]
    passive: float  # give energy to any hand at all [CS97]
    quiet: float  # hum by its encoders: Coulomb friction must eat a step, 2c/D [AO05]
    undamped: float  # the passive one of a wall without damping, which hurts passivity
    own: float  # [N·s/m, N·m·s/rad] damping of the device that counts in them

    def said(self, unit: str = "N/m") -> str:
        """In words, with the unit of the stiffness."""
        words = [f"stable up to {digits(self.stable)} {unit}", self._passive(unit)]
        if self.quiet == 0.0:
            words.append("on its encoders quiet at no stiffness, since no friction of it is known")
        elif math.isfinite(self.quiet):
            words.append(f"quiet on its encoders up to {digits(self.quiet)} {unit}")
        return ", ".join(words)

    def _passive(self, unit: str) -> str:
        """Up to where no hand gets energy, and why it may be nowhere."""
        if self.passive > 0.0:
            return f"passive for every hand up to {digits(self.passive)} {unit}"
        nowhere = "passive for every hand at no stiffness"
        if self.own == 0.0:
            return f"{nowhere}, since no damping of it is known"
        return (
            f"{nowhere}, since the damping is more than its own {self.own:.3g} (undamped up to "
            f"{digits(self.undamped)} {unit})"
        )


@lru_cache(maxsize=1024)
def stiffness_limits(
    mass: float,
    damping: float,
    coulomb: float,
    resolution: float,
    step: float,
    delay_ticks: int,
    virtual_damping: float = 0.0,
) -> StiffnessLimits:
    """The limits of a device with these numbers, at this period [s] and delay [periods].

    Args:
        mass: [kg, kg·m²].
        damping: [N·s/m, N·m·s/rad] b.
        coulomb: [N, N·m] c.
        resolution: [m, rad] D, 0 = exact.
        step: [s] T.
        delay_ticks: d.
        virtual_damping: [N·s/m, N·m·s/rad] B of the wall.
    """
    positive("mass", mass)
    positive("step", step)
    for name, value in (
        ("damping", damping),
        ("coulomb", coulomb),
        ("resolution", resolution),
        ("virtual damping", virtual_damping),
    ):
        not_negative(name, value)
    check_delay(delay_ticks)
    stable = stable_stiffness(mass, damping, step, int(delay_ticks), virtual_damping)
    passive, undamped = (
        passive_stiffness(damping, step, int(delay_ticks), wall) for wall in (virtual_damping, 0.0)
    )
    quiet = 2.0 * coulomb / resolution if resolution > 0.0 else math.inf
    return StiffnessLimits(stable, passive, quiet, undamped, damping)


def check_delay(delay_ticks: float) -> None:
    """A whole number of ticks that a matrix of eigenvalues can have."""
    if delay_ticks not in range(MOST_LATE + 1):
        raise ParameterError("delay_ticks", delay_ticks, f"a whole number from 0 to {MOST_LATE}")


def rule_of_thumb(
    damping: float, step: float, delay_ticks: float, virtual_damping: float = 0.0
) -> float:
    r"""What is stable where b T/m is small [Hulin06].

    .. math:: K < \frac{b + B}{T/2 + d T}
    """
    return (damping + virtual_damping) / (0.5 * step + delay_ticks * step)


def sampled_device(
    mass: float, damping: float, step: float, delay: int, stiffness: float, virtual_damping: float
) -> np.ndarray:
    r"""The device in a wall from sample to sample, on (x, v, x₋₁, f₋₁, …, f₋d).

    .. math:: x^+ = x + \Gamma v + \Gamma_2 f/m,\ v^+ = \Phi v + \Gamma f/m,\quad
              f = -K x - B (x - x_{-1})/T

    exact under a force that is held; f acts d samples later.
    """
    rate = damping * step / mass
    phi = math.exp(-rate)
    gain = step * (1.0 if rate < 1e-8 else -math.expm1(-rate) / rate)
    second = step**2 * (0.5 if rate < 1e-4 else (rate - (1.0 - phi)) / rate**2)
    size = 3 + delay
    force = np.zeros(size)
    force[0] = -stiffness - virtual_damping / step
    force[2] = virtual_damping / step
    acts = force if delay == 0 else np.eye(size)[2 + delay]
    unit = np.eye(size)
    rows = [
        unit[0] + gain * unit[1] + second / mass * acts,
        phi * unit[1] + gain / mass * acts,
        unit[0],
    ]
    rows += [force if j == 0 else unit[2 + j] for j in range(delay)]
    return np.array(rows)


def largest_damper(periods: int) -> float:
    r"""a_max of a damper f = −a m v, delayed by so many samples, that does not overshoot.

    .. math:: a T < \frac{d^d}{(d + 1)^{d + 1}}

    from where the roots of z^d (z − 1) + aT become complex: 1, 0.25, 0.148, … for d = 0, 1, 2.
    """
    return float(periods**periods / (periods + 1) ** (periods + 1))


def sampled_joint(stiffness: float, damping: float, step: float, delay: int) -> np.ndarray:
    r"""A device along what joints hold, from sample to sample, on (x, v, a₋₁, …, a₋d).

    .. math:: x^+ = x + T v + T^2 a/2,\ v^+ = v + T a,\quad a = -k x - b v

    with gains per unit of inertia [1/s², 1/s], as those of `Topology` are, so the linkage and the
    device's mass are not in it; a acts d samples later. Without delay it is stable where
    :math:`k T/2 < b < 2/T`.
    """
    size = 2 + delay
    unit = np.eye(size)
    push = -stiffness * unit[0] - damping * unit[1]
    acts = push if delay == 0 else unit[1 + delay]
    rows = [unit[0] + step * unit[1] + 0.5 * step**2 * acts, unit[1] + step * acts]
    rows += [push if j == 0 else unit[1 + j] for j in range(delay)]
    return np.array(rows)


def stable_joint(damping: float, step: float, delay: int) -> float:
    """The largest stiffness [1/s²] that joints may have beside a damping [1/s]; 0 if none."""
    not_negative("damping", damping)
    positive("step", step)
    check_delay(delay)
    return _stiffest(
        lambda stiffness: sampled_joint(stiffness, damping, step, delay), 4.0 / step**2
    )


def firm_joint(step: float, delay: int) -> tuple[float, float]:
    """Gains [1/s², 1/s] of joints that are as stiff as period and delay allow, with a margin.

    Damping is half of the largest one that does not overshoot, stiffness its square: four times
    that stiffness would be stable, or more.
    """
    fastest = largest_damper(delay) / step
    return MOST_STIFFNESS * fastest**2, MOST_DAMPING * fastest


def spectral_radius(matrix: np.ndarray) -> float:
    """Below 1 what it describes dies out."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def stable_stiffness(
    mass: float, damping: float, step: float, delay: int, virtual_damping: float = 0.0
) -> float:
    """The largest K [N/m] at which the eigenvalues of the sampled device stay within the circle."""

    return _stiffest(
        lambda stiffness: sampled_device(mass, damping, step, delay, stiffness, virtual_damping),
        4.0 * mass / step**2,  # beyond that no sampled spring holds
    )


def _stiffest(matrix: Callable[[float], np.ndarray], high: float) -> float:
    """The largest stiffness at which what *matrix* describes does not grow."""
    low = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        grows = spectral_radius(matrix(middle)) > 1.0 + 1e-10
        low, high = (low, middle) if grows else (middle, high)
    return low


def passive_stiffness(
    damping: float, step: float, delay: int, virtual_damping: float = 0.0
) -> float:
    r"""The largest K [N/m] with which no hand, whatever it is, gets energy out of the wall.

    .. math:: b > \frac{T}{2} \frac{1}{1 - \cos \omega T} \Re\{(1 - e^{-j\omega T}) z^{-d} H(z)\},
              \qquad H = K + B \frac{1 - z^{-1}}{T}

    for all ω up to the Nyquist frequency [CS97], evaluated numerically; without delay it is
    b > KT/2 + B. Zero where the damper of the wall alone is too much.
    """
    angle = np.linspace(0.0, math.pi, _FREQUENCIES + 1)[1:]
    back = np.exp(-1j * angle)
    weight = 0.5 * step / (1.0 - np.cos(angle))
    spring = weight * ((1.0 - back) * back**delay).real
    damper = weight * ((1.0 - back) ** 2 * back**delay).real / step
    spring = np.append(spring, 0.5 * step + delay * step)  # and where ω goes to zero
    damper = np.append(damper, -1.0)
    left = damping - virtual_damping * damper
    if (left < 0.0).any():
        return 0.0
    pulls = spring > 0.0
    return float((left[pulls] / spring[pulls]).min())


def region(
    stiffness: float,
    damping: float,
    coulomb: float,
    resolution: float,
    step: float,
    delay_ticks: int = 0,
) -> str:
    r"""Where a wall lies in the plane of [Diolaiti06]: what friction does about its encoders.

    .. math:: \sigma = \frac{b}{K T}, \qquad \psi = \frac{c}{K D}

    σ > ½ + d is "stable" (the paper has no delay d; see `rule_of_thumb`); below it, with ψ > ½,
    friction keeps small motion "quiet"; else it "cycles". The limits are from memory of the paper.
    """
    if damping / (stiffness * step) > 0.5 + delay_ticks:
        return "stable"
    held = math.inf if resolution == 0.0 else coulomb / (stiffness * resolution)
    return "quiet" if coulomb > 0.0 and held > 0.5 else "cycles"
