"""Ten pairs of 100 mm that come near each other, against exact triangles by python-fcl."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import make_meshes
from detent.shapes.keep import kept_surface
from shapes_lab import Side, Surface, Touching, ball, channel, star, turned

pytestmark = pytest.mark.long

APPROACHES = 200
FREE = 2e-8  # [m] as good as touching
PAIRS = [
    ("star", "star"), ("slot", "star"), ("gear", "gear"), ("nut", "bolt"), ("dents", "dents"),
    ("rail", "tongue"), ("noise", "gear"), ("tooth", "star"), ("slot", "sphere"),
    ("dents", "ellipsoid"), ("gear", "cylinder"), ("star", "capsule"), ("tooth", "box"),
]  # fmt: skip
PRIMITIVES: dict[str, tuple[int, tuple[float, float, float]]] = {
    "sphere": (2, (0.012, 0.0, 0.0)),
    "capsule": (3, (0.008, 0.02, 0.0)),
    "ellipsoid": (4, (0.03, 0.02, 0.01)),
    "cylinder": (5, (0.015, 0.02, 0.0)),
    "box": (6, (0.03, 0.02, 0.012)),
}


def noise_ball() -> Surface:
    """A ball with waves of two lengths."""
    vertices, faces = ball(5, 1.0)
    x, y, z = vertices.T
    wide = 0.05 * np.sin(9 * x + 1) * np.cos(8 * y) * np.sin(7 * z + 2)
    fine = 0.02 * np.sin(31 * x) * np.cos(28 * y + 1) * np.cos(33 * z)
    return vertices * (1.0 + wide + fine)[:, None], faces


@cache
def mesh(name: str) -> Surface:
    """About its middle, 100 mm long, facing outwards."""
    rail, tongue = make_meshes.dovetail()
    made = {"star": star, "slot": channel, "gear": make_meshes.gear, "bolt": make_meshes.bolt,
            "nut": make_meshes.nut, "dents": lambda: ball(5, 0.05, 0.001), "rail": lambda: rail,
            "tongue": lambda: tongue, "noise": noise_ball, "tooth": make_meshes.tooth}  # fmt: skip
    vertices, faces = made[name]()
    vertices = vertices - 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    vertices *= 0.1 / np.ptp(vertices, axis=0).max()
    corners = vertices[faces]
    if np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) < 0.0:
        faces = faces[:, ::-1].copy()
    return vertices, faces


def felt_side(name: str) -> Side:
    return PRIMITIVES[name] if name in PRIMITIVES else kept_surface(*mesh(name), name)


def exact_side(fcl: Any, name: str) -> Any:
    """The same for python-fcl: triangles, or a primitive of its own."""
    if name in PRIMITIVES:
        kind, (a, b, c) = PRIMITIVES[name]
        make = {2: lambda: fcl.Sphere(a), 3: lambda: fcl.Capsule(a, 2 * b),
                4: lambda: fcl.Ellipsoid(a, b, c), 5: lambda: fcl.Cylinder(a, 2 * b),
                6: lambda: fcl.Box(2 * a, 2 * b, 2 * c)}  # fmt: skip
        return fcl.CollisionObject(make[kind]())
    vertices, faces = mesh(name)
    made = fcl.BVHModel()
    made.beginModel(len(vertices), len(faces))
    made.addSubModel(vertices, faces)
    made.endModel()
    return fcl.CollisionObject(made)


def felt_at(touching: Touching, way: np.ndarray, aside: np.ndarray, turn: np.ndarray,
            true: float) -> float | None:  # fmt: skip
    """[m] How far it still is when it is first felt, near where it should be."""
    before = true + 3e-4
    if len(touching.at(aside - way * before, turn)):
        return before
    for step in [*np.arange(3e-4, -3e-4, -4e-6), *np.arange(-3e-4, -5e-3, -5e-5)]:
        if not len(touching.at(aside - way * (true + step), turn)):
            before = true + step
            continue
        near = true + step
        for _ in range(8):
            middle = 0.5 * (near + before)
            felt = len(touching.at(aside - way * middle, turn)) > 0
            near, before = (middle, before) if felt else (near, middle)
        return float(near)
    return None


def off(fcl: Any, one: str, two: str) -> np.ndarray:
    """[m] Along the normal, from where triangles meet to where that is felt."""
    rng, touching = np.random.default_rng(1), Touching(felt_side(one), felt_side(two))
    still, moving = exact_side(fcl, one), exact_side(fcl, two)
    found: list[float] = []
    while len(found) < APPROACHES:
        turn, way, aside = turned(rng), rng.standard_normal(3), rng.uniform(-0.035, 0.035, 3)
        way, far = way / np.linalg.norm(way), 0.2
        apart = np.inf
        while apart > FREE and far > -0.05:  # no farther than it is free, again and again
            moving.setTransform(fcl.Transform(turn, aside - way * far))
            apart = fcl.distance(still, moving, fcl.DistanceRequest(), fcl.DistanceResult())
            far -= max(apart, 0.0)
        if apart > FREE:
            continue
        at = felt_at(touching, way, aside, turn, far)
        assert at is not None
        contacts = touching.at(aside - way * at, turn)
        normal = contacts[np.argmin(contacts["dist"])]["frame"][:3]
        found.append(abs(at - far) * abs(float(normal @ way)))
    return np.array(found)


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_a_touch_is_felt_where_the_triangles_are(one: str, two: str) -> None:
    found = off(pytest.importorskip("fcl"), one, two)
    assert np.percentile(found, 90) <= 20e-6
    assert found.max() <= 60e-6
