"""Rows of a free body in closed form, and what contacts of a pair share, against the long way."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, World
from detent.servo import places
from detent.servo.contact.free_body import write_free_row
from detent.servo.contact.pairs import pair_property
from detent.servo.contact.rows import write_one_sided_row
from detent.servo.structs import COLLIDING
from detent.setup.prepared import Prepared
from lab import advance, loose, run_stage, scene, start

FLOOR = '<geom type="box" size="1 1 .1" pos="0 0 -.1"/><geom type="plane" size="1 1 1"/>'


def lopsided(seed: int) -> Prepared:
    """A free body of three shapes, its middle anywhere, somewhere in a floor; others beside it."""
    rng = np.random.default_rng(seed)

    def geom(kind: str) -> str:
        size, at, turned = rng.uniform(0.01, 0.03, 3), rng.normal(0, 0.02, 3), rng.normal(0, 1, 4)
        texts = [" ".join(map(str, numbers)) for numbers in (size, at, turned)]
        place = f'size="{texts[0]}" pos="{texts[1]}" quat="{texts[2]}"'
        return f'<geom type="{kind}" {place} mass="{rng.uniform(0.1, 1.0)}"/>'

    shapes = geom("box") + geom("capsule") + geom("ellipsoid")
    body = f'<body name="tool" pos="0 0 .01"><freejoint/>{shapes}</body>'
    other = f'<body pos=".4 0 .01"><joint type="slide" axis="0 0 1"/>{geom("box")}</body>'
    world = World.from_string(scene(FLOOR + other + body), tool="tool")
    ready = start(loose(world, Contact(4000, 30)), None, rng.normal(0, 0.1, world.model.nv))
    ready.servo.scene.qpos[-4:] = (turn := rng.normal(0, 1, 4)) / np.linalg.norm(turn)
    run_stage(ready.servo, places.SENSE)
    return ready


@pytest.mark.parametrize("seed", range(12))
def test_rows_of_a_free_body_are_those_along_its_chain_of_joints(seed: int) -> None:
    servo = lopsided(seed).servo
    sc, rows, checked = servo.scene, servo.rows, 0
    assert sorted(sc.tree_free) == [0, 1]
    for r in range(rows.count[0]):
        tree = max(rows.tree[r])
        if sc.tree_free[tree] == 0:
            continue
        n, p = tuple(rows.normal[r]), tuple(rows.point[r])
        short = rows.jac[r, :6].copy()
        rows.jac[r] = np.nan
        write_one_sided_row(sc, rows, r, n, p)
        assert rows.jac[r, :6].tobytes() == short.tobytes()
        rows.jac[r] = np.nan
        write_free_row(sc, rows, r, n, p, rows.jac[r])
        assert rows.jac[r, :6].tobytes() == short.tobytes()
        checked += 1
    assert checked > 0


def test_a_body_that_carries_another_is_not_taken_for_a_free_one() -> None:
    arm = '<body pos="0 0 .1"><joint type="hinge"/><geom type="sphere" size=".01"/></body>'
    tied = '<body name="{}" pos="{} 0 0"><freejoint/><geom type="sphere" size=".01"/>{}</body>'
    bodies = tied.format("tool", 0, arm) + tied.format("b", 1, "") + tied.format("c", 2, "")
    loop = '<equality><connect body1="b" body2="c" anchor=".5 0 0"/></equality>'
    world = World.from_string(scene(bodies + tied.format("d", 3, ""), more=loop), tool="tool")
    ready = start(loose(world))
    assert list(ready.servo.scene.tree_free) == [0, 0, 0, 1]


def test_contacts_of_a_pair_have_the_properties_of_that_pair() -> None:
    """Boxes of different stiffness that alternate: copies of what a pair shares stay in it."""
    tiles = "".join(
        f'<geom name="t{i}" type="box" size=".02 .1 .02" pos="{0.04 * i} 0 -.02"/>'
        for i in range(4)
    )
    ball = "".join(f'<geom type="sphere" size=".01" pos="{0.02 * i} 0 0"/>' for i in range(7))
    body = f'<body name="tool" pos="0 0 .0099"><freejoint/>{ball}</body>'
    world = World.from_string(scene(tiles + body), tool="tool")
    for i in range(4):
        world.properties[world.model.geom(f"t{i}").id, :3] = 1000.0 + i, 10.0 + i, 0.1 * i
    servo = start(loose(world, Contact(4000, 30))).servo
    run_stage(servo, places.SENSE)
    rows, p = servo.rows, servo.parameters
    assert rows.count[0] >= 7
    assert len(set(rows.stiffness[: rows.count[0]])) == 4
    for r in range(rows.count[0]):
        one, two = rows.geom[r]
        asked = (p["stiffness"][0], p["damping"][0], p["restitution"][0], p["friction_static"][0])
        held = (rows.stiffness[r], rows.damping[r], rows.restitution[r], rows.friction[r])
        for column in range(4):
            assert held[column] == pair_property(servo.scene, one, two, column, asked[column])
        assert tuple(rows.span[r, 0]) == (0, 6)
        assert rows.span[r, 1, 1] == 0


def test_gains_of_a_collision_are_not_bounded_for_nobody() -> None:
    """A light box falls on a floor that is too stiff for the step: only what rests is bounded."""
    body = """<body name="tool" pos="0 0 .0205"><freejoint/>
      <geom type="box" size=".02 .02 .02" mass=".1"/></body>"""
    world = World.from_string(scene(FLOOR + body, 'gravity="0 0 -9.81"'), tool="tool")
    rows = advance(start(loose(world, Contact(40_000, 30)), None, [0, 0, -0.5, 0, 0, 0]), 200)
    hit = rows["state"] == COLLIDING
    assert hit.any()
    assert not rows["bounded"][hit].any()
    assert rows["bounded"][rows["contacts"] > 0][-1] > 0
