"""Collisions with Coulomb friction, through the tick and by themselves (B3)."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Friction, World
from detent.collision import dense_inertia
from detent.kernels.constants import SWEEPS
from detent.kernels.impact_friction import resolve_friction
from detent.kernels.projection import iteration_limit
from detent.kernels.sliding import friction_work
from detent.servo.contact.impulses import tangent
from lab import advance, loose, start
from sweeps import sweep

BALL = """<mujoco><option gravity="0 0 0"/><worldbody>
<geom name="floor" type="plane" size="5 5 .1"/>
<body name="ball" pos="0 0 .1001"><freejoint/>
<inertial pos="0 0 0" mass="2" diaginertia=".008 .008 .008"/><geom size=".1"/></body>
</worldbody></mujoco>"""
MASS, RADIUS, INERTIA = 2.0, 0.1, 0.008  # [kg, m, kg·m²]


def bounce(
    e: float, mu: float, lever: float, v: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Velocity and spin after the bounce, by the textbook."""
    slip = v[:2] + np.cross(w, [0, 0, -lever])[:2]
    tangential = 1.0 / (1.0 / MASS + lever**2 / INERTIA)
    normal = (1.0 + e) * MASS * -v[2]
    drag = min(mu * normal, tangential * np.linalg.norm(slip))
    p = np.zeros(3)
    p[:2] = -drag * slip / max(np.linalg.norm(slip), 1e-300)
    after = v + p / MASS
    after[2] = -e * v[2]
    return after, w + np.cross([0, 0, -lever], p) / INERTIA


@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
@pytest.mark.parametrize(
    ("v", "w"),
    [
        ((0.05, 0.0, -0.3), (0, 0, 0)),  # sticks: rolls away
        ((1.0, 0.5, -0.2), (0, 0, 0)),  # slides on
        ((0.0, 0.0, -0.3), (5.0, -20.0, 3.0)),  # spin drives it sideways
        ((0.3, 0.0, -0.3), (0, 30.0, 0)),  # spin against the motion: reversed sliding
    ],
)
def test_a_ball_with_spin_bounces_as_the_textbook_says(
    e: float, v: tuple[float, ...], w: tuple[float, ...]
) -> None:
    mu = 0.2
    contact = Contact(restitution=e, friction=Friction(static=mu, kinetic=mu))
    ready = start(loose(World.from_string(BALL), contact), qvel=[*v, *w])
    rows = advance(ready, 5)
    hit = int(np.argmax(rows["collisions"] > 0))
    lever = RADIUS - 0.5 * rows["depth"][hit]  # the contact is half-way between the surfaces
    velocity, spin = bounce(e, mu, lever, np.array(v), np.array(w))
    np.testing.assert_allclose(rows["tool_twist"][hit + 1], [*velocity, *spin], atol=1e-9)


def test_a_sliding_collision_has_kinetic_friction_and_one_that_does_not_static() -> None:
    for speed, mu in ((1.0, 0.1), (5e-5, 0.25)):
        contact = Contact(friction=Friction(static=0.25, kinetic=0.1))
        ready = start(loose(World.from_string(BALL), contact), qvel=[speed, 0, -0.3, 0, 0, 0])
        rows = advance(ready, 5)
        hit = int(np.argmax(rows["collisions"] > 0))
        lever = RADIUS - 0.5 * rows["depth"][hit]
        velocity, spin = bounce(0.0, mu, lever, np.array([speed, 0, -0.3]), np.zeros(3))
        np.testing.assert_allclose(rows["tool_twist"][hit + 1], [*velocity, *spin], atol=1e-9)


def random_case(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    nv, m = int(rng.integers(3, 9)), int(rng.integers(1, 9))
    A = rng.standard_normal((nv, nv))
    D = A @ A.T + 0.1 * np.eye(nv)
    rows = rng.standard_normal((m, 3, nv))
    if m > 2:
        rows[-1] = rows[0]  # a contact that is reported twice
    qd = rng.standard_normal(nv)
    rows[:, 0] *= -np.sign(rows[:, 0] @ qd)[:, None]  # all approach
    return D, rows, rng.uniform(0.0, 1.5, m), rng.uniform(0.0, 1.0, m), qd


def test_energy_never_rises_and_no_cone_is_violated() -> None:
    rng = np.random.default_rng(7)
    work = {nv: friction_work(16, nv) for nv in range(3, 9)}
    for _ in range(sweep(10_000, 100)):
        D, rows, mu, e, qd = random_case(rng)
        m, nv = len(mu), len(qd)
        after, p, pt = np.zeros(nv), np.zeros(m), np.zeros((m, 2))
        normal = np.ascontiguousarray(rows[:, 0])
        tangent = np.ascontiguousarray(rows[:, 1:])
        resolve_friction(
            dense_inertia(D), normal, tangent, mu, m, qd, e,
            iteration_limit(m, nv), SWEEPS, work[nv], after, p, pt,
        )  # fmt: skip
        before = qd @ D @ qd
        assert after @ D @ after <= before * (1.0 + 1e-9)
        assert (p >= 0.0).all()
        assert (np.linalg.norm(pt, axis=1) <= mu * p + 1e-9 * np.sqrt(before)).all()
        change = normal.T @ p + np.einsum("ikj,ik->j", tangent, pt)
        np.testing.assert_allclose(D @ (after - qd), change, atol=1e-7 * np.sqrt(before))


@pytest.mark.parametrize("normal", [(0, 0, 1.0), (0, 0, -1.0), (0, 0, -0.0), (1.0, 0, -0.0)])
def test_the_tangents_of_a_contact_are_a_frame_whatever_its_normal_is(normal: tuple) -> None:
    """No direction is singular, be it straight up or straight down."""
    rng = np.random.default_rng(0)
    for tilt in (0.0, 1e-12, 1e-8, 1e-3, 1.0):
        n = np.array(normal) + tilt * rng.normal(size=3)
        if not n.any():
            continue
        n /= np.linalg.norm(n)
        frame = np.array([n, tangent(n, 0), tangent(n, 1)])
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("e", [0.0, 0.6])
def test_the_hand_feels_all_that_changed_the_momentum(e: float) -> None:
    """Newton: the force of that tick, along the wall as well as against it, and its torque."""
    contact = Contact(restitution=e, friction=Friction(0.3, 0.3))
    ready = start(loose(World.from_string(BALL, tool="ball"), contact))
    qvel = ready.servo.scene.qvel
    qvel[:] = (1.0, 0.5, -0.2, 0.0, 0.0, 0.0)
    struck = 0
    for _ in range(3):
        before = qvel.copy()
        row = advance(ready, 1)[0]
        change = (MASS, MASS, MASS, INERTIA, INERTIA, INERTIA) * (qvel - before)
        np.testing.assert_allclose(1e-3 * row["environment_wrench"], change, atol=1e-9)
        struck += int(row["collisions"] > 0 and abs(change[0]) > 1e-3)
    assert struck == 1
