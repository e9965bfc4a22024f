"""A run takes the servo of the one before, if the same would be allocated: nothing shows it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from detent import Contact, FourChannel, Session, World, devices
from detent.errors import ServoFault
from detent.hands import Constant
from detent.setup.again import _LAST, Spare, key_of, lent
from detent.world.friction import Friction

PUSH = Constant(force=(3.0, -4.0, 1.0))
RUBS = Friction()
SECONDS = 0.15


def made(world: World, stiffness: float = 4000.0, **options: Any) -> Session:
    return Session(world, Contact(stiffness, 30.0, friction=RUBS), **options)


def told(session: Session) -> tuple[str, dict[str, Any]]:
    """What a run leaves behind: the digest of its rows, and all that is said of it."""
    trace = session.run(SECONDS, PUSH)
    return trace.state_hash(), trace.meta


def is_spare(world: World) -> bool:
    return isinstance(_LAST.get(world), Spare)


@pytest.mark.parametrize(
    ("name", "options", "touches"),
    [
        ("corner-boxes", {}, True),
        ("four-bar", {}, False),
        ("gripper", {"device": devices.preset("touch")}, True),
        ("peg-in-hole", {"device": devices.Pantograph()}, False),
    ],
)
def test_a_servo_that_ran_is_as_new(name: str, options: dict[str, Any], touches: bool) -> None:
    world, gains = World.builtin(name), (4000.0, 4000.0, 900.0, 4000.0)
    runs = [told(made(world, stiffness, **options)) for stiffness in gains]
    assert is_spare(world)
    new = {k: told(made(World.builtin(name), k, **options)) for k in set(gains)}
    assert runs == [new[stiffness] for stiffness in gains]
    assert (new[4000.0][0] != new[900.0][0]) == touches  # so that the gains are felt


def test_only_what_ran_twice_is_kept() -> None:
    world = World.builtin("corner")
    told(made(world))
    assert not is_spare(world)
    told(made(world))
    assert is_spare(world)


def test_what_is_written_in_a_run_is_put_back() -> None:
    session = made(World.builtin("corner"))
    not_kept = ("_table", "contact", "timespec")  # addresses, behind MuJoCo's count, the clock's
    for _ in range(2):
        session.run(SECONDS, PUSH)
    with lent(session.subject, session, PUSH, session.rate, 150) as ready:
        fresh = session.prepare(PUSH, session.rate, 150)
        assert ready.data.qpos.tobytes() == fresh.data.qpos.tobytes()
        assert ready.servo.parameters.tobytes() == fresh.servo.parameters.tobytes()
        for part in ("scene", "rows", "motion", "device", "clock", "sleep"):
            for name, value in vars(getattr(ready.servo, part)).items():
                other = getattr(getattr(fresh.servo, part), name)
                if isinstance(value, np.ndarray) and name not in not_kept:
                    assert value.tobytes() == other.tobytes(), (part, name)


def changed_model(world: World) -> None:
    world.model.opt.gravity[2] = -3.0


def changed_start(world: World) -> None:
    world.qvel[0] = 0.1


@pytest.mark.parametrize("change", [changed_model, changed_start])
def test_a_world_that_changed_has_a_servo_of_its_own(change: Any) -> None:
    world, other = World.builtin("corner-boxes"), World.builtin("corner-boxes")
    for _ in range(2):
        before = told(made(world))
    for one in (world, other):
        change(one)
    assert told(made(world)) == told(made(other)) != before


def test_another_coupling_rate_or_hand_counts() -> None:
    world = World.builtin("corner")
    session = made(world)
    key = key_of(session.subject, session, PUSH, 1000.0, 10)
    assert key is not None
    assert key == key_of(session.subject, made(world, 500.0), PUSH, 1000.0, 10)
    others = [
        (made(world, coupling=FourChannel(stiffness=100.0)), PUSH, 1000.0, 10),
        (made(world, sleep=False), PUSH, 1000.0, 10),
        (session, Constant((1.0, 0.0)), 1000.0, 10),
        (session, PUSH, 999.0, 10),
        (session, PUSH, 1000.0, 11),
    ]
    assert key not in [key_of(one.subject, one, *rest) for one, *rest in others]


def test_a_run_within_a_run_has_a_servo_of_its_own() -> None:
    world, inner = World.builtin("corner"), list[tuple[str, dict[str, Any]]]()
    alone = [told(made(world)) for _ in range(2)]
    outer = made(world).run(SECONDS, PUSH, progress=lambda _: inner.append(told(made(world))))
    assert {inner[0][0], outer.state_hash()} == {alone[0][0]}


def test_what_stopped_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World.builtin("corner")
    for _ in range(2):
        told(made(world))

    def stop(*given: Any) -> None:
        raise ServoFault("stopped")

    with monkeypatch.context() as patched, pytest.raises(ServoFault):
        patched.setattr("detent.setup.collect.raise_fault", stop)
        told(made(world))
    assert world not in _LAST


def test_a_servo_goes_with_its_world() -> None:
    world = World.builtin("corner")
    for _ in range(2):
        told(made(world))
    data = weakref.ref(_LAST[world].ready)  # type: ignore[union-attr]
    del world
    gc.collect()
    assert data() is None
