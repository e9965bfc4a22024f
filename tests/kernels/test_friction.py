"""Friction: what holds, what slips, what rings; against closed forms and TH 4.3.1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from detent.kernels.constants import FRICTION_MEMORY
from detent.kernels.friction import (
    CLASSICAL,
    DAHL,
    DEADBANDS,
    EQ_4_8,
    LAWS,
    NAHVI,
    NONE,
    RESET_INTEGRATOR,
    SYMMETRIC,
    friction_force,
)

BONDS = (RESET_INTEGRATOR, NAHVI, DAHL)
ALL = (*BONDS, CLASSICAL)


def name(law: int) -> str:
    return LAWS[law]


@dataclass
class Rubbing:
    """One contact, with the parameters of TH 4.3.1."""

    law: int = RESET_INTEGRATOR
    damping: float = 118.0  # [N·s/m], or −ζ
    normal_force: float = 0.175  # [N]
    mobility: float = 1.0  # [1/kg] two contacts on 2 kg
    step: float = 1 / 512  # [s]
    mu_s: float = 0.25
    mu_k: float = 0.2
    breakaway: float = 1e-5  # [m]
    v_min: float = 1e-4  # [m/s]
    deadband: int = SYMMETRIC

    def __post_init__(self) -> None:
        self.memory = np.zeros(FRICTION_MEMORY)
        self.normal = np.array([1.0, 0.0, 0.0])
        self.bounded = 0

    @property
    def limit(self) -> float:
        return (self.mu_k if self.law == DAHL else self.mu_s) * self.normal_force

    @property
    def slipping(self) -> bool:
        return bool(self.memory[3])

    def force(self, v_t: np.ndarray) -> np.ndarray:
        out = np.full(3, np.nan)
        self.bounded = friction_force(
            self.law, self.deadband, v_t, self.normal_force, self.normal, self.mobility, self.step,
            self.mu_s, self.mu_k, self.breakaway, self.damping, self.v_min, self.memory, out,
        )  # fmt: skip
        return out


@dataclass
class Track:
    """What a sliding mass did."""

    x: np.ndarray  # [m]
    v: np.ndarray  # [m/s]
    friction: np.ndarray  # [N] of all contacts

    @property
    def travel(self) -> float:
        return float(self.x[-1])

    def first_stick(self, step: float) -> slice:
        """1.5 s from when it first comes to rest again (TH Fig 4.7): slower than 1 mm/s."""
        moving = int(np.argmax(np.abs(self.v) > 5e-3))
        start = moving + int(np.argmax(np.abs(self.v[moving:]) < 1e-3))
        return slice(start, start + round(1.5 / step))

    def sticks(self, step: float) -> int:
        """How many times it rested for half a second after having moved."""
        moves = np.flatnonzero(np.abs(self.v) > 1e-3)
        ends = np.append(moves[1:], len(self.v))
        return int(np.sum((ends - moves) * step > 0.5))


def push(
    contact: Rubbing, load: Callable[[float], float], seconds: float, mass: float = 2.0
) -> Track:
    """A mass on two equal contacts, pushed along y; velocity first, as in the servo."""
    steps = round(seconds / contact.step)
    v_t = np.zeros(3)
    x = 0.0
    rows = np.zeros((steps, 3))
    for k in range(steps):
        friction = 2.0 * contact.force(v_t)[1]
        v_t[1] += contact.step * (load(k * contact.step) + friction) / mass
        x += contact.step * v_t[1]
        rows[k] = x, v_t[1], friction
    return Track(rows[:, 0], rows[:, 1], rows[:, 2])


def pulsing(amplitude: float) -> Callable[[float], float]:
    """X4: F = A (1 + sin t)."""
    return lambda t: amplitude * (1.0 + math.sin(t))


def eased(load: float, seconds: float = 2.0) -> Callable[[float], float]:
    """Reach the load without shaking the bond, which nothing damps in two of the laws."""
    return lambda t: load * 0.5 * (1.0 - math.cos(math.pi * min(t / seconds, 1.0)))


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


# --- sticking


@pytest.mark.parametrize("law", BONDS, ids=name)
def test_a_bond_holds_99_percent_of_breakaway_without_drift(law: int) -> None:
    contact = Rubbing(law)
    track = push(contact, eased(2 * 0.99 * contact.limit), 60.0)
    tenth = len(track.x) // 6
    early, late = track.x[tenth : 2 * tenth].mean(), track.x[-tenth:].mean()
    assert abs(late - early) < 1e-3 * contact.breakaway
    assert not contact.slipping


@pytest.mark.parametrize("law", BONDS, ids=name)
def test_a_bond_breaks_above_its_limit(law: int) -> None:
    contact = Rubbing(law)
    track = push(contact, eased(2 * 1.01 * contact.limit), 10.0)
    assert track.travel > 100 * contact.breakaway


def test_a_held_load_stretches_the_bond_by_load_over_stiffness() -> None:
    contact = Rubbing()
    track = push(contact, eased(2 * 0.5 * contact.limit), 6.0)
    stiffness = contact.mu_s * contact.normal_force / contact.breakaway  # (1+a) K_r
    assert track.travel == pytest.approx(0.5 * contact.limit / stiffness, rel=1e-9)


@pytest.mark.parametrize("load", [0.01, 0.03, 0.07])
def test_classical_friction_drifts_as_predicted(load: float) -> None:
    """M12: v_min F/(μ_s f_n); 0.343 mm in 10 s at 0.03 N."""
    contact = Rubbing(CLASSICAL)
    drift = push(contact, lambda t: load, 10.0).travel
    assert drift == pytest.approx(10.0 * contact.v_min * load / (2 * contact.limit), rel=0.05)
    if load == 0.03:
        assert drift == pytest.approx(0.343e-3, rel=1e-2)


@pytest.mark.parametrize("damping", [0.0, 118.0, 1180.0, 1e9, -1.0, -50.0])
def test_stick_force_never_exceeds_the_limit(damping: float) -> None:
    """Not even when the damper is hit."""
    rng = np.random.default_rng(1)
    contact = Rubbing(damping=damping)
    for speed in 10.0 ** rng.uniform(-6, 1, 3000):
        v_t = speed * np.array([0.0, *rng.normal(size=2)])
        force = np.linalg.norm(contact.force(v_t))
        assert force <= contact.limit * (1 + 1e-12)
        if contact.slipping:
            assert force <= contact.mu_k * contact.normal_force * (1 + 1e-12)


def test_a_damping_ratio_of_one_is_the_thesis_critical_damping() -> None:
    """Errata B2: 2 √(K_r m/n) = 118.3 for two contacts on 2 kg."""
    v_t = np.array([0.0, 1e-5, 0.0])
    ratio, raw = Rubbing(damping=-1.0), Rubbing(damping=2 * math.sqrt(3500.0))
    np.testing.assert_allclose(ratio.force(v_t), raw.force(v_t), rtol=1e-14)
    spring = 4375.0 * v_t[1] / 512
    implicit = 118.32 / (1 + 118.32 / 512)
    assert -raw.force(np.zeros(3))[1] == pytest.approx(spring, rel=1e-12)
    assert -Rubbing(damping=118.32).force(v_t)[1] == pytest.approx(spring + implicit * v_t[1])


@pytest.mark.parametrize("damping", [1180.0, 1e6])
def test_any_damping_is_stable(damping: float) -> None:
    """Errata B2: β n T/m = 2.3 explodes if taken explicitly."""
    contact = Rubbing(damping=damping)
    track = push(contact, eased(contact.limit), 20.0)
    assert np.abs(track.v[-100:]).max() < 1e-7
    assert track.friction[-1] == pytest.approx(-contact.limit, rel=0.01)


# --- slipping


@pytest.mark.parametrize("law", ALL, ids=name)
@pytest.mark.parametrize("speed", [1e-3, 0.05, 2.0])
def test_slip_force_is_coulombs_and_opposes_sliding(law: int, speed: float) -> None:
    rng = np.random.default_rng(2)
    contact = Rubbing(law)
    mu = contact.mu_k
    for _ in range(20):
        angle = rng.uniform(0, 2 * math.pi)
        v_t = speed * np.array([0.0, math.cos(angle), math.sin(angle)])
        for _ in range(2 + math.ceil(20 * contact.breakaway / (speed * contact.step))):
            force = contact.force(v_t)
        expected = -mu * contact.normal_force * v_t / speed
        np.testing.assert_allclose(force, expected, atol=0.01 * mu * contact.normal_force)
        assert contact.slipping
        assert force @ v_t < 0.0


@pytest.mark.parametrize("law", BONDS, ids=name)
def test_a_fast_landing_slips_at_once(law: int) -> None:
    contact = Rubbing(law)
    force = contact.force(np.array([0.0, 0.3, 0.0]))
    np.testing.assert_allclose(force, [0.0, -0.035, 0.0], rtol=1e-12)


@pytest.mark.parametrize("law", ALL, ids=name)
def test_a_fast_reversal_is_opposed_at_once(law: int) -> None:
    contact = Rubbing(law)
    for sign in (1.0, -1.0, 1.0):
        force = contact.force(np.array([0.0, 0.1 * sign, 0.0]))
        assert force[1] * sign <= -0.035 + 1e-12


def test_a_slipping_bond_holds_again_when_it_shortens_faster_than_the_dead_band() -> None:
    """TH 4.8 with errata E7: in either direction."""
    for sign in (1.0, -1.0):
        for speed, sticks in ((-0.9e-4, False), (-1.1e-4, True), (0.9e-4, False), (1.0, False)):
            contact = Rubbing(damping=0.0)
            contact.force(np.array([0.0, sign * 1e-2, 0.0]))
            force = contact.force(np.array([0.0, sign * speed, 0.0]))
            assert contact.slipping != sticks
            strain = 1.0 + speed * contact.step / contact.breakaway
            expected = contact.limit * strain if sticks else 0.2 * contact.normal_force
            assert -sign * force[1] == pytest.approx(expected, rel=1e-12)


# --- energy


def friction_work(contact: Rubbing, velocity: np.ndarray) -> np.ndarray:
    """Work of friction along a prescribed motion, as velocity-first steps account for it."""
    forces = np.array([contact.force(v) for v in velocity])
    mean = 0.5 * (forces[1:] + forces[:-1])
    return np.cumsum(np.sum(mean * velocity[1:], axis=1)) * contact.step


def closed_path(rng: np.random.Generator, speed: float, steps: int) -> np.ndarray:
    """Velocities along a smooth random loop in the tangent plane."""
    t = np.arange(steps) / steps * 2 * math.pi
    velocity = np.zeros((steps, 3))
    for k in range(1, 6):
        for axis in (1, 2):
            amplitude, phase = rng.normal(), rng.uniform(0, 2 * math.pi)
            velocity[:, axis] += amplitude * np.cos(k * t + phase)
    return speed * velocity


@pytest.mark.parametrize("damping", [0.0, 118.0], ids=["undamped", "damped"])
@pytest.mark.parametrize("ratio", [1.0, 1.25, 3.0])
def test_no_energy_is_created_over_closed_cycles(damping: float, ratio: float) -> None:
    """From a relaxed bond, friction never has given more than it took: slow, fast, micro."""
    rng = np.random.default_rng(3)
    for speed in 10.0 ** rng.uniform(-5.0, -2.0, 12):
        contact = Rubbing(damping=damping, mu_s=0.2 * ratio, step=min(1e-7 / speed, 1e-3))
        loop = closed_path(rng, speed, 1500)
        work = friction_work(contact, np.vstack([np.zeros(3), loop, loop]))
        assert work.max() <= 1e-12 * contact.limit * contact.breakaway


def test_the_dead_band_does_not_push_a_hand_that_backs_off_slowly() -> None:
    """With TH 4.8 to the letter, ż = 0 there and μ_k f_n assists without end."""
    contact = Rubbing(damping=0.0)
    out, back = np.array([0.0, 1e-3, 0.0]), np.array([0.0, -0.5e-4, 0.0])  # half of v_min
    for _ in range(100):
        contact.force(out)
    given = [contact.force(back) @ back * contact.step for _ in range(100)]
    assert not contact.slipping
    given += [contact.force(back) @ back * contact.step for _ in range(1900)]
    assert sum(given[:400]) < 0.5 * contact.limit * contact.breakaway  # what the bond held
    assert given[-1] < 0.0  # and then it opposes


# --- vectors


@pytest.mark.parametrize("law", ALL, ids=name)
def test_isotropy(law: int) -> None:
    """Rotating everything rotates the force."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        R = random_rotation(rng)
        one, two = Rubbing(law), Rubbing(law)
        one.normal = random_rotation(rng)[0]
        velocity = np.zeros(3)
        for _ in range(200):
            one.normal = one.normal + 0.02 * rng.normal(size=3)
            one.normal /= np.linalg.norm(one.normal)
            velocity = 0.9 * velocity + 10.0 ** rng.uniform(-5, -2) * rng.normal(size=3)
            velocity -= velocity @ one.normal * one.normal
            one.normal_force = two.normal_force = rng.uniform(0.5, 1.5)
            two.normal = R @ one.normal
            force = one.force(velocity)
            np.testing.assert_allclose(two.force(R @ velocity), R @ force, rtol=0, atol=1e-12)
            np.testing.assert_allclose(two.memory[:3], R @ one.memory[:3], rtol=0, atol=1e-12)
            assert abs(force @ one.normal) < 1e-12


@pytest.mark.parametrize("law", BONDS, ids=name)
def test_the_bond_stays_in_the_tangent_plane_and_within_its_length(law: int) -> None:
    rng = np.random.default_rng(5)
    contact = Rubbing(law)
    for _ in range(500):
        contact.normal = random_rotation(rng)[0]  # a wild surface
        v_t = rng.normal(size=3) * 10.0 ** rng.uniform(-6, 0)
        contact.force(v_t - v_t @ contact.normal * contact.normal)
        assert abs(contact.memory[:3] @ contact.normal) < 1e-12
        assert np.linalg.norm(contact.memory[:3]) <= 1 + 1e-12


# --- a normal force that changes


@pytest.mark.parametrize("law", BONDS, ids=name)
def test_a_held_load_does_not_move_when_the_normal_force_ripples(law: int) -> None:
    contact = Rubbing(law)
    push(contact, eased(contact.limit), 2.0)
    rest = np.zeros(3)
    held = contact.force(rest)
    for k in range(1000):
        contact.normal_force = 0.175 * (1 + 0.3 * math.sin(0.7 * k))
        np.testing.assert_allclose(contact.force(rest), held, rtol=1e-9)


@pytest.mark.parametrize("law", BONDS, ids=name)
def test_a_slipping_bond_follows_the_normal_force_at_once(law: int) -> None:
    contact = Rubbing(law)
    slide = np.array([0.0, 2e-4, 0.0])
    for _ in range(200):
        contact.force(slide)
    for k in range(100):
        contact.normal_force = 0.175 * (1 + 0.5 * math.sin(2.0 * k))
        assert -contact.force(slide)[1] == pytest.approx(0.2 * contact.normal_force, rel=1e-9)


@pytest.mark.parametrize("law", (RESET_INTEGRATOR, DAHL), ids=name)
def test_a_load_that_the_normal_force_no_longer_holds_slips(law: int) -> None:
    contact = Rubbing(law)
    push(contact, eased(2 * 0.8 * contact.limit), 3.0)
    contact.normal_force *= 0.5
    force = contact.force(np.zeros(3))
    assert contact.slipping
    assert np.linalg.norm(force) == pytest.approx(0.2 * contact.normal_force)


@pytest.mark.parametrize("law", ALL, ids=name)
def test_memory_ends_with_the_contact(law: int) -> None:
    contact = Rubbing(law)
    contact.force(np.array([0.0, 1e-3, 0.0]))
    contact.normal_force = 0.0
    assert not contact.force(np.array([0.0, 1e-3, 0.0])).any()
    assert not contact.memory.any()


def test_no_friction() -> None:
    for contact in (Rubbing(NONE), Rubbing(mu_s=0.0, mu_k=0.0), Rubbing(mobility=0.0)):
        contact.memory[:] = 1.0
        assert not contact.force(np.array([0.0, 1e-3, 0.0])).any()
        assert not contact.memory.any()


def test_names() -> None:
    assert LAWS[RESET_INTEGRATOR] == "reset-integrator"
    assert (LAWS[NONE], LAWS[NAHVI], LAWS[DAHL], LAWS[CLASSICAL]) == (
        *("none", "nahvi", "dahl", "classical"),
    )
    assert (DEADBANDS[SYMMETRIC], DEADBANDS[EQ_4_8]) == ("symmetric", "eq4.8")


# --- what a fixed step can hold


@pytest.mark.parametrize("law", BONDS, ids=name)
def test_a_bond_too_stiff_for_the_step_is_bounded_and_says_so(law: int) -> None:
    """Without the bound, K g T² = 76 to 95 here."""
    contact = Rubbing(law, normal_force=1000.0, damping=-1.0)
    track = push(contact, eased(contact.limit), 30.0)
    assert contact.bounded
    settled = track.v[-len(track.v) // 3 :]
    assert np.abs(settled).max() < 1e-2 * contact.limit * contact.step
    assert track.friction[-5000:].mean() == pytest.approx(-contact.limit, rel=1e-3)


@pytest.mark.parametrize("guess", [1.0, 2.0, 5.0])
def test_the_classical_ramp_needs_no_bound(guess: float) -> None:
    """c g T = 4900 here; and the mobility may be overestimated."""
    contact = Rubbing(CLASSICAL, normal_force=1000.0, mobility=guess)
    track = push(contact, eased(contact.limit), 30.0)
    assert not contact.bounded
    np.testing.assert_allclose(track.v[-5000:], 0.5 * contact.v_min, rtol=1e-6)


@pytest.mark.parametrize("law", ALL, ids=name)
def test_nothing_is_bounded_in_the_documents_experiment(law: int) -> None:
    contact = Rubbing(law)
    contact.force(np.array([0.0, 1e-3, 0.0]))
    assert not contact.bounded


def test_the_bound_is_a_quarter() -> None:
    v_t = np.array([0.0, 1e-7, 0.0])
    contact = Rubbing(normal_force=1000.0, damping=0.0)
    stiffness = -contact.force(v_t)[1] / (v_t[1] * contact.step)
    assert stiffness * contact.mobility * contact.step**2 == pytest.approx(0.25)


# --- TH Fig 4.7, 4.9


@pytest.mark.parametrize(
    ("amplitude", "damping"),
    [*((a, b) for a in (0.05, 0.06) for b in (0.0, 118.0, 1180.0)), (0.07, 118.0), (0.07, 1180.0)],
)
def test_stick_and_slip_whatever_the_damping(amplitude: float, damping: float) -> None:
    """X4: three stick phases in 20 s (undamped at 0.07 N, it is pulled on before it stops)."""
    contact = Rubbing(damping=damping)
    track = push(contact, pulsing(amplitude), 20.0)
    assert track.sticks(contact.step) == 3
    assert np.abs(track.friction).max() <= 2 * contact.limit * (1 + 1e-12)


def test_travel_in_the_hole() -> None:
    """X4: from 0.10 m to 0.22, 0.44 and 0.74 m; at 1 N it never sticks again, 102 m."""
    ends = [0.10 + push(Rubbing(), pulsing(a), 20.0).travel for a in (0.05, 0.06, 0.07)]
    np.testing.assert_allclose(ends, [0.22, 0.44, 0.74], atol=0.005)
    assert push(Rubbing(), pulsing(1.0), 20.0).travel == pytest.approx(102.0, abs=1.0)


def stick_speed(contact: Rubbing, amplitude: float = 0.05) -> float:
    """rms speed in the first 1.5 s of the first stiction."""
    track = push(contact, pulsing(amplitude), 8.0)
    return float(np.sqrt(np.mean(track.v[track.first_stick(contact.step)] ** 2)))


def test_damping_removes_the_ringing() -> None:
    """X4: 4.3e-4 against 9e-5 m/s."""
    assert stick_speed(Rubbing(damping=0.0)) == pytest.approx(4.3e-4, rel=0.05)
    assert stick_speed(Rubbing(damping=118.0)) == pytest.approx(9e-5, rel=0.05)
    assert stick_speed(Rubbing(damping=1180.0)) == pytest.approx(9e-5, rel=0.05)


@pytest.mark.parametrize("damping", [118.0, 1180.0])
def test_damping_removes_the_ringing_at_the_chosen_force(damping: float) -> None:
    assert stick_speed(Rubbing(damping=0.0), 0.06) > 3 * stick_speed(Rubbing(damping=damping), 0.06)


def test_the_other_bonds_ring() -> None:
    """X5: Dahl 3.7e-4, Nahvi 3.4e-4 against 9.3e-5 m/s."""
    assert stick_speed(Rubbing(DAHL)) == pytest.approx(3.7e-4, rel=0.05)
    assert stick_speed(Rubbing(NAHVI)) == pytest.approx(3.4e-4, rel=0.1)
    assert stick_speed(Rubbing()) == pytest.approx(9.3e-5, rel=0.05)


def test_sliding_backwards() -> None:
    """Errata E7: the literal dead band lets the bond grow instead (0.1 against 118 mm)."""
    right = push(Rubbing(), pulsing(-0.05), 20.0)
    literal = push(Rubbing(deadband=EQ_4_8), pulsing(-0.05), 20.0)
    assert right.travel == pytest.approx(-0.118, abs=2e-3)
    assert abs(literal.travel) < 0.5e-3
    assert np.abs(literal.friction).max() > 0.12 > np.abs(right.friction).max()


def test_the_two_dead_bands_agree_forwards() -> None:
    right = push(Rubbing(), pulsing(0.05), 10.0)
    literal = push(Rubbing(deadband=EQ_4_8), pulsing(0.05), 10.0)
    np.testing.assert_allclose(literal.x, right.x, atol=1e-12)


def test_classical_friction_slips_beyond_its_limit_and_only_there() -> None:
    """It says so, and slides with μ_k f_n; below, it never exceeds μ_s f_n."""
    for speed, slips in ((1e-6, False), (0.5e-4, False), (1.0, True), (1e-3, True)):
        contact = Rubbing(CLASSICAL)
        force = np.linalg.norm(contact.force(np.array([0.0, speed, 0.0])))
        assert contact.slipping == slips
        assert not slips or force == pytest.approx(contact.mu_k * contact.normal_force)
        assert force <= contact.limit
