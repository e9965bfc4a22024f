"""The projection onto linear inequalities against SciPy and the conditions of optimality."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, nnls

from detent.kernels import projection
from detent.kernels.jit import JIT_ENABLED

MANY = 2000 if JIT_ENABLED else 20


class Projection:
    """One run of the solver, and the conditions of optimality."""

    def __init__(
        self, N: np.ndarray, b: np.ndarray, u0: np.ndarray, limit: int | None = None
    ) -> None:
        m, nv = N.shape
        self.N, self.b, self.u0 = N, b, u0
        self.u, self.p = np.full(nv, np.nan), np.full(m, np.nan)
        work = projection.projection_work(m + 1, nv)  # a buffer may be larger
        limit = projection.iteration_limit(m, nv) if limit is None else limit
        self.status, self.iterations = projection.project_onto_rows(
            N, b, m, nv, u0, limit, work, self.u, self.p
        )

    def assert_optimal(self, tolerance: float = 1e-11) -> None:
        assert self.status == projection.SOLVED
        norm = np.linalg.norm(self.N, axis=1)
        norm = np.where(norm > 1e-12 * norm.max(initial=0.0), norm, np.inf)
        size = np.linalg.norm(self.u0) + np.linalg.norm(self.u)
        slack = (self.N @ self.u - self.b) / norm
        assert (slack >= -tolerance * size).all()
        assert (self.p >= 0.0).all()
        assert (np.abs(slack[self.p > 0]) <= tolerance * size).all()
        # the multipliers of rows that all but contradict each other are large
        large = size + (self.p[self.p > 0] * norm[self.p > 0]).max(initial=0.0)
        pushed = self.u - self.u0 - self.N.T @ self.p
        assert np.linalg.norm(pushed) <= tolerance * large


def random_rows(rng: np.random.Generator, m: int, nv: int) -> np.ndarray:
    """Rows that are copies, opposites, or both up to a perturbation of any size."""
    base = rng.normal(size=(int(rng.integers(1, m + 1)), nv))
    base = np.round(base) if rng.random() < 0.3 else base  # exactly dependent
    N = base[rng.integers(0, len(base), m)] * rng.choice([-1.0, 1.0, 1.0], (m, 1))
    if rng.random() < 0.5:
        N += 10 ** rng.uniform(-16, -2, (m, 1)) * rng.normal(size=(m, nv))
    return N * 10 ** rng.uniform(-2, 2, (m, 1))


def test_projection_onto_a_cone_is_optimal_for_nasty_rows() -> None:
    rng = np.random.default_rng(4)
    for _ in range(5 * MANY):
        m, nv = int(rng.integers(1, 25)), int(rng.integers(1, 13))
        found = Projection(random_rows(rng, m, nv), np.zeros(m), rng.normal(size=nv))
        found.assert_optimal()
        # u0 - 2 (u0 - u) is a reflection, however badly conditioned the active rows are
        reflected = np.linalg.norm(2 * found.u - found.u0)
        assert abs(reflected - np.linalg.norm(found.u0)) <= 1e-13 * reflected
        assert found.iterations <= 2 * (m + nv)


def test_projection_with_bounds_is_optimal_or_infeasible_as_a_linear_program_says() -> None:
    rng = np.random.default_rng(5)
    for case in range(MANY):
        m, nv = int(rng.integers(1, 17)), int(rng.integers(1, 9))
        N, b = rng.normal(size=(m, nv)), rng.normal(size=m) - rng.choice([0.0, 1.0])
        if m > 2 and rng.random() < 0.3:
            N[1], N[2], b[1] = N[0], -N[0], b[0] + rng.choice([0.0, 0.1])
        found = Projection(N, b, rng.normal(size=nv))
        assert (found.p >= 0.0).all()
        if found.status == projection.SOLVED:
            found.assert_optimal()
        if case % 10 == 0:
            program = linprog(np.zeros(nv), A_ub=-N, b_ub=-b, bounds=[(None, None)] * nv)
            assert (program.status == 2) == (found.status == projection.INFEASIBLE)


def test_projection_onto_a_cone_against_scipy() -> None:
    rng = np.random.default_rng(6)
    for _ in range(MANY // 4):
        m, nv = int(rng.integers(1, 13)), int(rng.integers(2, 13))
        N, u0 = rng.normal(size=(m, nv)), rng.normal(size=nv)
        p, _ = nnls(N.T, -u0)
        np.testing.assert_allclose(Projection(N, np.zeros(m), u0).u, u0 + N.T @ p, atol=1e-9)


def test_contradicting_rows_are_left_out() -> None:
    N, b = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0, 2.0])
    found = Projection(N, b, np.zeros(2))
    assert found.status == projection.INFEASIBLE
    assert abs(found.u[0]) == 1.0 and found.u[1] == 2.0


def test_rows_of_round_off_are_left_out() -> None:
    N = np.array([[0.0, 1.0], [-1e-17, 0.0], [0.0, 0.0]])
    found = Projection(N, np.zeros(3), np.array([1.0, -1.0]))
    np.testing.assert_allclose(found.u, [1.0, 0.0], atol=1e-15)
    assert found.status == projection.SOLVED


def test_nothing_to_do() -> None:
    u0 = np.array([1.0, 2.0])
    for N in (np.zeros((0, 2)), np.eye(2), np.zeros((3, 2))):
        found = Projection(N, np.zeros(len(N)), u0)
        np.testing.assert_array_equal(found.u, u0)
        assert (found.status, found.iterations) == (projection.SOLVED, 0)
        assert not found.p.any()


def test_at_the_limit_the_multipliers_push_and_their_rows_are_equalities() -> None:
    rng = np.random.default_rng(8)
    reached = 0
    for _ in range(MANY):
        m, nv = int(rng.integers(4, 25)), int(rng.integers(2, 13))
        N, u0 = random_rows(rng, m, nv), rng.normal(size=nv)
        found = Projection(N, np.zeros(m), u0, limit=int(rng.integers(0, 6)))
        reached += found.status == projection.LIMIT
        slack = (N @ found.u) / np.maximum(np.linalg.norm(N, axis=1), 1e-300)
        assert (found.p >= 0.0).all()
        assert (np.abs(slack[found.p > 0]) <= 1e-12 * np.linalg.norm(u0)).all()
        assert np.linalg.norm(found.u) <= (1 + 1e-14) * np.linalg.norm(u0)
    assert reached > MANY // 4
