"""Collisions with friction: cone and energy always, textbook answers, other solvers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from detent.kernels.constants import SWEEPS
from detent.kernels.impact_friction import (
    _shorten_if_active,
    change_by_friction,
    resolve_friction,
)
from detent.kernels.jit import JIT_ENABLED
from detent.kernels.projection import LIMIT, SOLVED
from detent.kernels.sliding import friction_work
from kernels.test_impact import Tick, random_inertias, random_rows
from sweeps import sweep

SRC = Path(__file__).resolve().parents[2] / "src"
MANY = 2000  # sweeps, enough to settle


class Hit(NamedTuple):
    """The outcome of a collision."""

    velocity: np.ndarray  # [nv]
    normal: np.ndarray  # [rows]
    tangential: np.ndarray  # [rows, 1 or 2]
    status: int


class Solver(Tick):
    """The arrays that a tick owns, made once and used for many collisions."""

    def __init__(self, rows: int, nv: int) -> None:
        super().__init__(rows, nv)
        self.friction = friction_work(rows, nv)

    def solve(
        self,
        J: np.ndarray,
        Jt: np.ndarray,
        mu: np.ndarray,
        qd: np.ndarray,
        e: np.ndarray,
        sweeps: int = SWEEPS,
        limit: int = 400,
    ) -> Hit:
        rows, after, pt = len(J), np.zeros(self.nv), np.zeros(Jt.shape[:2])
        status = resolve_friction(
            self.inertia,
            *(J, Jt, mu, rows, qd, e, limit, sweeps, self.friction),
            *(after, self.p, pt),
        )
        return Hit(after, self.p[:rows].copy(), pt, status)


@cache
def solver_for(rows: int, nv: int) -> Solver:
    return Solver(rows, nv)


def collide(
    D: np.ndarray,
    J: np.ndarray,
    Jt: np.ndarray,
    mu: object,
    qd: np.ndarray,
    e: object,
    sweeps: int = MANY,
) -> Hit:
    """One collision; mu and e for all contacts or for each."""
    rows, nv = J.shape
    solver = solver_for(rows, nv)
    solver.factor(D)
    mu, e = (np.ascontiguousarray(np.broadcast_to(x, rows), dtype=float) for x in (mu, e))
    return solver.solve(np.ascontiguousarray(J), np.ascontiguousarray(Jt), mu, qd, e, sweeps)


def energy(D: np.ndarray, qd: np.ndarray) -> float:
    return 0.5 * float(qd @ D @ qd)


def check(
    D: np.ndarray, J: np.ndarray, Jt: np.ndarray, mu: np.ndarray, qd: np.ndarray, hit: Hit
) -> None:
    """What holds for every collision, settled or not."""
    speed, size = np.sqrt(2 * energy(D, qd)), np.sqrt(np.trace(D))
    assert energy(D, hit.velocity) <= (1 + 1e-11) * energy(D, qd)
    assert (hit.normal >= 0.0).all()
    assert (np.linalg.norm(hit.tangential, axis=1) <= (1 + 1e-12) * mu * hit.normal).all()
    approaching = J @ qd < 0.0
    assert (J @ hit.velocity >= -1e-9 * speed)[approaching].all()
    pushed = J.T @ hit.normal + np.einsum("itk,it->k", Jt, hit.tangential)
    loads = hit.normal.sum() + np.abs(hit.tangential).sum()
    assert np.abs(D @ (hit.velocity - qd) - pushed).max() <= 1e-9 * (size * speed + loads)


class Body(NamedTuple):
    """A rigid body that hits at points, as in a world: normals with perpendicular tangents."""

    D: np.ndarray
    J: np.ndarray
    Jt: np.ndarray
    qd: np.ndarray


def frame(n: np.ndarray) -> np.ndarray:
    """Two tangents of a normal."""
    a = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    a /= np.linalg.norm(a)
    return np.array([a, np.cross(n, a)])


def at(point: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Rows of the Jacobian of a free body along directions at a point."""
    directions = np.atleast_2d(directions)
    return np.hstack([directions, np.cross(point, directions)])


def random_body(rng: np.random.Generator, rows: int) -> Body:
    mass, inertia = rng.uniform(0.5, 3.0), rng.uniform(0.002, 0.01, 3)
    D = np.diag([mass] * 3 + [*inertia])
    qd = rng.normal(size=6) * [0.2, 0.2, 0.2, 1.0, 1.0, 1.0]
    qd[2] = -abs(qd[2])
    flat, J, Jt = rng.random() < 0.5, [], []
    while len(J) < rows:
        n, point = np.array([0.0, 0.0, 1.0]), rng.normal(size=3) * 0.07
        if not flat:
            n = rng.normal(size=3)
            n /= np.linalg.norm(n)
        row = at(point, n)[0]
        if row @ qd < 0.0:
            J.append(row)
            Jt.append(at(point, frame(n)))
    return Body(D, np.array(J), np.array(Jt), qd)


def random_mu(rng: np.random.Generator, rows: int) -> np.ndarray:
    return rng.choice([0.0, 0.3, 1.0, 3.0], rows) * rng.random(rows)


def random_e(rng: np.random.Generator, rows: int) -> np.ndarray:
    kind = rng.integers(3)
    return [np.full(rows, rng.random()), np.ones(rows), rng.random(rows)][kind]


# ------------------------------------------------------------------------- cone and energy


def test_cone_and_energy_of_any_rows() -> None:
    """Tangents that are no tangents, dependent rows, receding rows, any number of sweeps."""
    rng, count = np.random.default_rng(0), 0
    for nv in (1, 2, 3, 4, 6, 9, 12):
        for rows in (1, 2, 3, 5, 8, 16, 24):
            solver = Solver(rows, nv)
            for _ in range(sweep(170, 1)):
                D, J = random_inertias(rng, (1, nv), 4.0)[0], random_rows(rng, rows, nv)
                t = int(rng.integers(1, 3))
                Jt = random_rows(rng, rows * t, nv).reshape(rows, t, nv)
                qd, mu, e = rng.normal(size=nv), random_mu(rng, rows), random_e(rng, rows)
                J[(J @ qd > 0.0) & (rng.random() < 0.8)] *= -1.0
                solver.factor(D)
                sweeps = int(rng.choice([0, 1, SWEEPS, 30]))
                check(D, J, Jt, mu, qd, solver.solve(J, Jt, mu, qd, e, sweeps))
                count += 1
    assert count > sweep(8000, 0)


def test_cone_and_energy_of_rigid_bodies() -> None:
    rng, count = np.random.default_rng(1), 0
    for rows in (1, 2, 3, 4, 6, 8, 16):
        solver = Solver(rows, 6)
        for _ in range(sweep(300, 1)):
            D, J, Jt, qd = random_body(rng, rows)
            mu, e = random_mu(rng, rows), random_e(rng, rows)
            solver.factor(D)
            check(D, J, Jt, mu, qd, solver.solve(J, Jt, mu, qd, e))
            count += 1
    assert count > sweep(2000, 0)


def test_when_the_iterations_run_out_cone_and_energy_still_hold() -> None:
    rng, reached = np.random.default_rng(2), 0
    solver = Solver(16, 6)
    for _ in range(300 if JIT_ENABLED else 3):
        D, J, Jt, qd = random_body(rng, 16)
        mu, e = random_mu(rng, 16), random_e(rng, 16)
        solver.factor(D)
        hit = solver.solve(J, Jt, mu, qd, e, 2, int(rng.integers(0, 4)))
        reached += hit.status == LIMIT
        assert energy(D, hit.velocity) <= (1 + 1e-11) * energy(D, qd)
        assert (hit.normal >= 0.0).all()
        assert (np.linalg.norm(hit.tangential, axis=1) <= (1 + 1e-12) * mu * hit.normal).all()
    assert not JIT_ENABLED or reached > 100


# ------------------------------------------------------------------------- closed forms

MASS, RADIUS = 2.0, 0.1
ROTARY = 0.4 * MASS * RADIUS**2
SPHERE = np.diag([MASS] * 3 + [ROTARY] * 3)
DISC = np.diag([MASS, MASS, ROTARY])
SLIDING_MASS = 1.0 / (1.0 / MASS + RADIUS**2 / ROTARY)
ON_FLOOR = at(np.array([0.0, 0.0, -RADIUS]), np.eye(3))  # x, y, z of the lowest point


def textbook(v: np.ndarray, mu: float, e: float) -> tuple[float, np.ndarray]:
    """The impulses of a sphere whose lowest point has velocity v (slip first, normal last)."""
    normal, slip = (1 + e) * MASS * -v[-1], np.linalg.norm(v[:-1])
    friction = min(mu * normal, SLIDING_MASS * slip)
    return normal, -friction * v[:-1] / slip if slip > 0.0 else 0.0 * v[:-1]


def test_a_sphere_in_space() -> None:
    rng, modes = np.random.default_rng(3), set()
    for _ in range(500 if JIT_ENABLED else 20):
        qd = rng.normal(size=6) * [1.0, 1.0, 1.0, 10.0, 10.0, 10.0]
        qd[2] = -abs(qd[2])
        mu, e = rng.choice([0.0, 0.1, 1.0]) * rng.random(), rng.random()
        hit = collide(SPHERE, ON_FLOOR[2:], ON_FLOOR[None, :2], mu, qd, e, SWEEPS)
        normal, friction = textbook(ON_FLOOR @ qd, mu, e)
        np.testing.assert_allclose(hit.normal, [normal], rtol=1e-12)
        np.testing.assert_allclose(hit.tangential, [friction], atol=1e-12 * normal)
        assert hit.status == SOLVED
        slips = np.linalg.norm(ON_FLOOR[:2] @ hit.velocity) > 1e-9
        modes.add("sliding" if slips else "sticking")
    assert modes == {"sliding", "sticking"}


@pytest.mark.parametrize(
    ("speed", "spin", "mu", "mode"),
    [
        (1.0, 0.0, 0.05, "sliding"),
        (1.0, 0.0, 1.0, "sticking"),
        (1.0, 40.0, 0.05, "sliding"),  # back spin
        (1.0, 40.0, 1.0, "returning"),  # back spin that throws it back
        (-0.2, 40.0, 0.1, "sliding"),
        (1.0, -10.0, 0.3, "rolling"),  # it rolls before and after
    ],
)
def test_a_disc_with_spin_in_the_plane(speed: float, spin: float, mu: float, mode: str) -> None:
    J, Jt = np.array([[0.0, 1.0, 0.0]]), np.array([[[1.0, 0.0, RADIUS]]])
    qd, e = np.array([speed, -1.0, spin]), 0.6
    hit = collide(DISC, J, Jt, mu, qd, e)
    slip = speed + RADIUS * spin
    normal, friction = textbook(np.array([slip, -1.0]), mu, e)
    expected = qd + np.array([friction[0], normal, RADIUS * friction[0]]) / np.diag(DISC)
    np.testing.assert_allclose(hit.velocity, expected, atol=1e-13)
    after = hit.velocity[0] + RADIUS * hit.velocity[2]
    assert (abs(after) < 1e-12) == (mode != "sliding")
    if mode == "returning":
        assert hit.velocity[0] < 0.0 < speed
    if mode == "rolling":
        assert hit.tangential[0, 0] == pytest.approx(0.0, abs=1e-13)


def test_the_tangents_may_be_turned() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50 if JIT_ENABLED else 3):
        D, J, Jt, qd = random_body(rng, 3)
        mu, e, angle = rng.random(3), rng.random(), rng.uniform(0.0, 7.0)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        first = collide(D, J, Jt, mu, qd, e, SWEEPS)
        second = collide(D, J, np.einsum("ab,ibk->iak", turn, Jt), mu, qd, e, SWEEPS)
        np.testing.assert_allclose(second.velocity, first.velocity, atol=1e-8)
        np.testing.assert_allclose(second.tangential, first.tangential @ turn.T, atol=1e-8)


class Rod(NamedTuple):
    """A planar rod that lands on its tip: normal and slip are coupled."""

    D: np.ndarray
    B: np.ndarray  # [2, 3] normal and tangential row
    qd: np.ndarray

    @property
    def mobility(self) -> np.ndarray:
        return self.B @ np.linalg.solve(self.D, self.B.T)

    def hit(self, mu: float, e: float) -> Hit:
        return collide(self.D, self.B[:1], self.B[None, 1:], mu, self.qd, e)

    def after(self, impulse: np.ndarray) -> np.ndarray:
        return self.qd + np.linalg.solve(self.D, self.B.T @ impulse)


def random_rod(rng: np.random.Generator) -> Rod:
    angle, inertia = rng.uniform(0.0, np.pi), rng.uniform(0.3, 1.0) / 12
    x, y = 0.5 * np.cos(angle), 0.5 * np.sin(angle)
    B, qd = np.array([[0.0, 1.0, x], [1.0, 0.0, -y]]), rng.normal(size=3)
    return Rod(np.diag([1.0, 1.0, inertia]), B, qd if B[0] @ qd < 0.0 else -qd)


def routh_phase(
    W: np.ndarray, v: np.ndarray, mu: float, normal: float
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Follow the slip while the normal impulse grows to *normal*, or until v_n = 0.

    The velocity and impulse at the end, and whether the slip reversed on the way.
    """
    p, reversed_ = np.zeros(2), False
    for _ in range(3):
        stick = -W[1, 0] / W[1, 1]
        rate = -mu * np.sign(v[1]) if v[1] != 0.0 else np.clip(stick, -mu, mu)
        reversed_ |= v[1] == 0.0 and abs(stick) > mu and p[0] > 0.0
        d = W @ [1.0, rate]
        grow = normal - p[0] if np.isfinite(normal) else (-v[0] / d[0] if d[0] > 0.0 else np.inf)
        stops = v[1] * d[1] < 0.0 and -v[1] / d[1] < grow
        grow = -v[1] / d[1] if stops else grow
        p, v = p + grow * np.array([1.0, rate]), v + grow * d
        if not stops:
            break
        v[1] = 0.0
    return v, p, bool(reversed_)


def test_a_rod_as_routh_integrates_it_unless_the_slip_reverses() -> None:
    rng, reversals = np.random.default_rng(5), 0
    for _ in range(500 if JIT_ENABLED else 30):
        rod, mu, e = random_rod(rng), rng.random(), rng.random()
        W = rod.mobility
        v, p, reversed_ = routh_phase(W, rod.B @ rod.qd, mu, np.inf)
        _, q, again = routh_phase(W, v, mu, e * p[0])
        hit = rod.hit(mu, e)
        assert hit.status == SOLVED
        if reversed_ or again:
            reversals += 1
            continue
        np.testing.assert_allclose(hit.velocity, rod.after(p + q), atol=1e-9)
    assert reversals < 100


def test_where_newtons_restitution_creates_energy() -> None:
    """Kane's paradox: v_n⁺ = −e v_n with Coulomb's friction gains energy, Poisson's does not."""
    rng, raised = np.random.default_rng(6), 0
    for _ in range(1000 if JIT_ENABLED else 50):
        rod, mu, e = random_rod(rng), rng.random(), rng.uniform(0.8, 1.0)
        W, v = rod.mobility, rod.B @ rod.qd
        newton = np.linalg.solve(W, [-(1 + e) * v[0], -v[1]])
        if abs(newton[1]) > mu * newton[0]:
            ratio = -mu * np.sign(v[1])
            newton = -(1 + e) * v[0] / (W[0] @ [1.0, ratio]) * np.array([1.0, ratio])
        if energy(rod.D, rod.after(newton)) > 1.001 * energy(rod.D, rod.qd):
            raised += 1
            hit = rod.hit(mu, e)
            assert energy(rod.D, hit.velocity) <= energy(rod.D, rod.qd)
            assert rod.B[0] @ hit.velocity >= -1e-12
    assert not JIT_ENABLED or raised > 20


# ------------------------------------------------------------------------- other solvers


def test_without_friction_it_is_the_law_without_friction() -> None:
    rng = np.random.default_rng(7)
    for _ in range(200 if JIT_ENABLED else 5):
        rows = int(rng.integers(1, 9))
        D, J, Jt, qd = random_body(rng, rows)
        e, after, tick = rng.random(), np.zeros(6), Tick(rows, 6)
        tick.factor(D)
        tick.complementarity(J, qd, e, after)
        hit = collide(D, J, Jt, 0.0, qd, e, SWEEPS)
        np.testing.assert_allclose(hit.velocity, after, atol=1e-10)
        assert not hit.tangential.any()


def test_without_friction_contacts_separate_with_their_own_restitution_or_faster() -> None:
    rng = np.random.default_rng(8)
    for _ in range(200 if JIT_ENABLED else 5):
        rows = int(rng.integers(2, 9))
        D, J, Jt, qd = random_body(rng, rows)
        e = rng.random(rows)
        hit = collide(D, J, Jt, 0.0, qd, e, SWEEPS)
        assert (J @ hit.velocity >= -e * (J @ qd) - 1e-10).all()


def most_dissipation(T: np.ndarray, base: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The whitened velocity of least energy with tangential impulses in their discs."""
    n, size = len(radius), radius.max()
    A, own = T * size, np.repeat(np.eye(n), 2, axis=1)  # own[i, j]: variable j is of contact i
    best = minimize(
        lambda x: 0.5 * float(np.sum((base + A @ x) ** 2)),
        np.zeros(2 * n),
        jac=lambda x: A.T @ (base + A @ x),
        constraints={
            "type": "ineq",
            "fun": lambda x: (radius / size) ** 2 - own @ x**2,
            "jac": lambda x: -2 * own * x,
        },
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    return base + A @ best.x


def test_friction_against_scipy_slsqp() -> None:
    """Given the normal impulses, friction takes all the energy that its discs allow."""
    rng, tried = np.random.default_rng(9), 0
    for _ in range(60):
        rows = int(rng.integers(1, 4))
        D, J, Jt, qd = random_body(rng, rows)
        mu = rng.uniform(0.05, 1.0, rows)
        hit = collide(D, J, Jt, mu, qd, 0.0)
        pressed = hit.normal > 0.0
        if hit.status == SOLVED and pressed.any():
            tried += 1
            L = np.linalg.cholesky(D)
            T = np.linalg.solve(L, Jt[pressed].reshape(-1, 6).T)
            base = L.T @ qd + np.linalg.solve(L, J.T @ hit.normal)
            u = most_dissipation(T, base, (mu * hit.normal)[pressed])
            np.testing.assert_allclose(hit.velocity, np.linalg.solve(L.T, u), atol=1e-6)
    assert tried > 40


def test_normal_impulses_against_scipy_nnls() -> None:
    """Given friction, the normal impulses are those of a collision without it."""
    rng, tried = np.random.default_rng(10), 0
    for _ in range(100):
        rows = int(rng.integers(1, 5))
        D, J, Jt, qd = random_body(rng, rows)
        hit = collide(D, J, Jt, rng.uniform(0.0, 1.0, rows), qd, 0.0)
        if hit.status == SOLVED:
            tried += 1
            L = np.linalg.cholesky(D)
            N = np.linalg.solve(L, J.T)
            base = L.T @ qd + np.linalg.solve(L, np.einsum("itk,it->k", Jt, hit.tangential))
            expected = np.linalg.solve(L.T, base + N @ nnls(N, -base)[0])
            np.testing.assert_allclose(hit.velocity, expected, atol=1e-6)
    assert tried > 60


def test_coulombs_law_where_it_has_settled() -> None:
    """A contact that slides at the end is pulled against its slip, with all of its cone."""
    rng, sliding = np.random.default_rng(11), 0
    for _ in range(100 if JIT_ENABLED else 2):
        rows = int(rng.integers(1, 9))
        D, J, Jt, qd = random_body(rng, rows)
        mu = rng.uniform(0.05, 0.5, rows)
        hit = collide(D, J, Jt, mu, qd, 0.0)
        if hit.status != SOLVED:
            continue
        slip = Jt @ hit.velocity
        speed = np.linalg.norm(slip, axis=1)
        for i in np.flatnonzero((speed > 1e-3) & (hit.normal > 1e-6)):
            sliding += 1
            expected = -mu[i] * hit.normal[i] * slip[i] / speed[i]
            np.testing.assert_allclose(hit.tangential[i], expected, atol=1e-5 * hit.normal[i])
    assert not JIT_ENABLED or sliding > 50


# ------------------------------------------------------------------------- special worlds


def corners() -> tuple[np.ndarray, np.ndarray]:
    """The rows of a box that lands flat on four corners: three of them are enough."""
    points = [np.array([x, y, -0.05]) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    rows = np.array([at(point, np.eye(3)) for point in points])
    return np.ascontiguousarray(rows[:, 2]), np.ascontiguousarray(rows[:, :2])


def test_a_box_that_lands_flat_sticks_with_all_its_corners() -> None:
    J, Jt = corners()
    D = np.diag([1.0, 1.0, 1.0, 0.01, 0.01, 0.01])
    qd = np.array([0.1, 0.05, -1.0, 0.0, 0.0, 0.0])
    hit = collide(D, J, Jt, 0.9, qd, 0.0)
    np.testing.assert_allclose(hit.velocity, 0.0, atol=1e-7)
    slides = collide(D, J, Jt, 0.02, qd, 0.0)
    assert slides.velocity[0] > 0.05
    assert slides.tangential.sum(axis=0) @ qd[:2] < 0.0


def test_contacts_that_are_reported_twice() -> None:
    rng, tried = np.random.default_rng(12), 0
    for _ in range(100 if JIT_ENABLED else 2):
        rows = int(rng.integers(1, 4))
        D, J, Jt, qd = random_body(rng, rows)
        mu, e = rng.uniform(0.0, 0.5, rows), rng.random()
        again = np.concatenate([np.arange(rows), np.arange(rows)])
        once = collide(D, J, Jt, mu, qd, e)
        twice = collide(D, J[again], Jt[again], mu[again], qd, e)
        if rows == 1:
            np.testing.assert_allclose(twice.velocity, once.velocity, atol=1e-12)
        elif once.status == twice.status == SOLVED:
            tried += 1
            np.testing.assert_allclose(twice.velocity, once.velocity, atol=1e-5)
    assert not JIT_ENABLED or tried > 30


def test_a_door_has_friction_only_along_with_its_normal() -> None:
    """One degree of freedom: no contact can tell normal from tangential."""
    J, Jt = np.array([[-0.8]]), np.array([[[0.3], [-0.2]]])
    for mu in (0.0, 0.2, 5.0):
        hit = collide(np.array([[0.4]]), J, Jt, mu, np.array([2.0]), 0.0)
        np.testing.assert_allclose(hit.velocity, 0.0, atol=1e-7)
        assert abs(hit.normal[0]) < 2.0
    bounced = collide(np.array([[0.4]]), J, Jt, 0.2, np.array([2.0]), 0.5)
    assert -1.0 - 1e-9 <= bounced.velocity[0] <= 0.0


def test_a_planar_world_with_tangents_of_space() -> None:
    """Two tangents that are both in the plane in part, and one that is: the same velocity."""
    rng = np.random.default_rng(13)
    for _ in range(30):
        rod, mu, e = random_rod(rng), rng.random(), rng.random()
        alone = rod.hit(mu, e)
        skew = np.sqrt(0.5) * np.array([rod.B[1], rod.B[1]])[None]
        both = collide(rod.D, rod.B[:1], skew, mu, rod.qd, e)
        np.testing.assert_allclose(both.velocity, alone.velocity, atol=1e-9)


def test_no_contact_changes_nothing() -> None:
    qd = np.array([1.0, -2.0, 3.0])
    hit = collide(np.eye(3), np.zeros((0, 3)), np.zeros((0, 2, 3)), 0.5, qd, 0.5)
    np.testing.assert_array_equal(hit.velocity, qd)
    away = collide(np.eye(3), np.eye(3)[:1], np.eye(3)[None, 1:], 0.5, qd, 0.5)
    np.testing.assert_array_equal(away.velocity, qd)


def test_the_velocity_may_be_replaced_in_place() -> None:
    solver, qd, pt = Solver(1, 6), np.array([1.0, 0.0, -1.0, 0.0, 0.0, 0.0]), np.zeros((1, 2))
    solver.factor(SPHERE)
    J, Jt = ON_FLOOR[2:].copy(), ON_FLOOR[None, :2].copy()
    expected = solver.solve(J, Jt, np.array([0.1]), qd, np.array([0.5])).velocity
    resolve_friction(
        solver.inertia,
        *(J, Jt, np.array([0.1]), 1, qd, np.array([0.5]), 50, SWEEPS, solver.friction),
        *(qd, solver.p, pt),
    )
    np.testing.assert_array_equal(qd, expected)


PROGRAM = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from kernels.test_impact_friction import SWEEPS, collide
cases = [[np.array(x) for x in case] for case in json.load(sys.stdin)]
print(json.dumps([[x.tolist() for x in collide(*case, SWEEPS)[:3]] for case in cases]))
"""


@pytest.mark.compiled
def test_plain_python_and_used_memory_give_the_same_numbers() -> None:
    rng, cases = np.random.default_rng(14), []
    for rows in (1, 2, 5, 16):
        D, J, Jt, qd = random_body(rng, rows)
        cases.append((D, J, Jt, random_mu(rng, rows), qd, rng.random(rows)))
    expected = [[x.tolist() for x in collide(*case, SWEEPS)[:3]] for case in cases]
    solver = Solver(16, 6)
    for case, numbers in zip(cases[::-1], expected[::-1], strict=True):
        solver.factor(case[0])
        assert [x.tolist() for x in solver.solve(*case[1:])[:3]] == numbers
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(Path(__file__).parents[1])],
        input=json.dumps([[x.tolist() for x in case] for case in cases]),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SRC), "NUMBA_DISABLE_JIT": "1"},
        timeout=600,
        check=True,
    )
    assert json.loads(done.stdout) == expected


# --- passive whatever the sweeps made of it


def test_a_step_that_would_raise_the_energy_is_shortened_to_where_it_does_not() -> None:
    """‖base + β (u − base)‖ = ‖u₀‖ if u has more, else β = 1 and u stays."""
    rng = np.random.default_rng(21)
    shortened = 0
    for _ in range(200):
        u0, base, u = rng.standard_normal((3, 4))
        base *= rng.uniform(0.0, 1.0) * np.linalg.norm(u0) / np.linalg.norm(base)
        out = u.copy()
        beta = _shorten_if_active(4, base, u0, out)
        if np.linalg.norm(u) <= np.linalg.norm(u0):
            assert beta == 1.0
            np.testing.assert_array_equal(out, u)
            continue
        shortened += 1
        assert 0.0 <= beta < 1.0
        np.testing.assert_allclose(out, base + beta * (u - base), atol=1e-12)
        assert np.linalg.norm(out) == pytest.approx(np.linalg.norm(u0), rel=1e-9)
    assert 50 < shortened < 150


def test_a_base_at_the_limit_leaves_no_room_for_a_step_outwards() -> None:
    u0 = np.array([1.0, 0.0, 0.0])
    outwards = 3.0 * u0
    assert _shorten_if_active(3, (1.0 + 1e-15) * u0, u0, outwards) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(outwards, u0, atol=1e-12)


def test_a_contact_that_hardly_moves_along_one_tangent_has_a_finite_impulse() -> None:
    """The mobility of the other was 1e17 times that: what is left of it is round-off."""
    solver = Solver(1, 3)
    solver.friction.restitution.impact.N[0, :3] = 1e-3, 0.0, 6e-3
    solver.friction.T[:2, :3] = (0.05, 0.0, 0.15), (0.0, 3e-10, 0.0)
    solver.friction.restitution.impact.u0[:3] = 0.1, 0.3, -0.4
    p, pt = np.zeros(1), np.zeros((1, 2))
    args = 1, 3, np.ones(1), np.zeros(1), 400, SWEEPS, solver.friction
    change_by_friction(*args, p, pt)
    assert np.isfinite(p).all()
    assert np.isfinite(pt).all()
    assert np.linalg.norm(pt) <= p[0] * (1.0 + 1e-9)
