"""The force path against its definition, written down a second time, tick by tick."""

from __future__ import annotations

import numpy as np
import pytest

from detent.devices.safety import Safety
from detent.servo.constants import FOLD_BACK, GIVE
from detent.servo.faults import DEVICE_LOST, NO_FAULT
from detent.servo.force_path import ForcePath
from detent.servo.structs import ALTERED, FAULT, LATCHED
from force_paths import Path, path, send

BLOCKS = (slice(0, 3), slice(3, 6))


class Definition:
    """Heat, filter, caps, ramp and slew with NumPy; no faults."""

    def __init__(self, to: Path, actuated: np.ndarray) -> None:
        self.p, self.actuated = {n: to.p[n][0].copy() for n in to.p.dtype.names or ()}, actuated
        self.heat, self.wrench, self.filtered, self.engaged = (
            np.zeros(2),
            np.zeros(6),
            np.zeros(6),
            0,
        )

    def load(self, block: int) -> float:
        part, p = BLOCKS[block], self.p
        shares = [*(np.abs(self.wrench[part]) / p["cap"][part])]
        if p["ball"][block] > 0.0:
            shares.append(np.linalg.norm(self.wrench[part]) / p["ball"][block])
        return float(max(shares) / p["continuous"][block])

    def send(self, raw: np.ndarray) -> bool:
        """The next wrench; whether it is another one than was asked for."""
        p = self.p
        self.engaged += 1
        self.heat += p["heat_blend"] * (np.array([self.load(b) ** 2 for b in range(2)]) - self.heat)
        self.filtered += p["filter_blend"] * (self.actuated * raw - self.filtered)
        cool = np.clip((1.0 - self.heat) / FOLD_BACK, 0.0, 1.0)
        share = p["continuous"] + (1.0 - p["continuous"]) * cool
        give, before = GIVE * p["slew"], self.wrench.copy()
        most = np.maximum(np.repeat(share, 3) * p["cap"], np.abs(before) - np.repeat(give, 3))
        self.wrench = np.clip(self.wrench, -most, most)
        scale, room = 1.0, np.zeros(2)
        for b, part in enumerate(BLOCKS):
            if p["ball"][b] > 0.0:
                size = np.linalg.norm(self.wrench[part])
                ball = max(share[b] * p["ball"][b], size - give[b])
                self.wrench[part] *= min(1.0, ball / size) if size > 0.0 else 1.0
                asked = np.linalg.norm(self.filtered[part])
                scale = min(scale, ball / asked) if asked > 0.0 else scale
            room[b] = max(p["slew"][b] - np.linalg.norm(before[part] - self.wrench[part]), 0.0)
        sizes = np.abs(self.filtered)
        scale = min([scale, *(most[sizes > 0.0] / sizes[sizes > 0.0])])
        fade = min(1.0, self.engaged * p["ramp"])
        way = fade * scale * self.filtered - self.wrench
        steps = [np.linalg.norm(way[part]) for part in BLOCKS]
        slow = min([1.0, *(r / s for r, s in zip(room, steps, strict=True) if s > 0.0)])
        self.wrench = self.wrench + slow * way
        return bool(scale < 1.0 or fade < 1.0 or slow < 1.0 or p["filter_blend"] < 1.0)


def compared(
    cap: object, safety: Safety, asked: ForcePath, commands: np.ndarray, most: float = 1.0
) -> None:
    to = path(cap, safety, asked)  # type: ignore[arg-type]
    told = Definition(to, np.array(safety.actuated))
    altered = 0
    for k, raw in enumerate(commands):
        sent = send(to, raw)
        altered += told.send(raw)
        np.testing.assert_allclose(sent, told.wrench, rtol=1e-9, atol=1e-12 * most, err_msg=str(k))
        np.testing.assert_allclose(to.device.guard.heat, told.heat, rtol=1e-9, atol=1e-15)
        assert to.clock.counts[ALTERED] == altered, k
    assert to.clock.counts[FAULT] == NO_FAULT


RNG = np.random.default_rng(5)
SWINGS = RNG.standard_normal((200, 6)) * np.array([3, 3, 3, 0.3, 0.3, 0.3])
STEADY = np.tile([1.0, 0.0, 0.0, 0.4, 0.0, 0.0], (200, 1))  # heat by exactly 1 N
BALLS = Safety(length=(0.9, 0.5))
WAYS = {
    "nothing": (np.inf, Safety(), ForcePath()),
    "lengths below one alone": (np.inf, BALLS, ForcePath()),
    "caps alone": (np.array([2.0, 1.5, 1.0, 0.2, 0.3, 0.1]), Safety(), ForcePath()),
    "slews alone": (np.inf, Safety(slew=(700.0, 90.0)), ForcePath()),
    "a ramp alone": (np.inf, Safety(ramp=0.05), ForcePath()),
    "a filter alone": (np.inf, Safety(), ForcePath(filter_hz=40.0)),
    "heat of axes": (
        np.array([4.0, 4.0, 4.0, 9.0, 9.0, 9.0]),
        Safety(continuous=(0.3, 0.6), heating=0.02, slew=(500.0, 50.0)), ForcePath(),
    ),
    "heat of lengths": (
        np.inf,
        Safety(length=(0.8, 0.7), continuous=(0.4, 0.2), heating=0.01, slew=(300.0, 100.0)),
        ForcePath(),
    ),
    "all of it": (
        np.array([3.0, 2.0, 4.0, 0.4, 0.5, 0.3]),
        Safety(length=(2.5, 0.45), continuous=(0.3, 0.5), heating=0.03, slew=(800.0, 60.0),
               ramp=0.02, actuated=(1, 1, 0, 1, 1, 1)),
        ForcePath(filter_hz=100.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(
    "commands", [SWINGS, STEADY, 0.2 * SWINGS], ids=["swings", "steady", "small"]
)
def test_every_tick_is_that_of_the_definition(name: str, commands: np.ndarray) -> None:
    compared(*WAYS[name], commands)


def test_limits_that_do_not_bind_change_no_bit() -> None:
    to = path(1e5, Safety(length=(1e5, 1e5), slew=(1e9, 1e9)))
    for command in RNG.standard_normal((200, 6)) * 1e3:
        np.testing.assert_array_equal(send(to, command), command)
    assert to.clock.counts[ALTERED] == 0


def test_a_filter_begins_at_zero_after_a_fault_and_after_letting_go() -> None:
    to = path(asked=ForcePath(filter_hz=20.0))
    blend = to.p["filter_blend"][0]
    for way in ("fault", "let go"):
        for _ in range(50):
            send(to, np.ones(6))
        if way == "fault":
            to.clock.counts[FAULT] = DEVICE_LOST
        else:
            to.device.guard.off[0] = 1
        assert (send(to, np.ones(6)) == 0.0).all()
        to.clock.counts[FAULT], to.device.guard.off[0] = NO_FAULT, 0
        np.testing.assert_allclose(send(to, np.ones(6)), blend)
    assert to.clock.counts[LATCHED] == 2


def test_the_first_fault_is_the_one_that_is_told() -> None:
    """What is not finite after a device was lost does not hide that it was lost."""
    to = path(5.0, Safety(slew=(10.0, 10.0)))
    send(to, np.ones(6))
    to.clock.counts[FAULT] = DEVICE_LOST
    assert (send(to, np.full(6, np.nan)) == 0.0).all()
    assert to.clock.counts[FAULT] == DEVICE_LOST
    assert np.isfinite(to.device.filtered).all()
