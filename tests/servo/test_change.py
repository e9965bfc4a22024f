"""Changing a session while it runs: validated, bounded, applied, and kept with another link."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from detent import Contact, Direct, ForcePath, FourChannel, Friction, Session, World
from detent.coupling import Shaping
from detent.devices import Inertial
from detent.errors import ParameterError
from detent.hands import Constant, Impedance, Playback, Sinusoid
from detent.mechanism.library import builtin
from waiting import wait_for

pytestmark = pytest.mark.live


def test_a_stiffer_contact_is_felt_from_the_next_tick_on() -> None:
    """A hand of 5 N sinks in by F/(2K), before and after."""
    world = World.builtin("corner").placed([0.0, -0.0695, 0.0])
    session = Session(world, Contact(2000.0, 60.0, mode="penalty"))
    with session.live(rate=1000, hand=Constant(force=(0.0, -5.0))) as live:
        assert wait_for(lambda: abs(live.view()[1]["depth"] - 5.0 / 4000.0) < 1e-5)
        live.change(contact=replace(live.settings.contact, stiffness=8000.0))
        assert wait_for(lambda: abs(live.view()[1]["depth"] - 5.0 / 16000.0) < 1e-5)
    assert live.settings.contact.stiffness == 8000.0
    assert live.settings.contact.damping == 60.0


def test_hand_coupling_and_force_path_change_too() -> None:
    session = Session(World.builtin("corner"))
    with session.live(rate=1000, hand=Impedance()) as live:
        live.change(hand=Impedance(123.0, 4.0), coupling=FourChannel(250.0, 50.0))
        live.change(force_path=ForcePath(slew_force=100.0))
        p = live.parameters[0]
        assert p["hand_k"][0] == 123.0
        np.testing.assert_allclose(p["coupling_k"][:2], 250.0)
        assert p["slew"][0] == pytest.approx(0.1)
        assert live.settings.hand.stiffness == 123.0


def test_gains_are_bounded_as_at_the_start() -> None:
    session = Session(World.builtin("corner"))
    with session.live(rate=1000, hand=Impedance()) as live:
        for _ in range(3):  # said once
            live.change(coupling=FourChannel(1e9, 50.0))
        bounded = live.parameters["coupling_k"][0, 0]
        assert 0.0 < bounded < 1e9
        said = [n for n in live.notes() if "coupling's gains in translation were bounded" in n]
        assert len(said) == 1
        live.change(coupling=FourChannel(100.0, 50.0))
        assert not [n for n in live.notes() if "coupling's gains in translation" in n]
    with session.live(rate=1000, hand=Impedance()) as again:
        assert again.settings.coupling is session.coupling


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"contact": Contact(mode="penalty")}, "contact_mode"),
        ({"contact": Contact(friction=Friction())}, "friction"),
        ({"contact": 4000.0}, "a Contact"),
        ({"coupling": Direct()}, "a FourChannel, as at the start"),
        ({"contact": Contact(strategy="saturate")}, "strategy"),
        ({"force_path": 3.0}, "a ForcePath"),
        ({"hand": "mine"}, "hand = 'mine'"),
        ({"hand": Playback([0.0], [[0.0] * 6])}, "Constant, Sinusoid or Impedance"),
    ],
)
def test_laws_and_wrong_kinds_are_refused_and_nothing_changes(
    change: dict[str, object], words: str
) -> None:
    session = Session(World.builtin("corner"), device=Inertial(limits=(50.0, 50.0, 5.0)))
    with session.live(rate=1000, hand=Impedance()) as live:
        before, settings = live.parameters, live.settings
        with pytest.raises(ParameterError, match=words):
            live.change(**change)
        assert live.parameters.tobytes() == before.tobytes()
        assert live.settings is settings


def test_another_hand_leaves_nothing_of_the_one_before() -> None:
    wave = Sinusoid(force=(1.0, 0.0), frequency=2.0)
    with Session(World.builtin("corner")).live(rate=1000, hand=wave) as live:
        live.change(hand=Constant(force=(0.5, 0.0)))
        p = live.parameters[0]
        assert p["hand_bias"][0] == 0.5
        assert not p["hand_amplitude"].any() and p["hand_omega"] == 0.0
        live.change(hand=Impedance(100.0, 5.0, target=(0.01, 0.02, 0.0)))
        assert live._target[:2].tolist() == [0.01, 0.02]


def test_what_a_coupling_no_longer_has_is_gone() -> None:
    session = Session(World.builtin("three-link"))
    with session.live(rate=1000, hand=Impedance()) as live:
        assert live.parameters["topology_k"][0] > 0.0
        live.change(coupling=FourChannel(topology=None))
        assert live.parameters["topology_k"][0] == 0.0
        with pytest.raises(ParameterError, match="shaping"):
            live.change(coupling=FourChannel(shaping=Shaping()))


def test_a_run_ends_with_zero_force() -> None:
    world = World.builtin("corner").placed([0.0, -0.0695, 0.0])
    with Session(world).live(rate=1000, hand=Constant(force=(0.0, -5.0))) as live:
        assert wait_for(lambda: abs(live.view()[1]["device_wrench"][1]) > 1.0)
    command = live._servo.port.command
    assert not command.wrench.any()
    assert command.latched[0] == 1


def test_a_mechanism_has_nothing_to_meet() -> None:
    with Session(builtin("rolling-disk")).live(rate=1000, hand=Impedance()) as live:
        live.change(hand=Impedance(50.0, 2.0))
        with pytest.raises(ParameterError, match="left out with a Mechanism"):
            live.change(contact=Contact())


def test_holding_another_link_keeps_what_was_changed() -> None:
    session = Session(World.builtin("three-link"))
    with session.live(rate=1000, hand=Impedance()) as live:
        live.change(contact=replace(live.settings.contact, stiffness=7000.0, restitution=0.4))
        live.change(force_path=ForcePath(filter_hz=50.0))
        assert wait_for(lambda: live.status().ticks > 20)
    other = session.continued(live, "link1")
    assert other.world.body_name(other.world.held) == "link1"
    assert (other.contact.stiffness, other.contact.restitution) == (7000.0, 0.4)
    assert other.force_path.filter_hz == 50.0
    np.testing.assert_array_equal(other.world.qpos, live.configuration()[0])
    assert session.contact.stiffness != 7000.0
