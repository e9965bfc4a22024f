"""An arm that is held beyond its reach: constraints come and go, and nothing steps or swings on."""

from __future__ import annotations

import numpy as np
import pytest

from detent import FourChannel, Session, Topology, World
from detent.hands import Impedance
from lab import scene

AXES = ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "1 0 0")
LENGTHS = (0.1, 0.3, 0.3, 0.1, 0.1, 0.08)  # [m]
MASSES = (2.0, 2.0, 1.5, 0.8, 0.5, 0.3)  # [kg]
BENT = '<keyframe><key name="start" qpos="0 -.6 1.2 0 -.6 0"/></keyframe>'


def arm() -> World:
    """Six hinges, bent; it reaches 0.9 m."""
    xml, at = "", 0.0
    for i, (axis, length, mass) in enumerate(zip(AXES, LENGTHS, MASSES, strict=True)):
        xml += f"""<body name="l{i + 1}" pos="{at} 0 0"><joint axis="{axis}" damping=".1"/>
          <geom type="capsule" fromto="0 0 0 {length} 0 0" size=".02" mass="{mass}" contype="0"
            conaffinity="0"/>"""
        at = length
    return World.from_string(scene(xml + 6 * "</body>", more=BENT), tool="l6")


@pytest.mark.parametrize("stiffness", [None, 2_000.0, 20_000.0])
def test_constraints_come_and_go_without_a_step_and_the_arm_rests(stiffness: float | None) -> None:
    """16 changes in 2 s, 37 N within a tick (1,714 N at 20,000 1/s²), and it never rested."""
    gains = {} if stiffness is None else {"stiffness": stiffness, "damping": 2.0 * stiffness**0.5}
    hand = Impedance(100.0, 20.0, 2.0, 0.05, target=(1.2, 0.0, 0.0))
    session = Session(arm(), coupling=FourChannel(topology=Topology(**gains)))
    trace = session.run(2.5, hand)
    steps = np.linalg.norm(np.diff(trace["device_wrench"][:, :3], axis=0), axis=1)
    assert steps.max() < 4.0  # [N]
    assert not np.diff(trace["constraints"][1000:]).any()
    assert trace["constraints"][-1] > 0
    late = trace.rows[1500:]  # it is out of reach from 0.3 s on
    assert late["tool_energy"].max() < 0.02 * trace["tool_energy"].max()
    assert np.abs(late["device_twist"][:, :3]).max() < (0.1 if stiffness is None else 0.2)


def test_at_once_is_the_documents_way() -> None:
    hand = Impedance(100.0, 20.0, 2.0, 0.05, target=(1.2, 0.0, 0.0))
    topology = Topology(20_000.0, 280.0, ease=0.0)
    trace = Session(arm(), coupling=FourChannel(topology=topology)).run(1.0, hand)
    assert np.abs(np.diff(trace["device_wrench"][:, :3], axis=0)).max() > 100.0
