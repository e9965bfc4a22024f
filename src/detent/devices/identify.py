r"""What a device is, from a recording: mass, damping, Coulomb friction, delay, resolution, jitter.

A released handle moves by

.. math:: m \ddot x + b \dot x + c \, \mathrm{sign}(\dot x) = f(t - d)

Positions are counts and cannot be differentiated twice. Multiplied by a smooth bump φ that is zero
outside of a window, and integrated by parts, the law asks for positions alone:

.. math:: m \int x \ddot\varphi - b \int x \dot\varphi \pm c \int \varphi
          = \int f(t - d) \varphi

(modulating functions, [Preisig93]). In windows of motion in one direction it is linear in
m, b and c; d is the delay with which least is left over. Confidence is that of a jackknife over
blocks of windows; windows with a silence in them are left out. A handle that is held after all,
or has a spring of its own, also feels k x + g: where k is beyond doubt both are taken out, and k
is told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from detent.errors import IdentificationError

WINDOW = 0.03  # [s] of a bump: short enough for one direction of motion, but
FULLEST = 16  # periods of a slow device, at least: the bump must be seen
POWER = 4  # of the bump (1 - s²)^4: its second derivative ends at zero
HOP = 3  # windows that overlap at any time
BLOCKS = 20  # of the jackknife
FEWEST = 100  # windows
SURE = 2.0  # standard errors: 95 %
LONGEST = 0.02  # [s] of delay that is looked for
RELEASED = 3  # numbers of a released handle; of a held one five
BEYOND_DOUBT = 3.0  # times what a stiffness may be off by, from which on the handle is held
FELT = 0.05  # of the force that is told: a spring that does less does not matter
SILENT = 5e-3  # [s] without a reading or a command, after which no window counts, but
PERIODS = 1.5  # periods of a slow device, at least
UNEVEN = 0.02  # periods of jitter from which on readings are evened


@dataclass(frozen=True)
class Recording:
    """What was read and told along one axis; times may be uneven."""

    read_at: np.ndarray  # (n,) [s]
    position: np.ndarray  # (n,) [m, rad]
    told_at: np.ndarray  # (k,) [s] from then on that force was told
    force: np.ndarray  # (k,) [N, N·m]


class Found(NamedTuple):
    """A value, and by how much it may be off (95 %)."""

    value: float
    within: float


class Identified(NamedTuple):
    """A device along one axis."""

    mass: Found  # [kg, kg·m²]
    damping: Found  # [N·s/m, N·m·s/rad]
    friction: Found  # [N, N·m]
    delay: Found  # [s]
    resolution: float | None  # [m, rad]; None: no count can be seen
    period: float  # [s] between readings, median
    jitter: float  # [s] standard deviation of it
    windows: int  # that were used
    held: Found | None = None  # [N/m, N·m/rad] of what holds it; None: nothing does


def bump(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative of (1 - s²)^4 on -1 ≤ s ≤ 1."""
    room = 1.0 - s * s
    first = -2.0 * POWER * s * room ** (POWER - 1)
    second = 2.0 * POWER * room ** (POWER - 2) * ((2 * POWER - 1) * s * s - 1.0)
    return first, second


def primitive(s: np.ndarray) -> np.ndarray:
    """∫ of (1 - s²)^4 from -1 to s."""
    s = np.clip(s, -1.0, 1.0)
    return np.asarray(s - 4 * s**3 / 3 + 6 * s**5 / 5 - 4 * s**7 / 7 + s**9 / 9 + 128.0 / 315.0)


def speeds(at: np.ndarray, x: np.ndarray, count: int) -> np.ndarray:
    """[m/s] by lines through 2 × count + 1 positions; those at the ends are nearest ones."""
    out, size = np.zeros(len(x)), 2 * count + 1
    times = np.lib.stride_tricks.sliding_window_view(at, size)
    places = np.lib.stride_tricks.sliding_window_view(x, size)
    times = times - times.mean(axis=1, keepdims=True)
    out[count:-count] = (times * places).sum(axis=1) / (times**2).sum(axis=1)
    out[:count], out[-count:] = out[count], out[-count - 1]
    return out


@dataclass(frozen=True)
class Windows:
    """Windows of one direction: their centres, and ∫ x φ̈, −∫ x φ̇, ± ∫ φ, ∫ x φ, ∫ φ of each."""

    centre: np.ndarray  # (w,) [s]
    rows: np.ndarray  # (w, 5)


def find_windows(told: Recording, width: float) -> Windows:
    """All windows in which the device moves in one direction, faster than its counts blur."""
    at, x = told.read_at, told.position
    period = float(np.median(np.diff(at)))
    velocity = speeds(at, x, max(2, round(0.1 * width / period)))
    slow = 0.02 * float(np.abs(velocity).max())
    sign = np.where(np.abs(velocity) > slow, np.sign(velocity), 0.0)
    half = 0.5 * width
    centres, rows = [], []
    for centre in np.arange(at[0] + half, at[-1] - half, width / HOP):
        first, last = np.searchsorted(at, (centre - half, centre + half))
        part = slice(first, last)
        if last - first < 8 or abs(sign[part].sum()) < last - first:
            continue
        s = (at[part] - centre) / half
        one, two = bump(s)
        away = x[part] - x[first]  # a constant is nothing to either
        weight, whole = np.gradient(s) * half, half * 256.0 / 315.0
        rows.append([
            (away * two * weight).sum() / half**2,
            -(away * one * weight).sum() / half,
            sign[first] * whole,
            ((x[part] - x[0]) * (1.0 - s * s) ** POWER * weight).sum(),
            whole,
        ])  # fmt: skip
        centres.append(centre)
    return Windows(np.array(centres), np.array(rows).reshape(-1, 5))


def unbroken(seen: Windows, told: Recording, width: float, period: float) -> Windows:
    """Windows without a silence: in one nobody saw it move, and a watchdog may take the force."""
    kept, half = np.ones(len(seen.centre), bool), 0.5 * width
    for at, late in ((told.read_at, 0.0), (told.told_at, LONGEST)):
        for i in np.nonzero(np.diff(at) > max(SILENT, PERIODS * period))[0]:
            after = seen.centre - half >= at[i + 1] + late
            kept &= after | (seen.centre + half <= at[i])
    return Windows(seen.centre[kept], seen.rows[kept])


def pushes(told: Recording, centres: np.ndarray, width: float, delay: float) -> np.ndarray:
    """(w,) ∫ f(t − d) φ, exact for a force that is held between commands."""
    half = 0.5 * width
    starts = np.append(told.told_at + delay, np.inf)
    out = np.zeros(len(centres))
    for i, centre in enumerate(centres):
        first = max(int(np.searchsorted(starts, centre - half)) - 1, 0)
        last = int(np.searchsorted(starts, centre + half))
        edges = primitive((starts[first : last + 1] - centre) / half)
        edges[0] = 0.0 if starts[first] <= centre - half else edges[0]
        out[i] = half * (told.force[first:last] * np.diff(edges)[: last - first]).sum()
    return out


def fitted(rows: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, float]:
    """m, b, c (and k, g) by least squares, and what is left over (rms)."""
    found, *_ = np.linalg.lstsq(rows, push, rcond=None)
    return found, float(np.sqrt(np.mean((rows @ found - push) ** 2)))


def find_delay(
    told: Recording, seen: Windows, width: float, tick: float, numbers: int = RELEASED
) -> float:
    """[s] a whole number of ticks: the one with which least is left over."""
    ticks = np.arange(math.ceil(LONGEST / tick) + 1)
    rows = seen.rows[:, :numbers]
    left = [fitted(rows, pushes(told, seen.centre, width, d * tick))[1] for d in ticks]
    return float(ticks[int(np.argmin(left))] * tick)


def spread(rows: np.ndarray, push: np.ndarray) -> np.ndarray:
    """Standard errors of m, b, c (and k, g): leaving out one block of windows at a time."""
    blocks = np.array_split(np.arange(len(push)), BLOCKS)
    kept = [np.setdiff1d(np.arange(len(push)), block) for block in blocks]
    found = np.array([fitted(rows[k], push[k])[0] for k in kept])
    return np.asarray(np.sqrt((BLOCKS - 1) * found.var(axis=0)))


def held_by(told: Recording, seen: Windows, push: np.ndarray) -> Found | None:
    """[N/m, N·m/rad] of the spring that pulls the handle back, if there is one beyond doubt."""
    stiffness = float(fitted(seen.rows, push)[0][RELEASED])
    within = SURE * float(spread(seen.rows, push)[RELEASED])
    matters = stiffness * np.ptp(told.position) > FELT * np.ptp(told.force)
    return Found(stiffness, within) if matters and stiffness > BEYOND_DOUBT * within else None


def resolution_of(position: np.ndarray) -> float | None:
    """The count of which all positions are multiples; None if there is none to be seen."""
    different = np.unique(position)
    steps = np.diff(different)
    steps = steps[steps > 1e-9 * max(float(np.ptp(position)), 1e-12)]
    if len(steps) < 3:
        return None
    count = float(steps.min())
    whole = (different - different[0]) / count
    off = np.abs(whole - np.round(whole))
    return count if float(off.max()) < 0.05 and whole.max() < 1e7 else None


def evened(told: Recording, period: float) -> Recording:
    """The same at even times, by a cubic spline through readings at least half a period apart."""
    from scipy.interpolate import CubicSpline

    kept, last = [0], told.read_at[0]
    for i, at in enumerate(told.read_at):
        if at - last > 0.5 * period:
            kept.append(i)
            last = at
    even = np.arange(told.read_at[0], told.read_at[kept[-1]], period)
    places = CubicSpline(told.read_at[kept], told.position[kept])(even)
    return Recording(even, places, told.told_at, told.force)


def width_for(period: float) -> float:
    """[s] of a window for a device that is read so often."""
    return max(WINDOW, FULLEST * period)


def identify(told: Recording, tick: float) -> Identified:
    """A device from a recording of its released handle; *tick* [s] is that of its delay."""
    width = width_for(tick)
    if len(told.read_at) < 100:
        raise IdentificationError(f"{len(told.read_at)} readings are too few")
    gaps = np.diff(told.read_at)
    period, jitter = float(np.median(gaps)), float(gaps.std())
    even = evened(told, period) if jitter > UNEVEN * period else told
    whole = find_windows(even, width)
    seen = unbroken(whole, told, width, period)
    if len(seen.centre) < FEWEST:
        raise IdentificationError(
            f"it moved in one direction for {len(seen.centre)} windows of {1e3 * width:g} ms, and "
            f"{FEWEST} are needed ({len(whole.centre) - len(seen.centre)} more had a silence in "
            "them): let the handle go, give a larger force, or end what keeps the machine busy"
        )
    delay = find_delay(told, seen, width, tick)
    push = pushes(told, seen.centre, width, delay)
    rows, held = seen.rows[:, :RELEASED], held_by(told, seen, push)
    if held is not None:
        rows = seen.rows
        delay = find_delay(told, seen, width, tick, rows.shape[1])
        push = pushes(told, seen.centre, width, delay)
        held = held_by(told, seen, push)
    found, _ = fitted(rows, push)
    sure = SURE * spread(rows, push)
    if found[0] <= 0.0 or sure[0] > found[0]:
        raise IdentificationError(f"a mass of {found[0]:.3g} ± {sure[0]:.2g} is none")
    mass, damping, friction = (
        Found(float(v), float(w)) for v, w in zip(found[:3], sure[:3], strict=True)
    )
    return Identified(
        mass, damping, friction, Found(delay, tick), resolution_of(told.position), period, jitter,
        len(seen.centre), held,
    )  # fmt: skip
