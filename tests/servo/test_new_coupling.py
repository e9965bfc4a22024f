"""A new coupling is one file and one line: everything asks for its columns, nobody for its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from detent import Admittance, FourChannel, Session, World
from detent.cli import options
from detent.coupling import COUPLINGS, IMPEDANCE, Channels, Coupling, Topology
from detent.coupling.base import Following
from detent.devices import AdmittanceDisplay
from detent.hands import Constant
from detent.maps import cells
from detent.mechanism.library import builtin
from detent.setup.joints import with_joint_gains
from detent.setup.restore import CLASSES


@dataclass(frozen=True)
class Trailing(Coupling):
    """Leads as an admittance does, and is none."""

    channels: ClassVar = Channels(hand_on_tool=True, leads=True)
    stiffness: float = 1e4  # [1/s²]

    def following(self) -> Following:
        return Following(np.full(6, self.stiffness), np.zeros(6), np.full(6, 200.0), integrator=1)


@dataclass(frozen=True)
class Forceful(Coupling):
    """Forces go both ways, and no spring ties positions; joints are felt."""

    channels: ClassVar = Channels(device_force=True, hand_on_tool=True)
    topology: Topology | None = field(default_factory=Topology)


@pytest.mark.parametrize("subject", ["corner", "disk-on-sphere"])
def test_a_coupling_that_leads_need_not_be_an_admittance(subject: str) -> None:
    world = World.builtin(subject) if subject == "corner" else builtin(subject)
    push = Constant(force=(0.3, -0.4, 0.0))
    kinds: list[Coupling] = [Trailing(), Admittance()]
    new, known = (Session(world, coupling=kind).run(0.02, push) for kind in kinds)
    np.testing.assert_array_equal(new.rows, known.rows)
    softer = Session(world, coupling=Trailing(stiffness=1e3)).run(0.02, push)
    assert (softer["device_position"] != known["device_position"]).any()


def test_a_device_that_takes_a_motion_takes_it_from_any_that_leads() -> None:
    session = Session(World.builtin("corner"), coupling=Trailing(), device=AdmittanceDisplay())
    assert session.coupling == Trailing()


def test_any_coupling_may_have_a_topology() -> None:
    """Its gains are those of the joints, as with the four channels; without a spring, no spring."""
    world = World.builtin("door")
    new, known = with_joint_gains(Forceful(), world), with_joint_gains(FourChannel(), world)
    assert new.topology == known.topology != Topology()
    trace = Session(world, coupling=Forceful(), rate=1000).run(0.05, Constant(force=(0, 1.0, 0)))
    assert np.isfinite(trace["device_position"]).all()
    assert abs(trace["device_position"] - trace["device_position"][0]).max() > 0.0


@pytest.mark.parametrize("kind", COUPLINGS.values())
def test_who_leads_says_how_the_device_follows(kind: type[Coupling]) -> None:
    assert kind.channels.leads == (kind().following() is not None)


def test_one_line_is_enough() -> None:
    """The command line, maps and traces take what stands in that table."""
    assert set(CLASSES["coupling"].values()) == set(COUPLINGS.values())
    assert set(COUPLINGS.values()) - set(IMPEDANCE.values()) == {Admittance}
    said = options.CouplingName.__metadata__[0].help
    assert [name for name in IMPEDANCE if name not in said] == []
    for name, kind in IMPEDANCE.items():
        tie = cells.coupling(cells.Setting("corner", coupling=name, stiffness=321.0))
        assert type(tie) is kind and getattr(tie, "stiffness", 321.0) == 321.0
