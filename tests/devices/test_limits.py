"""How stiff a wall may be: against eigenvalues by SciPy, closed forms, and numbers of papers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.signal import cont2discrete

from detent.devices.limits import (
    passive_stiffness,
    region,
    rule_of_thumb,
    stable_stiffness,
    stiffness_limits,
)
from detent.errors import ParameterError

M, b = 0.1, 0.5
GRID = [
    (step, delay, B)
    for step in (125e-6, 250e-6, 500e-6, 1e-3)
    for delay in (0, 1, 2)
    for B in (0.0, 0.3)
]


def radius(step: float, delay: int, K: float, B: float) -> float:
    """The loop in SciPy's hands: the device discretised, the wall and its delay in powers of z."""
    plant = np.array([[0.0, 1.0], [0.0, -b / M]]), np.array([[0.0], [1.0 / M]])
    A, G, *_ = cont2discrete((*plant, np.eye(2), np.zeros((2, 1))), step)
    # the poles: det(zI − A) z^(d+1) + (z (K + B/T) − B/T) C adj(zI − A) G
    characteristic = np.array([1.0, -np.trace(A), np.linalg.det(A)])
    through = np.array([G[0, 0], A[0, 1] * G[1, 0] - A[1, 1] * G[0, 0]])
    wall = np.array([K + B / step, -B / step])
    whole = np.polyadd(
        np.concatenate([characteristic, np.zeros(delay + 1)]), np.convolve(wall, through)
    )
    return float(np.abs(np.roots(whole)).max())


@pytest.mark.parametrize(("step", "delay", "B"), GRID)
def test_the_stable_limit_is_where_scipys_poles_leave_the_circle(
    step: float, delay: int, B: float
) -> None:
    K = stable_stiffness(M, b, step, delay, B)
    assert radius(step, delay, 0.999 * K, B) < 1.0 < radius(step, delay, 1.001 * K, B)
    assert pytest.approx(rule_of_thumb(b, step, delay, B), rel=3e-3) == K


def test_passivity_without_delay_has_a_closed_form() -> None:
    for step in (1e-4, 1e-3):
        for B in (0.0, 0.1, 0.4):
            assert passive_stiffness(b, step, 0, B) == pytest.approx(2.0 * (b - B) / step)
    assert passive_stiffness(b, 1e-3, 0, 0.6) == 0.0


def test_a_delay_of_a_tick_asks_for_three_times_the_damping() -> None:
    assert passive_stiffness(0.5, 1e-3, 0) == pytest.approx(1000.0)
    assert passive_stiffness(1.5, 1e-3, 1) == pytest.approx(1000.0)
    assert passive_stiffness(2.5, 1e-3, 2) == pytest.approx(1000.0)


def test_virtual_damping_helps_stability_and_hurts_passivity() -> None:
    found = stiffness_limits(M, b, 0.0, 0.0, 1e-3, 0, 0.3)
    assert found.stable == pytest.approx(1597.0, rel=1e-3)
    assert found.passive == pytest.approx(400.0)
    assert found.quiet == math.inf


def test_friction_must_eat_a_step_of_the_encoder() -> None:
    assert stiffness_limits(0.045, 0.3, 0.26, 5.5e-5, 1e-3, 1).quiet == pytest.approx(9454.5, 1e-4)


def test_the_plane_of_friction_and_damping_has_three_regions() -> None:
    assert region(900.0, 0.5, 0.0, 0.0, 1e-3) == "stable"
    assert region(2000.0, 0.5, 0.1, 2e-5, 1e-3) == "quiet"
    assert region(2000.0, 0.5, 0.1, 2e-4, 1e-3) == "cycles"
    assert region(2000.0, 0.5, 0.0, 0.0, 1e-3) == "cycles"


@pytest.mark.parametrize(
    ("name", "value"),
    [("mass", 0.0), ("damping", -1.0), ("step", math.nan), ("delay_ticks", 0.5)],
)
def test_numbers_that_make_no_sense_are_refused(name: str, value: float) -> None:
    good = dict(mass=M, damping=b, coulomb=0.0, resolution=0.0, step=1e-3, delay_ticks=0)
    with pytest.raises(ParameterError, match=name):
        stiffness_limits(**(good | {name: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("damping", "virtual", "said"),
    [
        (1.0, 0.0, "hand up to 2,000 N/m, quiet on its encoders up to 4,000 N/m"),
        (1.0, 2.0, "at no stiffness, since the damping is more than its own 1 (undamped up to 2"),
        (0.0, 0.0, "at no stiffness, since no damping of it is known, quiet on its enc"),
    ],
)
def test_limits_say_why_nothing_is_passive(damping: float, virtual: float, said: str) -> None:
    limits = stiffness_limits(0.1, damping, 0.1, 5e-5, 1e-3, 0, virtual)
    assert said in limits.said()


def test_without_friction_nothing_is_quiet_on_encoders() -> None:
    assert "quiet at no stiffness" in stiffness_limits(0.1, 1.0, 0.0, 5e-5, 1e-3, 0).said()
