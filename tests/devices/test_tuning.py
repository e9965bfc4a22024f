"""Twenty seconds with a device: what was found is what it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from faking import FAKED, MASS, STIFFNESS
from scipy.integrate import solve_ivp
from typer.testing import CliRunner

from detent.cli import app
from detent.devices import Preset, known, preset
from detent.devices.file import load_device
from detent.devices.identify import Recording, bump, identify, primitive, pushes, resolution_of
from detent.devices.tuning import (
    Modelled,
    Sample,
    record_shaken,
    shake_of,
    tune_model,
    tune_plugged,
)
from detent.errors import IdentificationError, ParameterError
from sweeps import sweep

TICK = 1e-3  # [s]

HELD_BY = 300.0  # [N/m]


def unlike(seed: int) -> tuple[Preset, int]:
    """A Touch that is up to 30 % not as its sheet says, and 1 to 6 ticks of delay."""
    rng, sheet = np.random.default_rng(seed), preset("touch").sheet
    names = ("mass", "damping", "friction")
    facts = {n: known(sheet.need(n) * rng.uniform(0.7, 1.3), "drawn") for n in names}
    ticks = int(rng.integers(1, 7))
    return preset("touch", **facts, delay=known(ticks * TICK, "drawn")), ticks


@pytest.mark.parametrize("seed", range(sweep(20, 1)))
def test_mass_damping_and_friction_within_5_percent_and_the_delay_to_a_tick(seed: int) -> None:
    """From counts of 55 µm, with 20 µm of noise before them."""
    model, ticks = unlike(seed)
    told = record_shaken(Modelled(model), shake_of(preset("touch"), 10.0))
    rng, count = np.random.default_rng(100 + seed), model.sheet.need("resolution")
    noisy = told.position + 2e-5 * rng.standard_normal(len(told.position))
    told = Recording(told.read_at, count * np.round(noisy / count), told.told_at, told.force)
    found = identify(told, TICK)
    for name, one in zip(("mass", "damping", "friction"), found[:3], strict=True):
        true = model.sheet.need(name)
        assert one.value == pytest.approx(true, rel=0.05), name
        assert 0.0 < one.within < 0.1 * true
    assert abs(found.delay.value - ticks * TICK) < 0.5 * TICK
    assert found.resolution == pytest.approx(count, rel=1e-6)
    assert found.jitter < 1e-9


def test_a_mass_of_another_integrator_is_found() -> None:
    """SciPy's: no friction, uneven readings, and a delay that is no whole number of readings."""
    mass, damping, delay = 0.3, 1.5, 0.004
    told_at = np.arange(0.0, 8.0, 1e-3)
    force = np.sin(2.0 * np.pi * (0.5 * told_at + 0.6 * told_at**2))
    rng = np.random.default_rng(0)
    read_at = np.sort(told_at + rng.uniform(0.0, 8e-4, len(told_at)))

    def rate(t: float, y: np.ndarray) -> list[float]:
        k = int(np.floor((t - delay) * 1000.0 + 1e-9))
        push = force[k] if k >= 0 else 0.0
        return [y[1], (push - damping * y[1]) / mass]

    run = solve_ivp(rate, (0.0, 8.001), [0.0, 0.0], t_eval=read_at, max_step=1e-3, rtol=1e-8)
    found = identify(Recording(read_at, run.y[0], told_at, force), TICK)
    assert found.mass.value == pytest.approx(mass, rel=0.01)
    assert found.damping.value == pytest.approx(damping, rel=0.02)
    assert abs(found.friction.value) < 0.01
    assert found.delay.value == pytest.approx(delay)
    assert found.jitter == pytest.approx(np.diff(read_at).std())
    assert found.resolution is None


def stalled(stalls: np.ndarray) -> Recording:
    """0.2 kg in air of 2 N·s/m whose host stalls for 40 ms at times: its watchdog lets go."""
    at = np.arange(0.0, 8.0, TICK)
    force = np.sin(2.0 * np.pi * (at + 0.6 * at**2))
    awake = ~np.any((at > stalls[:, None]) & (at < stalls[:, None] + 0.04), axis=0)
    place, speed, told, since = 0.0, 0.0, 0.0, 0.0
    places = np.zeros(len(at))
    for k, now in enumerate(at):
        places[k] = place
        if awake[k]:
            told, since = force[k], now
        push = told if now - since < 0.01 else 0.0
        for _ in range(10):
            speed += 0.1 * TICK * (push - 2.0 * speed) / 0.2
            place += 0.1 * TICK * speed
    return Recording(at[awake], places[awake], at[awake], force[awake])


def test_a_host_that_stalls_does_not_change_what_is_found() -> None:
    """What a watchdog took during a stall was not the force that had been told."""
    found = identify(stalled(np.arange(0.5, 8.0, 0.4)), TICK)
    assert found.mass.value == pytest.approx(0.2, rel=0.02)
    assert found.damping.value == pytest.approx(2.0, rel=0.02)
    with pytest.raises(IdentificationError, match="had a silence"):
        identify(stalled(np.arange(0.05, 8.0, 0.06)), TICK)


def test_the_bump_and_its_integral_belong_together() -> None:
    s = np.linspace(-1.0, 1.0, 2001)
    plain = (1.0 - s * s) ** 4
    first, second = bump(s)
    assert np.allclose(np.gradient(plain, s)[2:-2], first[2:-2], atol=1e-4)
    assert np.allclose(np.gradient(first, s)[2:-2], second[2:-2], atol=1e-4)
    assert np.allclose(np.gradient(primitive(s), s)[2:-2], plain[2:-2], atol=1e-4)
    assert primitive(np.array([-2.0, 2.0])) == pytest.approx([0.0, 256.0 / 315.0])
    held = Recording(s, s, np.array([-5.0, 0.0]), np.array([2.0, 3.0]))
    half = 256.0 / 315.0 / 2.0
    assert pushes(held, np.array([0.0]), 2.0, 0.0) == pytest.approx([2.0 * half + 3.0 * half])


def test_a_count_is_seen_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    smooth = np.cumsum(rng.standard_normal(2000))
    assert resolution_of(0.25 * np.round(smooth / 0.25)) == pytest.approx(0.25)
    assert resolution_of(smooth) is None
    assert resolution_of(np.zeros(100)) is None


def test_a_handle_that_is_held_says_nothing() -> None:
    at = np.arange(0.0, 5.0, TICK)
    still = Recording(at, np.zeros(len(at)), at, np.sin(at))
    with pytest.raises(IdentificationError, match="let the handle go"):
        identify(still, TICK)
    with pytest.raises(ParameterError, match="takes a wrench"):
        tune_model(preset("hapticmaster"))


def test_the_command_writes_a_device_file_and_says_what_holds(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    ran = CliRunner().invoke(
        app, ["devices", "tune", "wheel", "--torque", "2", "--seconds", "20", "--out", str(path)]
    )
    assert ran.exit_code == 0, ran.output
    assert "N·m/rad will hold" in ran.output
    assert "MODEL of wheel" in ran.stderr
    mine = load_device(path)
    for name in ("rotational_inertia", "turning_damping", "turning_friction", "delay"):
        fact = mine.sheet.facts()[name]
        assert "of the model" in fact.source and fact.assumed
        assert fact.value == pytest.approx(preset("wheel").sheet.need(name), rel=0.05)
    assert mine.peak()[1] == 2.0
    ran = CliRunner().invoke(
        app, ["devices", "tune", "wheel", "--torque", "2", "--json", "--out", str(path)]
    )
    told = json.loads(ran.stdout)
    assert told["stiffness"] > 1.0 and told["of"] == "model"


@pytest.mark.live
@pytest.mark.alone
def test_a_device_that_is_plugged_in_is_tuned_and_closed() -> None:
    """A fake on the wall clock, let go: 0.35 kg in air of 5 N·s/m."""
    with FAKED["forcedimension"](Path()) as faked:
        faked.fake.set(STIFFNESS, 0.0)
        faked.fake.set(MASS, 0.35)
        said: list[str] = []
        tuned = tune_plugged(faked.driver, 8.0, said.append)
        assert tuned.found.mass.value == pytest.approx(0.35, rel=0.15)
        assert tuned.found.damping.value == pytest.approx(5.0, rel=0.15)
        assert not any(fact.assumed for fact in tuned.facts.values())
        assert [("move", "LET")[k] in one for k, one in enumerate(said)] == [True, True]
        assert faked.fake.force() == 0.0


class Sprung(Modelled):
    """A handle that somebody did not let go of."""

    def tick(self, force: float, guided: float | None) -> Sample | None:
        moved = float(self.adapter.port.state.true_pose[self.axis])
        return super().tick(force - HELD_BY * moved, guided)


def test_a_spring_that_holds_the_handle_is_told_and_taken_out() -> None:
    """300 N/m at a delta.3: without its term the mass would come out at a third."""
    model = preset("delta.3", delay=known(0.0, "a test"))
    device = Sprung(model)
    told = record_shaken(device, shake_of(model, 6.0))
    found = identify(told, device.period)
    assert found.held is not None
    assert found.held.value == pytest.approx(HELD_BY, rel=0.02)
    assert found.mass.value == pytest.approx(model.sheet.need("mass"), rel=0.05)
    assert found.damping.value == pytest.approx(model.sheet.need("damping"), rel=0.05)
    free = identify(record_shaken(Modelled(model), shake_of(model, 6.0)), device.period)
    assert free.held is None
