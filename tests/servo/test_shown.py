"""What the servo shows of its contacts is what it renders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from detent import Contact, Session, World
from detent.devices import Inertial
from detent.errors import ParameterError
from detent.hands import Constant, Impedance
from detent.kernels.stages import run_stage
from detent.local import LocalModel
from detent.servo import places
from detent.servo.loop.loop import run_lockstep
from detent.servo.shown import HOLDS, MOST_SHOWN, NEAR, NOTHING, SLIDES, TIES, WEIGHT
from detent.world.friction import Friction
from waiting import wait_for

RUB = Friction(0.4, 0.3)


def shown_after(session: Session, force: tuple[float, ...], ticks: int) -> tuple[Any, np.ndarray]:
    """The servo after so many ticks under a constant force, and what it shows then."""
    ready = session.prepare(Constant(force=force), 1000.0, ring=ticks)
    assert run_lockstep(ready.servo, ticks) == ticks
    run_stage(int(ready.servo.stages[places.SHOW]), ready.servo)
    return ready, ready.servo.shown[ready.servo.shown["kind"] != NOTHING].copy()


@pytest.mark.parametrize(
    ("world", "contact", "force"),
    [
        ("corner", Contact(), (0.3, -0.5)),
        ("corner", Contact(friction=RUB), (0.3, -0.5)),
        ("corner", Contact(mode="penalty", friction=RUB), (0.5, -0.2)),
        ("corner", Contact(mode="rigid"), (0.3, -0.5)),
        ("corner", Contact(mode="rigid", friction=RUB), (0.3, -0.5)),
        ("corner-3d", Contact(friction=RUB), (-0.6, -0.5, -0.8)),
    ],
)
def test_the_forces_that_are_shown_are_those_that_the_tool_feels(
    world: str, contact: Contact, force: tuple[float, ...]
) -> None:
    ready, shown = shown_after(Session(World.builtin(world), contact), force, 2500)
    row = ready.servo.ring[2499]
    assert row["collisions"] == 0 and len(shown) == row["contacts"] > 0
    total = shown["force"][:, None] * shown["normal"] + shown["rub"]
    np.testing.assert_allclose(total.sum(axis=0), row["environment_wrench"][:3], atol=1e-9)
    assert np.linalg.norm(total.sum(axis=0)) > 0.1
    np.testing.assert_allclose(np.linalg.norm(shown["normal"], axis=1), 1.0, atol=1e-9)
    assert (shown["tool"] == 1).all() and set(shown["kind"]) <= {HOLDS, SLIDES}
    inside = np.linalg.norm(shown["rub"], axis=1) <= shown["friction"] * shown["force"] + 1e-9
    assert inside.all()


@pytest.mark.parametrize(("cap", "left"), [(100.0, 1.0), (4.0, 4.0 / (0.5 * 9.81))])
def test_the_weight_that_is_felt_is_shown_as_a_part(cap: float, left: float) -> None:
    """Half a kilogram in free air, on a device that can render it, and on one that cannot."""
    body = '<body name="t"><freejoint/><geom size=".02" mass=".5"/></body>'
    world = World.from_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    device = Inertial(mass=1.0, limits=(cap,) * 6)
    ready, shown = shown_after(Session(world, device=device), (0.0, 0.0, 5.0), 50)
    assert list(shown["kind"]) == [WEIGHT]
    weight = (shown["force"][:, None] * shown["normal"])[0]
    np.testing.assert_allclose(weight, (0.0, 0.0, -left * 0.5 * 9.81), atol=1e-9)
    np.testing.assert_allclose(weight, ready.servo.ring[49]["environment_wrench"][:3], atol=1e-9)


def test_a_tool_that_is_dragged_along_a_wall_slides() -> None:
    session = Session(World.builtin("corner"), Contact(friction=Friction(0.2, 0.2)))
    _, shown = shown_after(session, (0.0, -0.8), 2500)
    assert len(shown) and set(shown["kind"]) == {HOLDS}
    on_the_way = [shown_after(session, (0.2, -0.4), ticks)[1] for ticks in range(400, 2600, 200)]
    assert any(SLIDES in shown["kind"] for shown in on_the_way)


CRANK = """<mujoco><worldbody><body name="crank" pos="0 0 0">
  <joint type="hinge" axis="0 0 1"/><geom type="capsule" size=".01" fromto="0 0 0 .2 0 0"/>
</body></worldbody></mujoco>"""


def test_what_joints_forbid_is_shown_at_the_hand() -> None:
    world = World.from_string(CRANK, tool="crank", point=(0.2, 0.0, 0.0))
    session = Session(world, device=Inertial(0.1, 1e-4, subspace="translational"))
    ready, shown = shown_after(session, (5.0, 0.0, 0.0), 300)
    assert len(shown) == 2 and set(shown["kind"]) == {TIES}
    turned = float(ready.servo.scene.qpos[0])
    along = np.array([-np.sin(turned), np.cos(turned), 0.0])  # the only way the hand can go
    np.testing.assert_allclose(shown["normal"] @ along, 0.0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(shown["normal"], axis=1), 1.0)
    np.testing.assert_allclose(shown["point"][0], ready.servo.motion.point)
    pull = (shown["force"][:, None] * shown["normal"]).sum(axis=0)
    np.testing.assert_allclose(pull, ready.servo.device.topology[:3], atol=1e-6)
    assert np.linalg.norm(pull) > 1.0


@pytest.mark.live
def test_constraints_that_are_near_are_shown_before_they_are_touched() -> None:
    session = Session(World.builtin("peg-in-hole"), local=LocalModel())
    with session.live(rate=500.0, hand=Impedance(200.0, 20.0), realtime=False) as live:
        start = live.view()[1]["tool_position"].copy()
        assert wait_for(lambda: NEAR in live.shown()["kind"] or pushed(live, start))
        near = live.shown()
        assert (near["separation"][near["kind"] == NEAR] > 0.0).all()


def pushed(live: Any, start: np.ndarray) -> bool:
    """Lead the hand towards the floor; always False."""
    live.pull(live.view()[1]["tool_position"] + np.array([0.0, -0.01, 0.0]))
    return False


def test_more_contacts_than_fit_are_cut_off_and_those_of_the_tool_come_first() -> None:
    balls = "".join(
        f"<body pos='{0.3 * i} 1 .0999'><freejoint/><geom size='.1'/></body>" for i in range(60)
    )
    scene = f"""<mujoco><worldbody><geom type="plane" size="50 50 .1"/>{balls}
      <body name="tool" pos="0 0 .0999"><freejoint/><geom size=".1"/></body>
    </worldbody></mujoco>"""
    session = Session(World.from_string(scene, tool="tool"), sleep=False)
    _, shown = shown_after(session, (0.0, 0.0, -1.0), 200)
    assert len(shown) == MOST_SHOWN
    assert shown["tool"][0] == 1 and shown["tool"].sum() == 1


@pytest.mark.live
def test_actuators_can_be_driven_and_others_stay() -> None:
    session = Session(World.builtin("gripper"))
    with session.live(rate=500.0, hand=Impedance(), realtime=False) as live:
        before = live.controls
        live.drive(0, 0.02)
        assert wait_for(lambda: live.controls[0] == 0.02)
        live.pull((0.0, 0.0, 0.1))
        ticks = live.status().ticks
        assert wait_for(lambda: live.status().ticks > ticks + 20)
        assert live.controls[0] == 0.02 and live.controls[1] == before[1]
        assert live.changed
        for wrong in (-1, 2, 99):
            with pytest.raises(ParameterError, match="one of the 2"):
                live.drive(wrong, 0.0)
        with pytest.raises(ParameterError, match="finite"):
            live.drive(0, float("nan"))
        assert live.controls[0] == 0.02
    alone = Session(World.builtin("corner")).live(rate=500.0, realtime=False)
    with alone as live, pytest.raises(ParameterError, match="one of the 0"):
        live.drive(0, 0.0)
