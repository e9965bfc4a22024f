"""Impulses that ring at the device: the same momentum, another spectrum, nothing else (B7)."""

from __future__ import annotations

import numpy as np
import pytest

from detent import (
    Contact,
    Direct,
    FourChannel,
    Friction,
    Session,
    Shaping,
    UnilateralCoupler,
    VirtualCoupler,
    World,
)  # fmt: skip
from detent.devices import IDEAL, Inertial
from detent.errors import ParameterError, UnknownNameError
from detent.hands import Constant, Sinusoid
from detent.kernels.ringing import MATERIALS
from detent.setup.contact import fill_contact, least_rate
from lab import LOOSE, PLANAR, advance, scene, start
from waiting import wait_for

RATE = 4000.0  # [Hz]
LIMITS = (15.0, 15.0, 1.0)  # [N, N, N·m] TH 4.5.2
FLOOR = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
PEG = f'<body name="peg">{PLANAR}<geom type="box" size=".021 .0105 .01"/></body>'
each = pytest.mark.parametrize("material", MATERIALS)


def falling(speed: float = 0.1, turn: float = 0.0) -> World:
    """A 2 kg peg two ticks above a floor, and moving towards it."""
    high = 0.021 * np.sin(abs(turn)) + 0.0105 * np.cos(turn)
    start = (0.0, high + 1.5 * speed / RATE, turn)
    return World.from_string(scene(FLOOR + PEG)).placed(start, (0.02, -speed, 0.0))


def tap(material: str | None, seconds: float = 0.5, **options: object) -> np.ndarray:
    """Rows of a peg that falls on the floor, with nothing but forces between tool and device."""
    contact = options.pop("contact", {})
    world = options.pop("world", None) or falling()
    defaults = {"coupling": LOOSE, "rate": RATE}
    contact = Contact(4000, 30, material=material, **contact)  # type: ignore[arg-type]
    session = Session(world, contact, **(defaults | options))  # type: ignore[arg-type]
    return session.run(seconds).rows


def received(rows: np.ndarray, column: str = "device_wrench") -> np.ndarray:
    """[N·s, N·m·s] in the whole run."""
    return rows[column].sum(axis=0) / RATE


@each
@pytest.mark.parametrize("turn", [0.0, 0.3])
@pytest.mark.parametrize("e", [0.0, 0.6])
def test_the_device_receives_the_momentum_of_the_impulse(
    material: str, turn: float, e: float
) -> None:
    rows = tap(material, world=falling(turn=turn), contact={"restitution": e})
    assert (rows["collisions"] > 0).any()
    want = received(rows, "environment_wrench")  # the true one, impulses and all
    assert abs(want[1]) > 0.1
    np.testing.assert_allclose(received(rows), want, atol=1e-9)
    assert np.abs(rows["device_wrench"][:, 1]).max() < 0.8 * rows["environment_wrench"][:, 1].max()


@each
def test_bodies_and_the_recorded_environment_do_not_know_of_it(material: str) -> None:
    plain, shaped = tap(None), tap(material)
    for column in ("tool_position", "tool_twist", "environment_wrench", "depth", "collisions"):
        np.testing.assert_array_equal(shaped[column], plain[column], err_msg=column)
    assert np.abs(shaped["device_wrench"] - plain["device_wrench"]).max() > 1.0


@each
def test_the_trace_holds_the_frequency_and_the_decay_of_the_material(material: str) -> None:
    rows = tap(material, contact={"restitution": 0.5})  # it leaves the floor: nothing but the ring
    hit = int(np.argmax(rows["collisions"] > 0))
    force = rows["device_wrench"][hit:, 1]
    times = np.arange(1, len(force) + 1) / RATE
    omega, decay = MATERIALS[material]
    ring = np.exp(-decay * times) * np.sin(omega * times)
    ring *= 2.0 * 0.1 * 1.5 / (ring.sum() / RATE)
    np.testing.assert_allclose(force, ring, atol=2e-4 * np.abs(ring).max())
    size = 1 << 16
    spectrum = np.abs(np.fft.rfft(force, size))
    peak = 2.0 * np.pi * np.fft.rfftfreq(size, 1.0 / RATE)[np.argmax(spectrum)]
    assert peak == pytest.approx(np.sqrt(omega**2 - decay**2), rel=0.01)


@pytest.mark.parametrize("coupling", [LOOSE, FourChannel(), Direct()])
def test_without_a_collision_nothing_changes(coupling: object) -> None:
    world = World.from_string(scene(FLOOR + PEG)).placed((0.0, 0.0105, 0.0))
    hand = Constant(force=(0.2, -3.0))
    runs = [
        Session(world, Contact(material=m), coupling, IDEAL, rate=RATE).run(0.3, hand)  # type: ignore[arg-type]
        for m in (None, "wood")
    ]
    assert not runs[0]["collisions"].any()
    assert runs[0]["contacts"].any()
    assert runs[0].state_hash() == runs[1].state_hash()


def test_hits_that_overlap_add_up() -> None:
    """A peg that lands on one corner, and with the other before the first has faded."""
    rows = tap("wood", world=falling(turn=0.005), seconds=1.0)
    hits = np.nonzero(rows["collisions"])[0]
    assert len(hits) >= 2
    assert (hits[1] - hits[0]) / RATE < 2.0 / MATERIALS["wood"].decay
    np.testing.assert_allclose(received(rows), received(rows, "environment_wrench"), atol=1e-9)
    alone = tap("wood", world=falling(turn=0.005), seconds=(hits[1] + 0.5) / RATE)
    np.testing.assert_array_equal(rows["device_wrench"][: len(alone)], alone["device_wrench"])


@each
@pytest.mark.parametrize("strategy", ["saturate", "scale", "spread"])
def test_the_ring_stays_within_the_devices_limits(material: str, strategy: str) -> None:
    device = Inertial(limits=LIMITS)
    rows = tap(material, 1.0, device=device, contact={"strategy": strategy})
    largest = np.abs(rows["device_wrench"][:, [0, 1, 5]]).max(axis=0)
    assert (largest <= np.array(LIMITS) * (1.0 + 1e-12)).all()
    assert largest[1] > 7.0
    # penalties join the ring at the cap, where the force path may cut a little
    want = received(rows, "environment_wrench")[1]
    assert received(rows)[1] == pytest.approx(want, rel=0.03)


def test_a_saturated_device_gets_all_of_a_ring_and_little_of_an_impulse() -> None:
    limits = {"device": Inertial(limits=LIMITS), "contact": {"strategy": "saturate"}}
    impulse, ring = tap(None, 1.0, **limits), tap("metal", 1.0, **limits)
    assert received(impulse)[1] < 0.1 * 0.2
    assert received(ring)[1] == pytest.approx(0.2, rel=0.01)


def test_full_ignores_the_limits_of_the_device() -> None:
    rows = tap("metal", device=Inertial(limits=LIMITS), contact={"strategy": "full"})
    assert np.abs(rows["device_wrench"]).max() > 100.0
    np.testing.assert_allclose(received(rows), received(rows, "environment_wrench"), atol=1e-9)


@each
@pytest.mark.parametrize("shaping", [None, Shaping()], ids=["coupled", "impedance"])
def test_the_position_channels_do_not_deliver_it_again(material: str, shaping: Shaping) -> None:
    """Without the lag, rubber would give the device a quarter more than there was."""
    coupling = FourChannel(shaping=shaping)
    rows = tap(material, world=falling(), coupling=coupling)
    assert received(rows)[1] == pytest.approx(0.2, rel=0.02)
    assert np.abs(rows["device_twist"][-1, 1]) < 0.02 * 0.1
    apart = rows["device_position"][:, 1] - rows["tool_position"][:, 1]
    assert np.abs(apart).max() < 0.012 * 0.1


def test_a_linkage_in_space_with_friction_rings_too() -> None:
    world = World.builtin("arm-7")
    contact = Contact(restitution=0.2, material="wood", friction=Friction())
    hand = Sinusoid(force=(0.0, 0.0, 4.0), frequency=1.0, bias_force=(0.0, 0.0, -6.0))
    run = Session(world, contact, rate=1000).run(2.0, hand)
    assert (run["collisions"] > 0).any()
    assert np.isfinite(run["device_wrench"]).all()


# --- what is refused


@pytest.mark.parametrize("mode", ["penalty", "rigid"])
def test_contacts_without_impulses_cannot_ring(mode: str) -> None:
    with pytest.raises(ParameterError, match=f"material = 'wood'.*None with {mode} contact"):
        Contact(mode=mode, material="wood")


@pytest.mark.parametrize("coupling", [VirtualCoupler(), UnilateralCoupler()])
def test_couplings_without_forces_cannot_ring(coupling: object) -> None:
    name = type(coupling).__name__
    world = World.builtin("corner")
    with pytest.raises(ParameterError, match=f"material = 'metal'.*None with {name}"):
        Session(world, Contact(material="metal"), coupling)  # type: ignore[arg-type]
    if isinstance(coupling, VirtualCoupler):
        with pytest.raises(ParameterError, match="material"):
            Session(world, Contact(), coupling).changed(material="metal")


def test_an_unknown_material_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"material 'jelly'; known: metal, rubber, wood"):
        Contact(material="jelly")


def test_a_rate_that_is_too_low_for_the_material_is_refused() -> None:
    assert least_rate("metal") == pytest.approx(900.0)
    said = r"material = 'metal'.*rate at least 900 Hz \(it is 512\)"
    with pytest.raises(ParameterError, match=said):
        Session(World.builtin("corner"), Contact(material="metal"), rate=512)
    session = Session(World.builtin("corner"), Contact(material="wood"), rate=512)
    with pytest.raises(ParameterError, match=said):
        session.changed(material="metal")
    session.run(0.01)


@pytest.mark.live
def test_a_live_rate_that_is_too_low_for_the_material_is_refused() -> None:
    session = Session(World.builtin("corner"), Contact(material="metal"))
    with pytest.raises(ParameterError, match="it is 512"), session.live(rate=512):
        pass


# --- live


@pytest.mark.live
def test_a_command_changes_the_material_while_it_runs() -> None:
    world = World.from_string(scene(FLOOR + PEG)).placed((0.0, 0.0125, 0.0))
    hand = Sinusoid(force=(0.0, 30.0), frequency=6.0, phase=1.57, bias_force=(0.0, -10.0))
    contact = Contact(4000, 60, restitution=0.3)
    with Session(world, contact, LOOSE).live(rate=1000, hand=hand) as live:
        assert wait_for(lambda: live.recent()["collisions"].sum() > 3)
        rows = live.recent()
        np.testing.assert_array_equal(rows["raw_wrench"][:, 1], rows["environment_wrench"][:, 1])
        for material in ("wood", "rubber", None):
            parameters = live.parameters
            fill_contact(parameters, Contact(4000, 60, 0.3, material=material))
            live._send(parameters)
            first = live.status().ticks

            def new(first: int = first) -> np.ndarray:
                rows = live.recent()
                return rows[rows["time"] > (first + 50) / 1000]

            assert wait_for(lambda new=new: new()["collisions"].sum() > 3)
            rows = new()
            differs = rows["raw_wrench"][:, 1] != rows["environment_wrench"][:, 1]
            assert differs.any() == (material is not None)


def test_switched_off_it_falls_silent_at_once() -> None:
    session = Session(falling(), Contact(restitution=0.5, material="rubber"), LOOSE, rate=RATE)
    ready = start(session)
    rows = advance(ready, 60)
    assert np.abs(rows["device_wrench"][-1]).max() > 1.0
    assert ready.servo.device.lag.any()
    ready.servo.parameters["material"] = 0
    rows = advance(ready, 20)
    np.testing.assert_array_equal(rows["device_wrench"], rows["environment_wrench"])
    for name in ("lag", "ring_memory", "ringing"):
        assert not getattr(ready.servo.device, name).any()
