"""The point of a polyhedron that is nearest to an axis."""

from __future__ import annotations

import numpy as np
import pytest

from detent.kernels.shadow import nearest_to_axis


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_point_of_a_shadow(seed: int) -> None:
    """Against every corner and every pair of corners; none where the axis is inside."""
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(int(rng.integers(1, 12)), 3))
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    for shift in (0.0, 1.0, 4.0):
        offset = shift * rng.normal(size=3)
        found, p = nearest_to_axis(corners, 0, len(corners), np.eye(3).reshape(-1), tuple(offset),
                                   tuple(axis), tuple(offset + 1e-3))  # fmt: skip
        flat = (corners + offset) @ (np.eye(3) - np.outer(axis, axis))
        ways = flat[None] - flat[:, None]
        share = -np.sum(flat[:, None] * ways, axis=2) / np.maximum(np.sum(ways**2, axis=2), 1e-30)
        share = np.clip(share, 0.0, 1.0)[..., None]
        best = np.linalg.norm(flat[:, None] + share * ways, axis=2).min()
        if found:
            mine = np.array(p) @ (np.eye(3) - np.outer(axis, axis))
            assert np.linalg.norm(mine) == pytest.approx(best, abs=1e-8)
            assert (flat @ mine).min() >= mine @ mine - 1e-8 * np.linalg.norm(mine)
        else:  # nothing separates it from the shadow
            turns = np.linspace(0.0, 2.0 * np.pi, 720)
            u = np.cross(axis, (0.3, 0.5, 0.8))
            u /= np.linalg.norm(u)
            ways = np.cos(turns)[:, None] * u + np.sin(turns)[:, None] * np.cross(axis, u)
            assert (flat @ ways.T).min(axis=0).max() <= 1e-6
