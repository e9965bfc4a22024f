"""Contacts on the page: a disc where bodies touch, a stick for the force, cones and bonds."""

from __future__ import annotations

import time

import mujoco
import numpy as np
import trimesh
import viser

from detent.app.arrows import drawn_length
from detent.app.stage import PAGE_SIZE, OnTop, Stage
from detent.servo.shown import HOLDS, MOST_SHOWN, NEAR, SLIDES, STRIKES, TIES, WEIGHT

DISC = 0.016 * PAGE_SIZE  # radius
PATCH = 2.0  # discs: a constraint that is near, or a direction that is lost
STICK = 0.0035 * PAGE_SIZE  # radius
TIE = 0.11 * PAGE_SIZE  # half the length of the line of a direction that is lost
SHORTER = 0.5  # sticks of contacts, against arrows of the same force
CONE = 0.06 * PAGE_SIZE  # height of a friction cone
BOND, ROD = 0.06 * PAGE_SIZE, 0.006 * PAGE_SIZE  # a bond that is about to break: length, radius
FLASHED = 1.5  # times as large, right after a collision
FLASH = np.array([255.0, 225.0, 60.0])
EVERY = 0.07  # [s]
#: what is not worth telling a page: [page units], [-], [page units], [-]
SAME = dict(batched_positions=1e-3, batched_wxyzs=5e-3, batched_scales=1e-3, batched_colors=8.0)
#: colours by kind, and what they are called in the help
COLOURS = {
    HOLDS: (0, 158, 115),
    SLIDES: (230, 159, 0),
    STRIKES: (213, 94, 0),
    NEAR: (150, 155, 165),
    TIES: (170, 70, 150),
}
BOND_COLOUR = (0, 114, 178)
LEAST_STRAIN = 0.02  # [-] of a bond that is drawn
MEANINGS = {
    HOLDS: "rests or sticks",
    SLIDES: "slides",
    STRIKES: "strikes",
    NEAR: "near, of the local model",
    TIES: "direction that joints or loops do not allow",
}


class Batch:
    """Up to `MOST_SHOWN` copies of one shape; those that are not needed have no size."""

    def __init__(
        self, server: viser.ViserServer, name: str, shape: trimesh.Trimesh, opacity: float | None
    ) -> None:
        self._sent: dict[str, np.ndarray] = {}
        self._node = server.scene.add_batched_meshes_simple(
            name,
            np.asarray(shape.vertices, np.float32),
            np.asarray(shape.faces, np.uint32),
            batched_wxyzs=np.tile(np.array([1.0, 0.0, 0.0, 0.0], np.float32), (MOST_SHOWN, 1)),
            batched_positions=np.zeros((MOST_SHOWN, 3), np.float32),
            batched_scales=np.zeros((MOST_SHOWN, 3), np.float32),
            batched_colors=np.zeros((MOST_SHOWN, 3), np.uint8),
            lod="off",
            opacity=opacity,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
        )

    def update(
        self, places: np.ndarray, turns: np.ndarray, scales: np.ndarray, colours: np.ndarray
    ) -> None:
        """Show so many: where (n, 3), how turned (n, 4), how large (n, 3), in which colour."""
        new = {
            "batched_positions": _filled(places, np.zeros(3), np.float32),
            "batched_wxyzs": _filled(turns, np.array([1.0, 0.0, 0.0, 0.0]), np.float32),
            "batched_scales": _filled(scales, np.zeros(3), np.float32),
            "batched_colors": _filled(linear_light(colours), np.zeros(3), np.uint8),
        }
        for name, values in new.items():
            before = self._sent.get(name)
            if before is None or np.abs(values - before.astype(float)).max() > SAME[name]:
                self._sent[name] = values
                setattr(self._node, name, values)


class Contacts:
    """Draws what `Live.shown` says."""

    def __init__(self, server: viser.ViserServer, stage: Stage, under: str = "") -> None:
        self._stage = stage
        self._count, self._due = 0, 0.0
        self._hand = server.scene.add_frame(f"{under}/contacts", show_axes=False)
        self._discs = Batch(server, f"{under}/contacts/discs", disc(), None)
        self._sticks = Batch(server, f"{under}/contacts/sticks", stick(), None)
        self._cones = Batch(server, f"{under}/contacts/cones", cone(), 0.25)
        self._bonds = Batch(server, f"{under}/contacts/bonds", stick(), None)

    def update(
        self,
        hand: np.ndarray,
        shown: np.ndarray,
        flash: float = 0.0,
        eye: np.ndarray | None = None,
        still: bool = False,
    ) -> None:
        """Show records of `SHOWN`; *flash* from 0 to 1 is how fresh the last collision is.

        A page moves a node at once but is slow to change its shape. So it is told of contacts
        when some come or go, and now and then, as seen from the hand point (3,) [m]; in between
        they go along with it; unless it is a moment that stands *still*.
        """
        shown = shown[shown["kind"] != WEIGHT]  # a part of the force, and no contact
        origin = self._stage.on_top(self._stage.to_page(hand), eye).points[0]
        self._hand.position = origin
        now = time.monotonic()
        if len(shown) == self._count and now < self._due and not still:
            return
        self._count, self._due = len(shown), now + EVERY
        top = self._stage.on_top(self._stage.to_page(shown["point"]), eye)
        top = OnTop(top.points - origin, top.scales)
        colours = np.array([COLOURS[int(kind)] for kind in shown["kind"]], float).reshape(-1, 3)
        lit = flash * shown["tool"] * np.isin(shown["kind"], (HOLDS, SLIDES, STRIKES))
        colours += lit[:, None] * (FLASH - colours)
        wide = DISC * np.where(np.isin(shown["kind"], (NEAR, TIES)), PATCH, 1.0 + FLASHED * lit)
        turns = turned(shown["normal"])
        flat = np.column_stack([wide, wide, np.full(len(wide), DISC)])
        self._discs.update(top.points, turns, flat * top.scales[:, None], colours)
        self._draw_sticks(shown, top.points, top.scales, colours)
        self._draw_cones(shown, top.points, top.scales, turns, colours)
        self._draw_bonds(shown, top.points, top.scales)

    def _draw_sticks(
        self, shown: np.ndarray, places: np.ndarray, smaller: np.ndarray, colours: np.ndarray
    ) -> None:
        """From the disc along the force, normal and friction together; ties go both ways."""
        ties = shown["kind"] == TIES
        force = shown["force"][:, None] * shown["normal"] + shown["rub"]
        size = np.linalg.norm(force, axis=1)
        length = np.array([SHORTER * drawn_length(one) for one in size])
        length = np.where(ties, 2.0 * TIE, length) * smaller
        along = np.where(ties[:, None] | (size[:, None] <= 0.0), shown["normal"], force)
        start = places - np.where(ties, 0.5 * length, 0.0)[:, None] * unit(along)
        kept = length > 0.0
        thick = STICK * smaller
        scales = np.column_stack([thick, thick, length])
        self._sticks.update(start[kept], turned(along[kept]), scales[kept], colours[kept])

    def _draw_cones(
        self,
        shown: np.ndarray,
        places: np.ndarray,
        smaller: np.ndarray,
        turns: np.ndarray,
        colours: np.ndarray,
    ) -> None:
        """Within the cone a contact sticks: its half angle is atan μ."""
        kept = (shown["friction"] > 0.0) & (shown["force"] > 0.0) & (shown["tool"] != 0)
        wide = CONE * np.minimum(shown["friction"], 2.0)
        scales = np.column_stack([wide, wide, np.full(len(wide), CONE)]) * smaller[:, None]
        self._cones.update(places[kept], turns[kept], scales[kept], colours[kept])

    def _draw_bonds(self, shown: np.ndarray, places: np.ndarray, smaller: np.ndarray) -> None:
        """From a contact to where it stuck: as long as the bond is stretched, over its breaking."""
        bond = stretched(shown)
        strain = np.linalg.norm(bond, axis=1)
        kept = (strain > LEAST_STRAIN) & (shown["tool"] != 0)
        thick = (ROD * smaller)[kept]
        scales = np.column_stack([thick, thick, (BOND * np.minimum(strain, 1.0) * smaller)[kept]])
        colours = np.tile(np.array(BOND_COLOUR, float), (int(kept.sum()), 1))
        self._bonds.update(places[kept], turned(-bond[kept]), scales, colours)


def stretched(shown: np.ndarray) -> np.ndarray:
    """Strains (n, 3) of bonds over where they break.

    Where a brake holds a contact, whose bond is not kept as a strain, what it holds over the most
    that it can: -f_t / (μ_s f_n).
    """
    most = np.maximum(shown["friction"] * shown["force"], 1e-12)[:, None]
    braked = (shown["kind"] == HOLDS) & (np.linalg.norm(shown["bond"], axis=1) < LEAST_STRAIN)
    return np.where(braked[:, None] & (most > 1e-9), -shown["rub"] / most, shown["bond"])


def disc() -> trimesh.Trimesh:
    """A thin disc of radius 1."""
    return trimesh.creation.cylinder(radius=1.0, height=0.25, sections=24)


def stick() -> trimesh.Trimesh:
    """A stick of radius and length 1, from the origin along z."""
    made = trimesh.creation.cylinder(radius=1.0, height=1.0, sections=12)
    return made.apply_translation((0.0, 0.0, 0.5))


def cone() -> trimesh.Trimesh:
    """A cone of radius and height 1 that opens along z, its tip at the origin."""
    made = trimesh.creation.cone(radius=1.0, height=1.0, sections=24)
    made.apply_transform(trimesh.transformations.rotation_matrix(np.pi, (1.0, 0.0, 0.0)))
    return made.apply_translation((0.0, 0.0, 1.0))


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) of length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def turned(directions: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) that turn z into these directions (n, 3)."""
    turns = np.zeros((len(directions), 4))
    for turn, direction in zip(turns, directions, strict=True):
        mujoco.mju_quatZ2Vec(turn, np.ascontiguousarray(direction, float))
    return turns


def linear_light(colours: np.ndarray) -> np.ndarray:
    """Colours (n, 3) from 0 to 255 in linear light, which is how viser reads those of batches."""
    return 255.0 * (colours / 255.0) ** 2.2


def _filled(values: np.ndarray, rest: np.ndarray, kind: type) -> np.ndarray:
    """The values, then the rest up to `MOST_SHOWN`."""
    out: np.ndarray = np.tile(rest, (MOST_SHOWN, 1)).astype(kind)
    out[: len(values)] = values
    return out
