"""A ball over a mesh, felt by each method, and where the triangles of that mesh really are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from detent.errors import MissingExtraError
from detent.shapes.felt import FeltWorld
from detent.shapes.structs import LOOKUPS, REFINEMENTS
from detent.shapes.triangles import STACK, nearest_triangle, triangle_tree
from detent.world.decompose import mesh_surface
from detent.world.world import World

Mesh = tuple[np.ndarray, np.ndarray]
Apart = Callable[[np.ndarray], float]  # [m] of a ball at a place from a mesh
RADIUS = 0.5e-3  # [m] of the ball
STEP = 2e-5  # [m] of an approach where a method only says whether it touches


def library_mesh(world: str, name: str) -> Mesh:
    """Vertices and triangles of a mesh of a built-in world."""
    model = World.builtin(world).model
    return mesh_surface(model, int(model.mesh(name).id))


def noise_ball(triangles: int, radius: float = 0.05, relief: float = 1e-3) -> Mesh:
    """A ball with dents, of about so many triangles: rings of points about an axis."""
    rings = max(round(math.sqrt(triangles / 4.0)), 3)
    polar = np.pi * (np.arange(rings) + 0.5) / rings
    turn = np.pi * np.arange(2 * rings) / rings
    p, t = np.meshgrid(polar, turn, indexing="ij")
    unit = np.stack([np.sin(p) * np.cos(t), np.sin(p) * np.sin(t), np.cos(p)], axis=-1)
    points = np.concatenate([unit.reshape(-1, 3), [[0, 0, 1.0], [0, 0, -1.0]]])
    x, y, z = points.T
    points *= (radius + 0.5 * relief * (np.sin(14 * x) * np.cos(11 * y) * np.cos(9 * z) - 1.0))[
        :, None
    ]
    place = np.arange(points.shape[0] - 2).reshape(rings, -1)
    along, top = np.roll(place, -1, axis=1), points.shape[0] - 2
    a, b, c, d = place[:-1], place[1:], along[1:], along[:-1]
    faces = [np.stack([a, b, c], -1), np.stack([a, c, d], -1)]
    ends = [(place[0], along[0], top), (along[-1], place[-1], top + 1)]
    faces += [np.stack([m, n, np.full_like(m, end)], -1) for m, n, end in ends]
    return points, np.concatenate([f.reshape(-1, 3) for f in faces])


def ball_over(mesh: Mesh, **load: Any) -> World:
    """A free ball beside a fixed mesh."""
    vertices, faces = mesh
    numbers = " ".join(f"{x:.9g}" for x in vertices.ravel())
    triangles = " ".join(map(str, faces.ravel()))
    far = 3.0 * float(np.abs(vertices).max())
    return World.from_string(
        f"""<mujoco><custom><text name="detent.friction" data="none"/></custom>
        <option gravity="0 0 0"/>
        <asset><mesh name="mesh" vertex="{numbers}" face="{triangles}"/></asset><worldbody>
        <geom name="mesh" type="mesh" mesh="mesh"/><body name="ball" pos="0 0 {far}"><freejoint/>
        <geom type="sphere" size="{RADIUS}" mass="0.1"/></body></worldbody></mujoco>""",
        tool="ball",
        **load,
    )


def mujoco_apart(world: World) -> Apart:
    """By MuJoCo's own distance from its convex hulls."""
    model = world.model
    data, line = mujoco.MjData(model), np.zeros(6)
    ball = int(model.body_geomadr[world.tool])

    def apart(place: np.ndarray) -> float:
        data.qpos[:3] = place
        mujoco.mj_kinematics(model, data)
        others = (g for g in range(model.ngeom) if g != ball)
        return min(mujoco.mj_geomDistance(model, data, ball, g, 1.0, line) for g in others)

    return apart


class Felt:
    """What Detent feels of a ball at a place, and what that took."""

    def __init__(self, mesh: Mesh) -> None:
        self.world = ball_over(mesh, concave=["mesh"])
        self.data = mujoco.MjData(self.world.model)
        self.felt = FeltWorld(self.world, self.data, 0.0)
        self.counts = self.felt.shapes.felt.counts

    def touches(self, place: np.ndarray) -> bool:
        """Whether there is a contact."""
        self.data.qpos[:3] = place
        mujoco.mj_kinematics(self.world.model, self.data)
        self.data.ncon = 0
        self.felt.feel()
        return bool(self.data.ncon > 0)

    @property
    def work(self) -> tuple[int, int]:
        """Lookups and measured triangles of the last touch."""
        return int(self.counts[LOOKUPS]), int(self.counts[REFINEMENTS])


def exact_apart(mesh: Mesh) -> tuple[Apart, str]:
    """Of a ball from triangles: by python-fcl where it is installed, else by a tree of our own."""
    vertices, faces = mesh
    try:
        import fcl
    except ImportError:
        order, boxes, links = triangle_tree(vertices[faces])
        triangles = vertices[faces[order]].reshape(-1, 9).astype(np.float32)
        stack = np.zeros(STACK, np.int64)

        def apart(place: np.ndarray) -> float:
            p = (float(place[0]), float(place[1]), float(place[2]))
            return float(nearest_triangle(p, math.inf, triangles, boxes, links, stack)[0]) - RADIUS

        return apart, "a tree of triangles"
    surface = fcl.BVHModel()
    surface.beginModel(len(vertices), len(faces))
    surface.addSubModel(vertices, faces)
    surface.endModel()
    still = fcl.CollisionObject(surface)
    point = fcl.CollisionObject(fcl.Sphere(1e-9))

    def by_fcl(place: np.ndarray) -> float:
        point.setTranslation(place)
        found = fcl.distance(point, still, fcl.DistanceRequest(), fcl.DistanceResult())
        return float(found) + 1e-9 - RADIUS

    return by_fcl, "python-fcl"


def trace_onset(apart: Apart, start: np.ndarray, way: np.ndarray, far: float) -> float | None:
    """[m] Along a way to where a ball touches: as far as it is free, again and again."""
    gone = 0.0
    for _ in range(200):
        free = apart(start + gone * way)
        if free < 1e-8:
            return gone
        gone += free
        if gone > far:
            return None
    return gone


def felt_onset(felt: Felt, start: np.ndarray, way: np.ndarray, first: float) -> float | None:
    """[m] The same of Detent, near where the triangles are: by steps, then by halves."""
    gone = first - 40 * STEP
    if felt.touches(start + gone * way):
        return gone
    for _ in range(80):
        gone += STEP
        if felt.touches(start + gone * way):
            break
    else:
        return None
    low, high = gone - STEP, gone
    for _ in range(10):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if felt.touches(start + middle * way) else (middle, high)
    return high


def parts_of(mesh: Mesh) -> World | None:
    """The mesh cut into convex parts, where CoACD is installed."""
    try:
        return ball_over(mesh, decompose=True)
    except MissingExtraError:
        return None
