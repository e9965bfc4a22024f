"""Unilateral and virtual couplers (M14, M15), and the limit strategies (M8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from detent import Contact, Direct, Session, UnilateralCoupler, VirtualCoupler, World
from detent.coupling.couplers import TABLE_4_1_COUPLER
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import IDEAL, Inertial, preset
from detent.errors import DetentError
from detent.hands import Constant, Guided, Impedance
from detent.record.trace import Trace

CORNER = World.builtin("corner").placed((0.039, -0.0195, 0.0))
PUSH = Constant((0.32, -0.4))


def test_a_unilateral_coupler_is_silent_in_free_motion() -> None:
    trace = Session(CORNER, coupling=TABLE_4_1_COUPLER, rate=512).run(0.45, PUSH)
    assert np.ptp(trace["device_position"][:, 0]) > 0.01
    assert not trace["device_wrench"].any()


def test_a_god_object_does_not_penetrate_while_the_device_does() -> None:
    trace = Session(CORNER, coupling=TABLE_4_1_COUPLER, rate=512).run(4.0, PUSH)
    assert trace["device_position"][:, 0].max() > 0.059 + 1.5e-3
    assert trace["tool_position"][:, 0].max() < 0.059 + 1e-9
    # at rest the spring balances the hand: depth = F / K
    final = trace["device_position"][-1] - trace["tool_position"][-1]
    np.testing.assert_allclose(final[:2], [0.32 / 1000, -0.4 / 1000], rtol=1e-3)


def test_a_unilateral_coupler_chooses_rigid_contact() -> None:
    session = Session(CORNER, Contact(mode="impulse"), UnilateralCoupler())
    assert session.contact.mode == "rigid"


def test_default_coupler_is_table_4_1_at_two_kilograms() -> None:
    world = World.builtin("corner")
    ready = Session(world, coupling=VirtualCoupler(), rate=2000).prepare(None, 2000, 16)
    p = ready.servo.parameters[0]
    np.testing.assert_allclose(p["coupling_k"][[0, 1, 5]], [1000, 1000, 2.5], rtol=1e-9)
    np.testing.assert_allclose(p["coupling_b"][[0, 1, 5]], [50, 50, 0.125], rtol=1e-9)


def test_a_virtual_coupler_pulls_tool_and_device_equally() -> None:
    """Without contact the hand moves both: m = m_tool + m_device."""
    trace = Session(World.builtin("corner"), coupling=VirtualCoupler(), rate=1000).run(
        0.5, Constant((0.1, 0.0))
    )
    momentum = 2.0 * (trace["device_twist"][:, 0] + trace["tool_twist"][:, 0])
    np.testing.assert_allclose(momentum, 0.1 * trace["time"], atol=1e-12)


@pytest.mark.parametrize("strategy", ["scale", "spread"])
@pytest.mark.parametrize("limit", ["plastic", "total", "collision_only"])
def test_tool_and_device_receive_the_same_limited_impulse(strategy: str, limit: str) -> None:
    contact = Contact(method="equality", strategy=strategy, limit=limit)
    device = replace(IDEAL, limits=(15.0, 15.0, 1.0))
    trace = Session(CORNER, contact, TABLE_4_1, device, rate=512).run(4.0, PUSH)
    assert (np.abs(trace["device_wrench"][:, :2]) <= 15.0 + 1e-9).all()
    np.testing.assert_allclose(trace["device_position"], trace["tool_position"], atol=1e-12)
    assert (trace["impact_energy"] <= 1e-15).all()


def test_saturation_parts_tool_and_device() -> None:
    contact = Contact(method="equality", strategy="saturate")
    device = Inertial(limits=(15.0, 15.0, 1.0))
    trace = Session(CORNER, contact, TABLE_4_1, device, rate=512).run(4.0, PUSH)
    apart = np.abs(trace["device_position"] - trace["tool_position"]).max()
    assert apart > 5e-4
    assert trace["altered"].sum() == 3  # one hit of the wall, two of the floor are cut


def test_full_strategy_ignores_the_limits() -> None:
    contact = Contact(method="equality", strategy="full")
    limited = Session(CORNER, contact, TABLE_4_1, Inertial(limits=(15.0, 15.0, 1.0)), rate=512)
    ideal = Session(CORNER, contact, TABLE_4_1, rate=512)
    assert limited.run(2.0, PUSH).state_hash() == ideal.run(2.0, PUSH).state_hash()


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Contact(strategy="ignore"),
        lambda: Contact(limit="some"),
        lambda: Inertial(limits=(0.0, 1.0, 1.0)),
        lambda: Inertial(friction=(-1.0, 0.0)),
        lambda: Inertial(resolution=float("nan")),
        lambda: VirtualCoupler(stiffness=-1.0),
        lambda: Session(CORNER, integrator="leapfrog"),
    ],
)
def test_bad_input_is_refused(bad: object) -> None:
    with pytest.raises(DetentError):
        bad()  # type: ignore[operator]


def test_a_device_with_friction_stays_put_below_it() -> None:
    device = Inertial(friction=(0.5, 0.0))
    session = Session(World.builtin("corner"), coupling=Direct(), device=device)
    still = session.run(1.0, Constant((0.49, 0.0)))
    moving = session.run(1.0, Constant((0.6, 0.0)))
    assert np.abs(still["device_position"][:, 0]).max() < 1e-3
    assert moving["device_position"][-1, 0] > 5e-3


def test_encoders_are_seen_in_steps() -> None:
    """The position channel acts on what the encoders see: its force comes in steps of K·res."""
    device = Inertial(resolution=1e-3)
    hand = Impedance(stiffness=50.0, damping=5.0, target=(0.02, 0.0))
    fine = Session(World.builtin("corner")).run(1.0, hand)
    coarse = Session(World.builtin("corner"), device=device).run(1.0, hand)
    assert np.abs(fine["device_position"] - coarse["device_position"]).max() > 1e-5


def test_held_integrator_is_exact_under_a_constant_force() -> None:
    session = Session(World.builtin("corner"), rate=100.0, integrator="held")
    trace = session.run(0.3, Constant((0.1, 0.0)))
    exact = 0.5 * (0.1 / 2.0) * trace["time"] ** 2
    np.testing.assert_allclose(trace["device_position"][:, 0], exact, atol=1e-15)


# --- friction of a god object


def rubbed(shape: str, name: str, mu: float) -> Trace:
    """Pressed on a floor by a device and led along it, at 50 mm/s."""
    tool = {
        "ball": f'<geom size="0.005" mass="0.1" friction="{mu} 0 0"/>',
        "box": f'<geom type="box" size=".01 .01 .005" mass=".1" friction="{mu} 0 0"/>',
    }[shape]
    world = World.from_string(
        '<mujoco><option gravity="0 0 0"/><worldbody><geom type="box" pos="0 0 -.105" '
        f'size=".3 .3 .1" friction="{mu} 0 0"/><body name="tool"><freejoint/>{tool}</body>'
        "</worldbody></mujoco>"
    )
    path = [(0, 0, 0, 0), (0.3, 0, 0, -0.006), (0.6, 0, 0, -0.006), (1.6, 0.05, 0, -0.006)]
    hand = Guided(
        path=path, stiffness=300.0, damping=5.0, rotational_stiffness=0.5, rotational_damping=0.01
    )
    session = Session(world, device=preset(name))
    assert isinstance(session.coupling, UnilateralCoupler)
    return session.run(1.6, hand)


@pytest.mark.parametrize("mu", [0.3, 0.8])
@pytest.mark.parametrize("shape", ["ball", "box"])
@pytest.mark.parametrize("name", ["omega.3", "touch"])
def test_a_god_object_feels_the_friction_of_a_scene(shape: str, name: str, mu: float) -> None:
    """μ of the normal force, whether or not the device turns: what it cannot turn does not roll."""
    run = rubbed(shape, name, mu)
    felt, time = run["device_wrench"], run["time"]
    slides = (time > 1.2) & (time < 1.6)
    assert felt[slides, 2].mean() > 0.5
    ratio = np.median(-felt[slides, 0] / felt[slides, 2])
    assert ratio == pytest.approx(mu, rel=0.02)


def test_a_god_object_that_is_pushed_within_the_cone_stays() -> None:
    """Led by 2 mm along the floor with μ = 0.8: the device goes, the tool does not."""
    run = rubbed("box", "omega.3", 0.8)
    early = (run["time"] > 0.5) & (run["time"] < 0.63)  # 1.5 mm of the way
    assert np.ptp(run["tool_position"][early, 0]) < 1e-5
    assert -run["device_wrench"][early, 0].min() > 0.2
    assert run["tool_position"][-1, 0] > 0.03
