"""Forces as arrows at the hand point, drawn before the tool, with the number at the tip."""

from __future__ import annotations

import time

import mujoco
import numpy as np
import viser

from detent.app.stage import PAGE_SIZE, OnTop, Stage
from detent.record.plots import BLACK, BLUE, RED, SKY

LONGEST = 0.35 * PAGE_SIZE
LEAST_FORCE, MOST_FORCE = 0.3, 100.0  # [N] between them the length is logarithmic
STRETCH_EVERY = 0.08  # [s] a page moves a node at once, but is slow to change its shape
STRETCH = 0.02 * LONGEST
LABEL_EVERY = 0.15  # [s] a number that changes faster cannot be read
BEYOND = 0.03 * PAGE_SIZE  # the label, from the tip

#: what is felt is thick, its parts are thin; the colours are those of the charts
COLOURS = {"felt": BLACK, "hand": SKY, "world": RED, "joints": BLUE}
DARK = {"felt": "#F2F2F2"}  # what would not be seen on a dark page
THIN = 0.45  # of the thick one, for the parts
PARTS = ("world", "joints")


class ForceArrows:
    """The force that is felt, its parts, and the force of the hand."""

    def __init__(self, server: viser.ViserServer, stage: Stage, under: str = "") -> None:
        self._stage = stage
        self._arrows = {
            name: Arrow(server, f"{under}/force/{name}", colour, THIN if name in PARTS else 1.0)
            for name, colour in COLOURS.items()
        }
        self._label = server.scene.add_label(
            f"{under}/force/number", "", anchor="bottom-center", visible=False
        )
        self._labelled = 0.0  # [s] when

    def update(self, hand: np.ndarray, forces: np.ndarray, eye: np.ndarray | None = None) -> None:
        """Show the forces (4, 3) [N] of `COLOURS` at the hand point (3,) [m]."""
        top = self._stage.on_top(self._stage.to_page(hand), eye)
        for arrow, force in zip(self._arrows.values(), forces, strict=True):
            arrow.update(top, force)
        self._say(top, forces[0])

    def darken(self, dark: bool) -> None:
        """Colours for a dark page, or for a light one."""
        for name, arrow in self._arrows.items():
            arrow.paint(DARK.get(name, COLOURS[name]) if dark else COLOURS[name])

    def _say(self, top: OnTop, felt: np.ndarray) -> None:
        """The number of what is felt, at the tip of its arrow."""
        size = float(np.linalg.norm(felt))
        self._label.visible = size > LEAST_FORCE
        if size <= LEAST_FORCE:
            return
        away = (drawn_length(size) + BEYOND) * top.scales[0]
        self._label.position = top.points[0] + away * felt / size
        now = time.monotonic()
        if now - self._labelled > LABEL_EVERY:
            self._labelled, self._label.text = now, newtons(size)


class Arrow:
    """One force."""

    def __init__(self, server: viser.ViserServer, name: str, colour: str, thick: float) -> None:
        self._node = server.scene.add_arrows(
            name,
            np.zeros((1, 2, 3)),
            linear(colour),
            shaft_radius=0.008 * PAGE_SIZE * thick,
            head_radius=0.02 * PAGE_SIZE * thick,
            head_length=0.045 * PAGE_SIZE,
            visible=False,
        )
        self._length = 0.0
        self._stretched = 0.0  # [s] when

    def paint(self, colour: str) -> None:
        """Give it a colour ``#rrggbb``."""
        self._node.colors = np.array(linear(colour), np.uint8)

    def update(self, top: OnTop, force: np.ndarray) -> None:
        """Start at a point and show a force (3,) [N]."""
        size = float(np.linalg.norm(force))
        self._node.visible = size > LEAST_FORCE
        if size <= LEAST_FORCE:
            return
        turn = np.zeros(4)
        mujoco.mju_quatZ2Vec(turn, force)  # the arrow was made along z
        self._node.position, self._node.wxyz = top.points[0], turn
        smaller = round(float(top.scales[0]), 2)
        if self._node.scale != smaller:
            self._node.scale = smaller
        self._stretch(drawn_length(size))

    def _stretch(self, length: float) -> None:
        now = time.monotonic()
        if now - self._stretched > STRETCH_EVERY and abs(length - self._length) > STRETCH:
            self._stretched, self._length = now, length
            self._node.points = np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, length]]], np.float32)


def newtons(force: float) -> str:
    """A force [N] with three figures."""
    return (
        f"{force:.2f} N" if force < 10.0 else f"{force:.1f} N" if force < 100 else f"{force:.0f} N"
    )


def drawn_length(force: float) -> float:
    """The length of an arrow [page units] for a force [N]: logarithmic, and capped."""
    part = np.log(max(force, LEAST_FORCE) / LEAST_FORCE) / np.log(MOST_FORCE / LEAST_FORCE)
    return float(LONGEST * min(part, 1.0))


def linear(colour: str) -> tuple[int, int, int]:
    """A colour ``#rrggbb`` in linear light, which is how viser reads the colours of arrows."""
    r, g, b = (round(255 * (int(colour[i : i + 2], 16) / 255) ** 2.2) for i in (1, 3, 5))
    return r, g, b
