"""The documents' raw parameters of friction, and what they become."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Friction
from detent.errors import ParameterError, UnknownNameError
from detent.kernels.constants import FRICTION_MEMORY
from detent.kernels.friction import LAWS, SYMMETRIC, friction_force
from detent.world.friction import BONDS

CASES = 50
NORMAL = np.array([0.0, 0.0, 1.0])


def raw(rng: np.random.Generator, law: str) -> dict[str, float]:
    """Raw parameters over some orders of magnitude."""
    return {
        "stiffness": 10.0 ** rng.uniform(1.0, 5.0),
        "breakaway": 10.0 ** rng.uniform(-6.0, -3.0),
        "normal_force": 10.0 ** rng.uniform(-2.0, 2.0),
        "excess": 0.0 if law == "dahl" else rng.uniform(0.0, 1.0),
    }


def stretched(friction: Friction, normal_force: float, strain: float) -> float:
    """[N] The force of a new bond that is stretched by a strain [m], at rest."""
    out, memory = np.zeros(3), np.zeros(FRICTION_MEMORY)
    step, mobility = 1e-3, 1e-9  # so heavy that the step bounds no stiffness
    for v in (strain / step, 0.0):  # stretch within a tick, then stop
        friction_force(
            LAWS.index(friction.law), SYMMETRIC, np.array([v, 0.0, 0.0]), normal_force, NORMAL,
            mobility, step, friction.static, friction.kinetic, friction.breakaway,
            0.0, friction.dead_band, memory, out,
        )  # fmt: skip
    return -float(out[0])


@pytest.mark.parametrize("law", BONDS)
def test_raw_parameters_return(law: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(CASES):
        given = raw(rng, law)
        friction = Friction.from_stiffness(**given, law=law, damping=3.0)  # type: ignore[arg-type]
        slip = friction.kinetic * given["normal_force"]
        assert slip / friction.breakaway == pytest.approx(given["stiffness"], rel=1e-12)
        assert friction.static / friction.kinetic - 1.0 == pytest.approx(given["excess"], abs=1e-12)
        assert (friction.breakaway, friction.law) == (given["breakaway"], law)
        assert friction.raw_damping == 3.0


@pytest.mark.parametrize("law", BONDS)
def test_a_stretched_bond_pulls_with_its_stiffness(law: str) -> None:
    """TH 4.6 holds with (1+a) K_r z, TH 4.9 with k_f z and TH 4.11 with σ z."""
    rng = np.random.default_rng(1)
    for _ in range(CASES):
        given = raw(rng, law)
        friction = Friction.from_stiffness(**given, law=law)  # type: ignore[arg-type]
        z = rng.uniform(0.1, 0.9) * given["breakaway"]
        stiffness = given["stiffness"]
        stiffness *= 1.0 + given["excess"] if law == "reset-integrator" else 1.0
        force = stretched(friction, given["normal_force"], z)
        assert force == pytest.approx(stiffness * z, rel=1e-9)


@pytest.mark.parametrize("law", BONDS)
def test_a_bond_breaks_where_the_document_says(law: str) -> None:
    """At z₀; Nahvi's at μ_s f_n/k_f, which is further by the excess (errata B2)."""
    friction = Friction.from_stiffness(3500.0, 1e-5, 0.175, 0.0 if law == "dahl" else 0.25, law)
    reach = 1.25e-5 if law == "nahvi" else 1e-5
    most = 0.25 * 0.175 if law != "dahl" else 0.2 * 0.175
    assert stretched(friction, 0.175, 0.999 * reach) == pytest.approx(0.999 * most, rel=1e-9)
    assert stretched(friction, 0.175, 1.001 * reach) == pytest.approx(0.2 * 0.175, rel=1e-9)


def test_the_numbers_of_the_thesis() -> None:
    """TH 4.3.1: K_r = 3500 N/m, z₀ = 0.01 mm, a = 0.25 at 0.175 N are μ_s 0.25 and μ_k 0.2."""
    friction = Friction.from_stiffness(3500.0, 1e-5, 0.175, 0.25, damping=118.0)
    assert (friction.static, friction.kinetic) == pytest.approx((0.25, 0.2))
    assert Contact(friction=friction).friction.damping == 118.0


@pytest.mark.parametrize("name", ["stiffness", "breakaway", "normal_force"])
@pytest.mark.parametrize("value", [0.0, -1.0, "stiff", None])
def test_what_is_not_positive_is_refused(name: str, value: object) -> None:
    given = {"stiffness": 3500.0, "breakaway": 1e-5, "normal_force": 0.175} | {name: value}
    with pytest.raises(ParameterError, match=name):
        Friction.from_stiffness(**given)  # type: ignore[arg-type]


def test_what_a_law_does_not_know_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"excess = 0\.25.*Dahl's law"):
        Friction.from_stiffness(3500.0, 1e-5, 0.175, 0.25, "dahl")
    with pytest.raises(UnknownNameError, match="known: dahl, nahvi, reset-integrator"):
        Friction.from_stiffness(3500.0, 1e-5, 0.175, law="classical")
