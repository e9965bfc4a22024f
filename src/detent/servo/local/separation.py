"""How far the proxy is from a constraint, and how its deformation is taken back (TH 6.2.2)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.local import depth_energy, healing_step, plane_separation, round_separation
from detent.local.records import BALL, FACE, HEALED, ROD, Local
from detent.servo.structs import Scene


@kernel
def own_or(value: float, world: float) -> float:
    """A property of the constraint, or the world's where it has none."""
    return world if math.isnan(value) else value


@kernel
def spring_of(held: np.ndarray, i: int, p: np.ndarray) -> float:
    """Stiffness of a constraint, for all the contacts that it stands for [N/m]."""
    return held["weight"][i] * own_or(held["stiffness"][i], p["stiffness"][0])


@kernel
def carry_plane(sc: Scene, held: np.ndarray, i: int) -> None:
    """The plane moves with the link of the tool that it is on."""
    base = held["base"][i]
    turn, at, facing = sc.xmat[base], held["anchor"][i], held["bearing"][i]
    for k in range(3):
        a, b, c = turn[3 * k], turn[3 * k + 1], turn[3 * k + 2]
        held["place"][i, k] = sc.xpos[base, k] + a * at[0] + b * at[1] + c * at[2]
        held["normal"][i, k] = a * facing[0] + b * facing[1] + c * facing[2]


@kernel
def true_separation(sc: Scene, held: np.ndarray, i: int) -> float:
    """Separation of the tool as it is, not deformed; the normal turns with a curved surface."""
    link = held["link"][i]
    x, turn, p = sc.xpos[link], sc.xmat[link], held["point"][i]
    n, place, bulge = held["normal"][i], held["place"][i], held["bulge"][i]
    kind = held["curve"][i]
    if held["base"][i] != 0:
        carry_plane(sc, held, i)
    if kind in (BALL, ROD):
        for k in range(3):  # the place holds the tool's point until it is known
            place[k] = x[k] + turn[3 * k] * p[0] + turn[3 * k + 1] * p[1] + turn[3 * k + 2] * p[2]
        apart = round_separation(place, held["middle"][i], held["axis"][i], n)
        s = apart - held["radius"][i]
        for k in range(3):
            place[k] -= s * n[k]
        return s - bulge - held["shift"][i]
    if kind == FACE:
        q = held["facing"][i]
        for k in range(3):
            n[k] = turn[3 * k] * q[0] + turn[3 * k + 1] * q[1] + turn[3 * k + 2] * q[2]
    return plane_separation(x, turn, p, place, n) - bulge - held["shift"][i]


@kernel
def present_separation(sc: Scene, lo: Local, i: int) -> float:
    """Separation of the proxy, which expands as far as nobody feels it (TH 6.2.2)."""
    held = lo.held
    s, offset = true_separation(sc, held, i), held["offset"][i]
    if offset > 0.0 and s + offset > 0.0:  # inactive
        offset = max(-s, 0.0)
    held["offset"][i], held["separation"][i] = offset, s + offset
    return s + offset


@kernel
def relaxed_separation(sc: Scene, lo: Local, i: int, p: np.ndarray, heals: bool) -> float:
    """The same, once in a tick: deformation is taken back, by interpolation or by healing."""
    held, step = lo.held, p["step"][0]
    change, offset = held["relax"][i] * step, held["offset"][i]
    if change > 0.0:
        held["offset"][i] = math.copysign(max(abs(offset) - change, 0.0), offset)
    s = present_separation(sc, lo, i)
    if heals and held["offset"][i] > 0.0 and held["relax"][i] == 0.0:
        s = heal(lo, i, s, p)
    return s


@kernel
def heal(lo: Local, i: int, s: float, p: np.ndarray) -> float:
    """Deformation that is taken back under load, and paid from what this contact dissipated."""
    held, stiffness = lo.held, spring_of(lo.held, i, p)
    most = min(p["local_heal"][0] * p["step"][0], held["offset"][i])
    step = healing_step(s, most, stiffness, held["heat"][i])
    cost = depth_energy(stiffness, s - step) - depth_energy(stiffness, s)
    held["offset"][i] -= step
    held["separation"][i] = s - step
    held["heat"][i] -= cost
    lo.times[HEALED] += cost
    return s - step
