"""Rotations against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent.kernels.so3 import (
    dexp_inverse,
    integrate_quaternion,
    matrix_quaternion,
    quaternion_multiply,
    rotate,
    rotation_error,
    turn_body,
)

RNG = np.random.default_rng(4)
CASES = 200


def quaternion(rotation: Rotation) -> np.ndarray:
    """(w, x, y, z) of either sign."""
    return rotation.as_quat(scalar_first=True) * RNG.choice([-1.0, 1.0])


def test_product_is_scipys() -> None:
    out = np.zeros(4)
    for a, b in zip(Rotation.random(CASES, RNG), Rotation.random(CASES, RNG), strict=True):
        quaternion_multiply(quaternion(a), quaternion(b), out)
        assert ((a * b).inv() * Rotation.from_quat(out, scalar_first=True)).magnitude() < 1e-14
        assert abs(np.linalg.norm(out) - 1.0) < 1e-14


def test_rotating_a_vector_is_scipys_also_in_place() -> None:
    for r in Rotation.random(CASES, RNG):
        v = RNG.standard_normal(3)
        want = r.apply(v)
        rotate(quaternion(r), v, v)
        np.testing.assert_allclose(v, want, atol=1e-14)


def test_error_is_the_rotation_vector_of_a_b_transposed() -> None:
    out = np.zeros(3)
    for a, b in zip(Rotation.random(CASES, RNG), Rotation.random(CASES, RNG), strict=True):
        rotation_error(quaternion(a), quaternion(b), out)
        np.testing.assert_allclose(out, (a * b.inv()).as_rotvec(), atol=1e-9)
        assert np.linalg.norm(out) <= np.pi + 1e-12


@pytest.mark.parametrize("angle", [0.0, 1e-15, 1e-13, 1e-9, 1e-4, 1.0, np.pi - 1e-6])
def test_error_keeps_its_precision_at_every_angle(angle: float) -> None:
    axis = np.array([0.6, -0.64, 0.48])
    b = Rotation.random(random_state=RNG)
    out = np.zeros(3)
    rotation_error(quaternion(Rotation.from_rotvec(angle * axis) * b), quaternion(b), out)
    np.testing.assert_allclose(out, angle * axis, atol=1e-15 + 1e-8 * angle)


def test_error_of_half_a_turn_is_finite_and_of_length_pi() -> None:
    out = np.zeros(3)
    rotation_error(np.array([0.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0]), out)
    np.testing.assert_allclose(np.abs(out), [np.pi, 0, 0])


def test_integrating_is_the_exponential_in_world_axes() -> None:
    for r in Rotation.random(CASES, RNG):
        q, omega, step = quaternion(r), 10.0 * RNG.standard_normal(3), 0.01
        integrate_quaternion(q, omega, step)
        want = Rotation.from_rotvec(omega * step) * r
        assert (want.inv() * Rotation.from_quat(q, scalar_first=True)).magnitude() < 1e-14


def test_integrating_stays_normal_and_standing_still_changes_nothing() -> None:
    q = np.array([1.0, 0.0, 0.0, 0.0])
    for _ in range(10_000):
        integrate_quaternion(q, np.array([1.0, 2.0, 3.0]), 1e-3)
    assert abs(np.linalg.norm(q) - 1.0) < 1e-15
    kept = q.copy()
    integrate_quaternion(q, np.zeros(3), 1e-3)
    np.testing.assert_allclose(q, kept, atol=1e-16)


def test_constant_spin_turns_by_omega_t() -> None:
    q = np.array([1.0, 0.0, 0.0, 0.0])
    omega = np.array([0.3, -0.2, 0.5])
    for _ in range(1000):
        integrate_quaternion(q, omega, 1e-3)
    turned = Rotation.from_quat(q, scalar_first=True)
    np.testing.assert_allclose(turned.as_rotvec(), omega, atol=1e-12)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 1.0, 3.0])
def test_turning_a_body_is_scipys_product_on_the_right(size: float) -> None:
    out = np.zeros(4)
    for r in Rotation.random(20, RNG):
        xi = size * Rotation.random(rng=RNG).apply([1.0, 0.0, 0.0])
        turn_body(quaternion(r), xi, out)
        want = r * Rotation.from_rotvec(xi)
        assert (want.inv() * Rotation.from_quat(out, scalar_first=True)).magnitude() < 1e-14


@pytest.mark.parametrize("size", [0.0, 1e-6, 1e-3, 0.5, 2.5])
def test_the_rate_of_a_rotation_vector_turns_the_body_as_fast_as_it_should(size: float) -> None:
    """R(ξ + h ξ̇) = R(ξ) exp(h ω), to first order: against finite differences."""
    out, h = np.zeros(3), 1e-6
    for _ in range(20):
        xi = size * Rotation.random(rng=RNG).apply([1.0, 0.0, 0.0])
        omega = RNG.standard_normal(3)
        dexp_inverse(xi, omega, out)
        ahead, behind = (Rotation.from_rotvec(xi + s * h * out) for s in (1.0, -1.0))
        np.testing.assert_allclose((behind.inv() * ahead).as_rotvec() / (2 * h), omega, atol=1e-8)


def test_the_quaternion_of_a_matrix_is_scipys_and_keeps_its_sign() -> None:
    for r in (*Rotation.random(CASES, RNG), *Rotation.from_rotvec(np.pi * np.eye(3))):
        near = quaternion(r)
        out = near + 0.01 * RNG.standard_normal(4)
        matrix_quaternion(r.as_matrix(), out)
        np.testing.assert_allclose(out, near, atol=1e-12)
