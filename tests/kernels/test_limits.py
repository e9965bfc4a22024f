"""The limits of a wrench: never above, never turned, never silent about NaN."""

from __future__ import annotations

import numpy as np
import pytest

from detent.kernels.limits import all_finite, length, slew_scale, uniform_scale

RNG = np.random.default_rng(5)


def test_a_cap_scales_all_axes_by_the_same_and_no_more_than_needed() -> None:
    """TH 4.5.2, errata E8: a = min(1, F_lim / |F|)."""
    for _ in range(500):
        wrench, cap = RNG.standard_normal(6), RNG.uniform(0.1, 2.0, 6)
        scale = uniform_scale(wrench, cap)
        assert scale == pytest.approx(min(1.0, (cap / np.abs(wrench)).min()), rel=1e-15)
        assert (np.abs(scale * wrench) <= cap * (1 + 1e-15)).all()


def test_without_a_cap_nothing_is_scaled() -> None:
    assert uniform_scale(1e300 * np.ones(6), np.full(6, np.inf)) == 1.0
    assert uniform_scale(np.zeros(6), np.ones(6)) == 1.0


def test_slew_bounds_the_length_of_the_change_in_force_and_torque() -> None:
    for _ in range(500):
        new, last = RNG.standard_normal(6), RNG.standard_normal(6)
        slew = RNG.uniform(0.1, 4.0, 2)
        scale = slew_scale(new, last, slew)
        change = scale * (new - last)
        lengths = np.array([np.linalg.norm(change[:3]), np.linalg.norm(change[3:])])
        assert (lengths <= slew * (1 + 1e-14)).all()
        assert scale == 1.0 or np.isclose(lengths, slew, rtol=1e-13).any()


def test_slew_that_is_off_changes_nothing() -> None:
    assert slew_scale(1e6 * np.ones(6), np.zeros(6), np.full(2, np.inf)) == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", range(6))
def test_one_bad_element_is_seen(bad: float, place: int) -> None:
    values = np.ones(6)
    assert all_finite(values)
    values[place] = bad
    assert not all_finite(values)


def test_a_length_neither_overflows_nor_vanishes() -> None:
    for size in (1e-320, 1e-200, 1e-9, 1.0, 1e200, 1e300):
        assert length(size * np.array([3.0, 0.0, -4.0])) == pytest.approx(5.0 * size, rel=1e-3)
    assert length(np.zeros(3)) == 0.0


def test_a_change_of_exactly_one_newton_is_slewed_too() -> None:
    assert slew_scale(np.eye(6)[0], np.zeros(6), np.full(2, 0.5)) == 0.5
    assert slew_scale(np.eye(6)[4], np.zeros(6), np.full(2, 0.25)) == 0.25


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", range(6))
def test_nothing_moves_towards_what_is_not_finite(bad: float, place: int) -> None:
    target = np.ones(6)
    target[place] = bad
    assert slew_scale(target, np.zeros(6), np.full(2, np.inf)) == 0.0
