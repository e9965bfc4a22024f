"""Geoms as triangles, and where they are seen from."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Session, World
from detent.app.arrows import LEAST_FORCE, LONGEST, drawn_length
from detent.app.shapes import TOOL_COLOUR, WORLD_COLOUR, body_shapes, geom_mesh
from detent.app.stage import set_stage

TETRAHEDRON = "0 0 0  .03 0 0  0 .03 0  0 0 .03"


def world(geoms: str, more: str = "") -> World:
    return World.from_string(
        f"<mujoco>{more}<worldbody><geom name='floor' type='plane' size='0 0 1'/>"
        f"<body name='tool' pos='0 0 .1'><freejoint/>{geoms}</body></worldbody></mujoco>"
    )


@pytest.mark.parametrize(
    ("geom", "half"),
    [
        ("type='box' size='.01 .02 .03'", (0.01, 0.02, 0.03)),
        ("type='sphere' size='.02'", (0.02, 0.02, 0.02)),
        ("type='ellipsoid' size='.01 .02 .03'", (0.01, 0.02, 0.03)),
        ("type='capsule' size='.01 .02'", (0.01, 0.01, 0.03)),
        ("type='cylinder' size='.01 .02'", (0.01, 0.01, 0.02)),
    ],
)
def test_primitives_have_their_size_and_place(geom: str, half: tuple[float, ...]) -> None:
    model = world(f"<geom {geom} pos='.1 .2 .3' euler='0 0 180'/>").model
    mesh = geom_mesh(model, 1, 1.0)
    assert mesh is not None
    np.testing.assert_allclose(mesh.bounds[1] - mesh.bounds[0], 2 * np.array(half), rtol=0.01)
    np.testing.assert_allclose(mesh.bounds.mean(axis=0), [0.1, 0.2, 0.3], atol=1e-6)


def test_a_mesh_keeps_its_volume_and_place() -> None:
    more = f"<asset><mesh name='m' vertex='{TETRAHEDRON}'/></asset>"
    model = world("<geom type='mesh' mesh='m'/>", more).model
    mesh = geom_mesh(model, 1, 1.0)
    assert mesh is not None
    np.testing.assert_allclose(mesh.volume, 0.03**3 / 6, rtol=1e-4)
    np.testing.assert_allclose(mesh.bounds, [[0, 0, 0], [0.03] * 3], atol=1e-6)


def test_a_plane_is_a_slab_below_its_surface() -> None:
    mesh = geom_mesh(world("<geom size='.02'/>").model, 0, 0.5)
    assert mesh is not None
    assert mesh.bounds[1, 2] == 0.0 and mesh.bounds[0, 2] < 0.0
    assert mesh.bounds[1, 0] == 1.0  # without an end: some way beyond the world


def test_colours_come_from_geom_material_or_here() -> None:
    more = "<asset><material name='m' rgba='0 1 0 1'/></asset>"
    geoms = (
        "<geom size='.01'/><geom size='.01' rgba='1 0 0 .5'/>"
        "<geom size='.01' material='m'/><geom size='.01' rgba='0 0 0 0'/>"
    )
    shapes = body_shapes(world(geoms, more).model, 1, 1.0, TOOL_COLOUR)
    assert {shape.colour for shape in shapes} == {TOOL_COLOUR, (1, 0, 0, 0.5), (0, 1, 0, 1)}


def test_collision_geoms_are_hidden_behind_visual_ones() -> None:
    both = "<geom size='.01' group='2'/><geom size='.03' group='3'/>"
    (shape,) = body_shapes(world(both).model, 1, 1.0, WORLD_COLOUR)
    assert shape.vertices.max() < 0.011
    (alone,) = body_shapes(world("<geom size='.03' group='3'/>").model, 1, 1.0, WORLD_COLOUR)
    assert alone.vertices.max() > 0.029


def test_sharp_edges_are_split_and_listed() -> None:
    (shape,) = body_shapes(world("<geom type='box' size='.1 .1 .1'/>").model, 1, 1.0, TOOL_COLOUR)
    assert len(shape.vertices) == 24
    assert len(shape.edges) == 12


@pytest.mark.parametrize("name", World.library())
def test_every_builtin_world_is_seen_with_its_tool(name: str) -> None:
    stage = set_stage(Session(World.builtin(name)))
    assert stage.size > 0.01
    assert stage._sees_tool(stage.camera())
    there = np.array([0.3, -0.2, 0.0])
    np.testing.assert_allclose(stage.lowered(stage.lifted(there)), there, atol=1e-12)
    np.testing.assert_allclose(stage.from_page(stage.to_page(there)), there, atol=1e-12)


def test_an_endless_plane_does_not_count_in_the_size() -> None:
    stage = set_stage(Session(world("<geom size='.02'/>")))
    np.testing.assert_allclose(stage.size, 0.04, rtol=0.01)


def test_arrows_grow_with_the_force_up_to_a_cap() -> None:
    lengths = [drawn_length(force) for force in (LEAST_FORCE, 1.0, 10.0, 100.0, 1e4)]
    assert lengths[0] == 0.0
    assert (np.diff(lengths[:4]) > 0.0).all()
    assert lengths[3] == lengths[4] == LONGEST
