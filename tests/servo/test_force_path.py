"""The last guard before the device: cap, slew, filter, and nothing that is not finite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from detent import Contact, Direct, ForcePath, Session, World
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import Inertial
from detent.errors import ServoFault
from detent.hands import Constant, Impedance
from detent.servo.faults import NO_FAULT
from detent.servo.structs import ALTERED, FAULT
from detent.setup.prepared import Prepared, raise_fault
from detent.setup.world import WorldSubject
from lab import advance, loose, scene, start

BLOCKS = slice(0, 3), slice(3, 6)
PUSH = Constant(force=(0.32, -0.4), torque=0.003)


def corner(**options: object) -> Session:
    world = World.builtin("corner").placed([0.05, -0.06, 0.1])
    defaults = {"contact": Contact(4000, 30), "coupling": TABLE_4_1}
    return Session(world, rate=512, **(defaults | options))  # type: ignore[arg-type]


def test_the_ideal_device_gets_the_wrench_unchanged() -> None:
    run = corner().run(2.0, PUSH)
    np.testing.assert_array_equal(run["device_wrench"], run["raw_wrench"])
    assert not run["altered"].any()


def test_the_cap_is_uniform() -> None:
    """TH 4.5.2, errata E8: the direction is kept, and no more is taken than needed."""
    cap = np.array([2.0, 3.0, 0.01])
    saturate = Contact(strategy="saturate")
    run = corner(device=Inertial(limits=tuple(cap)), contact=saturate).run(2.0, PUSH)
    raw, sent = run["raw_wrench"][:, [0, 1, 5]], run["device_wrench"][:, [0, 1, 5]]
    with np.errstate(divide="ignore"):
        scale = np.minimum(1.0, (cap / np.abs(raw)).min(axis=1))
    assert (scale < 1.0).sum() > 1
    np.testing.assert_allclose(sent, scale[:, None] * raw, rtol=1e-12, atol=1e-15)


def test_slew_limits_the_change_per_tick() -> None:
    guard = ForcePath(slew_force=50.0, slew_torque=0.5)
    run = corner(force_path=guard).run(2.0, PUSH)
    steps = np.diff(run["device_wrench"], axis=0, prepend=np.zeros((1, 6)))
    assert np.linalg.norm(steps[:, :3], axis=1).max() <= 50.0 / 512 * (1 + 1e-12)
    assert np.linalg.norm(steps[:, 3:], axis=1).max() <= 0.5 / 512 * (1 + 1e-12)
    assert np.abs(np.diff(run["raw_wrench"], axis=0)).max() > 1.0


def test_the_filter_is_a_first_order_low_pass() -> None:
    run = corner(force_path=ForcePath(filter_hz=20.0)).run(2.0, PUSH)
    blend = 1.0 - np.exp(-2 * np.pi * 20.0 / 512)
    state = np.zeros(6)
    for raw, sent in zip(run["raw_wrench"], run["device_wrench"], strict=True):
        state = state + blend * (raw - state)
        np.testing.assert_allclose(sent, state, rtol=1e-9, atol=1e-12)


def step_sizes(wrenches: np.ndarray) -> tuple[float, float]:
    steps = np.diff(wrenches, axis=0, prepend=np.zeros((1, 6)))
    force, torque = (np.linalg.norm(steps[:, part], axis=1).max() for part in BLOCKS)
    return float(force), float(torque)


def test_filter_then_cap_then_slew() -> None:
    """The target is capped first, so cap and slew hold together."""
    guard = ForcePath(filter_hz=50.0, slew_force=300.0, slew_torque=3.0)
    run = corner(force_path=guard, device=Inertial(limits=(0.3, 0.3, 0.002))).run(2.0, PUSH)
    assert np.abs(run["device_wrench"][:, :2]).max() <= 0.3
    assert np.abs(run["device_wrench"][:, 5]).max() <= 0.002
    force, torque = step_sizes(run["device_wrench"])
    assert force <= 300.0 / 512 * (1 + 1e-12)
    assert torque <= 3.0 / 512 * (1 + 1e-12)


def test_a_torque_limit_that_binds_keeps_the_slew_of_the_force() -> None:
    """The force stepped by 24 times the slew limit when the cap followed the slew."""
    session = corner(
        contact=Contact(4000, 30, strategy="saturate"), force_path=ForcePath(slew_force=200.0),
        device=Inertial(limits=(15.0, 15.0, 0.005)),
    )  # fmt: skip
    run = session.run(2.0, PUSH)
    assert np.abs(run["raw_wrench"][:, 5]).max() > 0.01  # it binds
    assert step_sizes(run["device_wrench"])[0] <= 200.0 / 512 * (1 + 1e-12)
    assert np.abs(run["device_wrench"][:, 5]).max() <= 0.005


@pytest.mark.parametrize(
    "options",
    [
        {"device": Inertial(limits=(2.0, 3.0, 0.01)), "contact": Contact(strategy="saturate")},
        {"force_path": ForcePath(slew_force=50.0, slew_torque=0.5)},
        {"force_path": ForcePath(filter_hz=20.0)},
    ],
    ids=["cap", "slew", "filter"],
)
def test_every_tick_that_the_path_alters_is_marked(options: dict[str, object]) -> None:
    session = corner(**options)
    run = session.run(2.0, PUSH)
    changed = np.abs(run["device_wrench"] - run["raw_wrench"]).max(axis=1) > 1e-12
    assert changed.any()
    assert (run["altered"][changed] == 1).all()
    ready = start(session, PUSH)
    rows = advance(ready, 1024)
    assert ready.servo.clock.counts[ALTERED] == rows["altered"].sum()


# --- faults


def poison_target(ready: Prepared) -> None:
    ready.servo.target[0] = np.nan


def poison_orientation(ready: Prepared) -> None:
    ready.servo.target[3:] = np.nan


def poison_coupling(ready: Prepared) -> None:
    ready.servo.parameters["coupling_k"][0, 1] = np.inf


def poison_stiffness(ready: Prepared) -> None:
    ready.servo.parameters["stiffness"] = np.nan


def poison_restitution(ready: Prepared) -> None:
    ready.servo.parameters["restitution"] = np.nan


def poison_position(ready: Prepared) -> None:
    ready.servo.scene.qpos[0] = np.nan


def poison_velocity(ready: Prepared) -> None:
    ready.servo.scene.qvel[1] = np.inf


def poison_device(ready: Prepared) -> None:
    ready.servo.port.state.true_pose[0] = np.nan


POISONS = [
    poison_target, poison_orientation, poison_coupling, poison_stiffness, poison_restitution,
    poison_position, poison_velocity, poison_device,
]  # fmt: skip


@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("coupling", [TABLE_4_1, Direct()], ids=["four-channel", "direct"])
@pytest.mark.parametrize("mode", ["impulse", "penalty", "rigid"])
def test_nothing_that_is_not_finite_reaches_the_device(
    poison: Callable[[Prepared], None], coupling: object, mode: str
) -> None:
    session = corner(coupling=coupling).changed(mode=mode)
    ready = start(session, Impedance(stiffness=50, target=(0.1, -0.1)))
    before = advance(ready, 200)
    poison(ready)
    after = advance(ready, 500)
    assert np.isfinite(before["device_wrench"]).all()
    assert np.isfinite(after["device_wrench"]).all()
    if ready.servo.clock.counts[FAULT] == NO_FAULT:
        # what was poisoned is not used: the world must be untouched by it
        assert np.isfinite(after["tool_position"]).all()
        assert np.isfinite(ready.servo.scene.qvel).all()
        return
    assert len(after) < 500
    np.testing.assert_array_equal(after["device_wrench"][-1], 0.0)
    with pytest.raises(ServoFault, match="zero force") as caught:
        raise_fault(ready.servo, after)
    assert caught.value.last_rows is not None
    np.testing.assert_array_equal(caught.value.last_rows["time"], after["time"][-64:])


@pytest.mark.parametrize("poison", [poison_target, poison_coupling, poison_position])
def test_a_fault_comes_within_one_tick_and_stays(poison: Callable[[Prepared], None]) -> None:
    ready = start(corner(), Impedance(stiffness=50, target=(0.1, -0.1)))
    advance(ready, 50)
    poison(ready)
    assert len(advance(ready, 100)) == 1
    rows = advance(ready, 100)
    assert len(rows) == 1
    np.testing.assert_array_equal(rows["device_wrench"][-1], 0.0)


def test_a_session_raises_the_fault_with_the_last_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    session = corner()
    allocate = WorldSubject.allocate

    def poisoned(self: WorldSubject, *args: Any) -> Prepared:
        ready = allocate(self, *args)
        ready.servo.parameters["stiffness"] = np.nan
        return ready

    monkeypatch.setattr(WorldSubject, "allocate", poisoned)
    with pytest.raises(ServoFault) as caught:
        session.run(5.0, PUSH)
    rows = caught.value.last_rows
    assert rows is not None
    assert 1 <= len(rows["time"]) <= 64
    np.testing.assert_array_equal(rows["device_wrench"][-1], 0.0)


def test_a_world_that_explodes_stops_the_servo() -> None:
    """An explicit spring far beyond the step: finite numbers until the fault, then zero."""
    world = World.from_string(
        scene(
            '<body name="t"><joint type="slide" axis="1 0 0" stiffness="1e12"/>'
            '<geom size=".02" mass="1"/></body>'
        )
    ).placed([0.01])
    with pytest.raises(ServoFault, match=r"not finite|beyond 1e6") as caught:
        loose(world).run(5.0)
    assert caught.value.last_rows is not None
    assert np.isfinite(caught.value.last_rows["device_wrench"]).all()
