"""The laws of passivity against motion whose energy is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from detent.devices.limits import largest_damper
from detent.kernels.passivity import (
    FADE,
    certain_travel,
    certain_work,
    damper_rate,
    held_work,
    least_loss,
    share_left,
    tank_share,
)


def test_the_work_of_a_held_wrench_is_that_of_its_path() -> None:
    rng = np.random.default_rng(0)
    wrench, ways = rng.standard_normal(6), rng.standard_normal((50, 6))
    pieces = sum(held_work(wrench, way) for way in ways)
    assert held_work(wrench, ways.sum(axis=0)) == pytest.approx(pieces)


@pytest.mark.parametrize("quantum", [0.0, 1e-5, 5.5e-5])
def test_a_certain_travel_is_never_longer_than_the_true_one(quantum: float) -> None:
    rng = np.random.default_rng(1)
    for scale in (0.1, 1.0, 5.0):
        path = np.cumsum(scale * 1e-5 * rng.standard_normal((2000, 3)), axis=0)
        path[:, 1:] = 0.0
        read = quantum * np.round(path / quantum) if quantum else path
        slack, total = np.zeros(3), 0.0
        for way in np.diff(read, axis=0):
            total += certain_travel(slack, way, 0.5 * quantum)
        true = float(np.abs(np.diff(path, axis=0)).sum())
        assert total <= true + 1e-15
        assert total == pytest.approx(true) or quantum > 0.0
    assert total > 0.1 * true  # steps of five quanta are not lost


def _certain(force: np.ndarray, read: np.ndarray, radius: float) -> float:
    tube = np.zeros(5)
    ways = np.diff(read)
    return sum(certain_work(tube, w, f, radius) for w, f in zip(ways, force, strict=False))


def test_the_certain_work_of_a_spring_has_nothing_of_noise() -> None:
    """By readings with noise σ it seems to give K σ² with each of them."""
    rng = np.random.default_rng(3)
    stiffness, sigma = 1000.0, 2e-5
    read = sigma * rng.standard_normal(10_001)
    force = -stiffness * read[:-1]
    assert float(force @ np.diff(read)) == pytest.approx(1e4 * stiffness * sigma**2, rel=0.05)
    assert _certain(force, read, 6.0 * sigma) == 0.0


def test_the_certain_work_of_a_long_way_is_nearly_all_of_it() -> None:
    read = 1e-5 * np.arange(1001)
    work = _certain(np.full(1000, 2.0), read, 6e-5)
    assert 2.0 * (0.01 - 6e-5) <= work <= 2.0 * 0.01


@pytest.mark.parametrize(
    "period", [12, 50, 400]
)  # [ticks] fast: counts in a tick; slow: one in ten
@pytest.mark.parametrize("late", [1, 3])
def test_the_certain_work_of_a_swing_on_a_late_spring_is_the_true_one(
    period: int, late: int
) -> None:
    """A rod that trails by its tube hides 2 r ΔF wherever a swing turns: half of it, or more."""
    quantum, stiffness, ticks = 5e-5, 2e4, np.arange(20_000)
    phase = 0.3 * np.sin(1e-3 * ticks)  # so that counts come everywhere
    path = 5e-4 * np.sin(2.0 * np.pi * ticks / period + phase)
    read = quantum * np.round(path / quantum)
    force = -stiffness * np.concatenate([np.zeros(late), read[:-late]])[:-1]
    true = float(force @ np.diff(path))
    assert true > 0.0
    assert _certain(force, read, 0.5 * quantum) == pytest.approx(true, rel=0.1)


def test_encoders_that_go_to_and_fro_have_not_moved() -> None:
    slack = np.zeros(3)
    ways = [np.array([1e-5, 0.0, 0.0]) * sign for sign in (1, -1, 1, -1, 1, -1)]
    assert sum(certain_travel(slack, way, 1e-5) for way in ways) == 0.0


def test_the_least_loss_is_below_what_friction_takes() -> None:
    rng = np.random.default_rng(2)
    b, c, dt = 0.7, 0.2, 1e-5
    for _ in range(50):
        speed = rng.standard_normal(100) + rng.standard_normal()
        true = float((b * speed**2 + c * np.abs(speed)).sum() * dt)
        moved = abs(float(speed.sum() * dt))
        assert 0.0 < least_loss(moved, 100 * dt, b, c) <= true * (1 + 1e-12)
    steady = least_loss(2.0 * 100 * dt, 100 * dt, b, c)  # at 2 m/s it is all of it
    assert steady == pytest.approx((b * 4.0 + c * 2.0) * 100 * dt)


def test_the_damper_takes_the_deficit_in_a_period_or_its_bound() -> None:
    motion, period = 0.1 * 0.2**2, 1e-3
    rate = damper_rate(1e-5, motion, period, 0.25)
    assert rate * motion * period == pytest.approx(1e-5)
    assert damper_rate(1.0, motion, period, 0.25) == 0.25 / period
    assert damper_rate(1.0, motion, period, math.inf) == pytest.approx(1.0 / (motion * period))


def test_a_tank_pays_what_it_has() -> None:
    assert tank_share(1e-3, -1.0, 1e-3) == 1.0  # the force takes
    assert tank_share(1e-3, 2.0, 1e-3) == pytest.approx(0.5)
    assert tank_share(-1.0, 2.0, 1e-3) == 0.0
    assert tank_share(1.0, 2.0, 1e-3) == 1.0


@pytest.mark.parametrize("delay", range(6))
def test_the_largest_damper_is_where_a_speed_begins_to_swing(delay: int) -> None:
    """z^d (z − 1) + a = 0: the slowest root is real below it, and not above."""

    def swings(a: float) -> bool:
        roots = np.roots([1.0, -1.0, *[0.0] * (delay - 1), a] if delay else [1.0, a - 1.0])
        slowest = roots[np.abs(roots).argmax()]
        return abs(slowest.imag) > 1e-3 or slowest.real < 0.0

    a = largest_damper(delay)
    assert not swings(0.99 * a)
    assert swings(1.01 * a)


def test_a_wrench_gives_way_as_a_deficit_grows() -> None:
    """All of it is left below the first bound, nothing above the second, and it never rises."""
    low, high = FADE
    assert share_left(0.0) == share_left(low) == 1.0
    assert share_left(high) == share_left(10.0 * high) == 0.0
    assert share_left(0.5 * (low + high)) == pytest.approx(0.5)
    shares = [share_left(d) for d in np.linspace(0.0, 2.0 * high, 50)]
    assert (np.diff(shares) <= 0.0).all()
