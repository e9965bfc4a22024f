"""The end stop of a simulated device: where it ends, what it takes, when it is left."""

from __future__ import annotations

import numpy as np
import pytest

from detent.devices.port import AT_STOP, FLAGS, make_command, make_state
from detent.devices.simulated import Mass, held_response, make_mass, write_mass
from detent.kernels.constants import INTEGRATORS

STEP = 1e-3  # [s]


def ball(speed: np.ndarray) -> Mass:
    """A kilogram in the origin, that moves."""
    state = make_state()
    state.quaternion[0] = state.true_pose[3] = 1.0
    state.true_twist[:3] = speed
    mass = make_mass(state, make_command(), np.zeros(6))
    mass.mobility[:], mass.step[:] = np.eye(6), STEP
    mass.integrator[:] = INTEGRATORS.index("held")
    mass.response[:] = held_response(mass.mobility, mass.damping, STEP)
    mass.last[3] = 1.0
    return mass


def test_an_end_stop_takes_what_goes_outwards_and_no_more() -> None:
    """Anywhere on the ball: it is never left, the speed along it stays, energy never rises."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        mass = ball(rng.standard_normal(3))
        mass.room.reach[:] = 0.05
        for _ in range(400):
            before = mass.state.true_twist.copy()
            write_mass(mass)
            place, speed = mass.state.true_pose[:3], mass.state.true_twist
            far = np.linalg.norm(place)
            assert far <= 0.05 * (1.0 + 1e-12)
            assert speed @ speed <= before @ before * (1.0 + 1e-12)
            if far > 0.05 * (1.0 - 1e-9):
                n = place / far
                assert abs(n @ speed[:3]) < 1e-12  # it neither goes on nor comes back
                along = before[:3] - (n @ before[:3]) * n
                np.testing.assert_allclose(speed[:3], along, atol=1e-12)


def test_it_leaves_its_end_stop_as_soon_as_it_is_pushed_inwards() -> None:
    mass = ball(np.zeros(3))
    mass.room.reach[:] = 0.01
    mass.command.wrench[0] = 5.0
    for _ in range(200):
        write_mass(mass)
    assert mass.state.true_pose[0] == pytest.approx(0.01)
    assert mass.state.counts[FLAGS] & AT_STOP
    mass.command.wrench[0] = -1.0
    write_mass(mass)
    assert mass.state.true_pose[0] == pytest.approx(0.01 - 0.5e-6)
    write_mass(mass)
    assert mass.state.counts[FLAGS] & AT_STOP  # its readings still show how it stopped
    write_mass(mass)
    assert not mass.state.counts[FLAGS] & AT_STOP
