"""Collisions: what must hold for every inertia, every set of contacts and every e."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from detent.collision import dense_inertia, resolve_collision
from detent.kernels.impact import (
    impact_work,
    resolve_complementarity,
    resolve_equality,
)
from detent.kernels.inertia import factor_inertia, kinetic_energy
from detent.kernels.jit import JIT_ENABLED
from detent.kernels.projection import LIMIT
from sweeps import sweep

SRC = Path(__file__).resolve().parents[2] / "src"
PER_SHAPE = sweep(76, 1)  # in full: 11 x 24 shapes, 20,064 cases


class Cases(NamedTuple):
    """Collisions of one shape, stacked, with what the two laws make of them."""

    D: np.ndarray  # [cases, nv, nv]
    J: np.ndarray  # [cases, rows, nv] rows of unit length
    qd: np.ndarray  # [cases, nv]
    e: np.ndarray  # [cases]
    after: np.ndarray  # [cases, nv] complementarity
    impulse: np.ndarray  # [cases, rows]
    glued: np.ndarray  # [cases, nv] equality
    twice: np.ndarray  # [cases, nv] complementarity, with rows repeated

    def energy(self, qd: np.ndarray) -> np.ndarray:
        return 0.5 * np.einsum("ci,cij,cj->c", qd, self.D, qd)

    @property
    def speed(self) -> np.ndarray:
        """√(2 KE) before, as a column."""
        return np.sqrt(2 * self.energy(self.qd))[:, None]

    def residual(self, qd: np.ndarray) -> np.ndarray:
        """J q̇⁺ + e J q̇₀."""
        return np.einsum("cik,ck->ci", self.J, qd + self.e[:, None] * self.qd)


def random_inertias(rng: np.random.Generator, shape: tuple[int, int], decades: float) -> np.ndarray:
    count, nv = shape
    Q, _ = np.linalg.qr(rng.normal(size=(count, nv, nv)))
    spread = rng.uniform(-0.5, 0.5, shape)
    spread[:, 0], spread[:, -1] = -0.5, 0.5
    exponent = rng.uniform(0.0, decades, (count, 1)) * spread
    # the condition number lies evenly on both sides of 1 kg, or all above or below
    exponent += np.abs(exponent).max(axis=1, keepdims=True) * rng.choice([-1, 0, 1], (count, 1))
    D = np.einsum("cik,ck,cjk->cij", Q, 10.0**exponent, Q)
    return (D + D.transpose(0, 2, 1)) / 2


def random_rows(rng: np.random.Generator, rows: int, nv: int) -> np.ndarray:
    """Unit rows: independent, of low rank, duplicated, or sparse with opposites."""
    kind = rng.integers(4)
    J = rng.normal(size=(rows, nv))
    if kind == 1:
        rank = int(rng.integers(1, nv + 1))
        J = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, nv))
    elif kind == 2:
        J = J[rng.integers(0, (rows + 1) // 2, rows)]
    elif kind == 3:
        J *= rng.random((rows, nv)) < 0.5
        J[~J.any(axis=1), 0] = 1.0
        J[-1] = -J[0]
    return J / np.linalg.norm(J, axis=1, keepdims=True)


class Tick:
    """The arrays that a tick owns, made once and used for many collisions."""

    def __init__(self, rows: int, nv: int) -> None:
        self.nv = nv
        self.M, self.inertia = np.zeros(nv * (nv + 1) // 2), dense_inertia(np.eye(nv))
        self.p, self.work = np.zeros(rows), impact_work(rows, nv + 1)

    def factor(self, D: np.ndarray) -> None:
        self.M[:] = D[np.tril_indices(self.nv)]
        assert factor_inertia(self.M, self.inertia)

    def energy(self, qd: np.ndarray) -> float:
        return kinetic_energy(self.M, self.inertia, qd)

    def complementarity(
        self, J: np.ndarray, qd: np.ndarray, e: float, out: np.ndarray, limit: int = 200
    ) -> int:
        return resolve_complementarity(
            self.inertia, J, len(J), qd, e, limit, self.work, out, self.p
        )

    def equality(self, J: np.ndarray, qd: np.ndarray, e: float, out: np.ndarray) -> int:
        return resolve_equality(self.inertia, J, len(J), qd, e, self.work, out, self.p)


def solve_cases(rng: np.random.Generator, rows: int, nv: int, count: int, decades: float) -> Cases:
    D = random_inertias(rng, (count, nv), decades)
    J = np.array([random_rows(rng, rows, nv) for _ in range(count)])
    # half of the velocities at random, half with the energy spread evenly
    qd = rng.normal(size=(count, nv))
    even = np.linalg.solve(np.linalg.cholesky(D).transpose(0, 2, 1), qd[:, :, None])[:, :, 0]
    qd = np.where(rng.random((count, 1)) < 0.5, qd, even)
    e = rng.choice([0.0, 1.0, 0.5], count)
    e = np.where(e == 0.5, rng.random(count), e)
    again = np.concatenate([np.arange(rows), rng.integers(0, rows, rows)])
    tick = Tick(2 * rows, nv)
    after, glued, twice = (np.zeros((count, nv)) for _ in range(3))
    impulse = np.zeros((count, rows))
    for c in range(count):
        tick.factor(D[c])
        tick.equality(J[c], qd[c], e[c], glued[c])
        tick.complementarity(J[c][again], qd[c], e[c], twice[c])
        tick.complementarity(J[c], qd[c], e[c], after[c])
        impulse[c] = tick.p[:rows]
    return Cases(D, J, qd, e, after, impulse, glued, twice)


@pytest.fixture(scope="module")
def cases() -> list[Cases]:
    """20,000 collisions in full, of inertias with a condition number up to 1e6."""
    rng = np.random.default_rng(0)
    shapes = [(rows, nv) for nv in range(2, 13) for rows in range(1, 25)]
    return [solve_cases(rng, rows, nv, PER_SHAPE, 6.0) for rows, nv in shapes]


@pytest.fixture(scope="module")
def hard_cases() -> list[Cases]:
    """Inertias with a condition number up to 1e10."""
    rng = np.random.default_rng(1)
    shapes = [(rows, nv) for nv in (2, 3, 6, 12) for rows in (1, 3, 8, 24)]
    return [solve_cases(rng, rows, nv, PER_SHAPE, 10.0) for rows, nv in shapes]


def both_laws(cases: list[Cases]) -> Iterator[tuple[Cases, np.ndarray]]:
    for batch in cases:
        yield batch, batch.after
        yield batch, batch.glued


def test_the_kinetic_energy_never_rises(cases: list[Cases]) -> None:
    for batch, after in both_laws(cases):
        assert (batch.energy(after) <= (1 + 1e-9) * batch.energy(batch.qd)).all()


def test_an_elastic_collision_keeps_the_kinetic_energy(cases: list[Cases]) -> None:
    elastic = 0
    for batch, after in both_laws(cases):
        before, kept = batch.energy(batch.qd), batch.energy(after)
        at_one = batch.e == 1.0
        elastic += at_one.sum()
        np.testing.assert_allclose(kept[at_one], before[at_one], rtol=1e-9)
    assert elastic > sweep(10_000, 0) or not JIT_ENABLED


def test_impulses_only_push(cases: list[Cases]) -> None:
    assert all((batch.impulse >= 0.0).all() for batch in cases)


def test_contacts_separate_at_least_with_the_restitution(cases: list[Cases]) -> None:
    for batch in cases:
        assert (batch.residual(batch.after) >= -1e-9 * batch.speed).all()


def test_contacts_with_an_impulse_separate_exactly_with_the_restitution(
    cases: list[Cases],
) -> None:
    for batch in cases:
        residual = np.where(batch.impulse > 0.0, batch.residual(batch.after), 0.0)
        assert (np.abs(residual) <= 1e-9 * batch.speed).all()
        assert (np.abs(batch.impulse * residual) <= 1e-9 * batch.speed**2).all()


def test_the_equality_law_restores_every_contact(cases: list[Cases]) -> None:
    for batch in cases:
        assert (np.abs(batch.residual(batch.glued)) <= 1e-9 * batch.speed).all()


def test_the_impulse_is_the_change_of_momentum(cases: list[Cases]) -> None:
    for batch in cases:
        change = np.einsum("cij,cj->ci", batch.D, batch.after - batch.qd)
        pushed = np.einsum("cik,ci->ck", batch.J, batch.impulse)
        largest = np.linalg.norm(batch.D, 2, axis=(1, 2))[:, None]
        assert (np.abs(change - pushed) <= 1e-9 * np.sqrt(largest) * batch.speed).all()


def test_contacts_that_are_reported_twice_change_nothing(cases: list[Cases]) -> None:
    for batch in cases:
        np.testing.assert_array_equal(batch.twice, batch.after)


def test_beyond_a_condition_number_of_a_million(hard_cases: list[Cases]) -> None:
    for batch in hard_cases:
        residual = batch.residual(batch.after)
        assert (batch.impulse >= 0.0).all()
        assert (residual >= -1e-6 * batch.speed).all()
        assert (np.abs(np.where(batch.impulse > 0, residual, 0.0)) <= 1e-6 * batch.speed).all()
        assert (np.abs(batch.residual(batch.glued)) <= 1e-6 * batch.speed).all()


def test_against_scipy_nnls() -> None:
    """With w = q̇⁺ at e = 0 as a projection onto a cone, whose dual is a least-squares fit."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        rows, nv = int(rng.integers(1, 13)), int(rng.integers(2, 13))
        D = random_inertias(rng, (1, nv), 3.0)[0]
        J, qd, e = rng.normal(size=(rows, nv)), rng.normal(size=nv), rng.random()
        L = np.linalg.cholesky(D)
        p, _ = nnls(np.linalg.solve(L, J.T), -L.T @ qd)
        expected = qd + (1 + e) * np.linalg.solve(D, J.T @ p)
        found = resolve_collision(D, J, qd, e).velocity
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.linalg.norm(expected))


def test_against_scipy_slsqp() -> None:
    """The problem as it is stated, with e in the constraint and duplicated rows."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        rows, nv = int(rng.integers(1, 9)), int(rng.integers(2, 7))
        D = random_inertias(rng, (1, nv), 1.0)[0]
        J, qd, e = random_rows(rng, rows, nv), rng.normal(size=nv), rng.random()
        stated = minimize(
            lambda v, D=D, qd=qd: 0.5 * (v - qd) @ D @ (v - qd),
            -e * qd,
            jac=lambda v, D=D, qd=qd: D @ (v - qd),
            constraints={
                "type": "ineq",
                "fun": lambda v, J=J, qd=qd, e=e: J @ (v + e * qd),
                "jac": lambda v, J=J: J,
            },
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        found = resolve_collision(D, J, qd, e).velocity
        np.testing.assert_allclose(found, stated.x, atol=1e-6 * np.linalg.norm(qd))


def test_the_impulse_of_the_equality_law_is_the_formula_of_the_thesis() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        rows, nv = int(rng.integers(1, 13)), int(rng.integers(2, 9))
        D, J = random_inertias(rng, (1, nv), 2.0)[0], random_rows(rng, rows, nv)
        qd, e = rng.normal(size=nv), rng.random()
        gram = np.linalg.pinv(J @ np.linalg.solve(D, J.T), rcond=1e-10, hermitian=True)
        velocity, impulse = resolve_collision(D, J, qd, e, "equality")
        expected = -(1 + e) * gram @ J @ qd  # TH 4.36
        scale = 1 + np.abs(gram).max()
        np.testing.assert_allclose(impulse, expected, atol=1e-8 * scale)
        lost = 0.5 * (1 - e**2) * qd @ J.T @ gram @ J @ qd  # TH 4.33, errata E5
        before, after = 0.5 * qd @ D @ qd, 0.5 * velocity @ D @ velocity
        np.testing.assert_allclose(before - after, lost, atol=1e-8 * before * scale)


def test_kinetic_energy_has_the_half() -> None:
    rng = np.random.default_rng(5)
    D, qd, tick = random_inertias(rng, (1, 5), 2.0)[0], rng.normal(size=5), Tick(1, 5)
    tick.factor(D)
    np.testing.assert_allclose(tick.energy(qd), 0.5 * qd @ D @ qd, rtol=1e-13)  # errata E5


def test_when_the_iterations_run_out_the_collision_is_still_passive() -> None:
    rng = np.random.default_rng(6)
    reached = 0
    for nv in range(3, 13):
        tick, after = Tick(24, nv), np.zeros(nv)
        for _ in range(200 if JIT_ENABLED else 2):
            J, qd = random_rows(rng, int(rng.integers(4, 25)), nv), rng.normal(size=nv)
            tick.factor(random_inertias(rng, (1, nv), 4.0)[0])
            e, limit = rng.choice([0.0, 1.0, rng.random()]), int(rng.integers(0, 5))
            reached += tick.complementarity(J, qd, e, after, limit) == LIMIT
            ratio = tick.energy(after) / tick.energy(qd)
            assert ratio <= 1 + 1e-9
            assert e < 1.0 or ratio >= 1 - 1e-9
            assert (tick.p[: len(J)] >= 0.0).all()
    assert not JIT_ENABLED or reached > 500


def test_the_velocity_may_be_replaced_in_place() -> None:
    qd, tick = np.array([1.0, 0.0]), Tick(1, 2)
    tick.factor(np.eye(2))
    tick.complementarity(np.array([[-1.0, 1.0]]), qd, 0.0, qd)
    np.testing.assert_allclose(qd, [0.5, 0.5], atol=1e-15)


def test_bodies_without_an_impulse_keep_their_velocity_to_the_bit() -> None:
    rng = np.random.default_rng(7)
    D = np.zeros((9, 9))
    for i in range(3):
        D[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = random_inertias(rng, (1, 3), 2.0)[0]
    J, qd = np.zeros((4, 9)), rng.normal(size=9)
    J[:, 3:6] = rng.normal(size=(4, 3))
    for method in ("complementarity", "equality"):
        after = resolve_collision(D, J, qd, 0.3, method).velocity
        assert not np.array_equal(after[3:6], qd[3:6])
        np.testing.assert_array_equal(after[[0, 1, 2, 6, 7, 8]], qd[[0, 1, 2, 6, 7, 8]])


PROGRAM = """
import json, sys
import numpy as np
from detent.collision import resolve_collision
from detent.kernels.impact import resolve_complementarity
answers = []
for case in json.load(sys.stdin):
    for method in ("complementarity", "equality"):
        answers.append([part.tolist() for part in resolve_collision(*case, method)])
stats = getattr(getattr(resolve_complementarity, "called", None), "stats", None)
loaded = None if stats is None else [sum(stats.cache_hits.values()), len(stats.cache_misses)]
print(json.dumps([answers, loaded]))
"""


def in_a_new_process(cases: list[list[object]], **environment: str) -> list[list[object]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SRC), **environment},
        timeout=600,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.compiled
def test_plain_python_gives_the_same_numbers_and_compiled_code_comes_from_the_cache() -> None:
    rng = np.random.default_rng(8)
    problems, expected = [], []
    for rows, nv in ((1, 2), (4, 3), (16, 6), (24, 12)):
        D, J = random_inertias(rng, (1, nv), 4.0)[0], random_rows(rng, rows, nv)
        case = (D, J, rng.normal(size=nv), 0.4)
        problems.append([part if isinstance(part, float) else part.tolist() for part in case])
        for method in ("complementarity", "equality"):
            expected.append([part.tolist() for part in resolve_collision(*case, method)])
    plain, _ = in_a_new_process(problems, NUMBA_DISABLE_JIT="1")
    compiled, loaded = in_a_new_process(problems)
    assert plain == expected
    assert compiled == expected
    assert loaded == [1, 0]
