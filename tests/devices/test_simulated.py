"""The simulated impedance device alone: how it moves, rubs, delays and measures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from detent.devices import Inertial
from detent.devices.adapters import Placed
from detent.devices.port import SEQUENCE, STAMP, make_command, make_state
from detent.devices.simulated import (
    Mass,
    held_response,
    make_mass,
    read_mass,
    write_mass,
)
from detent.kernels.constants import INTEGRATORS

STEP = 1e-3  # [s]
CASES = 20
BLOCKS = (slice(0, 3), slice(3, 6))  # translation, rotation


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """(6, 6) symmetric, positive, everything coupled with everything."""
    A = rng.standard_normal((6, 6))
    return A @ A.T + np.eye(6)


def device(
    inertia: np.ndarray | None = None,
    friction: tuple[float, float] = (0.0, 0.0),
    damping: tuple[float, float] = (0.0, 0.0),
    integrator: str = "held",
    twist: np.ndarray | None = None,
) -> Mass:
    """A mass in the origin."""
    state = make_state()
    state.quaternion[0] = state.true_pose[3] = 1.0
    state.true_twist[:] = 0.0 if twist is None else twist
    mass = make_mass(state, make_command(), np.zeros(6))
    mass.mobility[:] = np.linalg.inv(np.eye(6) if inertia is None else inertia)
    mass.friction[:], mass.damping[:], mass.step[:] = friction, damping, STEP
    mass.integrator[:] = INTEGRATORS.index(integrator)
    mass.response[:] = held_response(mass.mobility, mass.damping, STEP)
    mass.last[3] = 1.0
    return mass


def move(mass: Mass, wrench: np.ndarray, ticks: int = 1) -> None:
    """Under a command that stays."""
    mass.command.wrench[:] = wrench
    for _ in range(ticks):
        write_mass(mass)


def turned(mass: Mass) -> np.ndarray:
    """(3,) [rad] rotation vector since the start."""
    w, x, y, z = mass.state.true_pose[3:]
    return Rotation.from_quat([x, y, z, w]).as_rotvec()


# --- a damped mass under a held force


@pytest.mark.parametrize("damping", [(0.0, 0.0), (1e-3, 2e-3), (3.0, 0.2), (900.0, 4000.0)])
def test_it_moves_as_a_damped_mass_under_a_held_force(damping: tuple[float, float]) -> None:
    """Against the exponential of the whole system, [x, v, F]."""
    rng = np.random.default_rng(1)
    for _ in range(CASES):
        M, v, F = random_inertia(rng), rng.standard_normal(6), rng.standard_normal(6)
        system = np.zeros((18, 18))
        system[:6, 6:12] = np.eye(6)
        system[6:12, 6:12] = -np.linalg.solve(M, np.diag(np.repeat(damping, 3)))
        system[6:12, 12:] = np.linalg.inv(M)
        want = expm(system * STEP) @ np.concatenate([np.zeros(6), v, F])
        mass = device(M, damping=damping, twist=v)
        mass.hand[:] = 0.3 * F  # hand and motors push alike
        move(mass, 0.7 * F)
        np.testing.assert_allclose(mass.state.true_twist, want[6:12], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(mass.state.true_pose[:3], want[:3], rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(turned(mass), want[3:6], rtol=1e-9, atol=1e-14)


def test_work_becomes_kinetic_energy_to_round_off() -> None:
    rng = np.random.default_rng(2)
    for _ in range(CASES):
        M, v, F = random_inertia(rng), rng.standard_normal(6), rng.standard_normal(6)
        mass = device(M, twist=v)
        move(mass, F)
        way = np.concatenate([mass.state.true_pose[:3], turned(mass)])
        after = mass.state.true_twist
        assert 0.5 * (after @ M @ after - v @ M @ v) == pytest.approx(F @ way, rel=1e-9, abs=1e-14)


def test_velocity_first_is_the_documents_inertia() -> None:
    """v⁺ = v + T M⁻¹(F − B v), x⁺ = x + T v⁺ (TH 4.5)."""
    rng = np.random.default_rng(3)
    for _ in range(CASES):
        M, v, F = random_inertia(rng), rng.standard_normal(6), rng.standard_normal(6)
        mass = device(M, damping=(2.0, 0.3), integrator="velocity-first", twist=v)
        move(mass, F)
        after = v + STEP * np.linalg.solve(M, F - np.repeat([2.0, 0.3], 3) * v)
        np.testing.assert_allclose(mass.state.true_twist, after, atol=1e-13)
        np.testing.assert_allclose(mass.state.true_pose[:3], STEP * after[:3], atol=1e-15)
        np.testing.assert_allclose(turned(mass), STEP * after[3:], atol=1e-13)


# --- Coulomb friction

COULOMB = (0.8, 0.05)  # [N, N·m]
MASSES = (0.4, 0.02)  # [kg, kg·m²]
BLOCK_INERTIA = np.diag(np.repeat(MASSES, 3))


def rubbing(block: int, axis: np.ndarray, speed: float, integrator: str = "held") -> Mass:
    """It translates or turns along one axis."""
    twist = np.zeros(6)
    twist[BLOCKS[block]] = speed * axis
    return device(BLOCK_INERTIA, COULOMB, integrator=integrator, twist=twist)


def push(mass: Mass, block: int, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One step; velocity and way of that block."""
    wrench = np.zeros(6)
    wrench[BLOCKS[block]] = force
    move(mass, wrench)
    way = mass.state.true_pose[:3] if block == 0 else turned(mass)
    return mass.state.true_twist[BLOCKS[block]].copy(), way


def fine(block: int, speed: float, force: float) -> tuple[float, float]:
    """The same in a thousand pieces: between them it stops, sticks or breaks away."""
    m, c, x, dt = MASSES[block], COULOMB[block], 0.0, STEP / 1000
    for _ in range(1000):
        if speed == 0.0 and abs(force) <= c:
            break
        a = (force - c * np.sign(speed if speed != 0.0 else force)) / m
        until = -speed / a if speed * a < 0.0 else dt
        x += speed * min(until, dt) + 0.5 * a * min(until, dt) ** 2
        speed = 0.0 if until < dt else speed + a * dt
    return speed, x


@pytest.mark.parametrize("block", [0, 1])
def test_friction_stops_it_where_it_should(block: int) -> None:
    """Exactly, without damping: within a tick, against the push and with it."""
    rng = np.random.default_rng(4)
    c, m = COULOMB[block], MASSES[block]
    for force in c * np.array([-2.5, -1.2, -0.7, 0.0, 0.6, 0.95]):
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        speed = 0.4 * STEP * (c - force) / m  # it stops after 0.4 ticks
        after, way = push(rubbing(block, axis, speed), block, force * axis)
        rest = 0.6 * STEP
        left = min(force + c, 0.0) / m  # what friction leaves of a push back
        np.testing.assert_allclose(after, left * rest * axis, atol=1e-15)
        want = (0.5 * speed * 0.4 * STEP + 0.5 * left * rest**2) * axis
        np.testing.assert_allclose(way, want, atol=1e-15)
        v, x = fine(block, speed, force)
        assert after @ axis == pytest.approx(v, abs=2e-3 * abs(left) * STEP + 1e-12)
        assert way @ axis == pytest.approx(x, abs=1e-9)


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_friction_of_rotation_is_its_own_number(block: int, integrator: str) -> None:
    """c/m or c_r/I, whichever it is: the other one does not act."""
    axis = np.array([0.6, 0.0, 0.8])
    after, _ = push(rubbing(block, axis, 1.0, integrator), block, np.zeros(3))
    want = 1.0 - STEP * COULOMB[block] / MASSES[block]
    np.testing.assert_allclose(after, want * axis, atol=1e-15)


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_it_sticks_below_the_friction_and_breaks_away_above(block: int, integrator: str) -> None:
    axis, c, m = np.array([0.0, -0.8, 0.6]), COULOMB[block], MASSES[block]
    after, way = push(rubbing(block, axis, 0.0, integrator), block, 0.999 * c * axis)
    assert not after.any() and not way.any()
    after, _ = push(rubbing(block, axis, 0.0, integrator), block, 1.5 * c * axis)
    np.testing.assert_allclose(after, 0.5 * c / m * STEP * axis, atol=1e-15)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_what_friction_can_stop_within_a_tick_rests(integrator: str) -> None:
    for block in (0, 1):
        speed = 0.9 * STEP * COULOMB[block] / MASSES[block]
        after, _ = push(rubbing(block, np.eye(3)[2], speed, integrator), block, np.zeros(3))
        assert not after.any()


@pytest.mark.parametrize("block", [0, 1])
def test_friction_and_damping_while_it_slides(block: int) -> None:
    """m v̇ = −b v − c, in closed form."""
    b, c, m = (6.0, 0.2)[block], COULOMB[block], MASSES[block]
    twist = np.zeros(6)
    twist[3 * block + 1] = 2.0
    mass = device(BLOCK_INERTIA, COULOMB, (6.0, 0.2), twist=twist)
    after, way = push(mass, block, np.zeros(3))
    decay = np.exp(-b * STEP / m)
    assert after[1] == pytest.approx(2.0 * decay - c / b * (1 - decay), abs=1e-12)
    want = (2.0 + c / b) * m / b * (1 - decay) - c / b * STEP
    assert way[1] == pytest.approx(want, abs=1e-13)


def test_it_never_gains_energy_by_friction() -> None:
    """Also where it is pushed across its motion, and brought to rest."""
    rng = np.random.default_rng(5)
    for _ in range(5 * CASES):
        v, F = (
            2e-3 * rng.standard_normal(6),
            np.concatenate([rng.standard_normal(3), 0.06 * rng.standard_normal(3)]),
        )
        mass = device(BLOCK_INERTIA, COULOMB, twist=v)
        move(mass, F)
        way = np.concatenate([mass.state.true_pose[:3], turned(mass)])
        after = mass.state.true_twist
        gained = 0.5 * (after @ BLOCK_INERTIA @ after - v @ BLOCK_INERTIA @ v)
        assert gained <= F @ way + 1e-9


# --- a sampled wall


def sampled_wall(m: float, b: float, K: float, delay: int) -> np.ndarray:
    """The exact step of mass, damper and held spring: states x, v, and forces on their way."""
    decay = np.exp(-b * STEP / m)
    gone = (1.0 - decay) / b  # what a force makes of v, and v of x (times m)
    A = np.zeros((2 + delay, 2 + delay))
    A[0, :2], A[1, :2] = [1.0, m * gone], [0.0, decay]
    effect = np.array([(STEP - m * gone) / b, gone])
    if delay == 0:
        A[:2, 0] -= K * effect
        return A
    A[:2, -1] = effect
    A[2, 0] = -K
    for i in range(3, 2 + delay):
        A[i, i - 1] = 1.0
    return A


def boundary(m: float, b: float, delay: int) -> float:
    """[N/m] the stiffness at which an eigenvalue leaves the unit circle."""

    def excess(K: float) -> float:
        return float(np.abs(np.linalg.eigvals(sampled_wall(m, b, K, delay))).max()) - 1.0

    colgate = b / (STEP / 2 + delay * STEP)
    return float(brentq(excess, 0.3 * colgate, 2.0 * colgate))


def growth(m: float, b: float, K: float, delay: int, integrator: str = "held") -> float:
    """How much larger an oscillation on the wall is after 800 ticks."""
    mass = device(m * np.eye(6), damping=(b, b), integrator=integrator)
    mass.delay[:] = delay
    mass.state.true_pose[0] = 1e-3
    x = []
    for _ in range(900):
        read_mass(mass)
        x.append(mass.state.position[0])
        mass.command.wrench[0] = -K * x[-1]
        write_mass(mass)
    return float(np.abs(x[-100:]).max() / np.abs(x[:100]).max())


@pytest.mark.parametrize("delay", [0, 1])
def test_a_sampled_wall_hums_from_the_exact_boundary_on(delay: int) -> None:
    K = boundary(0.1, 20.0, delay)
    assert growth(0.1, 20.0, 0.98 * K, delay) < 0.9
    assert growth(0.1, 20.0, 1.02 * K, delay) > 1.1


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_boundary_is_colgates(delay: int) -> None:
    """K < b / (T/2 + d T), where the mass is large beside b T."""
    assert boundary(1.0, 2.0, delay) == pytest.approx(2.0 / (STEP * (0.5 + delay)), rel=0.01)


def test_velocity_first_hides_it() -> None:
    K = boundary(1.0, 10.0, 0)
    assert growth(1.0, 10.0, 100 * K, 0, "velocity-first") <= 1.0
    assert growth(1.0, 10.0, 1.5 * K, 0) > 1.1


# --- delay, encoders, counts


@pytest.mark.parametrize("delay", [0, 1, 7, 64])
def test_a_delay_is_exact(delay: int) -> None:
    """A blow of one tick moves it so many ticks later, and only then."""
    mass = device()
    mass.delay[:] = delay
    speeds = []
    for tick in range(delay + 70):
        mass.command.wrench[2] = 5.0 if tick == 1 else 0.0
        write_mass(mass)
        speeds.append(mass.state.true_twist[2])
    want = np.where(np.arange(len(speeds)) >= 1 + delay, 5.0 * STEP, 0.0)
    np.testing.assert_allclose(speeds, want, atol=1e-15)


def test_encoders_round_positions_and_nothing_else() -> None:
    rng = np.random.default_rng(6)
    quantum = 2e-5
    mass = device(twist=rng.standard_normal(6))
    mass.resolution[:] = quantum
    for _ in range(CASES):
        move(mass, rng.standard_normal(6))
        st = mass.state
        np.testing.assert_allclose(st.position, quantum * np.round(st.position / quantum))
        assert np.abs(st.position - st.true_pose[:3]).max() <= 0.5 * quantum + 1e-15
        np.testing.assert_array_equal(st.quaternion, st.true_pose[3:])
    assert np.abs(st.position - st.true_pose[:3]).max() > 1e-8


@pytest.mark.parametrize("differences", [0, 1])
def test_a_twist_is_true_or_that_of_the_encoders(differences: int) -> None:
    rng = np.random.default_rng(7)
    mass = device(twist=rng.standard_normal(6))
    mass.resolution[:], mass.differences[:] = 1e-4, differences
    last, orientation = np.zeros(3), Rotation.identity()
    for _ in range(CASES):
        move(mass, 20.0 * rng.standard_normal(6))
        mass.hand[:] = rng.standard_normal(6)
        read_mass(mass)
        st = mass.state
        np.testing.assert_array_equal(st.wrench, mass.hand)
        now = Rotation.from_quat(st.quaternion[[1, 2, 3, 0]])
        seen = np.concatenate([st.position - last, (now * orientation.inv()).as_rotvec()]) / STEP
        np.testing.assert_allclose(st.twist, seen if differences else st.true_twist, atol=1e-10)
        last, orientation = st.position.copy(), now


def test_readings_are_numbered_and_stamped() -> None:
    mass = device()
    move(mass, np.zeros(6), 7)
    assert mass.state.counts[SEQUENCE] == 7
    assert mass.state.counts[STAMP] == 7_000_000  # [ns]


# --- what a user sets is what the adapter has


def test_an_inertial_sets_up_its_adapter() -> None:
    rng = np.random.default_rng(8)
    placed = Placed(
        pose=np.array([0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0]), twist=rng.standard_normal(6),
        mask=np.ones(6), mobility=np.linalg.inv(BLOCK_INERTIA), step=STEP, leads=True,
        compensate=False, fastest_loop=100.0,
    )  # fmt: skip
    told = Inertial(
        friction=COULOMB, damping=(1.0, 2.0), resolution=1e-5, delay_ticks=3,
        integrator="velocity-first",
    )  # fmt: skip
    mass = told.adapter(placed).struct
    assert isinstance(mass, Mass)
    assert tuple(mass.friction) == COULOMB and tuple(mass.damping) == (1.0, 2.0)
    assert (mass.resolution[0], mass.delay[0], mass.differences[0]) == (1e-5, 3, 1)
    assert INTEGRATORS[mass.integrator[0]] == "velocity-first"
    np.testing.assert_array_equal(mass.last, placed.pose)
    np.testing.assert_array_equal(mass.state.true_twist, placed.twist)
