"""The force path by itself: whatever it is told, what leaves it is finite, capped and slewed."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent.devices.safety import Safety
from detent.kernels.jit import JIT_ENABLED
from detent.servo.constants import IMPLAUSIBLE, MOST_BLOWS
from detent.servo.faults import NO_FAULT, WRENCH_NOT_FINITE, WRENCH_TOO_LARGE
from detent.servo.force_path import ForcePath
from detent.servo.guard import force_path, share_of_peak
from detent.servo.structs import ALTERED, FAULT, LATCHED
from force_paths import Path, path, send
from sweeps import sweep

HOSTILE = np.array(
    [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e154, -1e154, 5e-324, -5e-324, 1e-310, 0.0, -0.0,
     1e6, -1e6, 1.0000001e6, -3e7, 999.0, -999.0, 1e-9, 1.0, -1.0]
)  # fmt: skip


def _drive(device, wrench, clock, p, commands, out, faults):  # type: ignore[no-untyped-def]
    """All commands; after a fault the path is engaged anew."""
    for k in range(commands.shape[0]):
        for i in range(6):
            device.raw[i] = commands[k, i]
        force_path(device, wrench, clock, p)
        for i in range(6):
            out[k, i] = wrench[i]
        faults[k] = clock.counts[FAULT]
        if faults[k] != NO_FAULT:
            clock.counts[FAULT] = NO_FAULT
            device.guard.engaged[0] = 0


drive = numba.njit(nogil=True)(_drive) if JIT_ENABLED else _drive


def hostile(rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, 6) commands: extremes, alternating signs, steps, noise, and stretches of peace."""
    kind = rng.integers(0, 6, n)
    size = 10.0 ** rng.uniform(-12, 7, n)
    out = rng.standard_normal((n, 6)) * size[:, None]
    out[kind == 0] = HOSTILE[rng.integers(0, len(HOSTILE), ((kind == 0).sum(), 6))]
    one = np.nonzero(kind == 1)[0]  # one bad axis among good ones
    out[one] = rng.standard_normal((len(one), 6))
    out[one, rng.integers(0, 6, len(one))] = HOSTILE[rng.integers(0, len(HOSTILE), len(one))]
    alternating = kind == 2
    out[alternating] = (999.0 * (-1.0) ** np.arange(n)[alternating])[:, None]
    out[kind == 3] = np.repeat(rng.standard_normal((n // 50 + 1, 6)) * 30, 50, 0)[:n][kind == 3]
    calm = slice(n // 2, n // 2 + n // 8)
    out[calm] = rng.standard_normal((n // 8, 6)) * 5.0
    return out


def random_path(rng: np.random.Generator) -> tuple[Path, Safety, np.ndarray]:
    cap = 10.0 ** rng.uniform(-4, 4, 6)
    cap[rng.uniform(size=6) < 0.2] = np.inf
    length = 10.0 ** rng.uniform(-3, 3, 2)
    length[rng.uniform(size=2) < 0.3] = np.inf
    slew = 10.0 ** rng.uniform(-1, 6, 2)
    slew[rng.uniform(size=2) < 0.2] = np.inf
    safety = Safety(
        length=tuple(length), slew=tuple(slew), continuous=tuple(rng.uniform(0.05, 1.0, 2)),
        heating=10.0 ** rng.uniform(-2, 1), ramp=rng.choice([0.0, 0.05]),
        actuated=tuple(np.where(rng.uniform(size=6) < 0.15, 0.0, 1.0)),
    )  # fmt: skip
    asked = ForcePath(filter_hz=rng.choice([None, 50.0]))
    step = float(rng.choice([0.0, 1e-4, 2.5e-4, 1e-3]))
    if step == 0.0:  # time that stands still
        slew[:] = np.where(np.isinf(slew), 1.0, slew)
        safety = Safety(length=tuple(length), slew=tuple(slew))
    return path(cap, safety, asked, step), safety, cap


def check(to: Path, safety: Safety, cap: np.ndarray, commands: np.ndarray, before: np.ndarray,
          out: np.ndarray, faults: np.ndarray) -> None:  # fmt: skip
    bad = ~(np.abs(commands) <= IMPLAUSIBLE).all(axis=1)
    np.testing.assert_array_equal(faults != NO_FAULT, bad)
    assert np.isfinite(out).all()
    assert (out[bad] == 0.0).all()
    assert (np.abs(out) <= cap).all()
    assert (out[:, np.array(safety.actuated) == 0.0] == 0.0).all()
    steps = np.diff(out, axis=0, prepend=before[None])
    for block, part in enumerate((slice(0, 3), slice(3, 6))):
        size = np.linalg.norm(out[:, part], axis=1)
        assert (size <= safety.length[block] * (1 + 1e-12)).all()
        slewed = np.linalg.norm(steps[~bad][:, part], axis=1)
        assert (slewed <= to.p["slew"][0, block] * (1 + 1e-9) + 1e-300).all()


def run_hostile(total: int, seed: int) -> None:
    rng, size = np.random.default_rng(seed), min(total, 10_000)
    for _ in range(max(1, total // size)):
        to, safety, cap = random_path(rng)
        before, commands = to.wrench.copy(), hostile(rng, size)
        out, faults = np.zeros((size, 6)), np.zeros(size, np.int64)
        drive(to.device, to.wrench, to.clock, to.p, commands, out, faults)
        check(to, safety, cap, commands, before, out, faults)
        assert to.clock.counts[LATCHED] == (faults != NO_FAULT).sum() > 0
        assert to.clock.counts[ALTERED] >= to.clock.counts[LATCHED]


def test_hostile_commands_leave_finite_within_cap_and_slew() -> None:
    run_hostile(sweep(500_000, 1_000), 1)


@pytest.mark.long
def test_ten_million_hostile_commands() -> None:
    run_hostile(10_000_000 if JIT_ENABLED else 10_000, 2)


numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(numbers, min_size=6, max_size=6), min_size=1, max_size=20))
def test_whatever_six_floats_come(commands: list[list[float]]) -> None:
    to = path(5.0, Safety(length=(6.0, 6.0), slew=(1e3, 1e3)))
    for command in commands:
        before = to.wrench.copy()
        now = send(to, command)
        assert np.isfinite(now).all() and np.abs(now).max() <= 5.0
        if to.clock.counts[FAULT]:
            assert (now == 0.0).all()
            to.clock.counts[FAULT] = NO_FAULT
        else:
            assert np.linalg.norm((now - before)[:3]) <= 1.0 + 1e-12


# --- one thing after the other


@pytest.mark.parametrize("place", range(6))
def test_a_huge_finite_command_is_a_fault_and_holds_nothing(place: int) -> None:
    """1e308 overflowed the norm: the last force was held for ever, without a fault."""
    to = path(asked=ForcePath(slew_force=100.0, slew_torque=100.0))
    send(to, np.full(6, 3.0))
    assert (to.wrench != 0.0).all()
    command = np.full(6, 3.0)
    command[place] = 1e308
    assert (send(to, command) == 0.0).all()
    assert to.clock.counts[FAULT] == WRENCH_TOO_LARGE
    assert (send(to, np.ones(6)) == 0.0).all()  # latched
    assert to.clock.counts[LATCHED] == 2


def test_a_million_newtons_are_allowed_and_more_are_not() -> None:
    to = path()
    np.testing.assert_array_equal(send(to, np.full(6, 1e6)), 1e6)
    assert (send(to, np.full(6, 1.000001e6)) == 0.0).all()
    other = path()
    assert (send(other, [np.nan, 1e9, 0, 0, 0, 0]) == 0.0).all()
    assert other.clock.counts[FAULT] == WRENCH_NOT_FINITE


def test_the_target_is_capped_before_the_slew() -> None:
    """Slewing first, a cap that binds moved the force by many times the slew."""
    cap = np.array([15.0, 15.0, np.inf, np.inf, np.inf, 0.005])
    to = path(cap, asked=ForcePath(slew_force=200.0))
    for k in range(500):
        before = to.wrench.copy()
        swing = np.array([10.0, -8.0, 0, 0, 0, 0.5 * np.sin(0.1 * k)])
        step = send(to, swing) - before
        assert np.linalg.norm(step[:3]) <= 0.2 * (1 + 1e-12)
        assert abs(to.wrench[5]) <= 0.005


def test_length_binds_where_axes_do_not() -> None:
    to = path(10.0, Safety(length=(10.0, np.inf)))
    np.testing.assert_allclose(send(to, [9.0, 9.0, 9.0, 1, 0, 0]), _scaled(9.0, 1.0), rtol=1e-12)


def _scaled(force: float, torque: float) -> np.ndarray:
    share = 10.0 / (np.sqrt(3.0) * force)
    return share * np.array([force, force, force, torque, 0.0, 0.0])


def test_an_axis_that_is_not_actuated_gets_nothing_and_takes_nothing_from_others() -> None:
    to = path(5.0, Safety(actuated=(1, 1, 1, 0, 0, 0)))
    np.testing.assert_array_equal(send(to, [1, 2, 3, 100, 100, 100]), [1, 2, 3, 0, 0, 0])
    assert to.device.altered[0] == 0


def test_heat_brings_the_peak_down_to_the_continuous_force_and_cooling_gives_it_back() -> None:
    to = path(8.0, Safety(continuous=(0.25, 1.0), heating=0.5, slew=(1e3, np.inf)))
    held = np.array([send(to, [20.0, 0, 0, 0, 0, 0])[0] for _ in range(5000)])
    assert held.max() == 8.0
    assert held[-1] == pytest.approx(2.0, rel=0.01)
    assert (np.diff(held)[100:] >= -1.0 * (1 + 1e-9)).all()  # never faster than the slew
    assert to.device.guard.heat[0] <= 1.001  # by as much as the cap shrinks slowly
    # more than the continuous force is given for about the time constant, and no longer
    spent = (held > 4.0).sum() * 1e-3
    assert 0.01 < spent < 0.2
    for _ in range(5000):
        send(to, np.zeros(6))
    assert share_of_peak(to.device.guard.heat[0], 0.25) == pytest.approx(1.0)


def test_a_cap_that_shrinks_at_once_is_followed_within_the_slew() -> None:
    to = path(np.full(6, 10.0), Safety(length=(12.0, 12.0), slew=(400.0, 400.0)))
    for _ in range(100):
        send(to, [9, 9, 9, 9, 9, 9])
    to.p["cap"], to.p["ball"] = 1.0, 1.0
    for k in range(300):
        before = to.wrench.copy()
        step = send(to, [9, -9, 0.5, 9, 9, -9]) - before
        assert np.linalg.norm(step[:3]) <= 0.4 * (1 + 1e-9), k
        assert np.linalg.norm(step[3:]) <= 0.4 * (1 + 1e-9), k
    assert np.abs(to.wrench).max() <= 1.0
    assert np.linalg.norm(to.wrench[:3]) <= 1.0 + 1e-12


def test_force_ramps_in_when_the_device_is_engaged_and_again_afterwards() -> None:
    to = path(safety=Safety(ramp=0.1))
    first = np.array([send(to, np.ones(6))[0] for _ in range(120)])
    np.testing.assert_allclose(first[:100], np.arange(1, 101) / 100.0, rtol=1e-12)
    assert (first[99:] == 1.0).all()
    to.device.guard.off[0] = 1  # let go
    assert (send(to, np.ones(6)) == 0.0).all()
    assert to.clock.counts[FAULT] == NO_FAULT
    to.device.guard.off[0] = 0
    assert send(to, np.ones(6))[0] == pytest.approx(0.01)


def test_without_limits_the_wrench_passes_unchanged() -> None:
    to = path()
    rng = np.random.default_rng(3)
    for command in rng.standard_normal((100, 6)) * 1e5:
        np.testing.assert_array_equal(send(to, command), command)
    assert to.clock.counts[ALTERED] == 0


def test_a_slew_is_the_stricter_of_the_device_and_the_user() -> None:
    def slew(asked: ForcePath, own: float) -> float:
        return float(path(safety=Safety(slew=(own, own)), asked=asked).p["slew"][0, 0])

    assert slew(ForcePath(), 100.0) == pytest.approx(0.1)
    assert slew(ForcePath(slew_force=50.0), 100.0) == pytest.approx(0.05)
    assert slew(ForcePath(slew_force=500.0), 100.0) == pytest.approx(0.1)
    assert slew(ForcePath(), np.inf) == np.inf


@pytest.mark.parametrize(
    "make",
    [
        lambda: Safety(continuous=(0.0, 1.0)),
        lambda: Safety(slew=(0.0, 1.0)),
        lambda: Safety(length=(np.nan, 1.0)),
        lambda: Safety(actuated=(1, 1, 1)),
        lambda: Safety(actuated=(1, 1, 1, 1, 1, 2)),
        lambda: Safety(heating=0.0),
        lambda: Safety(ramp=-1.0),
        lambda: Safety(speed=(-1.0, 0.0)),
        lambda: ForcePath(ramp=-0.1),
    ],
)
def test_limits_that_make_no_sense_are_refused(make: Callable[[], object]) -> None:
    from detent.errors import ParameterError

    with pytest.raises(ParameterError):
        make()


def gentle(bearable: float = 500.0) -> Path:
    """A path without other limits, which begins at once."""
    safety = Safety(bearable=bearable)
    return path(np.full(6, np.inf), safety, ForcePath(ramp=1e-3), 1e-3)


@pytest.mark.parametrize("size", [0.0, 1.0, 499.0, 500.0, 500.1, 1e3, 4e5])
def test_no_more_than_a_hand_bears_reaches_it_as_a_whole(size: float) -> None:
    """Of 500 N: the whole wrench is scaled, so its direction stays, and its point of attack."""
    to, told = gentle(), size * np.array([0.6, 0.0, -0.8, 0.001, 0.0, -0.002])
    out = send(to, told)
    share = min(1.0, 500.0 / size) if size > 0.0 else 1.0
    assert np.linalg.norm(out[:3]) <= 500.0
    np.testing.assert_allclose(out, share * told, rtol=1e-9)
    assert to.device.guard.blows[1] == to.device.altered[0] == (size > 500.0)


def test_a_blow_may_be_harder_for_a_tick() -> None:
    """Blows that follow each other are a force that lasts."""
    to, told = gentle(), np.array([2e3, 0.0, 0.0, 0.0, 0.0, 0.0])
    for blows, felt in ((0, 500.0), (1, 2e3), (MOST_BLOWS, 2e3), (MOST_BLOWS + 1, 500.0)):
        to.device.guard.blows[0] = blows
        assert send(to, told)[0] == pytest.approx(felt, rel=1e-9)
    assert to.device.guard.blows[1] == 2


def test_a_path_that_does_not_ramp_is_that_of_the_documents_and_spares_nobody() -> None:
    to = path(np.full(6, np.inf), Safety(bearable=500.0), ForcePath(ramp=0.0), 1e-3)
    assert send(to, np.array([2e3, 0.0, 0.0, 0.0, 0.0, 0.0]))[0] == 2e3
