"""Virtual walls: closed forms, spectral radii, and the bounce of S4 Fig 4."""

from __future__ import annotations

import math

import numpy as np
import pytest

from detent.kernels.constants import WALL_MEMORY
from detent.kernels.contact import penalty_force
from detent.kernels.walls import HYSTERETIC, PI, PULSE, SEH, WALLS, ZOH, slide_blocks, wall_force

STIFFNESS, MASS, GAIN = 4000.0, 2.0, 2e4  # [N/m], [kg], [N/(m·s)]
BLOCKS, BREAKAWAY = 5, 0.5  # 0.1 … 0.5 N
LINEAR = (ZOH, SEH, PI)
HELD, VELOCITY_FIRST = "held force", "velocity first"


def name(law: int) -> str:
    return WALLS[law]


def fresh() -> np.ndarray:
    return np.zeros(WALL_MEMORY + BLOCKS)


def force(
    law: int,
    s: float,
    v: float,
    memory: np.ndarray,
    step: float,
    clamp: int = 1,
    damping: float = 0.0,
    restitution: float = 0.0,
) -> float:
    return wall_force(
        law, s, v, STIFFNESS, damping, step, MASS, GAIN, restitution, BLOCKS, BREAKAWAY, clamp,
        memory,
    )  # fmt: skip


def advance(s: float, v: float, a: float, step: float, scheme: str) -> tuple[float, float]:
    """One step of a free mass."""
    if scheme == HELD:
        return s + step * v + 0.5 * step * step * a, v + step * a
    return s + step * (v + step * a), v + step * a


# --- the laws


def test_zoh_is_the_penalty_force() -> None:
    rng = np.random.default_rng(1)
    memory = fresh()
    for s, v in zip(rng.uniform(-1e-2, 0, 100), rng.normal(size=100), strict=True):
        for clamp in (0, 1):
            expected = penalty_force(s, v, STIFFNESS, 30.0, clamp)
            assert force(ZOH, s, v, memory, 1e-3, clamp, damping=30.0) == expected


def test_seh_weights_three_samples() -> None:
    """S4 eq 1."""
    memory = fresh()
    depths = [1e-4, 3e-4, 4e-4, 2e-4]
    forces = [force(SEH, -d, -0.1, memory, 1e-3, 0) for d in depths]
    for k in (2, 3):
        estimate = 2 * depths[k] - 1.5 * depths[k - 1] + 0.5 * depths[k - 2]
        assert forces[k] == pytest.approx(STIFFNESS * estimate)


def test_seh_looks_half_a_step_ahead_from_the_first_sample() -> None:
    """Errata B5: what came before the contact were true distances, not zeros."""
    step, v = 1e-3, -0.2
    memory = fresh()
    for k in range(4):
        depth = 5e-5 - k * step * v
        ahead = depth - 0.5 * step * v
        assert force(SEH, -depth, v, memory, step) == pytest.approx(STIFFNESS * ahead)


def test_pi_adds_the_integral_of_the_depth() -> None:
    memory = fresh()
    for k in range(1, 50):
        expected = STIFFNESS * 1e-3 + GAIN * k * 1e-3 * 1e-3
        assert force(PI, -1e-3, 0.0, memory, 1e-3) == pytest.approx(expected)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("scheme", [HELD, VELOCITY_FIRST])
def test_the_pulse_returns_e_times_the_velocity(e: float, scheme: str) -> None:
    memory, step = fresh(), 2e-3
    pulse = force(PULSE, -1e-5, -0.3, memory, step, restitution=e)
    assert advance(-1e-5, -0.3, pulse / MASS, step, scheme)[1] == pytest.approx(0.3 * e)
    assert force(PULSE, -2e-5, -0.3, memory, step) == pytest.approx(STIFFNESS * 2e-5)


def test_a_contact_that_already_separates_gets_no_pulse() -> None:
    assert force(PULSE, -1e-5, 0.3, fresh(), 2e-3) == pytest.approx(STIFFNESS * 1e-5)


def test_blocks_stick_then_yield() -> None:
    """Stiffness K until the first slides, and never more than F_b (n+1)/2."""
    memory = fresh()
    first = BREAKAWAY / STIFFNESS  # F_b/n over K/n
    for depth in np.linspace(0.0, first, 7):
        assert slide_blocks(depth, STIFFNESS, BLOCKS, BREAKAWAY, memory) == pytest.approx(
            STIFFNESS * depth
        )
    assert not memory[WALL_MEMORY:].any()
    assert slide_blocks(2 * first, STIFFNESS, BLOCKS, BREAKAWAY, memory) == pytest.approx(
        STIFFNESS * first * (2 * (BLOCKS - 1) + 1) / BLOCKS
    )
    assert np.count_nonzero(memory[WALL_MEMORY:]) == 1
    most = BREAKAWAY * (BLOCKS + 1) / 2
    assert slide_blocks(1.0, STIFFNESS, BLOCKS, BREAKAWAY, memory) == pytest.approx(most)


def test_blocks_lose_the_area_of_their_loop() -> None:
    """A loop of amplitude A costs 4 f_i (A − x_i) in each block that slides in it."""
    amplitude, memory = 4e-4, fresh()
    depth = amplitude * np.sin(np.linspace(0, 4 * np.pi, 40001))
    forces = np.array([slide_blocks(d, STIFFNESS, BLOCKS, BREAKAWAY, memory) for d in depth])
    work = 0.5 * (forces[1:] + forces[:-1]) * np.diff(depth)
    limits = BREAKAWAY * np.arange(1, BLOCKS + 1) / BLOCKS
    strains = limits * BLOCKS / STIFFNESS
    expected = np.sum(4 * limits * np.maximum(amplitude - strains, 0.0))
    assert np.sum(work[20000:]) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("law", range(5), ids=name)
def test_memory_ends_with_the_contact(law: int) -> None:
    memory = fresh()
    for _ in range(5):
        first = force(law, -1e-4, -0.1, memory, 1e-3)
        for depth in (3e-4, 1e-3, 5e-4):
            force(law, -depth, 0.0, memory, 1e-3)
        assert memory[0] == 4
        assert force(law, 1e-6, 0.1, memory, 1e-3) == 0.0
        assert not memory.any()
        assert force(law, -1e-4, -0.1, fresh(), 1e-3) == first


@pytest.mark.parametrize("law", range(5), ids=name)
def test_a_wall_pulls_only_if_it_may(law: int) -> None:
    for clamp in (1, 0):
        memory = fresh()
        forces = [force(law, -d, 0.1, memory, 1e-3, clamp) for d in (5e-3, 5e-3, 3e-3, 1e-6)]
        assert (min(forces) >= 0.0) == (clamp == 1 or law in (ZOH, PI, PULSE))


# --- spectral radii of a free mass against the wall


def transition_matrix(law: int, step: float, scheme: str) -> np.ndarray:
    """One step of (s, v, d₁, d₂, ∫d), as the kernel makes it."""

    def advanced(state: np.ndarray) -> np.ndarray:
        memory = fresh()
        memory[0] = 1.0
        memory[1:4] = state[2:]
        a = force(law, state[0], state[1], memory, step, 0) / MASS
        return np.array([*advance(state[0], state[1], a, step, scheme), *memory[1:4]])

    base = np.array([-1.0, 0.0, 0.0, 0.0, 0.0])  # inside: there it is linear
    matrix = np.column_stack([advanced(base + e) - advanced(base) for e in 0.5 * np.eye(5)]) / 0.5
    return matrix if law == PI else matrix[:4, :4]


def spectral_radius(law: int, step: float, scheme: str) -> float:
    return float(np.abs(np.linalg.eigvals(transition_matrix(law, step, scheme))).max())


def theoretical_radius(law: int, step: float, scheme: str) -> float:
    """Largest root of (z−1)² + (T²/m) N(z) C(z) = 0, by hand."""
    scale = step * step / MASS
    N = np.array([0.5, 0.5]) if scheme == HELD else np.array([1.0, 0.0])
    mass = np.poly([1.0, 1.0])
    if law == ZOH:
        C, poles = np.array([STIFFNESS]), np.array([1.0])
    elif law == SEH:
        C, poles = STIFFNESS * np.array([2.0, -1.5, 0.5]), np.array([1.0, 0.0, 0.0])
    else:
        C, poles = np.array([STIFFNESS + GAIN * step, -STIFFNESS]), np.array([1.0, -1.0])
    roots = np.roots(np.polyadd(np.polymul(mass, poles), scale * np.polymul(N, C)))
    return float(np.abs(roots).max())


@pytest.mark.parametrize("law", LINEAR, ids=name)
@pytest.mark.parametrize("scheme", [HELD, VELOCITY_FIRST])
@pytest.mark.parametrize("rate", [500, 512, 4000])
def test_spectral_radius(law: int, scheme: str, rate: int) -> None:
    expected = theoretical_radius(law, 1 / rate, scheme)
    assert spectral_radius(law, 1 / rate, scheme) == pytest.approx(expected, abs=1e-6)


def test_spectral_radii_of_the_documents_wall() -> None:
    """M36: with a held force, ZOH is active and SEH marginal."""
    step = 1 / 512
    assert spectral_radius(ZOH, step, HELD) == pytest.approx(1.00191, abs=5e-6)
    assert spectral_radius(SEH, step, HELD) == pytest.approx(0.99999, abs=5e-6)
    growth = math.sqrt(1 + STIFFNESS * step**2 / (2 * MASS))
    assert spectral_radius(ZOH, step, HELD) == pytest.approx(growth, abs=1e-9)


def test_velocity_first_steps_make_zoh_neutral_and_seh_damped() -> None:
    """Errata B6: symplectic Euler needs no damping."""
    step = 1 / 512
    assert spectral_radius(ZOH, step, VELOCITY_FIRST) == pytest.approx(1.0, abs=1e-9)
    assert spectral_radius(SEH, step, VELOCITY_FIRST) < 0.999


@pytest.mark.parametrize("scheme", [HELD, VELOCITY_FIRST])
def test_undamped_integral_action_is_always_active(scheme: str) -> None:
    assert spectral_radius(PI, 1 / 512, scheme) > spectral_radius(ZOH, 1 / 512, scheme) + 1e-3


# --- S4 Fig 4: a mass pushed into an undamped wall


def bounce(law: int, gap: float, seconds: float = 30.0) -> tuple[np.ndarray, np.ndarray]:
    """X25: separations and velocities, from rest at the gap; F = 0.4 N, 500 Hz."""
    step, s, v, memory = 1 / 500, gap, 0.0, fresh()
    rows = np.zeros((round(seconds / step), 2))
    for k in range(len(rows)):
        push = force(law, s, v, memory, step) - 0.4
        s, v = advance(s, v, push / MASS, step, HELD)
        rows[k] = s, v
    return rows[:, 0], rows[:, 1]


GAPS = (0.005, 0.02, 0.05)  # [m]


@pytest.mark.parametrize("gap", GAPS)
def test_pulse_and_hysteretic_walls_stop_the_bounce_at_the_first_hit(gap: float) -> None:
    for law in (PULSE, HYSTERETIC):
        s, _ = bounce(law, gap)
        hit = int(np.argmax(s < 0))
        assert s[hit:].max() < 0.01 * gap


@pytest.mark.parametrize("gap", GAPS)
def test_seh_bounces_on_while_zoh_and_pi_grow(gap: float) -> None:
    last = {law: bounce(law, gap)[0][-2500:].max() / gap for law in LINEAR}
    assert last[SEH] == pytest.approx(1.0, abs=0.05)
    assert last[ZOH] > 4.0
    assert last[PI] > last[ZOH]


@pytest.mark.parametrize("gap", GAPS)
def test_order_of_contact_stability(gap: float) -> None:
    """M37: pulse, hysteretic, SEH, then ZOH and PI; by the rms speed after 25 s."""
    order = (PULSE, HYSTERETIC, SEH, ZOH, PI)
    speed = [float(np.sqrt(np.mean(bounce(law, gap)[1][-2500:] ** 2))) for law in order]
    assert speed == sorted(speed)
    assert speed[2] > 5 * speed[1]
