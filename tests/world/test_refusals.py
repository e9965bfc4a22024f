"""What contacts, friction, walls and devices refuse, when they are made and not later."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from detent import Contact, FourChannel, Friction, Session, UnilateralCoupler, Wall, World
from detent.devices import AdmittanceDisplay, Inertial
from detent.errors import DetentError, ParameterError


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Friction(static="0.3"), "static friction = '0.3'"),  # type: ignore[arg-type]
        (lambda: Friction(kinetic=None), "kinetic friction = None"),  # type: ignore[arg-type]
        (lambda: Friction(breakaway="1e-5"), "breakaway = '1e-5'"),  # type: ignore[arg-type]
        (lambda: Friction(impacts="no"), "friction impacts = 'no'.*True or False"),  # type: ignore[arg-type]
        (lambda: Friction(damping=3.0, damping_ratio=2.0), "damping_ratio = 2.0.*left out where"),
        (lambda: Contact(friction=0.3), "friction = 0.3.*a Friction, such as Friction"),  # type: ignore[arg-type]
        (lambda: Contact(friction="dahl"), "friction = 'dahl'.*a Friction"),  # type: ignore[arg-type]
        (lambda: Contact(wall="seh"), r"wall = 'seh'.*a Wall, such as Wall\(\"seh\"\)"),  # type: ignore[arg-type]
        (lambda: Contact(stiffness="4000"), "stiffness = '4000'.*a number"),  # type: ignore[arg-type]
        (lambda: Contact(clamp="no"), "clamp = 'no'.*True or False"),  # type: ignore[arg-type]
        (lambda: Contact(resultant=2), "resultant = 2.*True or False"),  # type: ignore[arg-type]
        (lambda: Wall(integral="20"), "wall integral = '20'"),  # type: ignore[arg-type]
        (lambda: Wall(blocks="five"), "blocks = 'five'"),  # type: ignore[arg-type]
        (lambda: Inertial(limits=(15.0, 0.0, 1.0)), r"limits = \(15.0, 0.0, 1.0\)"),
        (lambda: Inertial(limits="15"), "limits = '15'"),
        (lambda: Inertial(limits=(15.0, 15.0)), "six positive numbers; three are x, y, θ of"),
        (lambda: Inertial(subspace="full", limits=(1.0, 1.0, 1.0)), "six positive numbers"),
        (lambda: AdmittanceDisplay(limits="strong"), "limits = 'strong'"),
        (lambda: AdmittanceDisplay(structure=5e4), "structure = 50000.0"),  # type: ignore[arg-type]
        (lambda: AdmittanceDisplay(joints="six"), "joints = 'six'"),  # type: ignore[arg-type]
        (lambda: FourChannel(topology=200.0), "topology = 200.0.*a Topology, or None"),  # type: ignore[arg-type]
        (lambda: FourChannel(shaping=True), "shaping = True.*a Shaping, or None"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_value_is_refused_at_once(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        make()


@pytest.mark.parametrize("name", ["device", "force_path", "baumgarte"])
def test_a_session_takes_parts_not_their_names(name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name} = 'Inertial'"):
        Session(World.builtin("corner"), **{name: "Inertial"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: World.builtin("corner", properties={"peg": {"restitution": np.float64(1.5)}}),
        lambda: Contact(restitution=np.float64(1.5)),
        lambda: Inertial(friction=(np.float64(-1.5), 0.0)),
        lambda: Inertial(limits=np.array([1.5, -1.5, 1.0])),
        lambda: Inertial(offset=(np.float64(1.5),)),
    ],
)
def test_numbers_are_printed_as_they_are_typed(make: Callable[[], object]) -> None:
    with pytest.raises(DetentError) as refused:
        make()
    assert "1.5" in str(refused.value)
    assert "np." not in str(refused.value) and "array" not in str(refused.value)


def test_damping_of_a_bond_is_the_brake_unless_told() -> None:
    assert Friction().raw_damping == -1e3
    assert Friction(damping_ratio=1.0).raw_damping == -1.0
    assert Friction(damping_ratio=0.5).raw_damping == -0.5
    assert Friction(damping=3.0).raw_damping == 3.0


# --- what does not go together


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "rigid", "wall": Wall("seh")}, "wall = 'seh'.*zoh with rigid contact"),
        ({"mode": "rigid", "clamp": False}, "clamp = False.*True with rigid contact"),
        ({"mode": "rigid", "self_collision": "split"}, "self_collision = 'split'.*relative with"),
        ({"mode": "penalty", "self_collision": "split"}, 'only mode="impulse" tells collisions'),
        ({"mode": "rigid", "limit": "rezero"}, "limit = 'rezero'.*total or collision_only with"),
        ({"mode": "penalty", "limit": "rezero"}, "limit = 'rezero'.*with penalty contact"),
    ],
)
def test_contacts_refuse_what_their_mode_ignores(options: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Contact(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("law", ["seh", "pi", "pulse", "hysteretic"])
@pytest.mark.parametrize("mode", ["impulse", "penalty"])
def test_every_wall_goes_with_penalty_forces(mode: str, law: str) -> None:
    assert Contact(mode=mode, wall=Wall(law)).wall.law == law


@pytest.mark.parametrize(
    ("contact", "said"),
    [
        (Contact(mode="penalty"), "contact mode = 'penalty'.*rigid .* with UnilateralCoupler"),
        (Contact(wall=Wall("pi")), "wall = 'pi'.*the rigid contact of UnilateralCoupler"),
        (Contact(clamp=False), "clamp = False.*UnilateralCoupler"),
        (Contact(limit="rezero"), "limit = 'rezero'"),
    ],
)
def test_a_god_object_refuses_what_is_not_rigid(contact: Contact, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Session(World.builtin("corner"), contact, UnilateralCoupler())


def test_a_god_object_stays_rigid_when_its_contact_changes() -> None:
    session = Session(World.builtin("corner"), coupling=UnilateralCoupler())
    assert session.changed(mode="impulse", restitution=0.2).contact.mode == "rigid"
    with pytest.raises(ParameterError, match="penalty"):
        session.changed(mode="penalty")


def test_friction_of_a_geom_that_does_not_act_is_noted() -> None:
    rough = World.builtin("corner", properties={"peg": {"friction": 0.3}})
    notes = Session(rough).run(0.01).meta["notes"]
    assert [note for note in notes if "the friction of peg does not act" in note] == notes[:1]
    assert not Session(rough, Contact(friction=Friction())).run(0.01).meta["notes"]
    smooth = World.builtin("corner", properties={"peg": {"friction": 0.0}})
    assert not Session(smooth).run(0.01).meta["notes"]
