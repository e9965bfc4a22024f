"""Local constraints: separation, merging and collisions with movable objects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent.kernels.local import (
    coherence_thresholds,
    merged_separation,
    plane_separation,
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


def test_thresholds_grow_with_the_period_up_to_the_angle_between_faces() -> None:
    reach, cosine = coherence_thresholds(0.02, 1.5, 10.0, np.pi / 6.0)
    assert reach == pytest.approx(0.03)
    assert cosine == pytest.approx(np.cos(0.2))
    assert coherence_thresholds(1.0, 1.5, 10.0, np.pi / 6.0)[1] == pytest.approx(np.cos(np.pi / 6))


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
