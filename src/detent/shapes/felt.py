"""The shapes of a world that are felt as they are: baked, or from the cache, and in pairs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import mujoco

from detent.kernels.stages import run_stage, stage_address
from detent.shapes.constants import ROWS
from detent.shapes.contacts import touch_pair
from detent.shapes.filter import meetings
from detent.shapes.keep import is_kept, kept_surface
from detent.shapes.shapes import make_felt, make_shapes, surfaces_needed
from detent.shapes.solids import geom_surface
from detent.shapes.surface import Surface, content_key
from detent.world.bridge import contact_views
from detent.world.names import geom_name
from detent.world.world import World

Progress = Callable[[float], None]
Telling = Callable[[str], AbstractContextManager[Progress]]

AT_HAND = 16  # surfaces that a process keeps
MOST_PAIRS = 8  # of which rows are reserved for all contacts that they may have

_at_hand: OrderedDict[str, Surface] = OrderedDict()


class FeltWorld:
    """Surfaces and pairs of a world, beside a copy of its model with *data*.

    Contacts within *margin* [m] are found; *telling* shows how far the baking is; a tick at a high
    *rate* [Hz] looks at less.
    """

    def __init__(
        self,
        world: World,
        data: mujoco.MjData,
        margin: float,
        telling: Telling | None = None,
        rate: float = 1.0,
    ) -> None:
        self._world, pairs = world, meetings(world.model, world.concave)
        needed = surfaces_needed(world.model, pairs)
        self.surfaces = {geom: find_surface(world, geom, telling) for geom in needed}
        self.rows = ROWS * min(len(pairs), MOST_PAIRS)
        count, contacts = contact_views(data)
        felt = make_felt(data, count, contacts, len(contacts) // 2, margin, rate)
        self.shapes, self.pairs = make_shapes(world.model, pairs, self.surfaces, felt)

    def feel(self) -> None:
        """Append all contacts to MuJoCo's, outside of a tick."""
        self.shapes.felt.counts[:] = 0
        for pair in self.pairs:
            run_stage(stage_address(touch_pair, pair), pair)

    @property
    def notes(self) -> list[str]:
        """What is felt as it is, and what was mended for that."""
        model = self._world.model
        names = [geom_name(model, geom) for geom in sorted(self._world.concave)]
        notes = [f"felt as they are, not as their hulls: {', '.join(names)}"] if names else []
        for geom, surface in self.surfaces.items():
            notes += [f"{geom_name(model, geom)}: {note}" for note in surface.notes]
        return notes


def find_surface(world: World, geom: int, telling: Telling | None = None) -> Surface:
    """Of a mesh geom: at hand, from the cache, or baked."""
    found = geom_surface(world.model, geom)
    assert found is not None  # `surfaces_needed` names no other
    vertices, faces, mesh = found
    name, thickness = mesh or geom_name(world.model, geom), world.concave.get(geom, 0.0)
    key = content_key(vertices, faces, thickness)
    if key not in _at_hand:
        silent = telling is None or is_kept(vertices, faces, thickness)
        text = f"baking the surface {name!r} ({len(faces)} triangles)"
        with nullcontext(_nobody) if silent or telling is None else telling(text) as progress:
            _at_hand[key] = kept_surface(vertices, faces, name, thickness, progress)
        while len(_at_hand) > AT_HAND:
            _at_hand.popitem(last=False)
    _at_hand.move_to_end(key)
    return _at_hand[key]


def _nobody(done: float) -> None:
    """Nobody wants to know."""
