"""Whether dampers damp: they rest when nothing moves, and never feed energy."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from detent.errors import MechanismError
from detent.mechanism.mechanism import BodyDamper

if TYPE_CHECKING:
    from detent.mechanism.mechanism import Mechanism

_PLACES, _SPEEDS = 32, 32  # samples
_AROUND = 1.0  # [m, rad] of the start in which places are sampled
_ROUND_OFF = 1e-9  # of the largest power


def check_dampers(m: Mechanism) -> None:
    r"""Refuse a Rayleigh function that pushes at rest, or whose power is ever negative.

    .. math:: \left.\partial R/\partial\dot q\right|_{\dot q=0} = 0, \qquad
              \dot q^T \partial R/\partial\dot q \ge 0

    The power is sampled: at the start, and, where no constraint says which places there are,
    around it, as far as the stops allow.
    """
    plain = [d for d in m.dampers if not isinstance(d, BodyDamper)]
    if not plain:
        return
    places = _places(m)
    for damper in plain:
        _check_one(m, damper, places)


def _check_one(m: Mechanism, damper: Any, places: np.ndarray) -> None:
    import sympy as sp

    known = {c: sp.Float(float(value)) for c, value in m.constants.items()}
    task = {s: sp.sympify(e) for s, e in zip(m.task, m.phi, strict=False)}
    function = sp.sympify(damper).xreplace(task).xreplace(known)
    forces = [function.diff(v) for v in m.u]
    for force in forces:
        if sp.simplify(force.xreplace(dict.fromkeys(m.u, sp.Integer(0)))) != 0:
            raise MechanismError("the damper", damper, "pushes where nothing moves")
    power = sp.lambdify([*m.q, *m.u], sum(v * f for v, f in zip(m.u, forces, strict=True)), "numpy")
    speeds = np.random.default_rng(0).standard_normal((_SPEEDS, len(m.u)))
    given = np.array([_real(power(*q, *speeds.T), _SPEEDS) for q in places])
    least = np.unravel_index(int(given.argmin()), given.shape)
    if given[least] < -_ROUND_OFF * np.abs(given).max():
        at = ", ".join(f"{s} = {x:.3g}" for s, x in zip(m.q, places[least[0]], strict=True))
        raise MechanismError("the damper", damper, f"feeds energy where {at}: it must take some")


def _real(values: Any, count: int) -> np.ndarray:
    """Numbers, and 0 where an expression has no finite real value (which is not for us to say)."""
    array = np.broadcast_to(np.asarray(values, complex), (count,))
    good = np.isfinite(array) & (np.abs(array.imag) < 1e-12)
    return np.where(good, array.real, 0.0)


def _places(m: Mechanism) -> np.ndarray:
    """Configurations at which dampers are tried: the start first."""
    import sympy as sp

    start = np.array(m.start, float)[None]
    if m.holonomic or m.orientations:
        return start
    around = start + _AROUND * np.random.default_rng(1).uniform(-1, 1, (_PLACES, start.size))
    known = {c: sp.Float(float(value)) for c, value in m.constants.items()}
    task = {s: sp.sympify(e) for s, e in zip(m.task, m.phi, strict=False)}
    for stop in m.stops:
        value = sp.lambdify(m.q, sp.sympify(stop).xreplace(task).xreplace(known), "numpy")
        with warnings.catch_warnings(action="ignore"):
            left = _real(value(*around.T), len(around))
        around = around[left >= 0.0]
    return np.concatenate((start, around))
