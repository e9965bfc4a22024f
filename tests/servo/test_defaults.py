"""Defaults that serve a hand: what a device can render, walls that hold."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Session, Wall, World
from detent.cli.play import parse_wall
from detent.devices import Inertial
from detent.errors import ParameterError
from detent.hands import Constant
from lab import scene

BALL = """<geom type="plane" size="1 1 .1"/>
  <body name="ball" pos="0 0 .05"><freejoint/><geom size=".05" mass="1"/></body>"""


def ball(**options: float) -> World:
    """A ball on a plane: one contact. It has no weight."""
    return World.from_string(scene(BALL, **options))


@pytest.mark.parametrize("limits", [(5.0, 5.0, 5.0), (5.0, 5.0, 5.0, 1.0, 1.0, 1.0)])
def test_three_limits_of_a_translational_device_limit_z_too(limits: tuple[float, ...]) -> None:
    device = Inertial(1.0, subspace="translational", limits=limits)
    trace = Session(ball(), Contact(mode="penalty"), device=device).run(
        0.5, Constant((0.0, 0.0, -200.0))
    )
    assert 4.9 < np.abs(trace["device_wrench"][:, 2]).max() <= 5.0 + 1e-9


def test_three_limits_are_refused_where_they_do_not_say_which() -> None:
    with pytest.raises(ParameterError, match="six numbers with this tool; three are x, y, θ"):
        Session(ball(), device=Inertial(limits=(5.0, 5.0, 5.0))).run(0.01)
    Session(World.builtin("corner"), device=Inertial(limits=(5.0, 5.0, 5.0))).run(0.01)


@pytest.mark.parametrize("cap", [3.3, np.inf])
@pytest.mark.parametrize("mode", ["impulse", "penalty"])
def test_a_hysteretic_wall_holds_two_newtons_on_one_contact(mode: str, cap: float) -> None:
    """It sank to 83 mm in 5 s."""
    device = Inertial(1.0, 1e-3, limits=(cap,) * 6)
    contact = Contact(4000.0, 30.0, mode=mode, wall=Wall("hysteretic"))
    trace = Session(ball(), contact, device=device).run(5.0, Constant((0.0, 0.0, -2.0)))
    assert trace["depth"].max() < 1.5e-3


def test_the_blocks_of_a_wall_can_be_set_from_the_command_line() -> None:
    assert parse_wall("hysteretic,0.5") == Wall("hysteretic", breakaway=0.5)
    assert parse_wall("seh") == Wall("seh")
    with pytest.raises(ParameterError, match="hysteretic,N"):
        parse_wall("hysteretic,soft")
