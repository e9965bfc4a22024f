"""Mistakes in a description are reported with the offending expression; the cache is by content."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from detent import Baumgarte, Contact, Mechanism, Session
from detent.errors import DetentError, MechanismError, ParameterError
from detent.mechanism import BodyDamper, BodySpring, Orientation
from detent.mechanism.build import fingerprint, source_file
from detent.mechanism.library import builtin
from mechanism_lab import pendulum

Z, Z2 = sp.symbols("z z2")
x, y, dx, dy, m = sp.symbols("x y dx dy m", real=True)


def point(**changes: object) -> Mechanism:
    """A point in the plane."""
    fields = {
        "name": "point", "coordinates": (x, y), "velocities": (dx, dy),
        "kinetic_energy": m * (dx**2 + dy**2) / 2, "constants": {m: 1.0}, "start": (0.0, 0.0),
    }  # fmt: skip
    return Mechanism(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"holonomic": (x - sp.Symbol("k"),)}, r"the constraint -k \+ x has the symbol k"),
        ({"pfaffian": ((1, 2, 3),)}, r"the row \[1, 2, 3\] of pfaffian has not 2 elements"),
        ({"kinetic_energy": None, "inertia": sp.eye(3)}, "is not 2 by 2"),
        ({"stops": (sp.Symbol("w"),)}, "the stop w has the symbol w"),
        ({"rotation": sp.eye(2)}, "is not 3 by 3"),
        ({"constants": {m: 1.0, x: 2.0}}, "x is used for two things"),
        ({"coordinates": ("x", y)}, "'x' is not a SymPy Symbol"),
        ({"gravity": sp.Symbol("g") * y}, "the potential energy g\\*y has the symbol g"),
        ({"kinetic_energy": m * (dx**2 + dy**2) + 3 * dx}, "is not quadratic in q̇"),
        ({"kinetic_energy": m * (dx**2 + dy**2) + x}, "is not quadratic in q̇"),
        ({"gravity": 1 / y}, "the potential energy 1/y is infinite at the start"),
        ({"gravity": (m * y,)}, r"the gravity \(m\*y,\) is several"),
        ({"stops": (x > 0,)}, "the stop x > 0 is a relation: .* must not become negative"),
        ({"dampers": (-(dx**2) / 2,)}, r"the damper -dx\*\*2/2 feeds energy where x = 0"),
        ({"dampers": (dx**2, (dx**2 - 3 * dx * dy + dy**2) / 2)}, "feeds energy"),
        ({"dampers": (x * dx**2,), "start": (0.5, 0.0)}, "feeds energy where x = -0"),
        ({"dampers": (3 * dx,)}, r"the damper 3\*dx pushes where nothing moves"),
        ({"stops": (sp.sqrt(x - 2),)}, r"the stop sqrt\(x - 2\) is 1.41.*I at the start"),
    ],
)
def test_a_wrong_expression_is_named(changes: dict, text: str) -> None:
    with pytest.raises(MechanismError, match=text):
        point(**changes)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"start": (0.0,)}, "of length 2"),
        ({"start": (float("nan"), 0.0)}, r"start = \(nan, 0.0\) .* finite numbers"),
        ({"start": "ab"}, "start = 'ab' .* finite numbers"),
        ({"start_velocity": (float("inf"), 0.0)}, r"start_velocity = \(inf, 0.0\) .* finite"),
        ({"start_parameters": (float("nan"),)}, "start_parameters .* finite numbers"),
        ({"inertia": sp.eye(2)}, "but not both"),
        ({"restitution": 1.5}, "between 0 and 1"),
        ({"parametrisation": ((sp.Symbol("z"),), (sp.Symbol("z"),))}, "of length 2"),
        ({"task": (sp.Symbol("a"),), "kinematics": ()}, "of length 1"),
        ({"coordinates": ()}, "at least one symbol"),
        ({"pfaffian": (1, 0)}, r"a tuple of rows: \(\(a, b, …\),\)"),
        ({"parametrisation": (x,)}, r"symbols z, and ψ\(z\)"),
        ({"kinetic_energy": None, "inertia": [[1, 0], [0, 1]]}, "a SymPy matrix"),
        ({"restitution": "a"}, "restitution of stops"),
        ({"energies": {str(i): dx**2 for i in range(5)}}, "number of energies = 5 .* at most 4"),
        ({"constants": {m: "one"}}, "constant m = 'one' .* a finite number"),
    ],
)
def test_a_wrong_size_is_named(changes: dict, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        point(**changes)


def test_a_parametrisation_with_an_orientation_is_refused() -> None:
    turn = Orientation("a")
    z = sp.symbols("z1:5")
    with pytest.raises(ParameterError, match="None with an Orientation"):
        Mechanism(
            name="turn", coordinates=(turn,), inertia=sp.eye(3), start=(1, 0, 0, 0),
            parametrisation=(z, z),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"holonomic": (x**2 + y**2 - 1,)}, "x\\*\\*2 \\+ y\\*\\*2 - 1 is not satisfied"),
        ({"holonomic": (x**2,)}, r"the constraint x\*\*2 changes with nothing at the start"),
        ({"holonomic": (x, y - 2 * x, y)}, "the constraint y follows from those before it"),
        (
            {"pfaffian": ((0, 1),), "start_velocity": (1.0, 2.0)},
            r"the constraint \[0, 1\] forbids start_velocity: its rate is 2",
        ),
        ({"stops": (y - 1,)}, "the stop y - 1 is passed at the start: -1"),
        ({"kinetic_energy": m * dx**2 / 2}, "is not positive definite"),
        ({"kinetic_energy": dx**3 + dy**2}, "is not quadratic"),
        (
            {"task": sp.symbols("a b"), "kinematics": (x * y, y)},
            "φ\\(q\\) x\\*y is singular at the start",
        ),
        (
            {"parametrisation": ((sp.Symbol("z"),), (sp.Symbol("z"), 1)), "holonomic": (y,)},
            "ψ\\(z\\) 1 misses φ\\(q\\) by -1",
        ),
        (
            {"parametrisation": ((Z,), (1, Z)), "start": (1.0, 0.0)},
            r"ψ\(z\) \[1, z\] has 1 parameters where the constraints leave 2",
        ),
        ({"parametrisation": ((Z, Z2), (Z + Z2, 0))}, "the parameter z2 moves nothing on its own"),
        (
            {"parametrisation": ((Z,), (Z, 0)), "holonomic": (x + y**2,)},
            r"ψ\(z\) \[z, 0\] leaves the constraint x \+ y\*\*2 = 0",
        ),
        (
            {
                "parametrisation": ((Z,), (sp.cos(Z), sp.sin(2 * Z))),
                "holonomic": (x**2 + y**2 - 1,),
                "start": (1.0, 0.0),
            },
            r"ψ\(z\) \[cos\(z\), sin\(2\*z\)\] leaves the constraint .*: it is 0.0",
        ),
        ({"gravity": sp.gamma(x + 1) + sp.zeta(x + 3)}, "cannot compile"),
    ],
)
def test_a_mistake_at_the_start_is_named(changes: dict, text: str) -> None:
    with pytest.raises(MechanismError, match=text):
        Session(point(**changes))


def test_other_values_need_no_new_derivation_but_other_expressions_do() -> None:
    disk = builtin("rolling-disk")
    assert fingerprint(disk.with_constants(m=3.0)) == fingerprint(disk)
    assert fingerprint(disk.starting(disk.start)) == fingerprint(disk)
    other = replace(disk, gravity=next(iter(disk.constants)) * disk.q[2])
    assert fingerprint(other) != fingerprint(disk)
    with pytest.raises(ParameterError, match="one of J_xx"):
        disk.with_constants(mass=1.0)


def test_the_generated_source_is_flat_arithmetic_that_stays_as_it_is() -> None:
    session = Session(pendulum())
    path = source_file(session.subject.mechanism)
    text, stamp = path.read_text(), path.stat().st_mtime_ns
    assert "def dynamics(s)" in text and "np." not in text
    Session(pendulum(length=0.2))  # another constant
    assert path.stat().st_mtime_ns == stamp


def test_springs_and_dampers_in_space_are_checked() -> None:
    with pytest.raises(ParameterError, match="stiffness = -10"):
        BodySpring(-10.0, 0.0)
    with pytest.raises(ParameterError, match="quaternion of a spring"):
        BodySpring(1.0, 1.0, quaternion=(1.0, 0.0, 0.0))
    with pytest.raises(ParameterError, match="damping = nan"):
        BodyDamper(float("nan"), 0.0)


def test_springs_may_be_expressions_or_bodies() -> None:
    both = point(springs=(x**2, BodySpring(1.0, 0.1)))
    assert both.potential == x**2 and both.body_springs == [BodySpring(1.0, 0.1)]


def test_only_an_admittance_couples_a_mechanism() -> None:
    from detent import FourChannel

    with pytest.raises(ParameterError, match="an Admittance, or another coupling that leads"):
        Session(point(), coupling=FourChannel())


@pytest.mark.parametrize(
    ("name", "value"),
    [("contact", Contact()), ("baumgarte", Baumgarte()), ("frozen", 0.1)],
)
def test_what_a_mechanism_has_not_is_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"{name} = .* left out with a Mechanism"):
        Session(point(), **{name: value})  # type: ignore[arg-type]


def test_the_documented_mechanism_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs/admittance.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    exec(code.group(1), {})
    assert "e-1" in capsys.readouterr().out  # the constraint's error


def test_typical_slips_are_named() -> None:
    """An expression without its tuple, a relation, text, a missing velocity, a namesake."""
    x, z, dx, dz = sp.symbols("x z dx dz", real=True)
    good = {
        "name": "slip",
        "coordinates": (x, z),
        "velocities": (dx, dz),
        "kinetic_energy": (dx**2 + dz**2) / 2,
        "holonomic": (x**2 + z**2 - 1,),
        "position": (x, 0, z),
        "start": (1.0, 0.0),
    }
    Mechanism(**good)
    for change, words in (
        ({"holonomic": x**2 + z**2 - 1}, "tuple"),
        ({"holonomic": (sp.Eq(x**2 + z**2, 1),)}, "relation"),
        ({"gravity": "9.81*z"}, "text"),
        ({"velocities": (dx,)}, "velocities"),
        ({"gravity": 9.81 * sp.Symbol("z")}, "other assumptions"),
    ):
        with pytest.raises(DetentError, match=words):
            Mechanism(**{**good, **change})


def test_a_start_may_be_an_array() -> None:
    there = point(start=np.zeros(2), start_velocity=np.array([0.0, 1.0]))
    assert (there.start, there.start_velocity) == ((0.0, 0.0), (0.0, 1.0))


def test_a_damper_is_tried_where_the_stops_allow_only() -> None:
    assert point(dampers=(x * dx**2,), stops=(x,), start=(0.5, 0.0)).dampers
    assert point(dampers=(sp.Abs(dx) ** 3 / 3, dx**2 + dx * dy + dy**2)).dampers


def test_a_start_quaternion_is_made_one_of_unit_length() -> None:
    """One of length 1.1 let the reference jump by up to 50 mm at the first tick."""
    disk = builtin("lie-disk-on-sphere")
    at = [isinstance(c, Orientation) for c in disk.coordinates].index(True)
    start = np.array(disk.start)
    start[at : at + 4] *= 1.1
    scaled = disk.starting(start)
    np.testing.assert_allclose(scaled.start, disk.start, atol=1e-15)
    trace = Session(scaled).run(seconds=0.003)
    moved = np.linalg.norm(trace["tool_position"] - trace["tool_position"][0], axis=1)
    assert moved.max() < 1e-6
    start[at : at + 4] = 0.0
    with pytest.raises(ParameterError, match="not all zero"):
        disk.starting(start)


def test_rows_of_unlike_scale_are_not_taken_for_dependent() -> None:
    """A constraint in kilometres beside one in metres: small, and yet its own."""
    from detent.setup.plan import _check_rank

    rows = np.diag([1.0, 1e-3])
    _check_rank("the constraint", ["x", "y"], rows, 2, "follows from those before it")
    with pytest.raises(MechanismError, match="follows from those before it"):
        _check_rank(
            "the constraint", ["x", "y"], np.ones((2, 2)), 2, "follows from those before it"
        )
