"""`make hashes`: what is computed twice is the same to the bit, and a difference is told."""

from __future__ import annotations

from typing import Any

import pytest

from detent import Session, World
from detent.errors import ServoFault
from detent.experiments import EXPERIMENTS
from detent.hands import Constant
from detent.mechanism.library import builtin
from hashes import NOT_REPEATABLE, SECONDS, line, of_a_scene, of_an_experiment


@pytest.mark.parametrize("name", ["corner", "four-bar", "rolling-disk"])
def test_a_run_is_repeated_to_the_bit(name: str) -> None:
    subject = World.builtin(name) if name in World.library() else builtin(name)
    first, second = of_a_scene(subject)
    assert first == second
    assert first != Session(subject).run(SECONDS, Constant(force=(3.0, -4.0, 2.0))).state_hash()


def test_the_first_run_of_an_experiment_is_repeated_and_the_rest_left_out() -> None:
    run = Session.run
    first, second = of_an_experiment("corner-push")
    assert first == second
    assert Session.run is run


def test_all_runs_of_an_experiment_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Two:
        def __call__(self) -> None:
            for force in (0.1, 0.2):
                Session(World.builtin("corner")).run(0.01, Constant(force=(force, 0.0, 0.0)))

    monkeypatch.setitem(EXPERIMENTS, "two", Two())  # type: ignore[arg-type]
    hashes = of_an_experiment("two", whole=True)
    assert len(set(hashes)) == 2
    assert line("two", hashes, whole=True)[0].endswith("2 runs")
    assert line("two", hashes[::-1], whole=True) != line("two", hashes, whole=True)


def test_what_is_not_repeated_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run, pushes = Session.run, iter((0.1, 0.2))

    def moody(session: Session, seconds: float, hand: Any) -> Any:
        return run(session, 0.01, Constant(force=(next(pushes), 0.0, 0.0)))

    monkeypatch.setattr(Session, "run", moody)
    text, same = line("corner", of_a_scene(World.builtin("corner")))
    assert not same and "NOT REPEATED" in text


def test_a_run_that_stops_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(session: Session, seconds: float, hand: Any) -> Any:
        raise ServoFault("too much")

    monkeypatch.setattr(Session, "run", stops)
    assert line("corner", of_a_scene(World.builtin("corner"))) == (f"{'corner':28} too much", True)


def test_what_is_left_out_is_an_experiment() -> None:
    assert set(EXPERIMENTS) > NOT_REPEATABLE
