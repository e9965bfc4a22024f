"""Which entries the factor of a symmetric matrix needs."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from detent.kernels.inertia import factor_inertia, make_inertia, respond_to
from detent.mechanism.generate import columns
from detent.mechanism.layout import factor_columns, places
from detent.mechanism.library import builtin


def sparse_spd(rng: np.random.Generator, n: int) -> np.ndarray:
    A = np.where(rng.random((n, n)) < 1.5 / n, rng.normal(size=(n, n)), 0.0)
    return A @ A.T + np.eye(n)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_stored_is_enough_to_solve_with_the_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    D, b = sparse_spd(rng, n), rng.normal(size=n)
    rows = factor_columns(sp.Matrix(D))
    sizes = np.array([len(row) for row in rows], np.int32)
    starts = (np.cumsum(sizes) - sizes).astype(np.int32)
    factor = make_inertia(sizes, starts, np.array([j for row in rows for j in row], np.int32))
    assert factor_inertia(np.array([D[p] for p in places(rows)]), factor)
    found = b.copy()
    respond_to(factor, found)
    np.testing.assert_allclose(found, np.linalg.solve(D, b), rtol=1e-9, atol=1e-12)


def test_columns_are_those_that_are_coupled_and_what_fills_up() -> None:
    assert factor_columns(sp.eye(3)) == [[0], [1], [2]]
    star = sp.Matrix([[3, 1, 1], [1, 3, 0], [1, 0, 3]])
    assert factor_columns(star) == [[0], [0, 1], [0, 2]]  # no fill-in: all hang from the first
    assert factor_columns(star[::-1, ::-1]) == [[0], [0, 1], [0, 1, 2]]  # to lose the last couples
    assert factor_columns(sp.zeros(0, 0)) == []


def test_positions_of_the_disk_are_not_coupled_to_its_angles() -> None:
    stored = columns(builtin("rolling-disk").equations())
    assert stored["M"] == [[0], [1], [2], [3], [3, 4], [3, 5]]
    assert stored["psi_gram"] == [[0], [1], [2], [3]]
