"""Small linear algebra against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from detent.kernels import linalg
from sweeps import sweep

MANY = sweep(2000, 20)


def random_spd(rng: np.random.Generator, n: int, condition: float = 1e3) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = (Q * condition ** rng.uniform(-0.5, 0.5, n)) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize("n", [1, 2, 6, 17])
def test_cholesky_in_a_buffer_that_is_larger(n: int) -> None:
    rng = np.random.default_rng(n)
    A, b = np.full((n + 2, n + 2), np.nan), rng.normal(size=n)
    A[:n, :n] = random_spd(rng, n)
    L, x = np.zeros((n + 3, n + 3)), np.zeros(n)
    assert linalg.cholesky_factor(A, n, L) == n
    np.testing.assert_allclose(L[:n, :n], np.linalg.cholesky(A[:n, :n]), atol=1e-12)
    linalg.cholesky_solve(L, n, b, x)
    np.testing.assert_allclose(A[:n, :n] @ x, b, atol=1e-11)
    linalg.cholesky_solve(L, n, b, b)  # in place
    np.testing.assert_array_equal(b, x)


def test_cholesky_says_where_a_matrix_stops_being_positive_definite() -> None:
    A = np.diag([1.0, 2.0, -1.0, 3.0])
    assert linalg.cholesky_factor(A, 4, np.zeros((4, 4))) == 2


def pinv_solve(A: np.ndarray, b: np.ndarray, tol: float = 1e-10) -> tuple[int, np.ndarray]:
    n = len(b)
    L, S, d, x = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n), np.zeros(n)
    return linalg.psd_pinv_solve(A, n, b, tol, L, S, d, x), x


def test_psd_pinv_solve_is_the_pseudo_inverse_at_every_rank() -> None:
    rng = np.random.default_rng(1)
    for _ in range(MANY // 4):
        n = int(rng.integers(1, 25))
        rank = int(rng.integers(0, n + 1))
        B, _ = np.linalg.qr(rng.normal(size=(n, n)))
        A = (B[:, :rank] * 10 ** rng.uniform(-1, 1, rank)) @ B[:, :rank].T
        b = rng.normal(size=n)  # not in the range of A
        found, x = pinv_solve(A, b)
        assert found == rank
        np.testing.assert_allclose(x, np.linalg.pinv(A, rcond=1e-10) @ b, atol=1e-9)


def test_psd_pinv_solve_of_the_largest_gram_matrix_of_duplicated_rows() -> None:
    rng = np.random.default_rng(2)
    J = rng.normal(size=(6, 6))[rng.integers(0, 6, 64)]
    b = J @ rng.normal(size=6)
    rank, x = pinv_solve(J @ J.T, b)
    assert rank == np.linalg.matrix_rank(J)
    np.testing.assert_allclose(J @ (J.T @ x), b, atol=1e-9)


def test_psd_pinv_solve_survives_a_tolerance_below_round_off() -> None:
    B = np.random.default_rng(3).normal(size=(20, 3))
    _, x = pinv_solve(B @ B.T, B @ np.ones(3), tol=0.0)
    assert np.isfinite(x).all()


@pytest.mark.parametrize("n", [1, 2, 3, 6, 9])
def test_eigh_small(n: int) -> None:
    rng = np.random.default_rng(n)
    for case in range(20):
        A = random_spd(rng, n, 10.0**case) - 0.5 * np.eye(n)
        e, w, V = np.full(n, np.nan), np.full(n, np.nan), np.full((n, n), np.nan)
        lower = np.tril(A) + np.triu(np.full((n, n), np.nan), 1)
        assert linalg.eigh_small(lower, n, e, w, V) <= 3 * n
        scale = np.abs(w).max()
        np.testing.assert_allclose(w, np.linalg.eigvalsh(A), atol=1e-14 * n * scale)
        np.testing.assert_allclose(V.T @ V, np.eye(n), atol=1e-14 * n)
        np.testing.assert_allclose(V * w @ V.T, A, atol=1e-14 * n * scale)


@pytest.mark.parametrize(
    "A",
    [
        *(np.zeros((3, 3)), np.eye(3), np.ones((3, 3)), np.ones((6, 6))),
        *(np.diag([2.0, 1.0, 2.0]), np.kron(np.eye(2), np.ones((2, 2))), 1e-30 * np.eye(2)),
        np.eye(5, k=1) + np.eye(5, k=-1),
    ],
)
def test_eigh_small_of_repeated_eigenvalues_and_zeros(A: np.ndarray) -> None:
    n = len(A)
    e, w, V = np.zeros(n), np.zeros(n), np.zeros((n, n))
    linalg.eigh_small(A, n, e, w, V)
    np.testing.assert_allclose(V * w @ V.T, A, rtol=1e-14, atol=2e-15)
    np.testing.assert_allclose(V.T @ V, np.eye(n), atol=2e-15)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(A), rtol=1e-14, atol=2e-15)


def test_eigh_small_ends_where_there_is_no_answer() -> None:
    for bad in (np.nan, np.inf):
        e, w, V = np.zeros(4), np.zeros(4), np.zeros((4, 4))
        linalg.eigh_small(np.full((4, 4), bad), 4, e, w, V)
        assert not np.isfinite(w).any()
    assert linalg.eigh_small(np.zeros((0, 0)), 0, np.zeros(0), np.zeros(0), np.zeros((0, 0))) == 0
