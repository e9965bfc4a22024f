"""What is drawn of contacts, after a tick or two: their kinds, and forces that add up."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Friction, World
from detent.servo import places
from detent.servo.shown import HOLDS, NOTHING, SLIDES, STRIKES
from detent.setup.prepared import Prepared
from lab import PLANAR, advance, loose, run_stage, scene, start

FLOOR = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
PEG = f'<body name="peg">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
BESIDE = PEG.replace('"peg"', '"other" pos=".2 .0099 0"')
ROUGH = Friction(0.4, 0.3)


def shown(ready: Prepared) -> np.ndarray:
    run_stage(ready.servo, places.SHOW)
    return ready.servo.shown[ready.servo.shown["kind"] != NOTHING].copy()


def pressed(contact: Contact, depth: float, speed: tuple[float, float], more: str = "") -> Prepared:
    """A peg on a floor, with another one beside it that nobody holds."""
    world = World.from_string(scene(FLOOR + PEG + more), tool="peg")
    rest = np.zeros(world.model.nq - 3)
    world = world.placed([0, 0.01 - depth, 0, *rest])
    return start(loose(world, contact), qvel=[*speed, 0.0, *rest])


@pytest.mark.parametrize("depth", [1e-4, -1e-3])
@pytest.mark.parametrize("speed", [0.0, 0.2])
@pytest.mark.parametrize("friction", [None, ROUGH])
def test_kinds_and_sums(friction: Friction | None, speed: float, depth: float) -> None:
    """Towards the tool: the floor pushes up, friction against the motion; nothing from afar."""
    contact = Contact(2000.0, 5.0, mode="penalty", friction=friction)
    ready = pressed(contact, depth, (speed, 0.0), BESIDE)
    row = advance(ready, 1)[0]
    seen = shown(ready)
    mine = seen[seen["tool"] == 1]
    assert (seen["tool"] == 0).sum() == 2  # of the other one, behind those of the tool
    assert (np.diff(seen["tool"]) <= 0).all()
    assert len(mine) == (2 if depth > 0.0 else 0)
    total = (mine["force"][:, None] * mine["normal"] + mine["rub"]).sum(axis=0)
    np.testing.assert_allclose(total, row["environment_wrench"][:3], atol=1e-9)
    np.testing.assert_allclose(mine["normal"] - (0.0, 1.0, 0.0), 0.0, atol=1e-12)
    np.testing.assert_allclose(mine["separation"], -depth, atol=1e-9)
    slides = friction is not None and speed > 0.0
    assert set(mine["kind"]) <= {SLIDES if slides else HOLDS}
    assert (mine["friction"] == (0.0 if friction is None else 0.4)).all()
    assert (mine["rub"][:, 0] < -1e-9).all() == slides or not len(mine)


def test_a_collision_strikes() -> None:
    ready = pressed(Contact(restitution=0.5), -1e-5, (0.0, -0.1))
    kinds = []
    for _ in range(3):
        advance(ready, 1)
        kinds.append(set(shown(ready)["kind"]))
    assert {STRIKES} in kinds and kinds[0] == set()


@pytest.mark.parametrize("speed", [0.0, 0.2])
def test_a_rigid_contact_slides_where_its_friction_is_all_that_it_can_be(speed: float) -> None:
    ready = pressed(Contact(mode="rigid", friction=Friction(0.4, 0.4)), 0.0, (speed, -1e-3))
    advance(ready, 1)
    seen = shown(ready)
    assert len(seen) == 2 and (seen["force"] >= 0.0).all()
    pressing = seen[seen["force"] > 1e-9]
    assert set(pressing["kind"]) == {SLIDES if speed else HOLDS}


@pytest.mark.parametrize("law", ["reset-integrator", "nahvi", "dahl", "classical"])
def test_a_bond_is_stretched_against_the_friction_that_it_gives(law: str) -> None:
    """From where the tool stuck to where it is, at most to where it breaks; classical has none."""
    friction = Friction(0.4, 0.3, law=law)  # type: ignore[arg-type]
    ready = pressed(Contact(2000.0, 5.0, mode="penalty", friction=friction), 1e-4, (0.02, 0.0))
    longest = np.zeros(0)
    for _ in range(6):
        advance(ready, 1)
        seen = shown(ready)
        stretch = np.einsum("ij,ij->i", seen["bond"], seen["rub"])
        assert (stretch <= 0.0).all() and (np.abs(seen["bond"]) <= 1.0 + 1e-9).all()
        np.testing.assert_allclose(seen["bond"][:, 1:], 0.0, atol=1e-12)  # along the floor
        longest = np.maximum(longest if len(longest) else 0.0, seen["bond"][:, 0])
    assert len(longest) == 2 and (longest > 0.0).all() == (law != "classical")
