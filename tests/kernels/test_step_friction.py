"""A step of rigid contacts with friction: what holds for all of them, settled or not."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from detent.kernels.constants import STEP_SWEEPS
from detent.kernels.jit import JIT_ENABLED
from detent.kernels.projection import iteration_limit, project_onto_rows, projection_work
from detent.kernels.sliding import friction_work
from detent.kernels.step_friction import step_with_friction
from kernels.test_impact import Tick
from kernels.test_impact_friction import Body, at, energy, frame, random_body
from sweeps import sweep

MANY = 5000  # sweeps, enough to settle
CASES = sweep(3000, 10)


class Step(NamedTuple):
    """The outcome of a step."""

    velocity: np.ndarray  # [nv]
    normal: np.ndarray  # [rows]
    tangential: np.ndarray  # [rows, 2]
    sweeps: int


class Stepper(Tick):
    """The arrays that a tick owns, made once and used for many steps."""

    def __init__(self, rows: int, nv: int) -> None:
        super().__init__(rows, nv)
        self.friction = friction_work(rows, nv)


@cache
def stepper_for(rows: int, nv: int) -> Stepper:
    return Stepper(rows, nv)


def step(
    body: Body,
    mu: object,
    bound: object,
    warm: Step | None = None,
    sweeps: int = STEP_SWEEPS,
) -> Step:
    """One step; mu and bounds for all contacts or for each, impulses of a last step if given."""
    D, J, Jt, qd = body
    rows, nv = J.shape
    stepper = stepper_for(rows, nv)
    stepper.factor(D)
    mu, bound = (np.ascontiguousarray(np.broadcast_to(x, rows), dtype=float) for x in (mu, bound))
    p = np.full(rows, -1.0) if warm is None else warm.normal.copy()
    pt = np.zeros((rows, 2)) if warm is None else warm.tangential.copy()
    after, limit = np.zeros(nv), iteration_limit(rows, nv)
    done = step_with_friction(
        stepper.inertia,
        *(np.ascontiguousarray(J), np.ascontiguousarray(Jt), mu, bound, rows, qd, limit),
        *(sweeps, stepper.friction, after, p, pt),
    )
    return Step(after, p, pt, done)


def frictionless(body: Body, bound: np.ndarray) -> np.ndarray:
    """The nearest velocity that keeps the bounds."""
    L = np.linalg.cholesky(body.D)
    N, u0 = np.linalg.solve(L, body.J.T).T, L.T @ body.qd
    rows, nv = N.shape
    u, p = np.zeros(nv), np.zeros(rows)
    project_onto_rows(
        np.ascontiguousarray(N), bound, rows, nv, u0, 400, projection_work(rows, nv), u, p
    )
    return np.linalg.solve(L.T, u)


def random_case(rng: np.random.Generator) -> tuple[Body, np.ndarray, np.ndarray, Step | None]:
    rows = int(rng.integers(1, 9))
    body = random_body(rng, rows)
    approach = -body.J @ body.qd
    kind = rng.integers(3)
    bound = np.zeros(rows)  # touching
    if kind == 1:  # gaps
        bound = -np.abs(rng.normal(size=rows)) * 0.3
    elif kind == 2:  # some bounce, some are pushed out
        bound = np.where(rng.random(rows) < 0.5, 0.5 * np.maximum(approach, 0.0), -0.1)
    mu = rng.uniform(0.0, 1.2, rows) * (rng.random(rows) < 0.9)
    warm = None
    if rng.random() < 0.5:  # of another time
        impulses = rng.exponential(0.2, rows) * (rng.random(rows) < 0.7)
        warm = Step(body.qd, impulses, rng.normal(size=(rows, 2)), 0)
    return body, mu, bound, warm


def test_what_holds_for_every_step() -> None:
    rng = np.random.default_rng(0)
    for _ in range(CASES):
        body, mu, bound, warm = random_case(rng)
        found = step(body, mu, bound, warm, int(rng.integers(0, STEP_SWEEPS + 1)))
        free, base = energy(body.D, body.qd), energy(body.D, frictionless(body, bound))
        speed = np.sqrt(2 * max(free, base))
        assert energy(body.D, found.velocity) <= (1 + 1e-11) * max(free, base)
        smooth = frictionless(body, bound)
        work = [(v - body.qd) @ body.D @ v for v in (found.velocity, smooth)]
        assert work[0] <= max(0.0, work[1]) + 1e-9 * speed**2
        assert (body.J @ found.velocity >= bound - 1e-9 * speed).all()
        assert (found.normal >= 0.0).all()
        drag = np.linalg.norm(found.tangential, axis=1)
        assert (drag <= (1 + 1e-12) * mu * found.normal).all()
        pushed = body.J.T @ found.normal + np.einsum("itk,it->k", body.Jt, found.tangential)
        change = body.D @ (found.velocity - body.qd)
        loads = found.normal.sum() + drag.sum()
        np.testing.assert_allclose(change, pushed, rtol=0, atol=1e-9 * (speed + loads))


def test_without_friction_it_is_the_nearest_velocity() -> None:
    rng = np.random.default_rng(1)
    for _ in range(CASES // 10):
        body, _, bound, _ = random_case(rng)
        np.testing.assert_allclose(
            step(body, 0.0, bound).velocity, frictionless(body, bound), rtol=0, atol=1e-8
        )


@pytest.mark.parametrize("bound", [0.0, -0.05, 0.1])
def test_one_contact_obeys_coulombs_law_exactly(bound: float) -> None:
    rng, stuck = np.random.default_rng(2), 0
    for _ in range(300 if JIT_ENABLED else 5):
        body, mu = random_body(rng, 1), rng.uniform(0.0, 1.0)
        if (body.J @ body.qd)[0] >= bound:
            continue
        found = step(body, mu, bound)
        slip, drag = body.Jt[0] @ found.velocity, found.tangential[0]
        smooth = frictionless(body, np.array([bound]))
        work = [(v - body.qd) @ body.D @ v for v in (found.velocity, smooth)]
        if bound > 0.0 and work[0] > (1 - 1e-9) * work[1]:
            continue  # a bounce in which friction would do work is shortened
        assert (body.J @ found.velocity)[0] == pytest.approx(bound, abs=1e-10)
        if np.linalg.norm(slip) < 1e-9:
            stuck += 1
            assert np.linalg.norm(drag) <= mu * found.normal[0] * (1 + 1e-12)
        else:
            assert np.linalg.norm(drag) == pytest.approx(mu * found.normal[0], rel=1e-9)
            along = drag @ slip / (np.linalg.norm(drag) * np.linalg.norm(slip))
            assert mu == 0.0 or along == pytest.approx(-1.0, abs=1e-9)
    assert stuck > 10 or not JIT_ENABLED


def test_settled_steps_obey_coulombs_law_at_every_contact() -> None:
    rng, checked = np.random.default_rng(3), 0
    for _ in range(200 if JIT_ENABLED else 3):
        body, mu = random_body(rng, int(rng.integers(2, 5))), rng.uniform(0.05, 0.5)
        found = step(body, mu, 0.0, sweeps=MANY)
        if found.sweeps == MANY:
            continue  # with several answers it may never settle
        speed = np.sqrt(2 * energy(body.D, body.qd))
        for row, push, drag in zip(body.Jt, found.normal, found.tangential, strict=True):
            slip = row @ found.velocity
            # the power of friction is the most that the cone allows
            lost = -drag @ slip
            assert lost == pytest.approx(mu * push * np.linalg.norm(slip), abs=1e-5 * speed * push)
        checked += 1
    assert checked > 100 or not JIT_ENABLED


def test_steps_under_the_same_load_settle() -> None:
    """What a step starts with, it leaves to the next one."""
    rng, apart = np.random.default_rng(4), []
    for _ in range(200 if JIT_ENABLED else 3):
        body, mu = random_body(rng, int(rng.integers(2, 7))), rng.uniform(0.05, 0.5)
        last = found = None
        for _ in range(100 if JIT_ENABLED else 10):
            last, found = found, step(body, mu, 0.0, found)
        assert last is not None
        apart.append(np.abs(found.velocity - last.velocity).max())
    assert np.median(apart) < (1e-12 if JIT_ENABLED else 1e-2)
    assert np.quantile(apart, 0.98) < 1e-6 or not JIT_ENABLED


def test_redundant_contacts_share_the_load_evenly() -> None:
    """A plate on nine feet, pressed in its middle: one ninth each, however it began."""
    D, up = np.diag([2.0] * 3 + [0.01] * 3), np.array([0.0, 0.0, 1.0])
    feet = [np.array([x, y, -0.01]) for x in (-0.1, 0.0, 0.1) for y in (-0.1, 0.0, 0.1)]
    J = np.vstack([at(foot, up) for foot in feet])
    Jt = np.array([at(foot, frame(up)) for foot in feet])
    plate = Body(D, J, Jt, np.array([0.0, 0.0, -0.09, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(step(plate, 0.3, 0.0).normal, 0.02, rtol=1e-9)
    uneven = Step(plate.qd, np.array([0.05, 0, 0, 0, 0.08, 0, 0, 0, 0.05]), np.zeros((9, 2)), 0)
    np.testing.assert_allclose(step(plate, 0.3, 0.0, uneven).normal, 0.02, rtol=1e-9)


def test_the_choice_of_tangents_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200 if JIT_ENABLED else 3):
        body, mu, bound, _ = random_case(rng)
        turned, found = body.Jt.copy(), step(body, mu, bound)
        for i, angle in enumerate(rng.uniform(0, 2 * np.pi, len(mu))):
            c, s = np.cos(angle), np.sin(angle)
            turned[i] = np.array([[c, s], [-s, c]]) @ body.Jt[i]
        other = step(body._replace(Jt=turned), mu, bound)
        np.testing.assert_allclose(other.velocity, found.velocity, rtol=0, atol=1e-8)


def test_a_sphere_that_slides_and_one_that_sticks() -> None:
    """p = m|v_n|; p_t = min(μ p, m_t |v_t|) against the slip, with m_t = 2/7 m."""
    radius, mass = 0.1, 2.0
    D = np.diag([mass] * 3 + [0.4 * mass * radius**2] * 3)
    up, foot = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -radius])
    J, Jt = at(foot, up), at(foot, frame(up))[None]
    qd = np.array([0.3, -0.4, -0.2, 0.0, 0.0, 0.0])
    for mu, drag in ((0.1, 0.1 * mass * 0.2), (0.9, 2 / 7 * mass * 0.5)):
        found = step(Body(D, J, Jt, qd), mu, 0.0)
        assert found.normal[0] == pytest.approx(mass * 0.2)
        assert np.linalg.norm(found.tangential) == pytest.approx(drag)
        along = (qd[:2] - found.velocity[:2]) / np.linalg.norm(qd[:2] - found.velocity[:2])
        np.testing.assert_allclose(along, [0.6, -0.8], atol=1e-9)


def test_what_does_not_touch_goes_on() -> None:
    body = random_body(np.random.default_rng(6), 3)
    warm = Step(body.qd, np.ones(3), np.ones((3, 2)), 0)
    found = step(body, 0.5, -10.0, warm)
    np.testing.assert_array_equal(found.velocity, body.qd)
    assert not found.normal.any()
    assert not found.tangential.any()
