"""A hand that does again what was recorded: the same run, tick by tick."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from detent import Contact, Friction, Session, Trace, World
from detent.errors import ParameterError, UnknownNameError
from detent.hands import Constant, Impedance, Playback, Sinusoid
from waiting import wait_for

HANDS = {
    "sinusoid": Sinusoid(force=(2.0, 3.0), torque=0.02, frequency=2.0, bias_force=(0.3, -0.4)),
    "impedance": Impedance(stiffness=300, damping=20, target=(0.1, -0.1)),
}


def corner(rate: float = 1000.0, **contact: object) -> Session:
    world = World.builtin("corner").placed([0.05, -0.06, 0.1])
    return Session(world, Contact(4000, 30, **contact), rate=rate)  # type: ignore[arg-type]


@pytest.mark.parametrize("hand", HANDS)
@pytest.mark.parametrize("interpolation", ["hold", "linear"])
@pytest.mark.parametrize("rate", [512.0, 1000.0, 3777.0])
def test_at_the_same_rate_it_is_the_same_run(hand: str, interpolation: str, rate: float) -> None:
    """Also if a spring held the device: what it did is given now."""
    session = corner(rate, friction=Friction(), restitution=0.3)
    recorded = session.run(1.0, HANDS[hand])
    assert (recorded["collisions"] > 0).any()
    again = session.run(1.0, Playback.from_trace(recorded, interpolation))
    assert again.state_hash() == recorded.state_hash()
    assert session.run(1.0).state_hash() != recorded.state_hash()


def test_a_trace_from_a_file_is_the_same_run(tmp_path: Path) -> None:
    session = corner()
    recorded = session.run(0.5, HANDS["sinusoid"], record=tmp_path / "run.arrow")
    loaded = Trace.load(tmp_path / "run.arrow")
    again = session.run(0.5, Playback.from_trace(loaded))
    assert again.state_hash() == recorded.state_hash()
    assert again.meta["hand"] == {
        "type": "Playback", "samples": 500, "seconds": 0.499, "interpolation": "hold",
    }  # fmt: skip


@pytest.mark.live
def test_live_it_is_the_same_run() -> None:
    session = corner()
    recorded = session.run(0.4, HANDS["impedance"])
    with session.live(rate=1000, hand=Playback.from_trace(recorded)) as live:
        assert wait_for(lambda: live.status().ticks >= 450)
    rows = live.recent()
    assert len(rows) >= 450
    kept = session.subject.kept(rows[:400])
    assert Trace(kept, {}).state_hash() == recorded.state_hash()
    assert not rows["hand_wrench"][400:].any()  # the hand has gone


def test_a_part_of_a_trace_starts_with_the_run() -> None:
    recorded = corner().run(1.0, HANDS["sinusoid"])
    late = Playback.from_trace(Trace(recorded.rows[300:600], recorded.meta))
    again = corner().run(0.3, late)
    np.testing.assert_array_equal(again["hand_wrench"], recorded["hand_wrench"][300:600])


def test_samples_are_held_or_joined_by_lines() -> None:
    times, forces = [0.002, 0.004, 0.01], [[1.0, 0, 0], [3.0, 0, 0], [0.0, 6.0, 0.3]]
    held = Playback(times, forces).sampled(1000.0)
    np.testing.assert_array_equal(held[:, 0], [0, 0, 1, 1, 3, 3, 3, 3, 3, 3, 0])
    np.testing.assert_array_equal(held[-1], [0, 6, 0, 0, 0, 0.3])
    lines = Playback(times, forces, "linear").sampled(1000.0)
    np.testing.assert_allclose(lines[:, 0], [0, 0, 1, 2, 3, 2.5, 2, 1.5, 1, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(lines[:, 1], [0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6], atol=1e-12)


@pytest.mark.parametrize("rate", [100.0, 999.0, 1000.0, 4000.0, 7.3])
def test_there_is_a_tick_for_every_time_up_to_the_last_sample(rate: float) -> None:
    hand = Playback(np.arange(1000) / 1000, np.ones((1000, 6)))
    ticks = hand.sampled(rate)
    assert len(ticks) == int(np.floor(0.999 * rate + 1e-6)) + 1
    assert (ticks == 1.0).all()


def test_a_slower_recording_pushes_as_long() -> None:
    """The momentum of a force that was sampled at 100 Hz and is held between."""
    free = Session(World.builtin("corner"), rate=1000)
    push = np.zeros((100, 6))
    push[20:60, 0] = 0.05
    run = free.run(1.0, Playback(np.arange(100) / 100, push))
    assert run["hand_wrench"][:, 0].sum() / 1000 == pytest.approx(0.05 * 0.4, rel=1e-12)


def test_after_the_end_the_hand_is_gone() -> None:
    run = corner().run(0.1, Playback([0.0, 0.02], [[1.0, 0, 0], [2.0, 0, 0]]))
    np.testing.assert_array_equal(run["hand_wrench"][:22, 0], [1.0] * 20 + [2.0, 0.0])
    assert not run["hand_wrench"][21:].any()


BAD = {
    "no samples": (([], np.zeros((0, 6))), "shape of playback times = (0,)"),
    "times that stand still": (([0.0, 1.0, 1.0], np.zeros((3, 6))), "after the one before it, 1.0"),
    "times that go back": (([0.0, 2.0, 1.0], np.zeros((3, 6))), "playback time = 1.0"),
    "a time that is NaN": (([0.0, np.nan], np.zeros((2, 6))), "playback times = nan"),
    "a force that is infinite": (([0.0], [[np.inf] * 6]), "playback wrenches = inf"),
    "text": ((["now"], [[0.0] * 6]), "playback times = ['now']"),
    "a table of times": (([[0.0, 1.0]], np.zeros((2, 6))), "shape of playback times = (1, 2)"),
    "too few wrenches": (([0.0, 1.0], np.zeros((1, 6))), "(2, 6) or (2, 3)"),
    "four numbers": (([0.0], [[0.0] * 4]), "shape of playback wrenches = (1, 4)"),
    "one wrench": (([0.0], [0.0] * 6), "shape of playback wrenches = (6,)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_recordings_are_refused(case: str) -> None:
    arguments, said = BAD[case]
    with pytest.raises(ParameterError) as caught:
        Playback(*arguments)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert len(str(caught.value)) < 200


def test_an_unknown_interpolation_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="known: hold, linear"):
        Playback([0.0], [[0.0] * 6], "cubic")


def test_a_recording_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(ParameterError, match="at most"):
        corner().run(0.01, Playback([0.0, 1e9], np.zeros((2, 6))))


def test_an_empty_trace_is_refused() -> None:
    recorded = corner().run(0.01, Constant(force=(1.0, 0.0)))
    with pytest.raises(ParameterError, match="playback times"):
        Playback.from_trace(Trace(recorded.rows[:0], {}))


def test_what_it_was_given_may_change_afterwards() -> None:
    times, forces = np.array([0.0, 1.0]), np.ones((2, 6))
    hand = Playback(times, forces)
    times[:], forces[:] = 5.0, 7.0
    np.testing.assert_array_equal(hand.sampled(1.0), np.ones((2, 6)))
