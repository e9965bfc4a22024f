"""Polyhedra on the round side of a cylinder: plane geometry is the judge."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, LocalModel, World
from detent.engines.mirror import Mirror
from detent.engines.protocol import Task
from detent.local.proxy import cut_to_tool
from lab import PLANAR, scene
from local.enclosures import apart, prism

ROD = 0.015  # [m]


def mirror(tool: str, asset: str = "", rod: str = "0 0 0") -> Mirror:
    """A tool beside a long cylinder, as an engine sees them."""
    cylinder = f'<geom type="cylinder" size="{ROD} .1" euler="{rod}"/>'
    text = scene(f'{cylinder}<body name="tool">{PLANAR}{tool}</body>', more=asset)
    world = World.from_string(text, tool="tool")
    return Mirror(Task(world, cut_to_tool(world), LocalModel(), Contact()))


def seen(one: Mirror, x: float, y: float, turn: float) -> np.ndarray:
    one.data.qpos[:] = x, y, turn
    one.refresh()
    return one.near()


BOX = np.array([(0.006, 0.014), (-0.006, 0.014), (-0.006, -0.014), (0.006, -0.014)])


def outline(x: float, y: float, turn: float) -> np.ndarray:
    c, s = np.cos(turn), np.sin(turn)
    return BOX @ np.array([[c, s], [-s, c]]) + (x, y)


@pytest.mark.parametrize("seed", range(40))
def test_a_box_is_as_deep_in_a_rod_as_plane_geometry_says(seed: int) -> None:
    """Also at corners, and along the true normal."""
    rng = np.random.default_rng(seed)
    box = mirror('<geom type="box" size=".006 .014 .01"/>')
    for _ in range(20):
        way, turn = rng.uniform(-np.pi, np.pi, 2)
        far = ROD + rng.uniform(0.003, 0.014)
        x, y = far * np.cos(way), far * np.sin(way)
        depth = ROD - float(apart(outline(x, y, turn)[None], np.zeros((1, 1, 2)))[0])
        if not 0.0 < depth < 0.8 * ROD:
            continue
        near = seen(box, x, y, turn)
        assert near["separation"].min() == pytest.approx(-depth, abs=1e-9)
        moved = outline(*(np.array([x, y]) + 1e-7 * near["normal"][0, :2]), turn)
        less = ROD - float(apart(moved[None], np.zeros((1, 1, 2)))[0])
        assert less == pytest.approx(depth - 1e-7, abs=1e-10)  # the shortest way out


def test_depth_and_normal_do_not_jump_as_a_corner_slides_over_a_rod() -> None:
    """By less than the tool moves; MuJoCo's own turn by 90 degrees, and jump by 0.3 mm."""
    box = mirror('<geom type="box" size=".006 .014 .01"/>')
    last, way = None, 2e-5
    for x in np.arange(-0.008, 0.008, way):
        near = seen(box, x, ROD + 0.012, 0.4)
        deepest = near[np.argmin(near["separation"])]
        if last is not None:
            assert abs(deepest["separation"] - last["separation"]) <= way
            assert np.linalg.norm(deepest["normal"] - last["normal"]) <= 1.1 * way / (0.5 * ROD)
        last = deepest


def test_a_face_on_a_rod_keeps_both_ends_of_its_line() -> None:
    """So that a block that lies on a cylinder does not tip."""
    rng = np.random.default_rng(0)
    box = mirror(
        '<geom type="mesh" mesh="tool"/>', prism(rng, 6), rod="0 90 0"
    )  # along x, under a prism along z: an edge across
    near = seen(box, 0.0, ROD + 0.014, 0.0)
    assert len(near) >= 1 and near["separation"].min() < 0.0
    lying = mirror('<geom type="box" size=".014 .006 .01"/>', rod="0 90 0")
    near = seen(lying, 0.0, ROD + 0.005, 0.0)
    np.testing.assert_allclose(near["separation"], -0.001, atol=1e-9)
    np.testing.assert_allclose(near["normal"], np.tile([0.0, 1.0, 0.0], (len(near), 1)), atol=1e-9)
    assert np.ptp(near["place"][:, 0]) > 0.02
