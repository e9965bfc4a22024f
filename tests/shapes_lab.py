"""Meshes that the tests of shapes share."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from detent.kernels.stages import run_stage, stage_address
from detent.shapes.contacts import touch_pair
from detent.shapes.filter import Meeting
from detent.shapes.shapes import make_felt, make_pair
from detent.shapes.solids import mesh_solid, primitive_solid
from detent.shapes.surface import Surface as Baked
from detent.world.bridge import LAYOUT

Surface = tuple[np.ndarray, np.ndarray]
Side = Baked | tuple[int, tuple[float, float, float]]  # baked, or MuJoCo's kind and size


def prism(outline: list[tuple[float, float]], low: float, high: float) -> Surface:
    """An outline, counter-clockwise, drawn out along z."""
    count = len(outline)
    flat = np.array(outline)
    triangles = _ears(flat)
    vertices = np.concatenate([np.column_stack([flat, np.full(count, z)]) for z in (low, high)])
    i = np.arange(count)
    j = (i + 1) % count
    sides = [np.stack([i, j, j + count], 1), np.stack([i, j + count, i + count], 1)]
    return vertices, np.concatenate([triangles[:, ::-1], triangles + count, *sides])


def _ears(flat: np.ndarray) -> np.ndarray:
    """Triangles of a polygon, cut off one by one."""

    def turn(a: int, b: int, c: int) -> float:
        u, v = flat[b] - flat[a], flat[c] - flat[a]
        return float(u[0] * v[1] - u[1] * v[0])

    left, found = list(range(len(flat))), []
    while len(left) > 3:
        for i in range(len(left)):
            a, b, c = left[i - 1], left[i], left[(i + 1) % len(left)]
            others = [p for p in left if p not in (a, b, c)]
            inside = any(min(turn(a, b, p), turn(b, c, p), turn(c, a, p)) >= -1e-14 for p in others)
            if turn(a, b, c) > 1e-14 and not inside:
                found.append((a, b, c))
                left.pop(i)
                break
        else:
            raise AssertionError("not a simple polygon")
    return np.array([*found, tuple(left)])


def star(points: int = 5, outer: float = 0.05, inner: float = 0.02) -> Surface:
    """A star, 20 mm thick."""
    turn = np.pi * np.arange(2 * points) / points
    radius = np.where(np.arange(2 * points) % 2 == 0, outer, inner)
    flat = np.stack([radius * np.cos(turn), radius * np.sin(turn)], 1)
    return prism([tuple(p) for p in flat.tolist()], -0.01, 0.01)


def channel(gap: float = 0.04) -> Surface:
    """A U of 100 mm with a slot that opens upwards, 60 mm long."""
    g = 0.5 * gap
    outline = [(-0.05, -0.02), (0.05, -0.02), (0.05, 0.04), (g, 0.04), (g, 0.0), (-g, 0.0)]
    vertices, faces = prism([*outline, (-g, 0.04), (-0.05, 0.04)], -0.03, 0.03)
    return vertices[:, [0, 2, 1]], faces[:, ::-1]


def ball(level: int = 4, radius: float = 0.05, dents: float = 0.0) -> Surface:
    """A sphere of 20 · 4^level triangles, perhaps with dents of that depth [m]."""
    golden = (1.0 + 5.0**0.5) / 2.0
    corners = [(-1, golden, 0), (1, golden, 0), (-1, -golden, 0), (1, -golden, 0)]
    vertices = np.array([np.roll(c, shift) for shift in (0, 1, 2) for c in corners], float)
    from scipy.spatial import ConvexHull

    faces = ConvexHull(vertices).simplices
    for _ in range(level):
        a, b, c = faces.T
        middles = [vertices[x] + vertices[y] for x, y in ((a, b), (b, c), (c, a))]
        first, count = len(vertices), len(faces)
        vertices = np.concatenate([vertices, *middles])
        ab, bc, ca = (first + k * count + np.arange(count) for k in range(3))
        parts = (a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)
        faces = np.concatenate([np.stack(part, 1) for part in parts])
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
        _, kept, which = np.unique(
            vertices.round(9), axis=0, return_index=True, return_inverse=True
        )
        vertices, faces = vertices[kept], which.reshape(-1)[faces]
    vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    outward = np.einsum(
        "ij,ij->i",
        np.cross(
            vertices[faces[:, 1]] - vertices[faces[:, 0]],
            vertices[faces[:, 2]] - vertices[faces[:, 0]],
        ),
        vertices[faces[:, 0]],
    )
    faces[outward < 0] = faces[outward < 0][:, ::-1]
    x, y, z = vertices.T
    relief = 0.5 * dents * (np.sin(14 * x) * np.cos(11 * y) * np.cos(9 * z) - 1.0)
    return vertices * (radius + relief)[:, None], faces


def asset(name: str, surface: Surface, scale: str = "1 1 1") -> str:
    """A mesh of a scene."""
    vertices, faces = surface
    numbers = " ".join(f"{x:.9g}" for x in np.asarray(vertices).ravel())
    return (
        f'<mesh name="{name}" vertex="{numbers}" scale="{scale}" '
        f'face="{" ".join(map(str, np.asarray(faces).ravel()))}"/>'
    )


def scene_with(assets: str, bodies: str, option: str = 'gravity="0 0 0"') -> str:
    """MJCF text of a scene with meshes whose geoms do not rub."""
    smooth = '<custom><text name="detent.friction" data="none"/></custom>'
    return (
        f"<mujoco>{smooth}<option {option}/><asset>{assets}</asset>"
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


class Touching:
    """Two solids and the stage that finds where they touch, without a world around them."""

    def __init__(self, one: Side, two: Side, margin: float = 0.0, room: int = 256) -> None:
        self.data = SimpleNamespace(
            geom_xpos=np.zeros((2, 3)), geom_xmat=np.tile(np.eye(3).ravel(), (2, 1))
        )
        self.contact = np.zeros(room, LAYOUT.dtype)
        self.ncon = np.zeros(1, np.int32)
        self.felt = make_felt(self.data, self.ncon, self.contact, room, margin)  # type: ignore[arg-type]
        sizes = [side.size for side in (one, two) if isinstance(side, Baked)]
        solids = [
            mesh_solid(side)[0]
            if isinstance(side, Baked)
            else primitive_solid(side[0], np.array(side[1], float), min(sizes))[0]
            for side in (one, two)
        ]
        meeting = Meeting(0, 1, np.array([1.0, 1.0, 0.005, 1e-4, 1e-4]), 3)
        self.pair = make_pair(self.felt, meeting, *solids)
        self.stage = stage_address(touch_pair, self.pair)

    def at(self, place: np.ndarray, turn: np.ndarray, fresh: bool = False) -> np.ndarray:
        """Contacts with the second solid at a place, turned by a matrix."""
        self.data.geom_xpos[1], self.data.geom_xmat[1] = place, np.asarray(turn).ravel()
        if fresh:
            self.pair.memo_one[:] = self.pair.memo_two[:] = -np.inf
        self.ncon[0] = 0
        self.felt.counts[:] = 0
        run_stage(self.stage, self.pair)
        return self.contact[: self.ncon[0]].copy()


def turned(rng: np.random.Generator, angle: float | None = None) -> np.ndarray:
    """A random rotation, or one by that angle [rad] about a random axis."""
    if angle is None:
        q, r = np.linalg.qr(rng.standard_normal((3, 3)))
        q *= np.sign(np.diag(r))
        return q * np.sign(np.linalg.det(q))
    axis = rng.standard_normal(3)
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def crossings(
    vertices: np.ndarray, faces: np.ndarray, other: np.ndarray, others: np.ndarray
) -> bool:
    """Whether an edge of one surface goes through a triangle of the other."""
    start = vertices[faces].reshape(-1, 3)
    way = vertices[np.roll(faces, -1, axis=1)].reshape(-1, 3) - start
    a = other[others[:, 0]]
    e, f = other[others[:, 1]] - a, other[others[:, 2]] - a
    h = np.cross(way[:, None], f[None])
    across = np.einsum("tj,stj->st", e, h)
    across[np.abs(across) < 1e-30] = 1e-30
    s = start[:, None] - a[None]
    u = np.einsum("stj,stj->st", s, h) / across
    q = np.cross(s, e[None])
    v = np.einsum("sj,stj->st", way, q) / across
    t = np.einsum("tj,stj->st", f, q) / across
    return bool(((u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0) & (t <= 1)).any())


def meet(one: Surface, two: Surface, place: np.ndarray, turn: np.ndarray) -> bool:
    """Whether two surfaces cross, the second at a place, by their triangles alone."""
    moved = two[0] @ turn.T + place
    return crossings(*one, moved, two[1]) or crossings(moved, two[1], *one)


def onset(touches: Callable[[float], bool], start: float, step: float) -> float | None:
    """[m] How far it still is when something coming nearer first touches."""
    far = start
    while far > 0.0 and not touches(far):
        far -= step
    if far <= 0.0:
        return None
    near, apart = far, far + step
    for _ in range(14):
        middle = 0.5 * (near + apart)
        if touches(middle):
            near = middle
        else:
            apart = middle
    return near


def cuboid(half: tuple[float, float, float]) -> Surface:
    """A box of triangles."""
    x, y, z = half
    return prism([(-x, -y), (x, -y), (x, y), (-x, y)], -z, z)
