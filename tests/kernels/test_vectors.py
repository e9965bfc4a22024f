"""Vectors spelled out, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from detent.kernels.vectors import (
    clear_matrix,
    clear_vector,
    copy_vector,
    cross,
    dot,
    inner,
    largest,
    plus,
)


def test_arrays_are_numpys() -> None:
    rng = np.random.default_rng(1)
    a, b, out = rng.standard_normal(5), rng.standard_normal(5), np.zeros(5)
    copy_vector(a, out)
    np.testing.assert_array_equal(out, a)
    assert dot(a, b, 4) == pytest.approx(a[:4] @ b[:4], abs=1e-15)
    assert largest(-a) == np.abs(a).max() and largest(np.zeros(0)) == 0.0
    clear_vector(out)
    assert not out.any()
    matrix = rng.standard_normal((3, 4))
    clear_matrix(matrix)
    assert not matrix.any()


def test_triples_are_numpys() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        a, b = rng.standard_normal((2, 3))
        x, y = tuple(a.tolist()), tuple(b.tolist())
        np.testing.assert_allclose(cross(x, y), np.cross(a, b), atol=1e-15)
        np.testing.assert_allclose(plus(x, 0.3, y), a + 0.3 * b, atol=1e-15)
        assert inner(x, y) == pytest.approx(a @ b, abs=1e-15)
