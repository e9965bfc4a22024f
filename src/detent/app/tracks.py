"""The track that a point of a mechanism leaves: a tire's, or a path on a surface."""

from __future__ import annotations

import numpy as np
import viser

from detent.app.stage import PAGE_SIZE, Stage

COLOUR = (213, 94, 0)
THICKNESS = 0.006 * PAGE_SIZE
STEP = 0.008 * PAGE_SIZE  # between two points
MOST = 300  # points of the track: the oldest are forgotten
PIECE = 20  # points per node of the page: one node would be sent again as a whole, each time
OUTWARD = 0.01 * PAGE_SIZE  # towards the camera, so that the surface does not hide it


class Tracks:
    """Draws where a point has been, piece by piece."""

    def __init__(self, server: viser.ViserServer, stage: Stage) -> None:
        self._server, self._stage = server, stage
        self._points: list[np.ndarray] = []  # of the newest piece
        self._made = 0

    def update(self, point: np.ndarray) -> None:
        """Go on to a point (3,) [m]."""
        here = self._stage.lifted(self._stage.to_page(point))
        closer = self._stage.to_page(self._stage.camera()) - here
        here = here + OUTWARD * closer / np.linalg.norm(closer)
        if self._points and np.linalg.norm(here - self._points[-1]) < STEP:
            return
        self._points.append(here)
        if len(self._points) < 2:
            return
        self._draw()
        if len(self._points) > PIECE:
            self._points, self._made = self._points[-1:], self._made + 1

    def _draw(self) -> None:
        """The newest piece again, which replaces the node of the same name."""
        pairs = np.stack([self._points[:-1], self._points[1:]], axis=1).astype(np.float32)
        name = f"/track/{self._made % (MOST // PIECE)}"
        self._server.scene.add_line_segments(name, pairs, COLOUR, thickness=THICKNESS)
