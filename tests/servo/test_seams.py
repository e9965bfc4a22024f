"""Inner faces of a surface made of several boxes are not felt; real corners are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent import Contact, World
from detent.hands import Constant
from detent.servo.contact.seams import is_seam
from detent.servo.structs import COLLIDING
from lab import PLANAR, advance, loose, scene, start

TILES = """<geom name="left" type="box" size=".05 .05 .05" pos="-.05 -.05 0"/>
  <geom name="right" type="box" size=".05 .05 .05" pos=".05 -.05 0"/>"""


def sliding_peg() -> tuple[World, list[float], tuple[float, ...]]:
    body = (
        f'<body name="peg" pos="-.05 .009 0">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
    )
    return World.from_string(scene(TILES + body)), [0.1, 0.0, 0.0], (0.0, -8.0)


def sliding_box() -> tuple[World, list[float], tuple[float, ...]]:
    body = """<body name="box" pos="-.05 .009 0"><freejoint/>
      <inertial pos="0 0 0" mass="2" diaginertia=".005 .005 .005"/>
      <geom type="box" size=".02 .01 .01"/></body>"""
    return World.from_string(scene(TILES + body)), [0.1, 0, 0, 0, 0, 0], (0.0, -16.0, 0.0)


@pytest.mark.parametrize("mode", ["impulse", "penalty"])
@pytest.mark.parametrize("make", [sliding_peg, sliding_box])
def test_sliding_over_a_seam_is_not_felt(make: object, mode: str) -> None:
    """Pressed 1 mm deep (K = 4 kN/m per contact), at 0.1 m/s, over two coplanar boxes."""
    world, qvel, force = make()  # type: ignore[operator]
    ready = start(loose(world, Contact(4000, 30, mode=mode)), Constant(force=force), qvel)
    rows = advance(ready, 1000)
    assert rows["tool_position"][-1, 0] == pytest.approx(0.05, abs=2e-3)
    assert np.abs(rows["environment_wrench"][:, 0]).max() < 0.2
    assert not (rows["state"] == COLLIDING).any()
    assert rows["depth"].min() > 0.0004  # over both boxes there are twice as many contacts
    assert rows["depth"].max() < 0.0015


@pytest.mark.parametrize("gap", [0.0, 1e-7])
def test_a_seam_with_a_hair_between_is_not_felt_either(gap: float) -> None:
    _, qvel, force = sliding_peg()
    tiles = TILES.replace('pos=".05 -', f'pos="{0.05 + gap} -')
    body = (
        f'<body name="peg" pos="-.05 .009 0">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
    )
    world = World.from_string(scene(tiles + body))
    rows = advance(start(loose(world, Contact(4000, 30)), Constant(force=force), qvel), 1000)
    assert np.abs(rows["environment_wrench"][:, 0]).max() < 0.2


CORNERS = {
    "wall on the floor": (
        '<geom name="floor" type="box" size=".2 .05 .05" pos="0 -.05 0"/>'
        '<geom name="wall" type="box" size=".05 .1 .05" pos=".05 .1 0"/>'
    ),
    "wall beside the floor": (
        '<geom name="floor" type="box" size=".1 .05 .05" pos="-.1 -.05 0"/>'
        '<geom name="wall" type="box" size=".05 .2 .05" pos=".05 0 0"/>'
    ),
    "wall through the floor": (
        '<geom name="floor" type="box" size=".2 .05 .05" pos="0 -.05 0"/>'
        '<geom name="wall" type="box" size=".05 .2 .05" pos=".05 0 0"/>'
    ),
    "three boxes": (
        '<geom name="floor" type="box" size=".1 .05 .05" pos="-.1 -.05 0"/>'
        '<geom name="wall" type="box" size=".05 .1 .05" pos=".05 .1 0"/>'
        '<geom name="block" type="box" size=".05 .05 .05" pos=".05 -.05 0"/>'
    ),
}
PLANES = """<geom name="floor" type="plane" size="1 1 .1" zaxis="0 1 0"/>
  <geom name="wall" type="plane" size="1 1 .1" zaxis="-1 0 0"/>"""


def felt(statics: str, pose: list[float]) -> set[tuple[int, int]]:
    """Directions in which a peg at this pose is pushed."""
    body = f'<body name="peg">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
    ready = start(loose(World.from_string(scene(statics + body)).placed(pose)))
    advance(ready, 1)
    rows = ready.servo.rows
    out = set()
    for r in range(int(rows.count[0])):
        push = rows.jac[r, :2] / np.linalg.norm(rows.jac[r, :2])
        assert np.abs(push).max() > 0.999, push
        out.add(tuple(int(v) for v in np.round(push)))
    return out


def inside_corner(turn: float, depth: float) -> list[float]:
    """A pose that reaches both walls of the corner at the origin by *depth*."""
    c, s = np.cos(turn), np.sin(turn)
    vertices = np.array([[x, y] for x in (-0.02, 0.02) for y in (-0.01, 0.01)])
    turned = vertices @ np.array([[c, s], [-s, c]])
    return [depth - turned[:, 0].max(), -depth - turned[:, 1].min(), turn]


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("depth", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("turn", [0.0, 0.01, -0.01, 0.3, -0.3, np.pi / 4])
def test_a_corner_keeps_both_its_walls(corner: str, depth: float, turn: float) -> None:
    pose = inside_corner(turn, depth)
    assert felt(PLANES, pose) == {(-1, 0), (0, 1)}
    assert felt(CORNERS[corner], pose) == {(-1, 0), (0, 1)}


@pytest.mark.parametrize("corner", CORNERS)
def test_a_corner_pushes_back_in_both_directions(corner: str) -> None:
    body = f'<body name="peg" pos="-.03 .02 0">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
    world = World.from_string(scene(CORNERS[corner] + body))
    run = loose(world, Contact(4000, 30)).run(3.0, Constant(force=(2.0, -3.0)))
    np.testing.assert_allclose(run["environment_wrench"][-1, :2], [-2.0, 3.0], atol=1e-3)
    np.testing.assert_allclose(
        run["tool_position"][-1, :2], [-0.02 + 1 / 4000, 0.01 - 1.5 / 4000], atol=1e-5
    )


@pytest.mark.parametrize("depth", [1e-5, 2e-4, 1e-3])
def test_the_vertex_of_a_corner_of_abutting_boxes_keeps_all_its_walls(depth: float) -> None:
    """There a contact point lies beyond two ends of the floor at once."""
    walls = (
        '<geom type="box" size=".1 .1 .01" pos="0 0 -.01"/>'
        '<geom type="box" size=".01 .1 .1" pos=".11 0 .1"/>'
        '<geom type="box" size=".1 .01 .1" pos="0 .11 .1"/>'
    )
    box = '<body name="box"><freejoint/><geom type="box" size=".02 .015 .01" mass="2"/></body>'
    pose = [0.08 + depth, 0.085 + depth, 0.01 - depth, 1.0, 0.0, 0.0, 0.0]
    ready = start(loose(World.from_string(scene(walls + box)).placed(pose)))
    advance(ready, 1)
    rows = ready.servo.rows
    normals = np.abs(rows.jac[: int(rows.count[0]), :3]).round(6)
    assert [int((normals[:, k] == 1.0).sum()) for k in range(3)] == [4, 4, 4]


def test_the_peg_in_hole_can_be_entered_and_leaned_against() -> None:
    """Its floor is made of boxes; the walls of the hole must stay."""
    world = World.builtin("peg-in-hole").placed([0.0, -0.07, 0.0])
    run = loose(world, Contact(4000, 30)).run(2.0, Constant(force=(1.0, 0.0)))
    np.testing.assert_allclose(run["environment_wrench"][-1, :2], [-1.0, 0.0], atol=1e-2)


@pytest.mark.parametrize("angle", [0.0, 30.0])
@pytest.mark.parametrize("corner", CORNERS)
def test_a_seam_is_one_whichever_geom_comes_first(corner: str, angle: float) -> None:
    """MuJoCo puts the lower type first: a box is the second geom of its contact with a cylinder."""
    body = f'<body name="peg">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
    statics = f'<body euler="0 0 {angle}">{CORNERS[corner]}</body>'
    ready = start(loose(World.from_string(scene(statics + body)).placed([-0.05, 0.2, 0])))
    advance(ready, 1)
    turn = Rotation.from_euler("z", angle, degrees=True)
    sc, rows, rng = ready.servo.scene, ready.servo.rows, np.random.default_rng(1)
    found = set()
    for _ in range(300):
        face, depth = int(rng.integers(2)), 10.0 ** rng.uniform(-5, -3)
        n = np.array([(0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)][face])
        out = rng.uniform(-3e-3, 3e-3)  # beside the other wall, or within it
        point = -0.5 * depth * n + out * (1.0 - np.abs(n)) * (1.0, 1.0, 0.0)
        rows.point[0], n = turn.apply(point), turn.apply(n)
        rows.separation[0] = -depth
        rows.normal[0], rows.geom[0], rows.tree[0] = n, (face, 9), (-1, 0)
        first = is_seam(sc, rows, 0)
        rows.normal[0], rows.geom[0], rows.tree[0] = -n, (9, face), (0, -1)
        assert is_seam(sc, rows, 0) == first
        found.add(bool(first))
    assert False in found


@pytest.mark.parametrize("seed", range(4))
def test_the_tree_of_neighbours_finds_what_a_search_of_all_finds(seed: int) -> None:
    """A floor that carries a hundred boxes: which of them a point lies in."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-0.9, 0.9, (100, 2))
    boxes = "".join(
        f'<geom type="box" size=".04 .03 .02" pos="{x} {y} .02" euler="0 0 {90 * (i % 2)}"/>'
        for i, (x, y) in enumerate(places)
    )
    body = f'<body name="t" pos="0 0 1">{PLANAR}<geom size=".01"/></body>'
    floor = '<geom type="box" size="1 1 .1" pos="0 0 -.1"/>'
    sc = start(loose(World.from_string(scene(floor + boxes + body)))).servo.scene
    first, end = sc.seam_start[0], sc.seam_start[1]
    assert set(sc.seam_geom[first:end]) >= set(range(1, 101))
    for point in np.c_[rng.uniform(-1, 1, (500, 2)), np.full(500, 0.01)]:
        asked, found, i = 0, set(), first
        while i < end:
            inside = (sc.seam_bounds[i, :3] <= point).all() and (
                sc.seam_bounds[i, 3:] >= point
            ).all()
            asked += 1
            if inside and sc.seam_geom[i] >= 0:
                found.add(int(sc.seam_geom[i]))
            i = i + 1 if inside else sc.seam_skip[i]
        low, high = sc.geom_bounds[1:101, :3], sc.geom_bounds[1:101, 3:]
        assert found == {
            1 + int(g) for g in np.flatnonzero(((low <= point) & (high >= point)).all(1))
        }
        assert asked < 60  # of 100 boxes and the knots above them
