"""Springs and dampers of a rigid body: gradients of their energy, guards, power."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from detent.kernels.se3 import add_body_damper, add_body_spring

RNG = np.random.default_rng(5)
GAINS = np.array([40.0, 0.3])  # [N/m, N·m/rad]


def spring(p: np.ndarray, r: Rotation, origin: np.ndarray) -> tuple[float, np.ndarray]:
    out = np.zeros(6)
    energy = add_body_spring(
        p, r.as_quat(scalar_first=True), origin, GAINS, np.zeros(3), out
    )  # fmt: skip
    return energy, out


def random_origin() -> np.ndarray:
    turn = Rotation.random(rng=RNG).as_quat(scalar_first=True)
    return np.concatenate([RNG.normal(size=3), turn])


def test_the_wrench_is_minus_the_gradient_of_the_energy() -> None:
    h = 1e-6
    for _ in range(50):
        origin, p, r = random_origin(), RNG.normal(size=3), Rotation.random(rng=RNG)
        if (Rotation.from_quat(origin[3:], scalar_first=True) * r.inv()).magnitude() > 3.1:
            continue  # where the shortest way jumps
        _, wrench = spring(p, r, origin)
        for i, axis in enumerate(np.eye(3)):
            moved = [spring(p + s * h * axis, r, origin)[0] for s in (1, -1)]
            turned = [spring(p, Rotation.from_rotvec(s * h * axis) * r, origin)[0] for s in (1, -1)]
            np.testing.assert_allclose(wrench[i], -(moved[0] - moved[1]) / (2 * h), atol=1e-6)
            np.testing.assert_allclose(wrench[3 + i], -(turned[0] - turned[1]) / (2 * h), atol=1e-6)


def test_it_is_that_of_the_document_in_the_body_frame() -> None:
    """S2 eq. 44-46, whose wrench is to be subtracted (errata B3)."""
    origin, p, r = random_origin(), RNG.normal(size=3), Rotation.random(rng=RNG)
    R, Ro = r.as_matrix(), Rotation.from_quat(origin[3:], scalar_first=True).as_matrix()
    delta = R.T @ Ro
    angle = np.arccos((np.trace(delta) - 1.0) / 2.0)
    K = np.array([delta[2, 1] - delta[1, 2], delta[0, 2] - delta[2, 0], delta[1, 0] - delta[0, 1]])
    K /= 2.0 * np.sin(angle)
    tau = -np.concatenate([GAINS[0] * R.T @ (origin[:3] - p), GAINS[1] * angle * K])
    _, wrench = spring(p, r, origin)
    body = np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])
    np.testing.assert_allclose(body, -tau, atol=1e-12)


def test_nothing_is_singular_at_zero_and_at_half_a_turn() -> None:
    origin = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    assert not np.any(spring(np.zeros(3), Rotation.identity(), origin)[1])
    for angle in (1e-14, 1e-9, np.pi - 1e-9, np.pi, np.pi + 1e-9):
        _, wrench = spring(np.zeros(3), Rotation.from_rotvec([0.0, angle, 0.0]), origin)
        assert np.isfinite(wrench).all()
        size = angle if angle <= np.pi else 2.0 * np.pi - angle
        np.testing.assert_allclose(np.linalg.norm(wrench[3:]), 0.3 * size, atol=1e-12)


def test_a_damper_takes_power() -> None:
    for _ in range(20):
        twist, out = RNG.normal(size=6), np.zeros(6)
        add_body_damper(twist, np.array([2.0, 0.1]), out)
        assert out @ twist < 0.0


def test_a_damper_is_against_each_part_of_the_twist() -> None:
    twist, out = np.array([0.3, -0.2, 0.5, 1.0, -2.0, 0.7]), np.full(6, 0.1)
    add_body_damper(twist, np.array([3.0, 0.4]), out)
    np.testing.assert_allclose(out, 0.1 - np.repeat([3.0, 0.4], 3) * twist, atol=1e-15)
