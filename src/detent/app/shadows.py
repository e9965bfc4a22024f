"""A soft shadow on the floor below each body that moves: where it is over it can be seen."""

from __future__ import annotations

import numpy as np
import trimesh
import viser

from detent.app.stage import PAGE_SIZE, Stage

DARK = (20, 24, 32)
RINGS = ((1.0, 0.12), (0.6, 0.16))  # radius in reaches, opacity
ABOVE = 0.003  # [page units] above the floor, and then above each other
HIGH = 3.0  # reaches above the floor at which a shadow is gone
MOST = 24  # bodies with a shadow
LEAST = 0.004 * PAGE_SIZE  # radius of what is too small to have one


class Shadows:
    """Discs straight below the bodies; none in a plane, or where there is no floor."""

    def __init__(
        self, server: viser.ViserServer, stage: Stage, bodies: list[int], under: str = ""
    ) -> None:
        self._stage = stage
        bodies = bodies[:MOST] if stage.floor is not None else []
        reaches = {body: stage.scale * stage.body_reach(body) for body in bodies}
        self._reaches = {body: reach for body, reach in reaches.items() if reach > LEAST}
        self._nodes = {
            body: self._draw(server, f"{under}/shadows/{body}", reach)
            for body, reach in self._reaches.items()
        }

    def update(self, poses: np.ndarray) -> None:
        """Follow the bodies, whose poses (nbody, 7) these are."""
        if self._stage.floor is None:
            return
        floor = self._stage.scale * (self._stage.floor - self._stage.centre[2])
        for body, node in self._nodes.items():
            x, y, z = self._stage.to_page(poses[body, :3])
            node.visible = bool(z - floor < HIGH * self._reaches[body])
            node.position = np.array([x, y, floor])

    def _draw(self, server: viser.ViserServer, name: str, reach: float) -> viser.FrameHandle:
        node = server.scene.add_frame(name, show_axes=False)
        for i, (radius, opacity) in enumerate(RINGS):
            disc = trimesh.creation.cylinder(radius=radius * reach, height=1e-4, sections=32)
            disc.apply_translation((0.0, 0.0, ABOVE * (1.0 + 0.3 * i)))
            mesh = server.scene.add_mesh_simple(
                f"{name}/{i}",
                np.asarray(disc.vertices),
                np.asarray(disc.faces),
                color=DARK,
                opacity=opacity,
            )
            mesh.cast_shadow = mesh.receive_shadow = False
        return node
