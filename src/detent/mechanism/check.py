"""What can be wrong with a description, before anything is derived from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from detent.checks import fraction, unit_quaternion
from detent.errors import MechanismError, ParameterError
from detent.mechanism.rotations import Orientation

if TYPE_CHECKING:
    from detent.mechanism.mechanism import Mechanism

#: what must be given as tuples
SEVERAL = (
    *("coordinates", "velocities", "task", "kinematics", "holonomic", "pfaffian"),
    *("springs", "dampers", "stops"),
)


def check_description(m: Mechanism) -> None:
    """Refuse wrong dimensions, symbols without a value, and numbers out of range."""
    from detent.mechanism.dampers import check_dampers

    _check_kinds(m)
    _check_symbols(m)
    _check_sizes(m)
    allowed = {*m.q, *m.x, *m.constants}
    for what, expression in _expressions(m):
        _check_free(what, expression, allowed)
    moving = allowed | set(m.u)
    if m.kinetic_energy is not None:
        _check_free("the kinetic energy", m.kinetic_energy, {*m.q, *m.u, *m.constants})
    _check_free("the dampers", m.rayleigh, moving)
    for name, energy in m.energies.items():
        _check_free(f"the energy {name!r}", energy, moving)
    for expression in m.psi:
        _check_free("ψ(z)", expression, {*m.z, *m.constants})
    for expression in m.kinematics:
        _check_free("φ(q)", expression, {*m.q, *m.constants})
    if m.lead is not None:
        time, position, rotation = m.lead
        for expression in (*position, *rotation):
            _check_free("the lead", expression, {time, *m.constants})
    fraction("restitution of stops", m.restitution)
    _check_energy(m)
    _check_start(m)
    check_dampers(m)


def numbers(name: str, value: Any) -> tuple[float, ...]:
    """A flat sequence or array of finite numbers, as a tuple."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        array = np.full((1, 1), np.nan)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ParameterError(name, value, "a flat sequence of finite numbers")
    return tuple(array.tolist())


def with_unit_quaternions(m: Mechanism) -> tuple[float, ...]:
    """The start, with the quaternions of its orientations of unit length."""
    out, at = list(m.start), 0
    for coordinate in m.coordinates:
        if isinstance(coordinate, Orientation):
            out[at : at + 4] = unit_quaternion("start", m.start[at : at + 4]).tolist()
        at += 4 if isinstance(coordinate, Orientation) else 1
    return tuple(out)


def _check_kinds(m: Mechanism) -> None:
    """Refuse an expression where a tuple of them belongs, and text where one belongs."""
    import sympy as sp

    for name in SEVERAL:
        value = getattr(m, name)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ParameterError(name, value, "a tuple, also of one element: (…,)")
    for row in m.pfaffian:
        if isinstance(row, str) or not isinstance(row, Sequence):
            raise ParameterError("pfaffian", m.pfaffian, "a tuple of rows: ((a, b, …),)")
    if m.parametrisation is not None and len(m.parametrisation) != 2:
        raise ParameterError("parametrisation", m.parametrisation, "symbols z, and ψ(z)")
    if m.inertia is not None and not isinstance(m.inertia, sp.MatrixBase):
        raise ParameterError("inertia", m.inertia, "a SymPy matrix")
    if not m.coordinates:
        raise ParameterError("coordinates", m.coordinates, "at least one symbol")
    plain = [c for c in m.coordinates if not isinstance(c, Orientation)]
    if m.velocities:
        _size("velocities", m.velocities, len(plain), "one symbol per ordinary coordinate")
    for what, expression in (
        ("the gravity", m.gravity),
        *(("the spring", s) for s in m.springs),
        *(("the damper", d) for d in m.dampers),
        *(("the constraint", h) for h in m.holonomic),
        *(("the stop", s) for s in m.stops),
    ):
        _check_expression(what, expression)


def _check_expression(what: str, expression: Any) -> None:
    import sympy as sp

    if isinstance(expression, Sequence) and not isinstance(expression, str):
        raise MechanismError(what, expression, "is several: give one expression")
    if isinstance(expression, str):
        raise MechanismError(what, repr(expression), "is text, not a SymPy expression")
    if isinstance(expression, sp.core.relational.Relational | bool):
        wanted = "must not become negative" if what == "the stop" else "is zero"
        raise MechanismError(what, expression, f"is a relation: give the expression that {wanted}")


def _check_symbols(m: Mechanism) -> None:
    import sympy as sp

    for symbol in (*m.q, *m.task, *m.velocities, *m.z, *m.constants):
        if not isinstance(symbol, sp.Symbol):
            raise MechanismError("the symbol", repr(symbol), "is not a SymPy Symbol")
    for symbol, value in m.constants.items():
        try:
            finite = math.isfinite(float(value))
        except (TypeError, ValueError):
            finite = False
        if not finite:
            raise ParameterError(f"constant {symbol}", value, "a finite number")
    names = [str(s) for s in (*m.q, *m.u, *m.task, *m.z, *m.constants)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise MechanismError("the symbol", twice[0], "is used for two things")


def _check_energy(m: Mechanism) -> None:
    """Refuse a kinetic energy with parts that are not quadratic in the velocities."""
    import sympy as sp

    if m.kinetic_energy is None:
        return
    energy, rest = sp.sympify(m.kinetic_energy), dict.fromkeys(m.u, 0)
    for part in (energy, *(energy.diff(v) for v in m.u)):
        if sp.simplify(part.xreplace(rest)) != 0:
            raise MechanismError("the kinetic energy", energy, "is not quadratic in q̇")


def _check_start(m: Mechanism) -> None:
    """Refuse an expression that has no value, or an infinite one, at the start."""
    import sympy as sp

    at_start: dict[Any, Any] = {c: sp.Float(float(value)) for c, value in m.constants.items()}
    at_start |= {s: sp.Float(float(value)) for s, value in zip(m.q, m.start, strict=True)}
    at_start |= {s: sp.sympify(e).xreplace(at_start) for s, e in zip(m.task, m.phi, strict=False)}
    for what, expression in (*(("φ(q)", e) for e in m.kinematics), *_expressions(m)):
        value = sp.sympify(expression).xreplace(at_start).evalf()
        if not (value.is_real and value.is_finite):
            said = value if value.is_finite else "infinite"
            raise MechanismError(what, expression, f"is {said} at the start")


def _check_sizes(m: Mechanism) -> None:
    from detent.mechanism.mechanism import MOST, MOST_ENERGIES

    nq, nv = len(m.q), len(m.u)
    _size("start", m.start, nq, "one number per coordinate, four for an orientation")
    if m.start_velocity:
        _size("start_velocity", m.start_velocity, nv, "one number per velocity")
    if (m.inertia is None) == (m.kinetic_energy is None):
        raise ParameterError("inertia", m.inertia, "given, or else kinetic_energy, but not both")
    if m.inertia is not None and tuple(m.inertia.shape) != (nv, nv):
        raise MechanismError("the inertia", m.inertia, f"is not {nv} by {nv}")
    _size("kinematics", m.kinematics, len(m.task), "one expression per symbol of task")
    _size("position", m.handle, 3, "three expressions")
    if m.rotation is not None and tuple(m.rotation.shape) != (3, 3):
        raise MechanismError("the rotation", m.rotation, "is not 3 by 3")
    width = len(m.task) or nv
    for row in m.pfaffian:
        if len(row) != width:
            raise MechanismError("the row", list(row), f"of pfaffian has not {width} elements")
    _check_chart(m)
    for what, count, most in (
        ("coordinates", nq, MOST),
        ("constraints", rows_of(m) + len(m.stops), MOST),
        ("energies", len(m.energies), MOST_ENERGIES),
    ):
        if count > most:
            raise ParameterError(f"number of {what}", count, f"at most {most}")


def _check_chart(m: Mechanism) -> None:
    if m.parametrisation is None:
        return
    if m.orientations:
        raise ParameterError("parametrisation", m.psi, "None with an Orientation")
    _size("ψ(z)", m.psi, len(m.x), "one expression per task coordinate")
    if m.start_parameters:
        _size("start_parameters", m.start_parameters, len(m.z), "one number per symbol z")


def rows_of(m: Mechanism) -> int:
    """How many constraints there are, holonomic and Pfaffian."""
    return len(m.holonomic) + len(m.pfaffian)


def _size(name: str, value: Sequence[Any], count: int, words: str) -> None:
    if len(value) != count:
        raise ParameterError(name, value, f"of length {count}: {words}")


def _expressions(m: Mechanism) -> Iterable[tuple[str, Any]]:
    if m.inertia is not None:
        yield from (("the inertia", e) for e in m.inertia)
    yield from (("the constraint", e) for e in m.holonomic)
    yield from (("the row of pfaffian", e) for row in m.pfaffian for e in row)
    yield from (("the stop", e) for e in m.stops)
    yield from (("the position", e) for e in m.handle)
    yield from (("the rotation", e) for e in (m.rotation if m.rotation is not None else ()))
    yield "the potential energy", m.potential
    yield from (("the track", e) for e in m.track or ())
    for name, (position, rotation) in m.bodies.items():
        yield from ((f"the body {name!r}", e) for e in (*position, *rotation))


def _check_free(what: str, expression: Any, allowed: set[Any]) -> None:
    import sympy as sp

    free = sp.sympify(expression).free_symbols - allowed
    if free:
        named = ", ".join(sorted(map(str, free)))
        if {str(s) for s in free} & {str(s) for s in allowed}:
            raise MechanismError(
                what, expression, f"has a symbol {named} of the same name, but other assumptions"
            )
        raise MechanismError(
            what, expression, f"has the symbol {named}, which is no coordinate and no constant"
        )
