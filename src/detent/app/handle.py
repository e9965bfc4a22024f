"""What the pointer pulls: the handle, or the tool itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import viser

from detent.app.stage import PAGE_SIZE, Stage

HANDLE_SIZE = 0.24 * PAGE_SIZE
SPRING_COLOUR = (86, 180, 233)
DOTS, DOT = 5, 0.005 * PAGE_SIZE  # how many, and their radius

Taken = Callable[[np.ndarray, np.ndarray | None], None]


class Handle:
    """A gizmo at the hand's target. Dragging it, or the tool, says where the hand shall be.

    Dots between the hand point and the gizmo stand for the spring that pulls the hand.

    Args:
        server: of the page.
        stage: the world.
        tool: meshes that can be dragged.
        taken: called with a position [m] and, from the gizmo, a quaternion.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        stage: Stage,
        tool: Iterable[viser.MeshHandle],
        taken: Taken,
    ) -> None:
        self._stage, self._taken = stage, taken
        self._held = False  # by a pointer
        self._grip = np.zeros(3)  # from the hand point to where the pointer grabbed the tool
        self._hand = stage.to_page(stage.start.position)
        self.gizmo = server.scene.add_transform_controls(
            "/handle",
            scale=HANDLE_SIZE,
            line_width=4.0,
            active_axes=(True, True, not stage.planar),
            disable_rotations=not stage.free[3:].any(),
            depth_test=False,
            position=stage.lifted(self._hand),
            wxyz=stage.start.quaternion,
        )
        self.gizmo.on_update(self._gizmo_dragged)
        self._spring = [
            server.scene.add_icosphere(f"/spring/{i}", DOT, SPRING_COLOUR, cast_shadow=False)
            for i in range(DOTS)
        ]
        for mesh in tool:
            mesh.on_drag("left")(self._tool_dragged)

    def update(self, target: np.ndarray, hand: np.ndarray) -> None:
        """Follow the hand's target (7,); *hand* is the hand point (3,) [m]."""
        self._hand = self._stage.to_page(hand)
        wanted = self._stage.lifted(self._stage.to_page(target[:3]))
        here = self._stage.lifted(self._hand)
        for i, dot in enumerate(self._spring):
            dot.position = here + (i + 1) / (DOTS + 1) * (wanted - here)
        if not self._held:
            self.gizmo.position, self.gizmo.wxyz = wanted, target[3:]

    def release(self) -> None:
        """Nobody holds it any more: follow the target again."""
        self._held = False

    async def _gizmo_dragged(self, event: viser.TransformControlsEvent) -> None:
        self._held = event.phase != "end"
        position = self._stage.from_page(self._stage.lowered(event.target.position))
        self._taken(position, np.asarray(event.target.wxyz))

    async def _tool_dragged(self, event: viser.SceneNodeDragEvent[viser.MeshHandle]) -> None:
        if event.phase == "start":
            self._grip = np.asarray(event.start_position) - self._hand
        self._taken(self._stage.from_page(np.asarray(event.end_position) - self._grip), None)
