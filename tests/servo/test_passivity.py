"""Energy that nobody put in: what the observer sees of it, and what is left with the controller."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from detent import (
    Admittance,
    Contact,
    LocalModel,
    Passivity,
    Session,
    VirtualCoupler,
    World,
)
from detent.coupling import Direct
from detent.devices import AdmittanceDisplay, Desktop, Inertial, Mapped, preset
from detent.devices.limits import passive_stiffness, stable_stiffness
from detent.errors import DetentError, ParameterError, ServoFault
from detent.experiments.sampled_wall import (
    WallCase,
    given,
    given_to_hand,
    growth,
    roughness,
    swing,
)
from detent.hands import Constant, Impedance, Sinusoid
from detent.record.trace import Trace
from detent.servo.observed import CERTAIN, OWN, PORT, SOURCES
from detent.servo.passivity import control, energy_left
from detent.world.friction import NO_FRICTION
from lab import scene
from passive_cases import fallen, lateness, random_case, sheet_case, worst_gift
from sweeps import LONG

WATCH = Passivity("observe")
RATES = (125e-6, 250e-6, 500e-6, 1e-3)


def motors_work(trace: Trace) -> np.ndarray:
    """[J] of the motors of a device without friction: what its motion has, and the hand did not."""
    way = np.diff(trace["device_position"], axis=0)
    hand = np.cumsum((trace["hand_wrench"][:-1, :3] * way).sum(axis=1))
    energy = np.asarray(trace["device_energy"])
    return np.concatenate([[0.0], energy[1:] - energy[0] - hand])


# --- the observer


@pytest.mark.parametrize("delay", [0, 1, 3])
@pytest.mark.parametrize("cap", [1.0, 50.0])
def test_the_observer_has_the_work_of_the_motors(delay: int, cap: float) -> None:
    """By the balance of a device without friction: what moves it is the hand, or the motors."""
    case = WallCase(2000.0, delay=delay, own_damping=0.0, cap=cap, push=1.5)
    trace = case.run(0.5, gap=0.002, passivity=WATCH)
    assert np.abs(motors_work(trace)).max() > 1e-3
    np.testing.assert_allclose(trace["port_energy"], -motors_work(trace), atol=1e-12)


def test_it_counts_at_the_rate_of_a_slow_device() -> None:
    """A Touch of 1 kHz on a servo of 4 kHz: between its samples its force stays."""
    facts = {name: 0.0 for name in ("friction", "damping", "turning_friction", "turning_damping")}
    sheet = preset("touch").sheet
    free = replace(preset("touch"), sheet=sheet.with_facts(
        resolution=None, **{n: replace(getattr(sheet, n), value=v) for n, v in facts.items()}
    ))  # fmt: skip
    world = World.from_string(
        scene(
            '<geom type="box" size=".5 .05 .5" pos="0 -.05 0"/><body name="tool" pos="0 .012 0">'
            '<freejoint/><geom size=".01" mass=".1"/></body>'
        ),
        tool="tool",
    )
    session = Session(world, device=free, rate=4000.0, passivity=WATCH)
    trace = session.run(0.4, Constant((0.0, -0.5, 0.0)))
    read = slice(4, None, 4)  # ticks with a new reading
    work = motors_work(trace)
    assert np.abs(work).max() > 1e-4
    np.testing.assert_allclose(trace["port_energy"][read], -work[read], atol=1e-10)


def test_torques_count_by_the_vector_of_the_turn() -> None:
    world = World.builtin("corner-3d")
    device = Inertial(mass=0.2, rotational_inertia=1e-3)
    session = Session(
        world, coupling=VirtualCoupler(300.0, 1.0), device=device, rate=2000.0, passivity=WATCH
    )
    trace = session.run(0.3, Sinusoid(torque=(0.0, 0.0, 0.05), frequency=5.0))
    angle = 2.0 * np.arctan2(trace["device_quaternion"][:, 3], trace["device_quaternion"][:, 0])
    hand = np.cumsum(trace["hand_wrench"][:-1, 5] * np.diff(angle))
    energy = np.asarray(trace["device_energy"])
    work = np.concatenate([[0.0], energy[1:] - energy[0] - hand])
    assert np.abs(work).max() > 1e-5
    np.testing.assert_allclose(trace["port_energy"], -work, atol=2e-9)


def test_the_engine_port_has_what_contacts_took_from_the_tool() -> None:
    """A tool that nobody holds: what it loses at the wall went through the port."""
    world = World.builtin("corner").placed((0.0, -0.05, 0.0), (0.0, -0.2, 0.0))
    loose = VirtualCoupler(1e-9, 1e-9)
    session = Session(
        world, Contact(4000.0, 30.0), loose, local=LocalModel(constraints="static"), passivity=WATCH
    )
    trace = session.run(0.5)
    lost = trace["tool_energy"][0] - np.asarray(trace["tool_energy"])
    assert lost.max() > 1e-3
    # rows are written before the world moves: the port is a tick behind the tool
    np.testing.assert_allclose(trace["engine_energy"], lost, atol=2e-3 * lost.max())


# --- stability and passivity against theory


@pytest.mark.parametrize("step", RATES)
@pytest.mark.parametrize("delay", [0, 1, 2])
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_a_wall_begins_to_hum_where_the_eigenvalues_say(
    step: float, delay: int, damping: float
) -> None:
    """Growth is linear in the stiffness: where it crosses zero, within 2 %; found: 0.002 %."""
    case = WallCase(1.0, damping=damping, step=step, delay=delay)
    below, above = (
        growth(replace(case, stiffness=share * case.boundary)) for share in (0.98, 1.02)
    )
    assert below < 0.0 < above


@pytest.mark.parametrize("share", [0.4, 0.99])
@pytest.mark.parametrize(("step", "delay"), [(125e-6, 0), (1e-3, 0), (1e-3, 2)])
@pytest.mark.parametrize("damping", [0.0, 0.2])
@pytest.mark.parametrize("law", ["damper", "reference"])
def test_below_the_passive_limit_it_alters_no_tick(
    law: str, share: float, step: float, delay: int, damping: float
) -> None:
    stiffness = share * passive_stiffness(0.5, step, delay, damping)
    case = WallCase(stiffness, damping=damping, step=step, delay=delay)
    trace = case.run(1.0, gap=0.003, speed=0.3, passivity=Passivity(law))
    assert trace["contacts"].any()
    assert trace["passive"].sum() == 0
    assert trace["port_energy"].min() < 0.0 or share < 0.5  # W alone would have made it act


def test_it_would_act_if_the_device_were_credited_with_nothing() -> None:
    case = WallCase(0.4 * passive_stiffness(0.5, 1e-3, 0))
    blind = Passivity(damping=(0.0, 0.0))
    assert case.run(4.0, gap=0.003, speed=0.3, passivity=blind)["passive"].sum() > 0


# --- four times the boundary


def beyond(step: float, delay: int, **more: float) -> WallCase:
    case = WallCase(1.0, step=step, delay=delay, **more)  # type: ignore[arg-type]
    return replace(case, stiffness=4.0 * case.boundary)


def hit(case: WallCase, passivity: Passivity) -> Trace:
    """At 0.05 m/s, with a push of 2 N, for 2 s."""
    return case.run(2.0, gap=0.0, speed=0.05, passivity=passivity)


def test_without_a_controller_it_shakes_the_hand() -> None:
    trace = hit(beyond(1e-3, 1), WATCH)
    assert swing(trace) > 0.03
    assert given(trace) > 0.3


@pytest.mark.parametrize(
    ("step", "delay", "way", "energy"), [(1e-3, 1, 1e-3, 2e-3), (250e-6, 0, 1e-4, 0.2e-3)]
)
@pytest.mark.parametrize("law", ["damper", "reference", "tank"])
def test_with_it_the_wall_is_calm(
    law: str, step: float, delay: int, way: float, energy: float
) -> None:
    trace = hit(beyond(step, delay), Passivity(law))
    assert swing(trace) < way
    assert given(trace) < energy
    assert roughness(trace) < (0.3 if law != "tank" else 0.7)


def test_a_damper_without_a_bound_rattles() -> None:
    case = beyond(1e-3, 0)
    assert roughness(hit(case, Passivity(bound=np.inf))) > 3.0
    assert roughness(hit(case, Passivity())) < 0.3


@pytest.mark.parametrize("resolution", [1e-5, 5.5e-5])
def test_encoders_do_not_wake_it(resolution: float) -> None:
    case = beyond(1e-3, 1, resolution=resolution)
    assert swing(hit(case, Passivity())) < 1.2e-3
    assert swing(hit(replace(case, coulomb=0.05), Passivity())) < 50e-6


@pytest.mark.parametrize("law", ["damper", "reference"])
def test_noise_does_not_wake_it_either(law: str) -> None:
    case = beyond(1e-3, 1, noise=2e-5)
    assert swing(hit(case, Passivity(law))) < 1.2e-3
    assert swing(hit(replace(case, coulomb=0.05), Passivity(law))) < 50e-6


@pytest.mark.parametrize("flaw", [{"resolution": 5.5e-5}, {"noise": 2e-5}])
def test_a_wall_does_not_fade_by_what_encoders_and_noise_seem_to_give(
    flaw: dict[str, float],
) -> None:
    """K D² and K σ² with each reading: hundreds of millijoules that are not there."""
    trace = hit(beyond(250e-6, 0, **flaw), Passivity())
    assert given(trace) > 0.01
    assert given_to_hand(trace) < 0.2e-3
    assert swing(trace) < 0.2e-3


# --- what it must not brake


def weight(contact: bool = False) -> World:
    """A ball of 0.5 kg that the hand carries."""
    floor = '<geom type="plane" size="1 1 .1" pos="0 0 -1"/>' if contact else ""
    ball = '<body name="tool"><freejoint/><geom size=".02" mass=".5"/></body>'
    return World.from_string(scene(floor + ball, 'gravity="0 0 -9.81"'), tool="tool")


def test_lowering_a_weight_is_not_braked() -> None:
    device = Inertial(mass=0.2, rotational_inertia=1e-3, damping=(20.0, 0.01))
    session = Session(
        weight(), coupling=VirtualCoupler(500.0, 0.0), device=device, passivity=Passivity()
    )
    trace = session.run(1.0, Constant((0.0, 0.0, 2.0)))
    assert trace["device_position"][-1, 2] < -0.05  # it sinks
    assert trace["port_energy"].min() < -0.05  # and gives what its height gives
    assert trace["passive"].sum() == 0


def test_it_is_on_for_devices_of_a_sheet_and_off_for_ideal_ones() -> None:
    world = World.builtin("corner-3d")
    assert Session(world, device=preset("omega.6")).passivity == Passivity()
    for device in (None, Inertial(), Desktop()):
        assert Session(world, device=device).passivity.law == "off"
    assert Session(world, device=preset("touch"), passivity=WATCH).passivity.law == "observe"


def test_a_session_above_the_passive_limit_says_so() -> None:
    trace = beyond(1e-3, 1).run(0.1, 0.0, 0.05, Passivity())
    notes = " ".join(trace.meta["notes"])
    assert "stable up to 333.8 N/m, passive for every hand up to 333.3 N/m" in notes
    assert "not stable by itself" in notes
    assert "the controller of passivity acted" in notes
    unseen = " ".join(beyond(1e-3, 1).run(0.1, 0.0, 0.05, Passivity("off")).meta["notes"])
    assert "not stable by itself" in unseen and "nobody watches what comes out of it" in unseen
    for law in ("damper", "off"):
        calm = WallCase(300.0, delay=1).run(0.1, 0.0, 0.05, Passivity(law))
        assert "passive" not in " ".join(calm.meta["notes"])


def display_session(mass: float, passivity: Passivity) -> Session:
    """A ball that a display without friction or give moves as."""
    ball = f'<body name="tool"><freejoint/><geom size=".02" mass="{mass}"/></body>'
    world = World.from_string(scene(ball), tool="tool")
    stiff = (np.inf, np.inf)
    display = AdmittanceDisplay(structure=stiff, friction=(0.0, 0.0), subspace="translational")
    return Session(world, coupling=Admittance(), device=display, passivity=passivity)


def test_at_a_display_the_hands_own_work_counts() -> None:
    trace = display_session(2.0, WATCH).run(1.0, Sinusoid(force=(3.0, 1.0, 0.0), frequency=2.0))
    way, hand = np.diff(trace["device_position"], axis=0), trace["hand_wrench"][:, :3]
    work = np.cumsum((hand[:-1] * way).sum(axis=1))
    np.testing.assert_allclose(trace["port_energy"][1:], work, atol=3e-3 * np.abs(work).max())


@pytest.mark.parametrize("mass", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("stiffness", [500.0, 2000.0])
def test_at_a_display_nothing_is_altered_where_nothing_came_out(
    mass: float, stiffness: float
) -> None:
    """A firm hand, 1 cm off. By the mean of two readings W was that of the hand's own sampling."""
    grip = Impedance(stiffness=stiffness, damping=5.0, target=(0.01, 0.0, 0.0))
    trace = display_session(mass, Passivity()).run(1.0, grip)
    assert trace["passive"].sum() == 0


def test_a_display_takes_any_bound() -> None:
    """0 · ∞ was not a number, and stopped the servo."""
    trace = display_session(2.0, Passivity(bound=math.inf)).run(0.2, Constant((3.0, 0.0, 0.0)))
    assert np.isfinite(trace["device_position"]).all()


@pytest.mark.ramped
def test_of_a_tool_that_is_led_only_the_weight_that_is_rendered_counts() -> None:
    """A session that ramps in: falling 0.1 m, its weight had paid for a wall that swings 72 mm."""
    wall = 4.0 * stable_stiffness(0.1, 0.5, 1e-3, 1)
    contact = Contact(wall, 0.0, mode="penalty", strategy="saturate", friction=NO_FRICTION)
    device = Inertial(
        mass=0.1, subspace="translational", delay_ticks=1, damping=(0.5, 0.0), limits=(12.0,) * 3
    )
    floor = '<geom type="box" size=".5 .5 .05" pos="0 0 -.05"/>'
    text = f"<mujoco><worldbody>{floor}{tool_at(0.11, 0.5)}</worldbody></mujoco>"
    world = World.from_string(text, tool="tool")
    session = Session(world, contact, Direct(), device, passivity=Passivity())
    trace = session.run(2.0, Constant((0.0, 0.0, -2.0)))
    falls = np.argmax(trace["contacts"] > 0)
    own = np.cumsum(0.5 * 1e-3 * trace["device_twist"][:, 2] ** 2)  # [J] that the device damps
    assert own[falls] < 0.1 < 0.5 * 9.81 * 0.1  # while the weight gives half a joule
    np.testing.assert_allclose(trace["passive_energy"][:falls], own[:falls], atol=0.02)
    assert trace["passive"].sum() > 0
    assert np.ptp(trace["device_position"][1000:, 2]) < 0.01


def tool_at(height: float, mass: float) -> str:
    return (
        f'<body name="tool" pos="0 0 {height}"><freejoint/><geom size=".01" mass="{mass}"/></body>'
    )


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_what_is_known_of_a_device_is_known_behind_a_mapping(scale: float) -> None:
    """Its delay, friction and encoders, as they are in the world."""
    own = Inertial(
        mass=0.1, rotational_inertia=1e-4, delay_ticks=3, damping=(0.5, 0.0), friction=(0.1, 0.0),
        resolution=1e-5,
    )  # fmt: skip
    world = World.builtin("corner-3d")
    session = Session(world, device=Mapped(own, scale), passivity=Passivity())
    known = session.prepare(None, 1000.0, 8).servo.device.observed
    assert known.delay[0] == 3
    assert known.damping[0] == pytest.approx(0.5 / scale**2)
    assert known.friction[0] == pytest.approx(0.1 / scale)
    assert known.step[0] == pytest.approx(1e-5 * scale)


def test_a_display_that_would_throw_a_stiff_hand_stands_still_instead() -> None:
    """A tenth of a kilogram, at 11 kg and 250 rad/s, in a grip of 10 kN/m."""
    grip = Impedance(stiffness=1e4, damping=1.0)
    with pytest.raises(ServoFault):
        display_session(0.1, WATCH).run(1.0, grip)
    trace = display_session(0.1, Passivity()).run(1.0, grip)
    assert given(trace) < 0.015
    assert np.abs(trace["device_twist"][-100:]).max() < 1e-3


# --- what can be asked for


def test_the_law_changes_while_it_runs_and_its_watch_does_not() -> None:
    session = Session(World.builtin("corner"), device=preset("falcon"))
    ready = session.prepare(None, 1000.0, 8)
    now = ready.settings
    changed = ready.changed(
        ready.servo.parameters, now._replace(passivity=Passivity("reference", bound=0.1))
    )
    assert changed["passivity"][0] == 3 and changed["passive_bound"][0] == 0.1
    with pytest.raises(ParameterError, match="as at the start"):
        ready.changed(ready.servo.parameters, now._replace(passivity=Passivity("off")))


@pytest.mark.parametrize(
    "wrong",
    [
        {"law": "magic"},
        {"bound": -1.0},
        {"bound": math.nan},
        {"friction": (1.0,)},
        {"memory": 0.0},
        {"friction": (-1.0, 0.0)},
    ],
)
def test_other_wishes_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DetentError, match="passivity"):
        Passivity(**wrong)  # type: ignore[arg-type]


# --- every hand


@pytest.mark.parametrize(
    ("seed", "numbers"),
    [(seed, range(500)) for seed in (18, 1811, 20261118, 777001, 31337)]
    if LONG
    else [(18, range(10)), (1811, range(10)), (20261118, range(155, 156))],
)
def test_no_session_gives_a_hand_what_nobody_put_in(seed: int, numbers: range) -> None:
    """The law was tuned on the first seed and on case 155 of the third; the last was drawn then."""
    broken, stopped, active = [], [], 0
    for number in numbers:
        case = random_case(number, seed)
        try:
            gift, allowed = worst_gift(case.run(Passivity()))
        except ServoFault:  # its world blew up: zero force
            stopped.append(number)
            continue
        if gift > allowed:
            broken.append((number, gift, allowed))
        if LONG:
            try:
                gift, allowed = worst_gift(case.run(WATCH))
                active += gift > allowed
            except ServoFault:  # it blew up
                active += 1
    assert not broken
    assert len(stopped) <= 1  # with the controller; without it three of the first 500 do
    assert active >= 20 or not LONG


@pytest.mark.parametrize(
    ("port", "own", "sources", "left"),
    [
        (0.5, 0.1, 0.2, 0.8),
        (-0.5, 0.1, 0.2, -0.2),
        (0.5, 0.0, -0.2, 0.3),  # the hand lifted a weight
        (0.5, 0.0, -1.0, 0.0),  # the coupling did, beyond a cap: nobody owes that
        (-0.1, 0.0, -1.0, -0.1),
    ],
)
def test_weights_that_rise_owe_nothing(
    port: float, own: float, sources: float, left: float
) -> None:
    """A tool that was pulled up while its device was out of reach left a debt of 1.7 J."""
    energy = np.zeros(8)
    energy[PORT], energy[OWN], energy[SOURCES] = port, own, sources
    plain = getattr(energy_left, "py_func", energy_left)
    assert plain(SimpleNamespace(energy=energy)) == pytest.approx(left)


def test_a_wrench_is_taken_back_at_most_whole() -> None:
    """However much is owed, what is asked for is never turned round by that."""
    session = Session(World.builtin("corner"), passivity=Passivity("damper"))
    s = session.prepare(None, 1000.0, 16).servo
    ob, de = s.device.observed, s.device
    for owed in (1e-12, 0.7e-3, 1e-3, 1.0):
        de.raw[:] = (3.0, -2.0, 0.0, 0.0, 0.0, 0.1)
        asked = de.raw.copy()
        ob.energy[:] = 0.0
        ob.energy[PORT] = ob.energy[CERTAIN] = -owed  # and nothing moves
        control(ob, de, s.port.state, s.parameters)
        left = asked + ob.wrench
        assert (left * asked >= -1e-12).all() and (np.abs(left) <= np.abs(asked) + 1e-12).all()
    assert not left[:2].any()


@pytest.mark.parametrize("seed", [4713] if not LONG else [4711, 4712, 4713])
def test_no_device_of_a_sheet_gives_what_nobody_put_in(seed: int) -> None:
    """But for what the weight of its tool gave. Without the controller some do."""
    broken, active, stopped, count = [], 0, 0, 250 if LONG else 20
    for number in range(count):
        case = sheet_case(number, seed)
        for law in (Passivity(), WATCH) if LONG else (Passivity(),):
            try:
                trace = case.run(law)
            except ServoFault:  # a hand that pulls by a metre, or spins a stylus by 1,000 rad/s
                stopped += law is not WATCH
                continue
            gift, allowed = worst_gift(trace, lateness(case))
            allowed += fallen(trace, World.builtin(case.world))
            if gift > allowed and law is WATCH:
                active += 1
            elif gift > allowed:
                broken.append((number, gift, allowed))
    assert not broken
    assert stopped <= 0.03 * count
    assert active >= 3 or not LONG
