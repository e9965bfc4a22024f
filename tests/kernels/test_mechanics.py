"""A mechanism for a few ticks: its step, its chart and its stops, against closed forms.

What holds for minutes is in `tests/servo/test_admittance.py`; this is short, so that it can be run
without the compiler.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from detent import Admittance, Mechanism, Session
from detent.hands import Constant
from detent.mechanism import BodySpring
from detent.mechanism.library import builtin
from detent.servo.mechanism import well_conditioned
from mechanism_lab import IDEAL, pendulum

STEP, GRAVITY, MASS = 1e-3, 9.81, 0.5


def falling(restitution: float, height: float, speed: float) -> Mechanism:
    """A point above a floor, in a corner far away from it."""
    x, y, dx, dy, m, g = sp.symbols("x y dx dy m g", real=True)
    return Mechanism(
        name="falling", coordinates=(x, y), velocities=(dx, dy), position=(x, y, 0),
        kinetic_energy=m * (dx**2 + dy**2) / 2, gravity=m * g * y, stops=(y, x),
        restitution=restitution, constants={m: MASS, g: GRAVITY}, start=(0.1, height),
        start_velocity=(0.2, -speed),
    )  # fmt: skip


def test_a_pendulum_is_that_of_an_independent_integrator() -> None:
    trace = Session(pendulum(), device=IDEAL).run(0.06)
    exact = solve_ivp(
        lambda _, s: [s[1], -GRAVITY / 0.4 * np.sin(s[0])], (0.0, 0.06), [1.0, 0.0],
        t_eval=trace["time"], rtol=1e-12, atol=1e-12,
    ).y  # fmt: skip
    want = 0.4 * np.stack([np.sin(exact[0]), -np.cos(exact[0])], axis=1)
    np.testing.assert_allclose(trace["coordinates"], want, atol=1e-11)
    np.testing.assert_allclose(trace["tool_position"][:, [0, 2]], want, atol=1e-11)
    np.testing.assert_allclose(trace["device_position"], trace["tool_position"], atol=1e-4)
    kinetic = 0.5 * MASS * (0.4 * exact[1]) ** 2
    np.testing.assert_allclose(trace["tool_energy"], kinetic, atol=1e-10)
    np.testing.assert_allclose(trace["potential_energy"], MASS * GRAVITY * want[:, 1], atol=1e-10)


def test_springs_and_gravity_are_both_in_the_potential_energy() -> None:
    """A mass on a spring under its weight: what both store is what the motion lacks."""
    y, dy, m, g, k = sp.symbols("y dy m g k", real=True)
    hung = Mechanism(
        name="hung", coordinates=(y,), velocities=(dy,), kinetic_energy=m * dy**2 / 2,
        position=(0, y, 0), gravity=m * g * y, springs=(k * y**2 / 2,),
        constants={m: MASS, g: GRAVITY, k: 300.0}, start=(0.02,),
    )  # fmt: skip
    trace = Session(hung, device=IDEAL).run(0.05)
    height = trace["coordinates"][:, 0]
    want = MASS * GRAVITY * height + 150.0 * height**2
    np.testing.assert_allclose(trace["potential_energy"], want, atol=1e-12)
    np.testing.assert_allclose(trace["tool_energy"] + want, want[0], atol=1e-9)


def test_the_energy_of_a_body_spring_is_what_the_motion_lacks() -> None:
    spring = BodySpring(40.0, 0.08, (0.02, 0.0, 0.01), (0.9, 0.3, -0.2, 0.1))
    disk = replace(
        builtin("rolling-disk"), holonomic=(), pfaffian=(), parametrisation=None, dampers=(),
        springs=(spring,), start=(0.05, 0.01, 0.03, 0.4, 0.3, 1.2),
    )  # fmt: skip
    trace = Session(disk, device=IDEAL).run(0.04)
    kinetic, potential = trace["tool_energy"], trace["potential_energy"]
    assert kinetic[-1] > 0.01 * potential[0] > 0.0
    np.testing.assert_allclose(kinetic + potential, potential[0], rtol=1e-8)


@pytest.mark.parametrize("integrator", ["runge-kutta", "taylor"])
def test_a_chart_and_the_projection_move_alike(integrator: str) -> None:
    arm, hand = builtin("two-link-circle"), Constant((4.0, 9.0))
    coupling = Admittance(integrator=integrator)
    by_chart, projected = (
        Session(one, coupling=coupling, device=IDEAL).run(0.05, hand)
        for one in (arm, replace(arm, parametrisation=None, start_parameters=()))
    )
    assert np.ptp(by_chart["coordinates"], axis=0).max() > 1e-3
    off = 1e-10 if integrator == "runge-kutta" else 1e-4
    np.testing.assert_allclose(by_chart["coordinates"], projected["coordinates"], atol=off)
    np.testing.assert_allclose(by_chart["velocities"], projected["velocities"], atol=100 * off)


def test_a_chart_may_run_unevenly() -> None:
    """Its own curvature is no force: z̈ has what ∂²ψ/∂z² ż² takes."""
    arm, hand = builtin("two-link-circle"), Constant((4.0, 9.0))
    assert arm.parametrisation is not None
    (z,), circle = arm.parametrisation
    uneven = tuple(one.subs(z, z + 2 * z**2) for one in circle)
    by_chart, projected = (
        Session(one, device=IDEAL).run(0.05, hand)
        for one in (
            replace(arm, name="uneven", parametrisation=((z,), uneven)),
            replace(arm, parametrisation=None, start_parameters=()),
        )
    )
    np.testing.assert_allclose(by_chart["coordinates"], projected["coordinates"], atol=1e-8)
    np.testing.assert_allclose(by_chart["velocities"], projected["velocities"], atol=1e-6)


def test_a_blow_on_a_chart_is_that_on_the_projection() -> None:
    """What a stop takes from the velocity, the parameters lose too."""
    arm, hand = builtin("two-link-circle"), Constant((4.0, 9.0))
    free = Session(arm, device=IDEAL).run(0.05, hand)["coordinates"]
    q, moved = arm.coordinates[0], free[-1, 0] - free[0, 0]
    stop = np.sign(moved) * (float(free[25, 0]) - q)
    arm = replace(arm, stops=(stop,), restitution=0.6)
    by_chart, projected = (
        Session(one, device=IDEAL).run(0.05, hand)
        for one in (arm, replace(arm, parametrisation=None, start_parameters=()))
    )
    assert by_chart["collisions"].sum() >= 1
    np.testing.assert_allclose(by_chart["coordinates"], projected["coordinates"], atol=1e-9)
    np.testing.assert_allclose(by_chart["velocities"], projected["velocities"], atol=1e-7)


def test_a_stop_is_reached_within_a_step_and_not_passed() -> None:
    """From nearer than the fall of one step, gT²/2: s̈ = −2(s + Tṡ)/T² ends at s = 0."""
    start = 2e-6
    assert start < 0.5 * GRAVITY * STEP**2
    trace = Session(falling(0.0, start, 0.0), device=IDEAL).run(0.01)
    height, speed = trace["coordinates"][:, 1], trace["velocities"][:, 1]
    assert height[0] == start
    assert np.abs(height[1:]).max() < 1e-15
    assert np.abs(speed[1:]).max() < 1e-12  # what it arrives with, the stop takes
    assert trace["multipliers"][-1, 0] == pytest.approx(MASS * GRAVITY)
    np.testing.assert_allclose(trace["velocities"][:, 0], 0.2, atol=1e-12)  # along it: nothing


@pytest.mark.parametrize("restitution", [0.3, 1.0])
def test_a_stop_bounces_with_its_restitution(restitution: float) -> None:
    trace = Session(falling(restitution, 0.0105, 1.0), device=IDEAL).run(0.02)
    hit = int(np.argmax(trace["collisions"] > 0))
    assert 5 < hit < 15
    before = 1.0 + GRAVITY * STEP * hit
    after = trace["velocities"][hit, 1]
    assert after == pytest.approx(restitution * before, rel=1e-9)
    lost = 0.5 * MASS * before**2 * (1.0 - restitution**2)
    assert trace["stop_energy"].sum() == pytest.approx(lost, abs=1e-9)
    np.testing.assert_allclose(trace["velocities"][:, 0], 0.2, atol=1e-12)


def test_what_slides_along_a_curved_stop_is_a_pendulum() -> None:
    """Inside a ring: the stop takes what the curve asks for, ṡ = 0 and s̈ = 0 along it."""
    x, y, dx, dy, m, g, r = sp.symbols("x y dx dy m g r", real=True)
    ring = Mechanism(
        name="in a ring", coordinates=(x, y), velocities=(dx, dy), position=(x, y, 0),
        kinetic_energy=m * (dx**2 + dy**2) / 2, gravity=m * g * y,
        stops=(r - sp.sqrt(x**2 + y**2),), restitution=0.0,
        constants={m: MASS, g: GRAVITY, r: 0.3}, start=(0.0, -0.3), start_velocity=(0.9, 0.0),
    )  # fmt: skip
    trace = Session(ring, device=IDEAL).run(0.1)
    place = trace["coordinates"]
    np.testing.assert_allclose(np.linalg.norm(place, axis=1), 0.3, atol=1e-6)

    def swing(t: float, a: np.ndarray) -> list[float]:
        return [a[1], -GRAVITY / 0.3 * np.sin(a[0])]

    times = trace["time"]
    want = solve_ivp(swing, (0.0, 0.2), [0.0, 3.0], rtol=1e-10, atol=1e-12, t_eval=times).y[0]
    np.testing.assert_allclose(np.arctan2(place[:, 0], -place[:, 1]), want, atol=2e-5)


def test_two_stops_hold_at_once() -> None:
    """Pressed into a corner it stays there, and each stop pushes with what presses on it."""
    x, y, dx, dy, m, g = sp.symbols("x y dx dy m g", real=True)
    corner = Mechanism(
        name="in a corner", coordinates=(x, y), velocities=(dx, dy), position=(x, y, 0),
        kinetic_energy=m * (dx**2 + dy**2) / 2, gravity=m * g * (x + 2 * y), stops=(y, x),
        restitution=0.0, constants={m: MASS, g: GRAVITY}, start=(0.0, 0.0),
    )  # fmt: skip
    trace = Session(corner, device=IDEAL).run(0.02)
    np.testing.assert_allclose(trace["coordinates"], 0.0, atol=1e-12)
    np.testing.assert_allclose(trace["velocities"], 0.0, atol=1e-9)


def test_a_pivot_of_round_off_is_no_good_condition() -> None:
    factor = Session(builtin("rolling-disk"), device=IDEAL).prepare(None, 1000.0, 1).servo.mechanics
    pivots = factor.J_metric.diaginv
    assert len(pivots) > 2
    for size, good in ((1.0, True), (1e11, True), (1e13, False), (1e-11, True), (1e-13, False)):
        pivots[:] = 2.0
        pivots[1] = 2.0 * size
        assert well_conditioned(factor.J_metric) == good
