"""The pairs of a world in which something is felt as it is, ready for the tick."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from detent.kernels.keep import keep_alive
from detent.shapes.constants import A_SECOND, BUDGET, DEEP, LEAST_BUDGET, PATCHES, REFINED, TOP
from detent.shapes.filter import Meeting
from detent.shapes.solids import Ball, check_kind, geom_surface, mesh_solid, primitive_solid
from detent.shapes.structs import Felt, Pair, Shapes, Solid
from detent.shapes.surface import Surface
from detent.shapes.triangles import STACK


def surfaces_needed(model: mujoco.MjModel, pairs: list[Meeting]) -> list[int]:
    """Geoms of these pairs that have to be baked: meshes and height fields, concave or not."""
    geoms = sorted({geom for pair in pairs for geom in (pair.one, pair.two)})
    for geom in geoms:
        check_kind(model, geom)
    return [geom for geom in geoms if geom_surface(model, geom) is not None]


def make_felt(
    data: mujoco.MjData,
    ncon: np.ndarray,
    contact: np.ndarray,
    room: int,
    margin: float,
    rate: float = 1.0,
) -> Felt:
    """What all pairs share; at a high *rate* [Hz] a tick has less time."""
    whole = np.int64
    return Felt(
        contact=contact,
        ncon=ncon,
        room=room,
        geom_xpos=data.geom_xpos,
        geom_xmat=data.geom_xmat,
        margin=float(margin),
        budget=np.array([max(min(BUDGET, A_SECOND / rate), LEAST_BUDGET), REFINED], whole),
        share=np.zeros(2, whole),
        busy=np.zeros(2, whole),
        counts=np.zeros(5, whole),
        totals=np.zeros(5, whole),
        stack=np.zeros(STACK, whole),
        deep=np.zeros((2, PATCHES)),
        weight=np.zeros((2, PATCHES)),
        middle=np.zeros((2, PATCHES, 3)),
        slope=np.zeros((2, PATCHES, 3)),
        tops=np.zeros((2, PATCHES), whole),
        top=np.zeros((2, PATCHES, TOP + 1), whole),
        top_weight=np.zeros((2, PATCHES, TOP + 1)),
        best=np.zeros((2, PATCHES)),
        least=np.zeros((2, PATCHES)),
        nearest=np.zeros((2, PATCHES), whole),
        guess=np.zeros((2, PATCHES), whole),
        facing=np.zeros((2, PATCHES), whole),
        way=np.zeros(DEEP, whole),
        way_least=np.zeros(DEEP),
        order=np.zeros(PATCHES, whole),
        key=np.zeros(2 * PATCHES),
        row=np.zeros(2 * PATCHES, whole),
        row_contact=np.zeros((2 * PATCHES, 7)),
    )


def make_shapes(
    model: mujoco.MjModel, pairs: list[Meeting], surfaces: Mapping[int, Surface], felt: Felt
) -> tuple[Shapes, list[Pair]]:
    """All pairs as the tick sees them; they live as long as the shapes."""
    made: dict[int, tuple[Solid, Ball]] = {}
    for geom, surface in surfaces.items():
        same = [other for other in made if surfaces[other] is surface]
        made[geom] = made[same[0]] if same else mesh_solid(surface)
    found, balls = [], []
    for meeting in pairs:
        sides = [
            made[geom] if geom in made else _primitive(model, geom, meeting, surfaces)
            for geom in (meeting.one, meeting.two)
        ]
        found.append(make_pair(felt, meeting, sides[0][0], sides[1][0]))
        balls.append([sides[0][1], sides[1][1]])
    shapes = Shapes(
        felt=felt,
        pairs=np.array([pair.address for pair in found], np.int64),
        geom=np.array([[m.one, m.two] for m in pairs], np.int64).reshape(-1, 2),
        centre=np.array([[ball.centre for ball in two] for two in balls]).reshape(-1, 2, 3),
        reach=np.array([[ball.reach for ball in two] for two in balls], float).reshape(-1, 2),
    )
    keep_alive(shapes, *found)
    return shapes, found


def _primitive(
    model: mujoco.MjModel, geom: int, meeting: Meeting, surfaces: Mapping[int, Surface]
) -> tuple[Solid, Ball]:
    """A primitive beside a surface: as fine as that needs."""
    other = meeting.two if geom == meeting.one else meeting.one
    return primitive_solid(int(model.geom_type[geom]), model.geom_size[geom], surfaces[other].size)


def make_pair(felt: Felt, meeting: Meeting, one: Solid, two: Solid) -> Pair:
    """Two solids that were nowhere yet: nothing is known of their nodes."""
    return Pair(
        felt=felt,
        one=one,
        two=two,
        geom=np.array([meeting.one, meeting.two], np.int64),
        friction=np.array(meeting.friction, float),
        dim=meeting.dim,
        pose=np.zeros((2, 12)),
        before=np.zeros((2, 12)),
        moved=np.zeros((2, 3)),
        memo_one=np.full(len(one.balls), -np.inf),
        memo_two=np.full(len(two.balls), -np.inf),
        known_one=np.tile((-np.inf, -1.0), (len(one.points), 1)),
        known_two=np.tile((-np.inf, -1.0), (len(two.points), 1)),
        stretch=np.ones(2),
        last_one=np.full(PATCHES, -1, np.int64),
        last_two=np.full(PATCHES, -1, np.int64),
    )
