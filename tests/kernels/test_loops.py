"""Closed loops against the full KKT system, solved by NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from detent.collision import dense_inertia
from detent.kernels.constants import DEPENDENT
from detent.kernels.impact import impact_work, resolve_complementarity
from detent.kernels.inertia import (
    Inertia,
    factor_inertia,
    make_inertia,
    respond_to,
    whiten_open,
    whiten_rows,
)
from detent.kernels.jit import JIT_ENABLED
from detent.kernels.loops import (
    close_alike,
    close_loops,
    closed_acceleration,
    closure_multipliers,
)
from kernels.test_linalg import random_spd

MANY = 1000 if JIT_ENABLED else 20


class Loop(NamedTuple):
    """A random mechanism with closures, of which some follow from others."""

    inertia: Inertia
    D: np.ndarray
    W: np.ndarray
    rank: int

    def multiplier_system(self, torque: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """q̈ of S3 eq. 4 by least squares, which does not mind redundant closures."""
        n, m = len(self.D), len(self.W)
        K = np.block([[self.D, self.W.T], [self.W, np.zeros((m, m))]])
        return np.linalg.lstsq(K, np.concatenate([torque, wanted]), rcond=1e-11)[0][:n]


def random_loop(rng: np.random.Generator) -> Loop:
    nv = int(rng.integers(2, 9))
    rank = int(rng.integers(1, nv))
    spare = int(rng.integers(0, 4))
    W = rng.normal(size=(rank, nv)) * 10.0 ** rng.uniform(-2, 2, (rank, 1))
    W = np.vstack([W, rng.normal(size=(spare, rank)) @ W])[rng.permutation(rank + spare)]
    D = random_spd(rng, nv, 100.0)
    dense = dense_inertia(D)
    inertia = make_inertia(dense.rownnz, dense.rowadr, dense.colind, len(W))
    assert factor_inertia(D[np.tril_indices(nv)], inertia)
    found = close_loops(inertia, len(W), W.copy(), np.zeros(len(W)))
    return Loop(inertia, D, W, found)


@pytest.fixture(scope="module")
def loops() -> list[Loop]:
    rng = np.random.default_rng(3)
    cases = [random_loop(rng) for _ in range(2 * MANY)]
    # nearly dependent rows are a matter of the tolerance: not of these tests
    return [c for c in cases if well_conditioned(c)][:MANY]


def well_conditioned(case: Loop) -> bool:
    rows = case.W @ np.linalg.inv(np.linalg.cholesky(case.D)).T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    values = np.linalg.svd(rows, compute_uv=False)
    return not ((values > 1e-10) & (values < 0.02)).any()


def test_independent_closures_are_counted(loops: list[Loop]) -> None:
    assert len(loops) == MANY
    assert all(c.rank == np.linalg.matrix_rank(c.W, 1e-9 * np.abs(c.W).max()) for c in loops)


def test_response_is_that_of_the_multipliers(loops: list[Loop]) -> None:
    rng = np.random.default_rng(4)
    for case in loops:
        torque = rng.normal(size=len(case.D))
        expected = case.multiplier_system(torque, np.zeros(len(case.W)))
        found = torque.copy()
        respond_to(case.inertia, found)
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.linalg.norm(torque))


def test_inertia_at_the_hand_is_that_of_S3_equation_9(loops: list[Loop]) -> None:
    rng = np.random.default_rng(5)
    for case in loops:
        J = rng.normal(size=(6, len(case.D)))
        Di = np.linalg.inv(case.D)
        W = case.W / np.linalg.norm(case.W, axis=1, keepdims=True)
        inner = np.linalg.pinv(W @ Di @ W.T, rcond=1e-11, hermitian=True)
        expected = J @ Di @ J.T - J @ Di @ W.T @ inner @ W @ Di @ J.T
        N = J.copy()
        whiten_rows(case.inertia, 6, N)
        np.testing.assert_allclose(N @ N.T, expected, atol=1e-9 * np.abs(J @ Di @ J.T).max())


def test_closures_accelerate_as_wanted(loops: list[Loop]) -> None:
    rng = np.random.default_rng(6)
    for case in loops:
        torque = rng.normal(size=len(case.D))
        wanted = case.W @ rng.normal(size=len(case.D))  # what redundant rows agree on
        found = torque.copy()
        closed_acceleration(case.inertia, wanted, np.zeros(len(case.W)), found)
        scale = np.linalg.norm(case.W, axis=1) * np.linalg.norm(found)
        assert (np.abs(case.W @ found - wanted) <= 1e-9 * scale).all()
        expected = case.multiplier_system(torque, wanted)
        np.testing.assert_allclose(found, expected, atol=1e-8 * np.linalg.norm(expected))


def test_multipliers_make_up_the_torque_of_the_closures(loops: list[Loop]) -> None:
    rng = np.random.default_rng(9)
    for case in loops:
        torque = case.W.T @ rng.normal(size=len(case.W))
        found = np.full(len(case.W), np.nan)
        closure_multipliers(case.inertia, torque.copy(), np.zeros(len(case.W)), found)
        assert np.count_nonzero(found) <= case.rank
        limit = 1e-8 * np.linalg.norm(torque)
        np.testing.assert_allclose(case.W.T @ found, torque, atol=limit)


def test_rows_of_Q_are_orthonormal_and_make_up_the_kept_closures(loops: list[Loop]) -> None:
    for case in loops:
        kept, Q = case.inertia.kept[: case.rank], case.inertia.Q[: case.rank]
        np.testing.assert_allclose(Q @ Q.T, np.eye(case.rank), atol=1e-12)
        white = case.W[kept].copy()
        for row in white:
            whiten_open(case.inertia, row)
        R = np.tril(case.inertia.R[kept][:, : case.rank])
        scale = case.inertia.scale[kept, None]
        np.testing.assert_allclose(R @ Q, scale * white, atol=1e-12)


def test_a_hit_leaves_the_loop_closed_and_e_1_its_energy(loops: list[Loop]) -> None:
    rng = np.random.default_rng(7)
    for case in loops:
        n = len(case.D)
        qd = rng.normal(size=n)
        qd -= np.linalg.pinv(case.W) @ case.W @ qd  # moves as the loop allows
        J = rng.normal(size=(3, n))
        after, p = np.zeros(n), np.zeros(3)
        for e in (0.0, 1.0):
            resolve_complementarity(case.inertia, J, 3, qd, e, 100, impact_work(3, n), after, p)
            assert np.abs(case.W @ after).max() <= 1e-9 * np.abs(case.W).max() * np.linalg.norm(qd)
            assert (J @ after >= -e * (J @ qd) - 1e-9).all()
            energy = after @ case.D @ after - qd @ case.D @ qd
            limit = 1e-9 * (qd @ case.D @ qd)
            assert energy <= limit
            if e == 1.0:
                assert abs(energy) <= limit


def test_closing_alike_nearby_solves_the_same_system(loops: list[Loop]) -> None:
    rng = np.random.default_rng(8)
    for case in loops[: MANY // 4]:
        n = len(case.D)
        T = np.eye(n) + 1e-3 * rng.normal(size=(n, n))  # keeps what depends on what
        near = case._replace(W=case.W @ T, D=T.T @ case.D @ T)
        assert factor_inertia(near.D[np.tril_indices(n)], near.inertia)
        close_alike(near.inertia, len(near.W), near.W.copy(), np.zeros(len(near.W)))
        torque, wanted = rng.normal(size=n), near.W @ rng.normal(size=n)
        found = torque.copy()
        closed_acceleration(near.inertia, wanted, np.zeros(len(near.W)), found)
        want = near.multiplier_system(torque, wanted)
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_closure_counts_from_an_angle_to_the_others_on(factor: float) -> None:
    """Whitened: by its sine, whatever its length."""
    D = random_spd(np.random.default_rng(8), 4, 100.0)
    dense = dense_inertia(D)
    inertia = make_inertia(dense.rownnz, dense.rowadr, dense.colind, 2)
    assert factor_inertia(D[np.tril_indices(4)], inertia)
    L = np.linalg.cholesky(D[::-1, ::-1])[::-1, ::-1].T  # D = Lᵀ L
    first, other = np.eye(4)[:2]
    W = np.array([first, 30.0 * (first + factor * DEPENDENT * other)]) @ L
    assert close_loops(inertia, 2, W, np.zeros(2)) == (2 if factor > 1.0 else 1)
