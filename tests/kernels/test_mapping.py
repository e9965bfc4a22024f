"""Torques and constraints at the hand, against the thesis's SVD, NumPy, SciPy and MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np
import pytest
from numba.core.runtime import _nrt_python as nrt
from numba.core.runtime import rtsys
from scipy.linalg import null_space, subspace_angles
from scipy.spatial.transform import Rotation

from detent.kernels import mapping, topology
from detent.kernels import rank as ranks
from detent.kernels.jit import JIT_ENABLED, kernel
from sweeps import sweep

MANY = sweep(10_000, 50)
ENTER, LEAVE = 0.01, 0.02


def random_spd(rng: np.random.Generator, n: int, condition: float = 1e2) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = (Q * condition ** rng.uniform(-0.5, 0.5, n)) @ Q.T
    return (A + A.T) / 2


def symmetric(A: np.ndarray) -> np.ndarray:
    return (A + A.T) / 2


@dataclass
class Hand:
    """A hand on a mechanism: the inverse inertia of the mechanism, the Jacobian, the link's M."""

    D_inverse: np.ndarray
    J: np.ndarray
    M: np.ndarray

    def __post_init__(self) -> None:
        self.k = len(self.J)
        self.response = self.J @ self.D_inverse
        self.mobility = symmetric(self.response @ self.J.T)
        self.work = ranks.mapping_work()

    def weigh(self, previous: int = -1, enter: float = ENTER, leave: float = LEAVE) -> int:
        self.rank = ranks.weigh(self.mobility, self.M, self.k, enter, leave, previous, self.work)
        return self.rank

    @property
    def whole(self) -> bool:
        return bool(self.work.whole[0])

    def wrench(self, torques: np.ndarray) -> np.ndarray:
        out = np.full(self.k, np.nan)
        mapping.map_torques(self.k, self.rank, self.work, self.response @ torques, out)
        return out

    def inverse(self) -> np.ndarray:
        """J#, from the wrenches of unit torques."""
        nv = self.J.shape[1]
        return np.array([self.wrench(torque) for torque in np.eye(nv)]).reshape(nv, self.k)

    def directions(self) -> np.ndarray:
        count = topology.constraint_directions(self.k, self.rank, self.work)
        return self.work.N[: self.k, :count].copy()

    def seen_in(self, X: np.ndarray) -> Hand:
        """The same in another frame or in other units, where a twist is X times as much."""
        inverse = np.linalg.inv(X)
        return Hand(self.D_inverse, X @ self.J, symmetric(inverse.T @ self.M @ inverse))

    def penalty(
        self, M_d: np.ndarray, dx: np.ndarray, dv: np.ndarray, euclidean: bool = False
    ) -> np.ndarray:
        out = np.full(self.k, np.nan)
        count = topology.constraint_directions(self.k, self.rank, self.work)
        mobility = symmetric(np.linalg.inv(M_d))
        topology.topology_wrench(
            *(self.k, count, self.work, M_d, mobility, dx, dv, K_TC, B_TC, euclidean, TIED, out)
        )
        return out


K_TC, B_TC = 200.0, 50.0  # [1/s²], [1/s] TH 5.4.2
TIED = np.ones(6)  # wholly


def draw(
    rng: np.random.Generator, k: int, nv: int, rank: int, least: float = 0.05
) -> tuple[np.ndarray, Hand]:
    """The inertia and a hand with *rank* singular values s between *least* and 1."""
    D, M = random_spd(rng, nv), random_spd(rng, k)
    U, _ = np.linalg.qr(rng.normal(size=(k, k)))
    V, _ = np.linalg.qr(rng.normal(size=(nv, nv)))
    s = least ** rng.uniform(0.0, 1.0, rank)
    whitened = (U[:, :rank] * s) @ V[:, :rank].T
    J = np.linalg.solve(np.linalg.cholesky(M).T, whitened) @ np.linalg.cholesky(D).T
    return D, Hand(np.linalg.inv(D), J, M)


def hands(seed: int, count: int) -> Iterator[tuple[np.ndarray, int, Hand]]:
    """Hands of every size and every rank, weighed."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        k, nv = int(rng.integers(1, 7)), int(rng.integers(1, 10))
        rank = int(rng.integers(0, min(k, nv) + 1))
        D, hand = draw(rng, k, nv, rank)
        hand.weigh()
        yield D, rank, hand


def literal_inverse(J: np.ndarray, D: np.ndarray, M: np.ndarray, rank: int) -> np.ndarray:
    """TH 5.8-5.11, as printed."""
    U, sigma, Vt = np.linalg.svd(J)
    S1, S2 = np.zeros((len(U), rank)), np.eye(rank, len(Vt))
    S1[:rank, :rank] = np.diag(sigma[:rank])
    Di = np.linalg.inv(D)
    right = Di @ Vt.T @ S2.T @ np.linalg.inv(S2 @ Vt @ Di @ Vt.T @ S2.T)
    return right @ np.linalg.inv(S1.T @ U.T @ M @ U @ S1) @ S1.T @ U.T @ M


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    """The relative difference, by norm."""
    size = np.linalg.norm(expected)
    return float(np.linalg.norm(found - expected) / size) if size else float(np.abs(found).max())


def rigid_motion(rng: np.random.Generator, k: int) -> np.ndarray:
    """The adjoint of a random rigid motion, in space (k = 6) or in the plane (k = 3)."""
    R = Rotation.random(rng=rng) if k == 6 else Rotation.from_rotvec([0, 0, rng.normal()])
    p = rng.normal(size=3) * ([1, 1, 1] if k == 6 else [1, 1, 0])
    cross = np.cross(np.eye(3), p)  # rows: e_i × p
    X = np.block([[R.as_matrix(), R.as_matrix() @ cross.T], [np.zeros((3, 3)), R.as_matrix()]])
    return X if k == 6 else X[np.ix_([0, 1, 5], [0, 1, 5])]


def millimetres(k: int) -> np.ndarray:
    """What takes a twist in space (k = 6) or in the plane (k = 3) from m/s to mm/s."""
    return np.diag([1e3, 1e3, 1e3, 1.0, 1.0, 1.0] if k == 6 else [1e3, 1e3, 1.0])


# ------------------------------------------------------------------ torques at the hand


def test_the_mapping_is_the_weighted_inverse_by_its_four_identities() -> None:
    """TH B.1 with the metrics D and M, at every rank."""
    ranks = set()
    for D, rank, hand in hands(0, MANY):
        A, inverse, M = hand.J, hand.inverse(), hand.M
        assert hand.rank == rank
        ranks.add((hand.k, rank))
        assert apart(A @ inverse @ A, A) < 1e-10
        assert apart(inverse @ A @ inverse, inverse) < 1e-10
        for product in (M @ A @ inverse, D @ inverse @ A):
            assert apart(product.T, product) < 1e-10
    assert not JIT_ENABLED or ranks == {(k, r) for k in range(1, 7) for r in range(k + 1)}


def test_the_mapping_is_that_of_the_thesis() -> None:
    for D, rank, hand in hands(1, MANY // 4):
        assert apart(hand.inverse(), literal_inverse(hand.J, D, hand.M, rank)) < 1e-10


def test_kinematic_loops_are_in_the_inverse_inertia() -> None:
    rng = np.random.default_rng(2)
    for _ in range(MANY // 10):
        k, nv = int(rng.integers(1, 7)), int(rng.integers(3, 10))
        D, free = draw(rng, k, nv, min(k, nv))
        Z = null_space(rng.normal(size=(2, nv)))
        hand = Hand(Z @ np.linalg.inv(Z.T @ D @ Z) @ Z.T, free.J, free.M)
        rank = min(k, nv - 2)
        if hand.weigh(enter=1e-4, leave=2e-4) == rank:  # not by chance near a singularity
            torques = rng.normal(size=nv)
            reduced = literal_inverse(hand.J @ Z, Z.T @ D @ Z, hand.M, rank)
            assert apart(hand.wrench(torques), reduced.T @ Z.T @ torques) < 1e-7


@pytest.mark.parametrize("change", ["frame", "units"])
def test_the_wrench_does_not_depend_on_frame_or_units(change: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(MANY // 20):
        k = int(rng.choice([3, 6]))
        nv = int(rng.integers(1, 10))
        _, hand = draw(rng, k, nv, int(rng.integers(0, min(k, nv) + 1)))
        X = millimetres(k) if change == "units" else rigid_motion(rng, k)
        other = hand.seen_in(X)
        assert hand.weigh() == other.weigh()
        torques = rng.normal(size=nv)
        assert apart(X.T @ other.wrench(torques), hand.wrench(torques)) < 1e-10
        hand.weigh(previous=0)
        other.weigh(previous=0)
        np.testing.assert_allclose(other.work.sigma[:k], hand.work.sigma[:k], atol=1e-13)


def test_an_invertible_jacobian_is_inverted() -> None:
    rng = np.random.default_rng(4)
    for _ in range(MANY // 20):
        k = int(rng.integers(1, 7))
        _, hand = draw(rng, k, k, k)
        hand.weigh()
        torques = rng.normal(size=k)
        assert apart(hand.wrench(torques), np.linalg.solve(hand.J.T, torques)) < 1e-10


def test_with_full_row_rank_it_is_the_dynamically_consistent_inverse() -> None:
    """TH B.18 with "row" for "column", and not a matter of M (errata to B.6, B.7)."""
    rng = np.random.default_rng(5)
    for _ in range(MANY // 20):
        k = int(rng.integers(1, 7))
        _, hand = draw(rng, k, k + int(rng.integers(0, 4)), k)
        expected = hand.D_inverse @ hand.J.T @ np.linalg.inv(hand.mobility)
        other = Hand(hand.D_inverse, hand.J, random_spd(rng, k))
        for one in (hand, other):
            assert one.weigh(enter=1e-4, leave=2e-4) == k
            assert apart(one.inverse(), expected) < 1e-10


def test_without_full_row_rank_the_inertia_of_the_link_matters() -> None:
    rng = np.random.default_rng(6)
    _, hand = draw(rng, 6, 3, 3)
    other = Hand(hand.D_inverse, hand.J, random_spd(rng, 6))
    assert hand.weigh() == other.weigh(enter=1e-4, leave=2e-4) == 3
    assert apart(hand.inverse(), other.inverse()) > 0.01


def test_the_spectrum_and_the_factor_agree() -> None:
    rng = np.random.default_rng(7)
    for _ in range(MANY // 20):
        k = int(rng.integers(3, 7))
        nv = k + int(rng.integers(0, 4))
        _, hand = draw(rng, k, nv, k)
        torques = rng.normal(size=nv)
        assert hand.weigh() == k and hand.whole
        by_factor = hand.wrench(torques)
        just = (1.0 - 1e-9) * least_singular_value(hand)  # too near for the bounds
        assert hand.weigh(enter=0.5 * just, leave=just) == k and not hand.whole
        assert apart(hand.wrench(torques), by_factor) < 1e-10


def test_nothing_carries_over_from_the_tick_before() -> None:
    rng = np.random.default_rng(20)
    work = ranks.mapping_work()
    for _ in range(MANY // 20):
        k = int(rng.integers(1, 7))
        _, fresh = draw(rng, k, 8, int(rng.integers(0, k + 1)))
        used = Hand(fresh.D_inverse, fresh.J, fresh.M)
        used.work = work
        previous = int(rng.choice([-1, 6]))
        assert used.weigh(previous) == fresh.weigh(previous)
        torques = rng.normal(size=8)
        np.testing.assert_array_equal(used.wrench(torques), fresh.wrench(torques))
        np.testing.assert_array_equal(used.directions(), fresh.directions())


@pytest.mark.parametrize("k", [0, 1, 6])
@pytest.mark.parametrize("size", [0.0, 1e-170, 1e-15])
def test_a_hand_that_cannot_move(k: int, size: float) -> None:
    """Not even round-off, such as loops leave that lock the link, passes for mobility."""
    hand = Hand(size * random_spd(np.random.default_rng(7), k), np.eye(k), np.eye(k))
    for previous in (-1, 0, k):
        assert hand.weigh(previous) == 0
        assert not hand.wrench(np.ones(k)).any()
        N = hand.directions()
        np.testing.assert_allclose(N.T @ N, np.eye(k), atol=2e-15)


# ---------------------------------------------------------------------------- the rank


def expected_rank(hand: Hand, enter: float, leave: float, previous: int) -> int:
    L = np.linalg.cholesky(hand.M)
    sigma = np.maximum(np.linalg.eigvalsh(L.T @ hand.mobility @ L), 0.0)
    s = np.sqrt(sigma / sigma.max())
    if previous < 0:
        return int((s > np.sqrt(enter * leave)).sum())
    return int(np.clip(previous, (s > leave).sum(), (s > enter).sum()))


def test_the_rank_is_that_of_the_spectrum_whether_it_is_computed_or_not() -> None:
    rng = np.random.default_rng(8)
    whole = 0
    for _ in range(MANY // 2):
        k = int(rng.integers(1, 7))
        nv = k + int(rng.integers(0, 3))
        _, hand = draw(rng, k, nv, k, least=10 ** rng.uniform(-4, -0.1))
        enter = 10 ** rng.uniform(-5, -0.5)
        leave = enter * rng.uniform(1, 3)
        previous = int(rng.integers(-1, k + 1))
        rank = hand.weigh(previous, enter, leave)
        assert rank == expected_rank(hand, enter, leave, previous)
        whole += hand.whole
    assert 0.1 * MANY < whole < 0.45 * MANY or not JIT_ENABLED


@pytest.mark.parametrize(
    ("sigma", "whole"),
    [
        ([0.3, 0.5, 0.6, 0.8, 0.9, 1.0], True),
        ([0.006, 0.01, 0.01, 0.9, 0.9, 1.0], True),  # a light handle on a heavy mechanism
        ([0.00011, 0.01, 0.01, 0.9, 0.9, 1.0], False),  # too near to the tolerance of 0.01
    ],
)
def test_full_rank_is_seen_without_the_spectrum(sigma: list[float], whole: bool) -> None:
    Q = Rotation.random(rng=np.random.default_rng(9)).as_matrix()
    J = np.kron(np.eye(2), Q) @ np.diag(np.sqrt(sigma))
    hand = Hand(np.eye(6), J, np.eye(6))
    assert hand.weigh(previous=6) == 6
    assert hand.whole == whole


def test_directions_that_the_build_takes_away_need_no_spectrum() -> None:
    """In every frame and unit; the wrench of the thesis, the null space by SciPy."""
    plain, drawn = 0, 0
    for D, rank, hand in hands(21, MANY // 2):
        if not 0 < rank < hand.k:
            continue
        X = np.diag(10.0 ** np.random.default_rng(rank).uniform(-2, 2, hand.k))
        other = hand.seen_in(X)
        assert hand.weigh(rank) == other.weigh(rank) == rank
        drawn += 1
        if not (hand.work.lost[0] and other.work.lost[0]):
            continue
        plain += 1
        assert hand.work.lost[0] == hand.k - rank
        inverse = hand.inverse()
        assert apart(inverse, literal_inverse(hand.J, D, hand.M, rank)) < 1e-10
        assert apart(other.inverse() @ X, inverse) < 1e-9
        N = hand.directions()
        assert same_span(N, null_space(hand.J.T, rcond=1e-6))
        gram = N.T @ np.linalg.solve(hand.M, N)
        np.testing.assert_allclose(gram, np.eye(hand.k - rank), atol=1e-11)
    assert plain > 0.9 * drawn


@pytest.mark.parametrize(
    ("s", "previous", "rank", "plain"),
    [
        ([1.0, 0.5, 0.3, 0.0], 3, 3, True),
        ([1.0, 0.5, 0.3, 1e-4], 3, 3, False),  # lost, but not by round-off
        ([1.0, 0.5, 0.3, 0.015], 3, 3, False),  # in the band of the hysteresis
        ([1.0, 0.5, 0.3, 0.05], 3, 4, False),  # found again
        ([1.0, 0.5, 0.015, 0.0], 3, 3, False),  # one more is about to be lost
        ([1.0, 0.5, 0.0, 0.0], 3, 2, False),  # one more is
        ([1.0, 0.5, 0.0, 0.0], 1, 2, False),
    ],
)
def test_a_loss_that_is_not_plain_is_left_to_the_spectrum(
    s: list[float], previous: int, rank: int, plain: bool
) -> None:
    rng = np.random.default_rng(22)
    U, V = Rotation.random(2, rng=rng).as_matrix()
    left, right = np.eye(4), np.eye(4)
    left[:3, :3], right[1:, 1:] = U, V
    hand = Hand(np.eye(4), left @ right @ np.diag(s), np.eye(4))
    assert hand.weigh(previous) == rank
    assert bool(hand.work.lost[0]) == plain


@cache
def linkage() -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The planar linkage of TH 5.3: three links of 0.2 m."""
    link = "<geom type='capsule' fromto='0 0 0 .2 0 0' size='.01' mass='{}'/>"
    hinge = "<body pos='{} 0 0'><joint axis='0 0 1'/>"
    bodies = hinge.format(0) + link.format(0.3) + hinge.format(0.2) + link.format(0.2)
    bodies += hinge.format(0.2) + link.format(0.1) + "</body></body></body>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    return model, mujoco.MjData(model)


def held_linkage(q: list[float], body: int) -> Hand:
    """A hand in the plane, at the centre of mass of a link."""
    model, data = linkage()
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    D, J = np.zeros((3, 3)), np.zeros((6, 3))
    mujoco.mj_fullM(model, data, D)
    mujoco.mj_jacBodyCom(model, data, J[:3], J[3:], body)
    R = data.ximat[body].reshape(3, 3)
    about_z = (R @ np.diag(model.body_inertia[body]) @ R.T)[2, 2]
    M = np.diag([model.body_mass[body], model.body_mass[body], about_z])
    return Hand(np.linalg.inv(D), J[[0, 1, 5]], M)


@pytest.mark.parametrize(
    ("q", "body", "rank"),
    [
        ([0.3, 0.8, 0.5], 3, 3),
        ([0.3, 0.8, 0.5], 2, 2),  # TH 5.18: held at the middle link
        ([0.3, 0.0, 0.5], 3, 2),  # TH 5.19: in a singular pose
        ([0.3, 0.8, 0.5], 1, 1),
    ],
)
def test_the_linkage_of_the_thesis(q: list[float], body: int, rank: int) -> None:
    hand = held_linkage(q, body)
    assert hand.weigh() == rank
    hand.weigh(previous=0)
    assert hand.work.sigma[2] <= 1 + 1e-12  # the link is a part of the mechanism
    assert same_span(hand.directions(), null_space(hand.J.T, rcond=1e-9))


def least_singular_value(hand: Hand) -> float:
    L = np.linalg.cholesky(hand.M)
    sigma = np.linalg.eigvalsh(L.T @ hand.mobility @ L)
    return float(np.sqrt(max(sigma[0], 0.0) / sigma[-1]))


def changes(path: list[Hand], enter: float, leave: float) -> int:
    """How often the rank changes on the way."""
    count, rank = 0, path[0].weigh(-1, enter, leave)
    for hand in path[1:]:
        before, rank = rank, hand.weigh(rank, enter, leave)
        count += rank != before
    return count


def test_the_rank_does_not_chatter_at_a_singularity() -> None:
    """To and fro through the stretched elbow, with noise on the joint."""
    rng = np.random.default_rng(10)
    passages = 4 if JIT_ENABLED else 1
    elbow = 0.4 * np.cos(np.linspace(0.0, np.pi * passages, 800 * passages))
    noise = 0.008 * rng.uniform(-1, 1, len(elbow))
    smooth = [held_linkage([0.3, q, 0.5], 3) for q in elbow]
    shaky = [held_linkage([0.3, q, 0.5], 3) for q in elbow + noise]
    felt = [
        abs(least_singular_value(a) - least_singular_value(b))
        for a, b in zip(smooth, shaky, strict=True)
    ]
    assert 0.3 * (LEAVE - ENTER) < max(felt) < 0.5 * (LEAVE - ENTER)
    assert changes(smooth, ENTER, ENTER) == 2 * passages
    assert changes(shaky, ENTER, ENTER) > 3 * passages  # one threshold is not enough
    assert changes(shaky, ENTER, LEAVE) == 2 * passages


def test_the_wrench_of_a_lost_direction_fades() -> None:
    """A torque at the elbow, through the stretched pose: it grows as 1/s, but never jumps."""
    angles = np.linspace(0.1, -0.1, 4001)
    torque, rank, wrenches = np.array([0.0, 0.1, 0.0]), -1, []
    for q in angles:
        hand = held_linkage([0.3, q, 0.5], 3)
        rank = hand.weigh(rank)
        wrenches.append(hand.wrench(torque))
    force = np.array(wrenches)
    steps = np.linalg.norm(np.diff(force, axis=0), axis=1)
    assert rank == 3
    assert np.linalg.norm(force, axis=1).max() > 5.0
    assert np.linalg.norm(force[2000]) < 1.0  # the stretched pose takes it all
    assert steps.max() < 0.01 * np.linalg.norm(force, axis=1).max()


# ------------------------------------------------------------- topological constraints


def same_span(A: np.ndarray, B: np.ndarray, tolerance: float = 1e-7) -> bool:
    """Whether two matrices have columns that span the same space."""
    if A.shape != B.shape:
        return False
    return A.shape[1] == 0 or bool(subspace_angles(A, B).max() < tolerance)


def test_the_constraints_are_the_null_space_of_the_transposed_jacobian() -> None:
    """TH C, at every rank; the basis is orthonormal in the link's inverse inertia."""
    for _, rank, hand in hands(11, MANY // 4):
        N = hand.directions()
        assert N.shape == (hand.k, hand.k - rank)
        size = np.linalg.norm(hand.J) * max(np.linalg.norm(N), 1.0)
        assert np.abs(hand.J.T @ N).max(initial=0.0) <= 1e-7 * size
        assert np.abs(hand.mobility @ N).max(initial=0.0) <= 1e-12 * np.linalg.norm(
            hand.mobility
        ) * max(np.linalg.norm(N), 1.0)
        if rank > 0:
            assert same_span(N, null_space(hand.J.T, rcond=1e-6))
        gram = N.T @ np.linalg.solve(hand.M, N)
        np.testing.assert_allclose(gram, np.eye(hand.k - rank), atol=1e-11)


def constrained(seed: int, count: int) -> Iterator[tuple[np.random.Generator, Hand, np.ndarray]]:
    """Hands with less than full rank, and the inertia of a device."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        k = int(rng.choice([3, 6]))
        rank = int(rng.integers(0, k))
        _, hand = draw(rng, k, k + int(rng.integers(0, 3)), rank)
        assert hand.weigh() == rank
        yield rng, hand, random_spd(rng, k)


def test_the_penalty_is_that_of_the_errata_and_of_the_thesis() -> None:
    for rng, hand, M_d in constrained(12, MANY // 10):
        dx, dv = rng.normal(size=(2, hand.k))
        N = null_space(hand.J.T, rcond=1e-6) if hand.rank else np.eye(hand.k)
        error = K_TC * dx + B_TC * dv
        Mi = np.linalg.inv(M_d)
        a = Mi @ N @ np.linalg.inv(N.T @ Mi @ N) @ N.T @ error
        assert apart(hand.penalty(M_d, dx, dv), M_d @ a) < 1e-6
        literal = M_d @ sum(n * (n @ error) for n in N.T)
        assert apart(hand.penalty(M_d, dx, dv, euclidean=True), literal) < 1e-6


def test_the_literal_directions_are_orthonormal_in_any_units() -> None:
    for _, hand, _ in constrained(13, MANY // 20):
        other = hand.seen_in(millimetres(hand.k))
        other.weigh()
        N = other.directions()
        topology.orthonormal_directions(other.k, N.shape[1], other.work)
        E = other.work.E[: other.k, : N.shape[1]]
        np.testing.assert_allclose(E.T @ E, np.eye(N.shape[1]), atol=1e-14)
        np.testing.assert_allclose(E @ (E.T @ N), N, atol=1e-12 * np.abs(N).max())


@pytest.mark.parametrize("change", ["frame", "units"])
def test_the_penalty_does_not_depend_on_frame_or_units(change: str) -> None:
    """As the literal one does (errata to TH 5.23)."""
    worst = 0.0
    for rng, hand, M_d in constrained(14, MANY // 20):
        X = millimetres(hand.k) if change == "units" else rigid_motion(rng, hand.k)
        other, Xi = hand.seen_in(X), np.linalg.inv(X)
        assert other.weigh() == hand.rank
        dx, dv = rng.normal(size=(2, hand.k))
        M_other = symmetric(Xi.T @ M_d @ Xi)
        found = other.penalty(M_other, X @ dx, X @ dv)
        assert apart(X.T @ found, hand.penalty(M_d, dx, dv)) < 1e-9
        literal = other.penalty(M_other, X @ dx, X @ dv, euclidean=True)
        worst = max(worst, apart(X.T @ literal, hand.penalty(M_d, dx, dv, euclidean=True)))
    assert worst > 0.1


def test_the_penalty_leaves_free_motion_alone() -> None:
    helped = 0.0
    for rng, hand, M_d in constrained(15, MANY // 20):
        free = hand.J @ rng.normal(size=(2, hand.J.shape[1])).T
        dx, dv = rng.normal(size=(2, hand.k))
        for euclidean in (False, True):  # no error along what is free
            found = hand.penalty(M_d, *free.T, euclidean)
            scale = np.linalg.norm(M_d) * (K_TC + B_TC) * np.linalg.norm(free)
            assert np.abs(found).max() <= 1e-7 * scale
        pull = hand.penalty(M_d, dx, 0 * dv)
        work = np.abs(pull @ free).max()
        assert work <= 1e-7 * np.linalg.norm(pull) * np.linalg.norm(free)
        assert pull @ dx >= -1e-9 * np.linalg.norm(pull) * np.linalg.norm(dx)  # and a spring
        literal = hand.penalty(M_d, dx, 0 * dv, euclidean=True)
        helped = max(helped, np.abs(literal @ free).max() / np.linalg.norm(literal))
    assert helped > 0.1 or not JIT_ENABLED  # the literal one pushes along what is free


def test_both_penalties_agree_on_a_device_of_unit_inertia() -> None:
    for rng, hand, _ in constrained(16, MANY // 20):
        dx, dv = rng.normal(size=(2, hand.k))
        one, other = (hand.penalty(np.eye(hand.k), dx, dv, flag) for flag in (False, True))
        assert apart(one, other) < 1e-9


def test_without_constraints_there_is_no_penalty() -> None:
    _, hand = draw(np.random.default_rng(17), 6, 7, 6)
    assert hand.weigh() == 6
    for euclidean in (False, True):
        found = hand.penalty(np.eye(6), np.ones(6), np.ones(6), euclidean)
        np.testing.assert_array_equal(found, np.zeros(6))


# ------------------------------------------------------------------------- robustness


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("previous", [-1, 3, 6])
def test_what_is_not_finite_ends_as_nan(bad: float, previous: int) -> None:
    rng = np.random.default_rng(18)
    for which in ("mobility", "M"):
        for i in range(6):
            for j in range(i + 1):
                _, hand = draw(rng, 6, 8, 6)
                matrix = getattr(hand, which)
                matrix[i, j] = matrix[j, i] = bad
                assert hand.weigh(previous) == ranks.NO_RANK
                assert np.isnan(hand.wrench(np.ones(8))).all()
                assert hand.directions().shape == (6, 0)


def test_a_link_without_inertia_has_no_rank() -> None:
    hand = Hand(np.eye(3), np.eye(3), np.diag([1.0, 1.0, 0.0]))
    assert hand.weigh() == ranks.NO_RANK


@pytest.mark.parametrize("mobility", [np.zeros((3, 3)), np.full((3, 3), np.nan)])
def test_a_device_that_cannot_move_has_no_penalty(mobility: np.ndarray) -> None:
    hand = Hand(np.eye(3), np.diag([1.0, 0.0, 0.0]), np.eye(3))
    assert hand.weigh() == 1
    count = topology.constraint_directions(3, 1, hand.work)
    one, out = np.ones(3), np.zeros(3)
    topology.topology_wrench(
        *(3, count, hand.work, np.eye(3), mobility, one, one, K_TC, B_TC, False, TIED, out)
    )
    assert np.isnan(out).any()


@kernel
def many_ticks(
    mobility: np.ndarray, M: np.ndarray, work: ranks.MappingWork, a: np.ndarray, ticks: int
) -> int:
    """All of it, as a tick would; the directions of constraint that were met."""
    rank, met, out, tied = -1, 0, np.zeros(6), np.ones(6)
    for t in range(ticks):
        rank = ranks.weigh(mobility[t % len(mobility)], M, 6, 0.01, 0.02, rank, work)
        mapping.map_torques(6, rank, work, a, out)
        count = topology.constraint_directions(6, rank, work)
        for euclidean in (False, True):
            topology.topology_wrench(6, count, work, M, M, a, a, 1.0, 1.0, euclidean, tied, out)
        met += count
    return met


@pytest.mark.compiled
def test_nothing_allocates() -> None:
    rng = np.random.default_rng(19)
    drawn = [draw(rng, 6, 6, rank)[1] for rank in (6, 6, 5, 3, 0, 6)]
    mobility, M = np.array([hand.mobility for hand in drawn]), np.eye(6)
    work, a = ranks.mapping_work(), np.ones(6)
    many_ticks(mobility, M, work, a, 10)
    enabled = nrt.memsys_stats_enabled()
    nrt.memsys_enable_stats()
    try:
        counts = []
        for ticks in (10, 10_000):
            before = rtsys.get_allocation_stats().alloc
            assert many_ticks(mobility, M, work, a, ticks) > ticks
            counts.append(rtsys.get_allocation_stats().alloc - before)
    finally:
        if not enabled:
            nrt.memsys_disable_stats()
    assert counts[0] == counts[1] > 0  # those of the test's own function, none of a tick


@pytest.mark.parametrize(("previous", "rank"), [(-1, 2), (0, 1), (1, 1), (2, 2), (3, 2)])
def test_in_the_band_the_rank_stays_as_near_as_it_can_to_what_it_was(
    previous: int, rank: int
) -> None:
    """One direction is surely free, one lies in the upper half of the band, one is surely not."""
    between = (0.25 * ENTER + 0.75 * LEAVE) ** 2
    assert ENTER * LEAVE < between < LEAVE**2
    sigma = np.array([0.25 * ENTER**2, between, 1.0])
    assert ranks.rank_of(sigma, 0.0, 3, ENTER, LEAVE, previous) == rank


def test_a_direction_counts_as_long_as_it_is_tied_and_no_longer() -> None:
    """It comes by *ease* a tick, goes by as much, and is not counted before and after."""
    rng, ease = np.random.default_rng(9), 0.3
    for k, nv, rank in ((3, 2, 2), (6, 2, 2), (6, 5, 5), (6, 9, 6), (3, 1, 1)):
        _, hand = draw(rng, k, nv, rank, least=0.5)
        hand.weigh()
        assert hand.rank == rank
        tied, came = np.zeros(6), np.zeros(6)
        for ticks in range(1, 6):
            count = topology.tied_directions(k, hand.rank, ease, hand.work, tied, came)
            assert count == k - rank == (tied[:k] > 0.0).sum()
            want = min(ticks * ease, 1.0)
            np.testing.assert_allclose(tied[:count], want, atol=1e-9)
            assert came[:count].all() == (ticks == 1) or count == 0
        free = draw(rng, k, k + 2, k, least=0.5)[1]
        free.work = hand.work  # the same hand, free again
        free.weigh()
        left = [
            topology.tied_directions(k, free.rank, ease, free.work, tied, came) for _ in range(5)
        ]
        assert left[-1] == 0 and not tied.any()
        assert left[0] >= k - rank
