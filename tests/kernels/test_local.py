"""Local constraints: separation, merging and collisions with movable objects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent.kernels.local import (
    depth_energy,
    healing_step,
    merged_separation,
    plane_separation,
    round_separation,
    struck_restitution,
)


def test_separation_is_that_of_the_point_before_the_plane() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        turn = Rotation.random(random_state=rng)
        x, p, c, n = rng.normal(size=(4, 3))
        n /= np.linalg.norm(n)
        expected = n @ (turn.apply(p) + x - c)
        flat = turn.as_matrix().reshape(-1)
        assert plane_separation(x, flat, p, c, n) == pytest.approx(expected, abs=1e-12)


def test_point_of_an_engine_returns_its_separation() -> None:
    """TH 6.1 → 6.3: the round trip returns s exactly."""
    rng = np.random.default_rng(2)
    turn = Rotation.random(random_state=rng)
    x, c, n = rng.normal(size=(3, 3))
    n /= np.linalg.norm(n)
    for s in (-0.01, 0.0, 0.02):
        p = turn.inv().apply(c + s * n - x)
        flat = turn.as_matrix().reshape(-1)
        assert plane_separation(x, flat, p, c, n) == pytest.approx(s, abs=1e-14)


@pytest.mark.parametrize(
    ("sigma", "before", "known", "after"),
    [
        (0.003, 0.0, False, 0.003),  # the case of errata E11: 3 mm away, not 7 mm inside
        (-0.004, 0.0, False, 0.0),  # late: the proxy is deformed
        (0.002, -0.001, True, 0.002),
        (-0.001, -0.003, True, -0.001),
        (-0.003, -0.001, True, -0.001),
        (-0.003, 0.002, True, 0.0),
        (0.002, 0.004, True, 0.002),
    ],
)
def test_merging_follows_the_errata(sigma: float, before: float, known: bool, after: float) -> None:
    assert merged_separation(sigma, before, known) == after


def test_merging_never_loads_the_spring() -> None:
    """Penetration never grows at an update: neither does ½ K s²."""
    rng = np.random.default_rng(3)
    for sigma, before in rng.normal(scale=0.01, size=(2000, 2)):
        old = min(before, 0.0)
        assert min(merged_separation(sigma, before, True), 0.0) >= old
        assert merged_separation(sigma, before, False) >= 0.0


def test_a_ball_and_a_rod_are_as_far_as_their_middle() -> None:
    """Against SciPy's rotations: the distance of a point from a centre, or from a line."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        at, middle = rng.normal(size=(2, 3))
        n = np.zeros(3)
        assert round_separation(at, middle, np.zeros(3), n) == pytest.approx(
            np.linalg.norm(at - middle)
        )
        turn = Rotation.random(random_state=rng)
        axis = turn.apply([0.0, 0.0, 1.0])
        across = turn.inv().apply(at - middle)[:2]
        assert round_separation(at, middle, axis, n) == pytest.approx(np.linalg.norm(across))
        np.testing.assert_allclose(n, turn.apply([*across, 0.0]) / np.linalg.norm(across))


def test_healing_costs_no_more_than_there_is() -> None:
    rng = np.random.default_rng(6)
    for s, heat in rng.normal(scale=1e-3, size=(500, 2)):
        step = healing_step(s, 5e-4, 4000.0, heat)
        cost = depth_energy(4000.0, s - step) - depth_energy(4000.0, s)
        assert 0.0 <= step <= 5e-4
        assert cost <= max(heat, 0.0) + 1e-15
        if step < 5e-4 and s < 0.0:  # all of it is used
            assert cost == pytest.approx(max(heat, 0.0), abs=1e-15)


def test_struck_objects_take_their_share() -> None:
    """Against the textbook collision of two bodies on a line."""
    rng = np.random.default_rng(4)
    for _ in range(500):
        m, M = rng.uniform(0.1, 5.0, 2)
        e, v, u = rng.uniform(0.0, 1.0), -rng.uniform(0.1, 2.0), rng.uniform(-1.0, 1.0)
        if v >= u:
            continue
        after = (m * v + M * u - M * e * (v - u)) / (m + M)
        expected = -after / v
        if -1.0 <= expected <= 1.0:
            assert struck_restitution(e, v, u, 1.0 / m, 1.0 / M) == pytest.approx(expected)
    assert struck_restitution(0.3, -1.0, 0.0, 0.5, 0.0) == pytest.approx(0.3)  # immovable
    assert struck_restitution(0.3, -1.0, -2.0, 0.5, 0.5) == -1.0  # it flees: no impulse
    assert struck_restitution(0.3, 0.5, 1.0, 0.5, 0.5) == -1.0  # and none by a tool that recedes
    assert struck_restitution(0.9, -0.1, 2.0, 0.5, 0.1) == 1.0  # it comes: passive all the same
    assert struck_restitution(0.3, -1.0, 0.0, 0.0, 0.0) == -1.0  # nothing moves
    assert struck_restitution(0.3, 0.0, 1.0, 0.5, 0.5) == -1.0
    assert struck_restitution(0.3, -1.0, -1.0, 0.5, 0.5) == -1.0  # side by side
