"""How thick the walls of a solid are: rays from its faces inwards."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.vectors import Triple, cross, inner
from detent.shapes.mesh import Mesh
from detent.shapes.triangles import STACK, corner, minus

_RAYS = 2000
_SHARE = 0.1  # [-] of the area that may be thinner: every sharp edge is thin


@kernel
def ray_box(box: np.ndarray, i: int, p: Triple, d: Triple, far: float) -> bool:
    """Whether a ray meets a box before *far* [m]."""
    near = 0.0
    for k in range(3):
        if abs(d[k]) < 1e-12:
            if p[k] < box[i, k] or p[k] > box[i, k + 3]:
                return False
            continue
        a, b = (box[i, k] - p[k]) / d[k], (box[i, k + 3] - p[k]) / d[k]
        near, far = max(near, min(a, b)), min(far, max(a, b))
    return near <= far


@kernel
def ray_triangle(p: Triple, d: Triple, tri: np.ndarray, t: int) -> float:
    """[m] along a ray to a triangle, infinite if it misses (Möller and Trumbore 1997)."""
    a = corner(tri, t, 0)
    e, f = minus(corner(tri, t, 1), a), minus(corner(tri, t, 2), a)
    h = cross(d, f)
    across = inner(e, h)
    if abs(across) < 1e-300:
        return math.inf
    s = minus(p, a)
    u = inner(s, h) / across
    q = cross(s, e)
    v = inner(d, q) / across
    if u < 0.0 or v < 0.0 or u + v > 1.0:
        return math.inf
    return inner(f, q) / across


@kernel
def first_hit(
    p: Triple,
    d: Triple,
    skip: int,
    tri: np.ndarray,
    box: np.ndarray,
    link: np.ndarray,
    stack: np.ndarray,
) -> float:
    """[m] along a ray to the first triangle but one."""
    best, depth = math.inf, 1
    stack[0] = 0
    while depth > 0:
        depth -= 1
        i = stack[depth]
        if not ray_box(box, i, p, d, best):
            continue
        if link[i, 1] == 0:
            stack[depth], stack[depth + 1] = link[i, 0], i + 1
            depth += 2
            continue
        for t in range(link[i, 0], link[i, 0] + link[i, 1]):
            if t != skip:
                hit = ray_triangle(p, d, tri, t)
                if 0.0 < hit < best:
                    best = hit
    return best


@kernel
def thicknesses(
    starts: np.ndarray,
    ways: np.ndarray,
    faces: np.ndarray,
    tri: np.ndarray,
    box: np.ndarray,
    link: np.ndarray,
    stack: np.ndarray,
    out: np.ndarray,
) -> None:
    """out ← how far it is from each start to the other side."""
    for i in range(out.shape[0]):
        p = (starts[i, 0], starts[i, 1], starts[i, 2])
        d = (ways[i, 0], ways[i, 1], ways[i, 2])
        out[i] = first_hit(p, d, faces[i], tri, box, link, stack)


def wall_thickness(
    mesh: Mesh, triangles: np.ndarray, boxes: np.ndarray, links: np.ndarray
) -> float:
    """[m] that all but a tenth of the surface has behind it."""
    corners = mesh.vertices[mesh.faces]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    rng = np.random.default_rng(0)
    faces = rng.choice(len(area), _RAYS, p=area / area.sum())
    share = rng.dirichlet((1.0, 1.0, 1.0), _RAYS)
    starts = np.einsum("nk,nkj->nj", share, corners[faces])
    out = np.zeros(_RAYS)
    thicknesses(
        starts, -mesh.normals[faces], faces, triangles, boxes, links,
        np.zeros(STACK, np.int64), out,
    )  # fmt: skip
    return float(np.quantile(out, _SHARE))
