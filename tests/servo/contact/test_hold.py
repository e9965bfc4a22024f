"""Springs that a step cannot hold: light bodies pressed hard, and groups that collide for ever."""

from __future__ import annotations

import numpy as np

from detent import Contact, Session, World
from detent.hands import Constant
from lab import advance, scene, start

#: a button of ten grams before a plate, with a dozen contacts
BUTTON = """<geom type="box" size=".01 .1 .1" pos=".0301 0 0"/><body name="t">
  <joint type="slide" axis="1 0 0" damping="1"/>
  <geom type="box" size=".02 .03 .03" mass=".005"/>
  <geom type="box" size=".02 .02 .05" mass=".003"/>
  <geom type="box" size=".02 .05 .02" mass=".002"/></body>"""


def test_a_button_of_ten_grams_holds_twenty_newtons() -> None:
    """It sank by 15 mm, since its springs were softened to a fifteenth."""
    ready = start(Session(World.from_string(scene(BUTTON))), Constant((20.0, 0.0, 0.0)))
    rows = advance(ready, 1000)
    assert rows["depth"].max() < 5e-3
    assert 0.2e-3 < rows["depth"][-1] < 2e-3  # 20 N on several contacts of 4000 N/m
    assert np.abs(rows["tool_twist"][-200:, 0]).max() < 1e-6


def test_a_spring_at_the_end_of_the_step_takes_energy_and_gives_none() -> None:
    """Thrown at a wall of 1e7 N/m in penalty mode: it never leaves faster than it came."""
    world = World.from_string(scene(BUTTON), tool="t")
    for speed in (0.05, 0.5, 2.0):
        contact = Contact(stiffness=1e7, damping=0.0, mode="penalty")
        ready = start(Session(world.placed([0.0], [speed]), contact))
        rows = advance(ready, 400)
        assert np.abs(rows["tool_twist"][:, 0]).max() <= speed * (1.0 + 1e-9)
