"""The public collision function: examples worked by hand, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from detent.collision import METHODS, resolve_collision
from detent.errors import ParameterError, UnknownNameError


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("before", "e", "after"),
    [
        ((1, 0), 0.0, (0.5, 0.5)),
        ((1, 0), 0.5, (0.25, 0.75)),
        ((1, 0), 1.0, (0.0, 1.0)),
        ((2, 1), 0.0, (1.5, 1.5)),  # overtaking
        ((2, 1), 1.0, (1.0, 2.0)),
    ],
)
def test_two_equal_balls_share_one_impulse(
    before: tuple[float, float], e: float, after: tuple[float, float], method: str
) -> None:
    """Errata E3: one relative row keeps the momentum, a row per ball does not."""
    found = resolve_collision(np.eye(2), [[-1.0, 1.0]], before, e, method)
    np.testing.assert_allclose(found.velocity, after, atol=2e-15)
    np.testing.assert_allclose(found.velocity.sum(), sum(before), atol=1e-15)
    np.testing.assert_allclose(found.impulse, [after[1] - before[1]], atol=2e-15)


def test_a_spinning_peg_is_glued_by_equality_only() -> None:
    """Errata E4: peg 42 x 21 mm, 2 kg, 0.005 kg m²; both vertices approach the floor."""
    D, x = np.diag([2.0, 2.0, 0.005]), 0.021
    J = [[0.0, 1.0, -x], [0.0, 1.0, x]]
    qd = np.array([0.0, -0.1, 1.0])
    assert (J @ qd < 0).all()
    glued = resolve_collision(D, J, qd, 0.0, "equality")
    np.testing.assert_allclose(glued.impulse, [0.219, -0.019], atol=5e-4)
    np.testing.assert_allclose(glued.velocity, 0.0, atol=1e-15)
    pushed = resolve_collision(D, J, qd)
    mass = 1 / (1 / 2 + x**2 / 0.005)
    np.testing.assert_allclose(pushed.impulse, [mass * (0.1 + x), 0.0], atol=1e-15)
    assert (J @ pushed.velocity >= -1e-16).all()


def test_a_slow_spin_needs_no_glue() -> None:
    """Below m v x / I = 0.84 rad/s the two laws agree."""
    D, J = np.diag([2.0, 2.0, 0.005]), [[0.0, 1.0, -0.021], [0.0, 1.0, 0.021]]
    for spin, agree in ((0.83, True), (0.85, False)):
        found = [resolve_collision(D, J, [0, -0.1, spin], 0.5, m).impulse for m in METHODS]
        assert np.allclose(*found, atol=1e-12) == agree


def test_newtons_cradle_is_not_what_newtons_law_gives() -> None:
    """Three balls in a row: simultaneous rows with one e, not a sequence of impacts."""
    J = [[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]
    found = resolve_collision(np.eye(3), J, [1.0, 0.0, 0.0], 1.0)
    np.testing.assert_allclose(found.velocity, [-1 / 3, 2 / 3, 2 / 3], atol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_without_contacts_nothing_happens(method: str) -> None:
    found = resolve_collision(np.eye(2), np.zeros((0, 2)), [1.0, 2.0], 0.5, method)
    np.testing.assert_array_equal(found.velocity, [1.0, 2.0])
    assert found.impulse.shape == (0,)


def test_receding_contacts_get_no_impulse_but_bound_the_others() -> None:
    found = resolve_collision(np.eye(1), [[1.0]], [2.0], 0.5)
    np.testing.assert_array_equal(found.velocity, [2.0])
    assert found.impulse == [0.0]


def test_the_arguments_are_left_alone() -> None:
    given = np.eye(3), np.eye(3)[:2], -np.ones(3)
    kept = [array.copy() for array in given]
    resolve_collision(*given, 0.5)
    assert all(map(np.array_equal, given, kept))


BAD = {
    "not square": ("D", np.ones((2, 3)), "of shape (2, 2)"),
    "of another size": ("D", np.eye(3), "of shape (2, 2)"),
    "asymmetric": ("D", [[1.0, 0.5], [0.0, 1.0]], "symmetric"),
    "singular": ("D", [[1.0, 1.0], [1.0, 1.0]], "positive definite"),
    "indefinite": ("D", np.diag([1.0, -1.0]), "positive definite"),
    "not finite": ("D", np.diag([1.0, np.nan]), "finite"),
    "rows of another size": ("J", np.ones((1, 3)), "of shape (rows, 2)"),
    "a single row": ("J", np.ones(2), "2 dimension"),
    "infinite": ("J", [[np.inf, 0.0]], "finite"),
    "not a vector": ("qd", np.ones((2, 1)), "1 dimension"),
    "not a number": ("qd", [np.nan, 0.0], "finite"),
    "text": ("qd", ["fast", "slow"], "numbers"),
    "ragged": ("J", [[1.0], [1.0, 2.0]], "numbers"),
    "negative": ("restitution", -0.1, "between 0 and 1"),
    "above one": ("restitution", 1.1, "between 0 and 1"),
    "undefined": ("restitution", np.nan, "between 0 and 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_values_are_named(name: str) -> None:
    argument, value, allowed = BAD[name]
    good = {"D": np.eye(2), "J": [[-1.0, 1.0]], "qd": [1.0, 0.0], "restitution": 0.5}
    with pytest.raises(ParameterError) as error:
        resolve_collision(**{**good, argument: value})
    assert error.value.name == argument
    assert allowed in error.value.allowed


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(UnknownNameError, match="'glue'; known: complementarity, equality"):
        resolve_collision(np.eye(2), [[-1.0, 1.0]], [1.0, 0.0], method="glue")
