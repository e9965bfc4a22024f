"""A restitution per contact: what must hold for every inertia, set of contacts and e_i."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import nnls

from detent.kernels.impact_restitution import resolve_restitutions, restitution_work
from detent.kernels.jit import JIT_ENABLED
from detent.kernels.projection import LIMIT
from kernels.test_impact import Tick, random_inertias, random_rows
from sweeps import sweep

PER_SHAPE = sweep(116, 1)  # in full: 11 x 16 shapes, 20,416 cases
ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24)


class Solver(Tick):
    """A tick whose collisions have a restitution per contact."""

    def __init__(self, rows: int, nv: int) -> None:
        super().__init__(rows, nv)
        self.restitution = restitution_work(rows, nv)

    def solve(
        self, J: np.ndarray, qd: np.ndarray, e: np.ndarray, out: np.ndarray, limit: int = 400
    ) -> int:
        return resolve_restitutions(
            self.inertia,
            *(J, len(J), qd, e, limit, self.restitution, out, self.p),
        )


@cache
def solver_for(rows: int, nv: int) -> Solver:
    return Solver(rows, nv)


def collide(D: np.ndarray, J: np.ndarray, qd: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The velocity after one collision."""
    solver, after = solver_for(*J.shape), np.zeros(len(qd))
    solver.factor(D)
    solver.solve(np.ascontiguousarray(J), qd, np.ascontiguousarray(e, dtype=float), after)
    return after


def random_restitutions(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Spread evenly, or extreme: nothing and all."""
    return rng.random(rows) if rng.random() < 0.5 else rng.integers(0, 2, rows).astype(float)


class Cases(NamedTuple):
    """Collisions of one shape, stacked."""

    D: np.ndarray  # [cases, nv, nv]
    J: np.ndarray  # [cases, rows, nv]
    qd: np.ndarray  # [cases, nv]
    e: np.ndarray  # [cases, rows]
    after: np.ndarray  # [cases, nv]
    twice: np.ndarray  # [cases, nv] with every row repeated, in another order
    impulse: np.ndarray  # [cases, rows]

    def energy(self, qd: np.ndarray) -> np.ndarray:
        return 0.5 * np.einsum("ci,cij,cj->c", qd, self.D, qd)

    @property
    def approach(self) -> np.ndarray:
        return -np.einsum("cik,ck->ci", self.J, self.qd)

    @property
    def speed(self) -> np.ndarray:
        """√(2 KE) before, as a column."""
        return np.sqrt(2 * self.energy(self.qd))[:, None]

    @property
    def own(self) -> np.ndarray:
        """The restitution that holds for a row: the largest, if it recedes already."""
        return np.where(self.approach > 0.0, self.e, self.e.max(axis=1, keepdims=True))

    @property
    def excess(self) -> np.ndarray:
        """By how much contacts separate faster than they must."""
        return np.einsum("cik,ck->ci", self.J, self.after) - self.own * self.approach


def solve_cases(rng: np.random.Generator, rows: int, nv: int) -> Cases:
    D, qd = random_inertias(rng, (PER_SHAPE, nv), 4.0), rng.normal(size=(PER_SHAPE, nv))
    J = np.array([random_rows(rng, rows, nv) for _ in range(PER_SHAPE)])
    # all of them approach, as in a collision; or whatever comes
    receding = np.einsum("cik,ck->ci", J, qd) > 0.0
    J[receding & (rng.random((PER_SHAPE, 1)) < 0.7)] *= -1.0
    e = np.array([random_restitutions(rng, rows) for _ in range(PER_SHAPE)])
    again = rng.permutation(np.concatenate([np.arange(rows), np.arange(rows)]))
    after, twice = np.zeros((2, PER_SHAPE, nv))
    impulse = np.zeros((PER_SHAPE, rows))
    solver = Solver(2 * rows, nv)
    for c in range(PER_SHAPE):
        solver.factor(D[c])
        solver.solve(J[c][again], qd[c], e[c][again], twice[c])
        solver.solve(J[c], qd[c], e[c], after[c])
        impulse[c] = solver.p[:rows]
    return Cases(D, J, qd, e, after, twice, impulse)


@pytest.fixture(scope="module")
def cases() -> list[Cases]:
    """20,000 collisions with dependent, duplicated and opposite rows."""
    rng = np.random.default_rng(0)
    return [solve_cases(rng, rows, nv) for nv in range(2, 13) for rows in ROWS]


def test_the_kinetic_energy_never_rises(cases: list[Cases]) -> None:
    for batch in cases:
        assert (batch.energy(batch.after) <= (1 + 1e-11) * batch.energy(batch.qd)).all()


def test_the_energy_that_is_lost(cases: list[Cases]) -> None:
    """½ pᵀ(1 − E)a, as the module says."""
    for batch in cases:
        lost = 0.5 * np.sum(batch.impulse * (1 - batch.own) * batch.approach, axis=1)
        before = batch.energy(batch.qd)
        assert (np.abs(before - lost - batch.energy(batch.after)) <= 1e-9 * before).all()


def test_impulses_only_push(cases: list[Cases]) -> None:
    assert all((batch.impulse >= 0.0).all() for batch in cases)


def test_contacts_separate_with_their_own_restitution_or_faster(cases: list[Cases]) -> None:
    for batch in cases:
        assert (batch.excess >= -1e-9 * batch.speed).all()


def test_contacts_with_an_impulse_separate_exactly_with_their_own(cases: list[Cases]) -> None:
    for batch in cases:
        excess = np.where(batch.impulse > 0.0, batch.excess, 0.0)
        assert (np.abs(excess) <= 1e-9 * batch.speed).all()


def test_the_order_of_contacts_and_repeated_contacts_change_nothing(cases: list[Cases]) -> None:
    for batch in cases:
        change = np.sqrt(2 * batch.energy(batch.twice - batch.after))
        assert (change <= 1e-9 * batch.speed[:, 0]).all()


def test_with_one_restitution_it_is_the_law_of_one_to_the_bit() -> None:
    rng = np.random.default_rng(1)
    for nv in (2, 3, 6, 12):
        solver, found, expected = Solver(16, nv), np.zeros(nv), np.zeros(nv)
        for _ in range(200 if JIT_ENABLED else 3):
            rows, limit = int(rng.integers(1, 17)), int(rng.choice([2, 400]))
            J, qd = random_rows(rng, rows, nv), rng.normal(size=nv)
            e = float(rng.choice([0.0, 1.0, rng.random()]))
            solver.factor(random_inertias(rng, (1, nv), 4.0)[0])
            status = solver.complementarity(J, qd, e, expected, limit)
            impulse = solver.p[:rows].copy()
            assert solver.solve(J, qd, np.full(rows, e), found, limit) == status
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(solver.p[:rows], impulse)


def test_one_contact_is_exact() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        nv = int(rng.integers(1, 9))
        D, J, qd = (
            random_inertias(rng, (1, nv), 3.0)[0],
            rng.normal(size=(1, nv)),
            rng.normal(size=nv),
        )
        qd *= -np.sign(J[0] @ qd)
        e = rng.random(1)
        np.testing.assert_allclose(J @ collide(D, J, qd, e), -e * (J @ qd), rtol=1e-11)


def test_groups_that_do_not_touch_each_other_have_their_own_restitution() -> None:
    """Each body moves as if the others were not there, with the law of one e."""
    rng = np.random.default_rng(3)
    for _ in range(100 if JIT_ENABLED else 3):
        sizes = rng.integers(1, 7, 3)
        nv, rows = 3 * len(sizes), int(sizes.sum())
        D, J, e, qd = np.zeros((nv, nv)), np.zeros((rows, nv)), np.zeros(rows), rng.normal(size=nv)
        expected, row = np.zeros(nv), 0
        for g, size in enumerate(sizes):
            body, hits = slice(3 * g, 3 * g + 3), slice(row, row + size)
            D[body, body] = random_inertias(rng, (1, 3), 2.0)[0]
            own = random_rows(rng, int(size), 3)
            own[own @ qd[body] > 0.0] *= -1.0
            J[hits, body], e[hits] = own, rng.random()
            solver, after = solver_for(int(size), 3), np.zeros(3)
            solver.factor(D[body, body])
            solver.complementarity(own, qd[body].copy(), e[row], after)
            expected[body], row = after, row + size
        np.testing.assert_allclose(collide(D, J, qd, e), expected, atol=1e-11)


def least_change(N: np.ndarray, b: np.ndarray, u0: np.ndarray) -> np.ndarray:
    """min ½‖u − u0‖² s.t. N u ≥ b: a least-distance problem (Lawson and Hanson 1974)."""
    E = np.vstack([N.T, b - N @ u0])
    target = np.append(np.zeros(len(u0)), 1.0)
    r = E @ nnls(E, target, maxiter=1000)[0] - target
    return u0 - r[:-1] / r[-1]


def test_against_scipy_nnls() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        rows, nv = int(rng.integers(2, 9)), int(rng.integers(2, 9))
        D, J = random_inertias(rng, (1, nv), 2.0)[0], rng.normal(size=(rows, nv))
        qd, e = rng.normal(size=nv), rng.random(rows)
        J[J @ qd > 0.0] *= -1.0
        L = np.linalg.cholesky(D)
        N, u0 = np.linalg.solve(L, J.T).T, L.T @ qd
        expected = np.linalg.solve(L.T, least_change(N, -e * (N @ u0), u0))
        scale = np.linalg.norm(expected)
        np.testing.assert_allclose(collide(D, J, qd, e), expected, atol=1e-7 * scale)


def test_the_laws_that_it_replaces_raise_the_energy() -> None:
    """An equality with different e_i, and Poisson's law, with impulses that pull or not.

    docs/physics.md gives these numbers.
    """
    rng, count = np.random.default_rng(5), 5000
    raised, most = np.zeros(3, int), np.zeros(3)
    for _ in range(count):
        J, qd, e = rng.normal(size=(3, 3)), rng.normal(size=3), rng.random(3)
        J[J @ qd > 0.0] *= -1.0
        gram = np.linalg.inv(J @ J.T)
        impulses = (
            -gram @ ((1 + e) * (J @ qd)),  # equality
            -(1 + e) * (gram @ J @ qd),  # catalogue M39
            (1 + e) * nnls(J.T, -qd)[0],  # and with impulses that only push
        )
        after = np.array([qd + J.T @ p for p in impulses])
        gain = (after**2).sum(axis=1) / (qd @ qd)
        raised += gain > 1 + 1e-9
        most = np.maximum(most, gain)
    np.testing.assert_allclose(raised[:2] / count, 0.28, atol=0.01)
    np.testing.assert_allclose(raised[2] / count, 0.028, atol=0.003)
    assert most[2] > 5.0


def test_poissons_law_with_one_restitution_is_complementarity_or_equality() -> None:
    """Catalogue M39: (1 + e) times the impulses of the plastic collision, pushing or not."""
    rng = np.random.default_rng(6)
    for _ in range(100):
        rows, nv = int(rng.integers(1, 9)), int(rng.integers(2, 7))
        D, J = random_inertias(rng, (1, nv), 2.0)[0], rng.normal(size=(rows, nv))
        qd, e = rng.normal(size=nv), rng.random()
        solver, after = solver_for(rows, nv), np.zeros(nv)
        solver.factor(D)
        solver.equality(J, qd, 0.0, after)
        plastic = solver.p[:rows].copy()
        solver.equality(J, qd, e, after)
        np.testing.assert_allclose(solver.p[:rows], (1 + e) * plastic, rtol=1e-10)
        solver.complementarity(J, qd, 0.0, after)
        plastic = solver.p[:rows].copy()
        solver.complementarity(J, qd, e, after)
        np.testing.assert_allclose(solver.p[:rows], (1 + e) * plastic, rtol=1e-10)


def test_when_the_iterations_run_out_the_collision_is_still_passive() -> None:
    rng = np.random.default_rng(7)
    reached = 0
    for nv in range(3, 10):
        solver, after = Solver(24, nv), np.zeros(nv)
        for _ in range(200 if JIT_ENABLED else 2):
            rows = int(rng.integers(4, 25))
            J, qd, e = (
                random_rows(rng, rows, nv),
                rng.normal(size=nv),
                random_restitutions(rng, rows),
            )
            solver.factor(random_inertias(rng, (1, nv), 4.0)[0])
            reached += solver.solve(J, qd, e, after, int(rng.integers(0, 8))) == LIMIT
            assert solver.energy(after) <= (1 + 1e-11) * solver.energy(qd)
            assert (solver.p[:rows] >= 0.0).all()
    assert not JIT_ENABLED or reached > 200


def test_the_velocity_may_be_replaced_in_place() -> None:
    qd, solver = np.array([-1.0, -1.0]), Solver(2, 2)
    solver.factor(np.eye(2))
    solver.solve(np.eye(2), qd, np.array([0.25, 1.0]), qd)
    np.testing.assert_allclose(qd, [0.25, 1.0], atol=1e-15)
