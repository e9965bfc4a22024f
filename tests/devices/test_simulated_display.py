"""The simulated admittance display alone: its inner loop, structure, friction and sensor."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent.devices.port import SEQUENCE, STAMP, make_command, make_state
from detent.devices.simulated_display import Display, make_display, read_display, write_display

STEP = 1e-3  # [s]
MASSES = (3.0, 0.02)  # [kg, kg·m²]
INERTIA = np.diag(np.repeat(MASSES, 3))


def display(noise: int = 4, **fields: object) -> Display:
    """A display in the origin without friction, flexibility, or a loop that does anything."""
    state = make_state()
    state.quaternion[0] = state.true_pose[3] = 1.0
    out = make_display(state, make_command(), np.zeros(6), noise)
    out.mobility[:], out.mask[:], out.step[:] = np.linalg.inv(INERTIA), 1.0, STEP
    out.pose[3] = out.origin[3] = 1.0
    for name, value in fields.items():
        getattr(out, name)[:] = value
    return out


def turned(quaternion: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(quaternion, scalar_first=True).as_rotvec()


def test_the_inner_loop_is_its_formula() -> None:
    """v̇ = a + 2ζω (v_c − v) + ω² ∫(v_c − v) + M⁻¹ F_h, v̇_c = a; semi-implicit."""
    rng = np.random.default_rng(1)
    omega, zeta = 80.0, 0.7
    out = display(loop=(omega, zeta))
    v, speed, lag, x = np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(3)
    for _ in range(20):
        wrench, hand = rng.standard_normal((2, 6))
        out.command.wrench[:], out.hand[:] = wrench, hand
        write_display(out)
        asked, pushed = np.linalg.solve(INERTIA, wrench), np.linalg.solve(INERTIA, hand)
        miss = speed - v
        lag += STEP * miss
        speed += STEP * asked
        before = v.copy()
        v += STEP * (asked + pushed + 2 * zeta * omega * miss + omega**2 * lag)
        x += STEP * v[:3]
        np.testing.assert_allclose(out.state.true_twist, v, atol=1e-13)
        np.testing.assert_allclose(out.moved, (v - before) / STEP, atol=1e-9)
        np.testing.assert_allclose(out.pose[:3], x, atol=1e-15)


def test_it_turns_with_its_spin() -> None:
    out = display()
    out.state.true_twist[:] = out.speed[:] = (0, 0, 0, 0.3, -0.2, 0.6)
    for _ in range(10):
        write_display(out)
    np.testing.assert_allclose(turned(out.pose[3:]), 10 * STEP * out.speed[3:], atol=1e-12)
    assert out.state.counts[SEQUENCE] == 10 and out.state.counts[STAMP] == 10_000_000


@pytest.mark.parametrize("block", [0, 1])
def test_backdrive_friction_of_rotation_is_its_own_number(block: int) -> None:
    friction, axis = (0.9, 0.004), np.array([0.6, 0.0, 0.8])
    out, part = display(friction=friction), slice(3 * block, 3 * block + 3)
    out.state.true_twist[part] = out.speed[part] = axis
    write_display(out)
    want = 1.0 - STEP * friction[block] / MASSES[block]
    np.testing.assert_allclose(out.state.true_twist[part], want * axis, atol=1e-14)


def test_the_structure_gives_by_the_compliance() -> None:
    """x = x_a + F_h / k: the encoders see the actuators, the hand is elsewhere."""
    out = display(compliance=(2e-5, 3e-3))
    out.mobility[:] = 0.0
    out.hand[:] = (4.0, -2.0, 1.0, 0.1, 0.0, -0.2)
    write_display(out)
    read_display(out)
    np.testing.assert_allclose(out.state.true_pose[:3], 2e-5 * out.hand[:3], atol=1e-15)
    np.testing.assert_allclose(turned(out.state.true_pose[3:]), 3e-3 * out.hand[3:], atol=1e-12)
    np.testing.assert_array_equal(out.state.position, 0.0)
    np.testing.assert_allclose(turned(out.state.quaternion), 0.0, atol=1e-15)


def test_encoders_round_positions_and_turns() -> None:
    steps = (1e-4, 2e-3)
    out = display(resolution=steps)
    out.state.true_twist[:] = out.speed[:] = (0.3, -0.17, 0.05, 0.0, 0.0, 1.7)
    for _ in range(7):
        write_display(out)
        read_display(out)
        want = steps[0] * np.floor(out.pose[:3] / steps[0] + 0.5)
        np.testing.assert_allclose(out.state.position, want, atol=1e-15)
        angle = turned(out.pose[3:])[2]
        seen = turned(out.state.quaternion)
        np.testing.assert_allclose(seen, [0, 0, steps[1] * np.floor(angle / steps[1] + 0.5)])
        np.testing.assert_array_equal(out.state.twist, out.state.true_twist)


@pytest.mark.parametrize("compensated", [0.0, 1.0])
def test_the_sensor_feels_what_lies_beyond_it_unless_that_is_taken_away(compensated: float) -> None:
    """F = F_h + bias + noise − m (a − g), and + m (a − g) again; only in the subspace."""
    rng = np.random.default_rng(2)
    mass, gravity, bias = 0.4, np.array([0.0, 1.0, -9.81]), rng.standard_normal(6)
    out = display(effector=(mass, *gravity, compensated), bias=bias)
    out.noise[:] = rng.standard_normal(out.noise.shape)
    out.mask[4] = 0.0
    for tick in range(6):  # the noise comes again after four
        out.hand[:], out.moved[:] = rng.standard_normal((2, 6))
        out.state.counts[SEQUENCE] = tick
        read_display(out)
        want = out.hand + bias + out.noise[tick % 4]
        if not compensated:
            want[:3] -= mass * (out.moved[:3] - gravity)
        np.testing.assert_allclose(out.state.wrench, out.mask * want, atol=1e-14)


def test_the_sensor_has_steps() -> None:
    out = display(quantum=(0.05, 0.002))
    out.hand[:] = (0.13, -0.12, 0.024, 0.0131, -0.0049, 0.0009)
    read_display(out)
    np.testing.assert_allclose(out.state.wrench, [0.15, -0.1, 0.0, 0.014, -0.004, 0.0], atol=1e-15)
