"""Shaped impulses: the same momentum, within the cap, with the ring of the material."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from detent.kernels.constants import QUIET
from detent.kernels.jit import JIT_ENABLED
from detent.kernels.ringing import MATERIALS, Material, ring_force, ring_memory

SRC = Path(__file__).resolve().parents[2] / "src"
MOST_TICKS = 20_000
DEVICE = np.array([15.0, 15.0, 1.0])  # [N, N, N·m] TH 4.5.2
AMPLE = np.array([2000.0, 2000.0, 200.0])

everywhere = pytest.mark.parametrize("step", [1e-3, 2.5e-4])
everything = pytest.mark.parametrize("material", MATERIALS.values(), ids=MATERIALS.keys())


def deliver(
    impulses: list[np.ndarray], material: Material, step: float, cap: np.ndarray
) -> np.ndarray:
    """The forces of a list of impulses, one per tick, until all is delivered."""
    memory, force, forces = ring_memory(len(cap)), np.zeros(len(cap)), []
    for tick in range(MOST_TICKS):
        impulse = impulses[tick] if tick < len(impulses) else np.zeros(len(cap))
        more = ring_force(memory, impulse, *material, step, cap, force)
        forces.append(force.copy())
        if not more and tick >= len(impulses):
            assert not memory.any()
            return np.array(forces)
    raise AssertionError("the ring does not end")


def random_impulses(rng: np.random.Generator, ticks: int) -> list[np.ndarray]:
    """A few hits within a while, in all directions."""
    hits = [rng.normal(size=3) * [0.2, 0.2, 0.01] for _ in range(ticks)]
    return [hit if rng.random() < 0.05 else 0.0 * hit for hit in hits]


@everywhere
@everything
@pytest.mark.parametrize("cap", [DEVICE, AMPLE], ids=["device", "ample"])
def test_the_forces_add_up_to_the_impulse(material: Material, step: float, cap: np.ndarray) -> None:
    impulse = np.array([0.3, -0.1, 0.002])
    forces = deliver([impulse], material, step, cap)
    np.testing.assert_allclose(forces.sum(axis=0) * step, impulse, rtol=1e-12, atol=1e-15)
    assert (np.abs(forces) <= cap).all()


@everything
def test_impulses_that_overlap_add_up_too(material: Material) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20 if JIT_ENABLED else 1):
        impulses, step = random_impulses(rng, 300), rng.choice([1e-3, 2.5e-4])
        forces = deliver(impulses, material, step, DEVICE)
        np.testing.assert_allclose(forces.sum(axis=0) * step, sum(impulses), atol=1e-12)
        assert (np.abs(forces) <= DEVICE).all()


@everywhere
@everything
def test_the_ring_is_a_decaying_sinusoid(material: Material, step: float) -> None:
    forces = deliver([np.array([0.3, 0.0, 0.0])], material, step, AMPLE)[:, 0]
    times = step * np.arange(1, len(forces) + 1)
    ring = np.exp(-material.decay * times) * np.sin(material.frequency * times)
    ring *= forces[0] / ring[0]
    # what is left at the end, less than QUIET of the cap, comes in one tick
    np.testing.assert_allclose(forces[:-1], ring[:-1], atol=1e-9)
    assert abs(forces[-1]) <= 2 * QUIET * AMPLE[0]


@everything
def test_the_amplitude_is_that_of_the_continuous_ring(material: Material) -> None:
    step, impulse = 2e-5, 0.3
    forces = deliver([np.array([impulse, 0.0, 0.0])], material, step, AMPLE)[:, 0]
    times = step * np.arange(1, len(forces) + 1)
    amplitude = impulse * (material.frequency**2 + material.decay**2) / material.frequency
    ring = amplitude * np.exp(-material.decay * times) * np.sin(material.frequency * times)
    np.testing.assert_allclose(forces[:-1], ring[:-1], atol=0.01 * amplitude)


@everything
def test_the_spectrum_has_its_peak_at_the_frequency_of_the_material(material: Material) -> None:
    step = 2.5e-4
    forces = deliver([np.array([0.3, 0.0, 0.0])], material, step, AMPLE)[:, 0]
    size = 1 << 16
    spectrum = np.abs(np.fft.rfft(forces, size)) * step
    found = 2 * math.pi * np.fft.rfftfreq(size, step)[np.argmax(spectrum)]
    # of e^(-bt) sin ωt; it is the impulse at zero frequency, whatever the material
    expected = math.sqrt(max(material.frequency**2 - material.decay**2, 0.0))
    assert found == pytest.approx(expected, rel=0.02)
    assert spectrum[0] == pytest.approx(0.3, rel=1e-12)


def test_hard_materials_ring_faster_and_sharper() -> None:
    peaks, times = [], []
    for name in ("rubber", "wood", "metal"):
        forces = deliver([np.array([0.3, 0.0, 0.0])], MATERIALS[name], 2.5e-4, AMPLE)[:, 0]
        peaks.append(np.abs(forces).max())
        times.append(int(np.argmax(np.abs(forces))))
    assert peaks == sorted(peaks)
    assert times == sorted(times, reverse=True)


@everything
def test_rings_superpose(material: Material) -> None:
    first, second = np.array([0.1, 0.0, 0.01]), np.array([-0.05, 0.2, 0.0])
    nothing, later, step = np.zeros(3), 37, 2.5e-4
    both = deliver([first] + [nothing] * (later - 1) + [second], material, step, AMPLE)
    one, two = (deliver([x], material, step, AMPLE) for x in (first, second))
    total = np.zeros((len(both) + 500, 3))
    total[: len(one)] += one
    total[later : later + len(two)] += two
    together = min(len(one), len(both)) - 1  # the last tick of a ring is a little more
    np.testing.assert_allclose(both[:together], total[:together], atol=1e-9)
    np.testing.assert_allclose(both.sum(axis=0), total.sum(axis=0), rtol=1e-12)


@everything
def test_a_large_impulse_is_stretched_in_its_direction(material: Material) -> None:
    impulse, step = np.array([0.3, -0.1, 0.002]), 2.5e-4
    lasts = []
    for scale in (1.0, 0.5, 0.25):
        forces = deliver([impulse], material, step, scale * DEVICE)
        assert (np.abs(forces) <= scale * DEVICE).all()
        assert np.abs(forces[:, 0]).max() > 0.4 * scale * DEVICE[0]
        along = forces @ impulse / (impulse @ impulse)
        np.testing.assert_allclose(forces, np.outer(along, impulse), atol=1e-9)
        lasts.append(len(forces))
    assert lasts == sorted(lasts)


def test_an_axis_that_is_full_holds_back_the_others() -> None:
    """One part for all axes: else the wrench would turn (errata E8)."""
    impulse = np.array([0.001, 0.0, 0.01])
    first = deliver([impulse], MATERIALS["metal"], 2.5e-4, DEVICE)[0]
    np.testing.assert_allclose(first[0] / first[2], impulse[0] / impulse[2], rtol=1e-12)
    alone = deliver([impulse * [1.0, 0.0, 0.0]], MATERIALS["metal"], 2.5e-4, DEVICE)[0]
    assert first[0] < alone[0]


def test_another_material_on_the_way_keeps_the_momentum() -> None:
    memory, force, total = ring_memory(3), np.zeros(3), np.zeros(3)
    impulse, step = np.array([0.3, 0.1, 0.01]), 2.5e-4
    order = [MATERIALS[name] for name in ("wood", "metal", "rubber", "wood")]
    for tick in range(MOST_TICKS):
        arriving = impulse if tick == 0 else np.zeros(3)
        more = ring_force(memory, arriving, *order[min(tick // 20, 3)], step, DEVICE, force)
        total += step * force
        assert (np.abs(force) <= DEVICE).all()
        if not more:
            break
    assert not more
    np.testing.assert_allclose(total, impulse, rtol=1e-12)


def test_nothing_comes_of_nothing() -> None:
    forces = deliver([np.zeros(3)], MATERIALS["wood"], 1e-3, DEVICE)
    assert not forces.any()


PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from kernels.test_shaping import DEVICE, MATERIALS, deliver, random_impulses
rng = np.random.default_rng(1)
rings = [deliver(random_impulses(rng, 60), m, 1e-3, DEVICE) for m in MATERIALS.values()]
print(json.dumps([forces.tolist() for forces in rings]))
"""


@pytest.mark.compiled
def test_plain_python_gives_the_same_numbers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(Path(__file__).parents[1])],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SRC), "NUMBA_DISABLE_JIT": "1"},
        timeout=600,
        check=True,
    )
    rng = np.random.default_rng(1)
    for material, plain in zip(MATERIALS.values(), json.loads(done.stdout), strict=True):
        forces = deliver(random_impulses(rng, 60), material, 1e-3, DEVICE)
        np.testing.assert_allclose(forces, plain, rtol=1e-9, atol=1e-12)
