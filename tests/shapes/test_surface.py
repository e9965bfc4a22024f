"""A mesh as a surface: what is wrong with it, its field, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from detent.errors import ShapeError
from detent.shapes import keep
from detent.shapes.constants import BLOCK
from detent.shapes.distance import distance, exact_distance
from detent.shapes.mesh import clean
from detent.shapes.primitives import primitive_distance
from detent.shapes.samples import edges_of, sample_surface
from detent.shapes.solids import mesh_solid
from detent.shapes.surface import bake
from detent.shapes.triangles import STACK, nearest_triangle, triangle_tree
from detent.shapes.winding import make_dipoles, winding
from shapes_lab import ball, channel, prism, star

COARSE = 48  # cells along the longest side: enough to see all that the field does
STAR = bake(*star(), "star", cells=COARSE)


def inside_star(points: np.ndarray) -> np.ndarray:
    """By its outline: an even-odd count of crossings."""
    outline = star()[0][:10, :2]
    following = np.roll(outline, -1, axis=0)
    x, y = points[:, :1], points[:, 1:2]
    between = (outline[:, 1] > y) != (following[:, 1] > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (y - outline[:, 1]) / (following[:, 1] - outline[:, 1])
        crossed = between & (x < outline[:, 0] + share * (following[:, 0] - outline[:, 0]))
    return (crossed.sum(axis=1) % 2 == 1) & (np.abs(points[:, 2]) < 0.01)


def around(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.06, 0.06, (count, 3)) * (1.0, 1.0, 0.3)


def test_the_field_keeps_its_error_bound() -> None:
    solid, _ = mesh_solid(STAR)
    stack, sides = np.zeros(STACK, np.int64), inside_star(around(4000))
    for p, inside in zip(around(4000), sides, strict=True):
        said, low, high = distance(solid, *p)
        found = nearest_triangle(
            tuple(p), np.inf, STAR.triangles, STAR.boxes, STAR.box_links, stack
        )
        true = -found[0] if inside else found[0]
        end = STAR.origin + STAR.cell * np.array(STAR.block.shape)
        in_grid = (p > STAR.origin).all() and (p < end).all()
        if in_grid:
            assert said - low - 1e-7 <= true <= said + high + 1e-7
        else:
            assert 0.0 < said <= true + 1e-9
        assert exact_distance(solid, tuple(p), said, low, high, stack) == pytest.approx(
            true, abs=1e-7
        )


def test_winding_tells_inside_from_outside() -> None:
    dipoles, stack = np.zeros((len(STAR.boxes), 8)), np.zeros(STACK, np.int64)
    make_dipoles(STAR.triangles, STAR.boxes, STAR.box_links, dipoles)
    points = around(2000, 1)
    found = [winding(tuple(p), STAR.triangles, STAR.box_links, dipoles, stack) for p in points]
    np.testing.assert_array_equal(np.array(found) > 0.5, inside_star(points))


def test_the_tree_of_triangles_finds_the_nearest() -> None:
    vertices, faces = ball(2, 0.05, 0.004)
    order, boxes, links = triangle_tree(vertices[faces])
    assert sorted(order) == list(range(len(faces)))
    triangles = vertices[faces[order]].reshape(-1, 9).astype(np.float32)
    stack = np.zeros(STACK, np.int64)
    for p in np.random.default_rng(2).normal(0.0, 0.05, (200, 3)):
        near, which, _ = nearest_triangle(tuple(p), np.inf, triangles, boxes, links, stack)
        everyone = [
            nearest_triangle(
                tuple(p), np.inf, triangles[i : i + 1], np.array([[-1] * 3 + [1] * 3], np.float32),
                np.array([[0, 1]], np.int32), stack,
            )[0]
            for i in range(len(triangles))
        ]  # fmt: skip
        assert near == pytest.approx(min(everyone), abs=1e-12)
        assert everyone[which] == pytest.approx(near, abs=1e-12)


@pytest.mark.parametrize("kind", [2, 3, 4, 5, 6])
def test_distances_of_primitives_are_distances(kind: int) -> None:
    half, rng = np.array([0.03, 0.02, 0.012]), np.random.default_rng(kind)
    step = 1e-6
    for p in rng.uniform(-0.06, 0.06, (400, 3)):
        d = primitive_distance(kind, half, *p)
        slopes = [
            primitive_distance(kind, half, *(p + e)) - primitive_distance(kind, half, *(p - e))
            for e in step * np.eye(3)
        ]
        length = np.linalg.norm(slopes) / (2.0 * step)
        assert length < 1.001 and (length > 0.99 or abs(d) > 0.004 > d)  # a ridge inside
        if length > 0.999:
            surface = p - d * np.array(slopes) / (2.0 * step)
            assert abs(primitive_distance(kind, half, *surface)) < 2e-6


def test_what_is_split_flipped_or_twisted_is_mended() -> None:
    vertices, faces = star()
    loose, split = vertices[faces.ravel()], np.arange(3 * len(faces)).reshape(-1, 3)
    mesh = clean(loose, split, "split")
    assert len(mesh.vertices) == len(vertices) and mesh.notes == ()
    assert (edges_of(mesh).angle > 0.5).sum() >= 25  # 5 tips, and the two outlines
    turned = clean(vertices, faces[:, ::-1], "flipped")
    assert "inwards" in turned.notes[0] and (turned.neighbours >= 0).all()
    for side in range(3):  # neighbours follow their edges
        other = turned.faces[turned.neighbours[:, side]]
        ends = turned.faces[:, [side, (side + 1) % 3]]
        assert all(set(e) <= set(o) for e, o in zip(ends.tolist(), other.tolist(), strict=True))
    twisted = faces.copy()
    twisted[::3] = twisted[::3, ::-1]
    mended = clean(vertices, twisted, "twisted")
    assert "wrong way" in mended.notes[0]
    same = np.einsum("ij,ij->i", mended.normals, clean(vertices, faces, "right").normals)
    assert (same > 0.99).all()


@pytest.mark.parametrize(
    ("vertices", "faces", "said"),
    [
        (star()[0], star()[1][:-1], "it is open, 3 of its edges"),
        (star()[0], star()[1] + 100, "names vertex"),
        (np.where(star()[0] > 0.04, np.nan, star()[0]), star()[1], "finite"),
        (np.zeros((3, 3)), np.array([[0, 1, 2]]), "no size"),
        (np.eye(3), np.zeros((0, 3), int), "no triangles"),
        (np.eye(3), np.array([[0, 1, 1]]), "area"),
        (np.eye(3)[:, :2], np.array([[0, 1, 2]]), "vertices"),
        (np.eye(3), np.array([[0.0, 1.0, 2.0]]), "whole numbers"),
        (*prism([(-0.05, -0.05), (0.05, -0.05), (0.05, 0.05), (-0.05, 0.05)], 0.0, 1e-4), "thin"),
    ],
)
def test_a_corrupt_mesh_is_refused(vertices: np.ndarray, faces: np.ndarray, said: str) -> None:
    with pytest.raises(ShapeError, match=said):
        bake(vertices, faces, "broken", cells=COARSE)


def test_an_open_sheet_has_the_thickness_it_is_given() -> None:
    square = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * 0.05
    sheet = bake(square, np.array([[0, 1, 2], [0, 2, 3]]), "sheet", 0.006, cells=COARSE)
    solid, _ = mesh_solid(sheet)
    for z in (0.0, 0.002, 0.003, 0.005):
        assert distance(solid, 0.011, 0.007, z)[0] == pytest.approx(abs(z) - 0.003, abs=1e-6)
    assert (sheet.tree.points[:, 3] == np.float32(0.003)).all()
    with pytest.raises(ShapeError, match="too little"):
        bake(square, np.array([[0, 1, 2], [0, 2, 3]]), "sheet", 1e-4, cells=COARSE)


def test_samples_are_where_a_surface_is_convex() -> None:
    mesh = clean(*channel(), "channel")
    points = sample_surface(mesh).points
    floor_edges = (np.abs(np.abs(points[:, 0]) - 0.02) < 1e-9) & (np.abs(points[:, 2]) < 1e-9)
    assert np.abs(points[floor_edges, 1]).min() > 0.0299  # only where they end
    rims = (np.abs(np.abs(points[:, 0]) - 0.02) < 1e-9) & (np.abs(points[:, 2] - 0.04) < 1e-9)
    along = np.sort(points[rims & (points[:, 0] > 0), 1])
    assert np.diff(along).max() < 0.2e-3
    smooth = clean(*ball(4), "ball")
    edges = 3 * len(smooth.vertices) - 6  # Euler's, and one point within each is enough
    assert 200 < len(sample_surface(smooth).points) <= len(smooth.vertices) + edges


def test_a_surface_is_kept_by_content_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DETENT_CACHE_DIR", str(tmp_path))
    place = keep.folder() / f"one{keep.SUFFIX}"
    keep.store(place, STAR)
    again = keep.load(place)
    for one, other in zip(again[:-2], STAR[:-2], strict=True):
        np.testing.assert_array_equal(one, other)
    for name in STAR.tree._fields:
        np.testing.assert_array_equal(getattr(again.tree, name), getattr(STAR.tree, name))
    whole = place.read_bytes()
    damages = {
        "damaged$": whole[:-100] + b"x" * 100,
        "cut short": whole[:-1],
        "damaged header": whole[:40] + b"?" + whole[41:],
        "no file of a shape": b"PK" + whole,
        "no header": whole[: len(keep.MAGIC)] + b"zz" + whole[len(keep.MAGIC) + 2 :],
    }
    for problem, content in damages.items():
        place.write_bytes(content)
        with pytest.raises(keep.KeptShapeError, match=problem):
            keep.load(place)


def test_a_damaged_file_is_baked_anew_and_the_oldest_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DETENT_CACHE_DIR", str(tmp_path))
    baked = []

    def baking(*args: object, **options: object) -> object:
        baked.append(args)
        return STAR

    monkeypatch.setattr(keep, "bake", baking)
    keep.kept_surface(*star(), "star")
    keep.kept_surface(*star(), "star")
    assert len(baked) == 1 and keep.is_kept(*star())
    (file,) = keep.folder().glob("*")
    file.write_bytes(b"someone else's")
    keep.kept_surface(*star(), "star")
    keep.kept_surface(*star(), "star")
    assert len(baked) == 2
    keep.kept_surface(*star(), "star", thickness=0.003)
    newest = max(keep.folder().glob("*"), key=lambda path: path.stat().st_mtime)
    keep.forget_oldest(newest, most=1)
    assert list(keep.folder().glob("*")) == [newest]


def test_a_block_has_a_step_of_an_eighth() -> None:
    assert STAR.blocks.shape[1:] == (BLOCK + 1,) * 3
    middle = STAR.block[tuple(np.array(STAR.block.shape) // 2)]
    assert middle >= -1  # the star is thin there: a block, or deeper than the band
