"""Small linear algebra against NumPy, MuJoCo and the conditions of optimality."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from detent.kernels import linalg
from detent.kernels.jit import JIT_ENABLED

MANY = 2000 if JIT_ENABLED else 20


def random_spd(rng: np.random.Generator, n: int, condition: float = 1e3) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = (Q * condition ** rng.uniform(-0.5, 0.5, n)) @ Q.T
    return (A + A.T) / 2


# ---------------------------------------------------------------- dense symmetric matrices


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
        before, w, V = A.copy(), np.zeros(n), np.zeros((n, n))
        assert linalg.eigh_small(A, n, w, V) < 15
        np.testing.assert_array_equal(A, before)
        scale = np.abs(w).max()
        np.testing.assert_allclose(w, np.linalg.eigvalsh(A), atol=1e-14 * n * scale)
        np.testing.assert_allclose(V.T @ V, np.eye(n), atol=1e-14 * n)
        np.testing.assert_allclose(V * w @ V.T, A, atol=1e-14 * n * scale)


@pytest.mark.parametrize("A", [np.zeros((3, 3)), np.eye(3), np.ones((3, 3))])
def test_eigh_small_of_repeated_eigenvalues(A: np.ndarray) -> None:
    w, V = np.zeros(3), np.zeros((3, 3))
    linalg.eigh_small(A.copy(), 3, w, V)
    np.testing.assert_allclose(V * w @ V.T, A, atol=1e-15)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-15)


# ---------------------------------------------------------- the inertia in MuJoCo's layout

LEG = """
  <body pos="0 {side} -.1">
    <joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>
    <geom type="capsule" fromto="0 0 0 0 .05 -.4" size=".05"/>
    <body pos="0 .05 -.4"><joint axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04"/>
      <body pos="0 0 -.4"><joint type="ball"/><geom type="box" size=".1 .05 .02" pos=".05 0 0"/>
      </body></body></body>"""
HUMANOID = (
    "<body><freejoint/><geom type='box' size='.1 .2 .3' pos='.03 .01 .1'/>"
    + LEG.format(side=-0.1)
    + LEG.format(side=0.1)
    + "<body pos='0 0 .4'><joint axis='0 1 0'/><geom size='.1' pos='.01 0 .1'/></body></body>"
)
FREE = "<body><freejoint/><geom type='box' size='.1 .2 .3' pos='.1 .2 0'/></body>"
SIMPLE = "<body><freejoint/><geom type='box' size='.1 .2 .3'/></body>"
PLANAR = """<body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
  <joint axis="0 0 1"/><geom type="box" size=".021 .0105 .01" pos=".01 0 0"/></body>"""
SCENES = {"humanoid": HUMANOID, "free": FREE, "simple": SIMPLE, "planar": PLANAR}
SCENES["all"] = HUMANOID + SIMPLE + PLANAR + FREE


class Inertia:
    """A scene's inertia: MuJoCo's dense and factored form, and ours."""

    def __init__(self, bodies: str) -> None:
        self.model = mujoco.MjModel.from_xml_string(
            f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"
        )
        self.data = mujoco.MjData(self.model)
        rng = np.random.default_rng(7)
        self.nv = self.model.nv
        mujoco.mj_integratePos(self.model, self.data.qpos, rng.normal(size=self.nv), 1.0)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_factorM(self.model, self.data)
        self.dense = np.zeros((self.nv, self.nv))
        mujoco.mj_fullM(self.model, self.data, self.dense)
        m = self.model
        self.layout = m.M_rownnz, m.M_rowadr, m.M_colind
        self.LD, self.diaginv = np.zeros(self.data.M.size), np.zeros(self.nv)
        self.definite = linalg.ltdl_factor(
            self.data.M, *self.layout, self.nv, self.LD, self.diaginv
        )
        self.factor = self.LD, self.diaginv, *self.layout, self.nv


@pytest.fixture(params=SCENES)
def inertia(request: pytest.FixtureRequest) -> Inertia:
    return Inertia(SCENES[request.param])


def test_ltdl_factor_is_mujocos(inertia: Inertia) -> None:
    assert inertia.definite
    np.testing.assert_allclose(inertia.LD, inertia.data.qLD, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(inertia.diaginv, inertia.data.qLDiagInv, rtol=1e-12)


def test_ltdl_solve_is_mujocos(inertia: Inertia) -> None:
    y = np.random.default_rng(0).normal(size=(1, inertia.nv))
    theirs, ours = np.zeros_like(y), y[0].copy()
    mujoco.mj_solveM(inertia.model, inertia.data, theirs, y)
    linalg.ltdl_solve(*inertia.factor, ours)
    np.testing.assert_allclose(ours, theirs[0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(inertia.dense @ ours, y[0], atol=1e-11)


def test_whitening_makes_the_inertia_the_identity(inertia: Inertia) -> None:
    rng = np.random.default_rng(1)
    J, v = rng.normal(size=(5, inertia.nv)), rng.normal(size=inertia.nv)
    N, u = J.copy(), v.copy()
    for row in N:
        linalg.ltdl_whiten(*inertia.factor, row)
    linalg.ltdl_whiten_velocity(*inertia.factor, u)
    np.testing.assert_allclose(N @ N.T, J @ np.linalg.solve(inertia.dense, J.T), rtol=1e-9)
    np.testing.assert_allclose(u @ u, v @ inertia.dense @ v, rtol=1e-12)
    np.testing.assert_allclose(N @ u, J @ v, rtol=1e-10, atol=1e-12)


def test_whitening_of_many_rows_is_that_of_one_by_one(inertia: Inertia) -> None:
    N = np.random.default_rng(2).normal(size=(7, inertia.nv))
    single = N[3].copy()
    linalg.ltdl_whiten_rows(*inertia.factor, 7, N)
    linalg.ltdl_whiten(*inertia.factor, single)
    np.testing.assert_array_equal(N[3], single)


def test_unwhitening_goes_back(inertia: Inertia) -> None:
    j = np.random.default_rng(3).normal(size=inertia.nv)
    response, velocity, expected = j.copy(), j.copy(), j.copy()
    linalg.ltdl_whiten(*inertia.factor, response)
    linalg.ltdl_unwhiten(*inertia.factor, response)
    linalg.ltdl_solve(*inertia.factor, expected)
    np.testing.assert_allclose(response, expected, rtol=1e-10, atol=1e-12)
    linalg.ltdl_whiten_velocity(*inertia.factor, velocity)
    linalg.ltdl_unwhiten(*inertia.factor, velocity)
    np.testing.assert_allclose(velocity, j, rtol=1e-10, atol=1e-12)


def test_ltdl_factor_refuses_what_is_not_positive_definite() -> None:
    one = np.ones(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    for mass in (0.0, -1.0, np.nan):
        assert not linalg.ltdl_factor(np.array([mass]), *one, 1, np.zeros(1), np.zeros(1))


# ------------------------------------------------- projection onto linear inequalities


class Projection:
    """One run of the solver, and the conditions of optimality."""

    def __init__(
        self, N: np.ndarray, b: np.ndarray, u0: np.ndarray, limit: int | None = None
    ) -> None:
        m, nv = N.shape
        self.N, self.b, self.u0 = N, b, u0
        self.u, self.p = np.full(nv, np.nan), np.full(m, np.nan)
        work = linalg.projection_work(m + 1, nv)  # a buffer may be larger
        limit = linalg.iteration_limit(m, nv) if limit is None else limit
        self.status, self.iterations = linalg.project_onto_rows(
            N, b, m, nv, u0, limit, work, self.u, self.p
        )

    def assert_optimal(self, tolerance: float = 1e-11) -> None:
        assert self.status == linalg.SOLVED
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
        if found.status == linalg.SOLVED:
            found.assert_optimal()
        if case % 10 == 0:
            program = linprog(np.zeros(nv), A_ub=-N, b_ub=-b, bounds=[(None, None)] * nv)
            assert (program.status == 2) == (found.status == linalg.INFEASIBLE)


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
    assert found.status == linalg.INFEASIBLE
    assert abs(found.u[0]) == 1.0 and found.u[1] == 2.0


def test_rows_of_round_off_are_left_out() -> None:
    N = np.array([[0.0, 1.0], [-1e-17, 0.0], [0.0, 0.0]])
    found = Projection(N, np.zeros(3), np.array([1.0, -1.0]))
    np.testing.assert_allclose(found.u, [1.0, 0.0], atol=1e-15)
    assert found.status == linalg.SOLVED


def test_nothing_to_do() -> None:
    u0 = np.array([1.0, 2.0])
    for N in (np.zeros((0, 2)), np.eye(2), np.zeros((3, 2))):
        found = Projection(N, np.zeros(len(N)), u0)
        np.testing.assert_array_equal(found.u, u0)
        assert (found.status, found.iterations) == (linalg.SOLVED, 0)
        assert not found.p.any()


def test_at_the_limit_the_multipliers_push_and_their_rows_are_equalities() -> None:
    rng = np.random.default_rng(8)
    reached = 0
    for _ in range(MANY):
        m, nv = int(rng.integers(4, 25)), int(rng.integers(2, 13))
        N, u0 = random_rows(rng, m, nv), rng.normal(size=nv)
        found = Projection(N, np.zeros(m), u0, limit=int(rng.integers(0, 6)))
        reached += found.status == linalg.LIMIT
        slack = (N @ found.u) / np.maximum(np.linalg.norm(N, axis=1), 1e-300)
        assert (found.p >= 0.0).all()
        assert (np.abs(slack[found.p > 0]) <= 1e-12 * np.linalg.norm(u0)).all()
        assert np.linalg.norm(found.u) <= (1 + 1e-14) * np.linalg.norm(u0)
    assert reached > MANY // 4
