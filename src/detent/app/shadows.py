"""A soft shadow on the floor below each body that moves: how high it is can be seen."""

from __future__ import annotations

import numpy as np
import trimesh
import viser

from detent.app.stage import PAGE_SIZE, Stage

DARK = (20, 24, 32)
RINGS = ((1.0, 0.10), (0.72, 0.12), (0.45, 0.14))  # radius in reaches, opacity
ABOVE = 0.003  # [page units] above the floor, and then above each other
HIGH = 2.0  # reaches above the floor at which a shadow is gone
MOST = 64  # bodies with a shadow
SAME = 0.006  # [page units] that a shadow may be behind: a page is slow to move it
LEAST = 0.004 * PAGE_SIZE  # radius of what is too small to have one


class Shadows:
    """Discs straight below the bodies; none in a plane, or where there is no floor."""

    def __init__(
        self, server: viser.ViserServer, stage: Stage, bodies: list[int], under: str = ""
    ) -> None:
        self._stage = stage
        self._sent: np.ndarray | None = None
        bodies = bodies[:MOST] if stage.floor is not None else []
        reaches = {body: stage.scale * stage.body_reach(body) for body in bodies}
        self._bodies = [body for body in bodies if reaches[body] > LEAST]
        self._reaches = np.array([reaches[body] for body in self._bodies])
        count = len(self._bodies)
        self._rings = [
            server.scene.add_batched_meshes_simple(
                f"{under}/shadows/{i}",
                *_disc(),
                batched_wxyzs=np.tile(np.array([1.0, 0.0, 0.0, 0.0], np.float32), (count, 1)),
                batched_positions=np.zeros((count, 3), np.float32),
                batched_scales=np.zeros((count, 3), np.float32),
                batched_colors=DARK,
                lod="off",
                opacity=opacity,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
            for i, (_, opacity) in enumerate(RINGS if count else ())
        ]

    def update(self, poses: np.ndarray) -> None:
        """Follow the bodies, whose poses (nbody, 7) these are."""
        if not self._bodies or self._stage.floor is None:
            return
        here = self._stage.to_page(poses[self._bodies, :3])
        floor = self._stage.scale * (self._stage.floor - self._stage.centre[2])
        height = np.maximum(here[:, 2] - floor, 0.0)
        near = np.clip(1.0 - height / (HIGH * self._reaches), 0.0, 1.0)
        wide = self._reaches * near
        now = np.column_stack([here[:, :2], wide])
        if self._sent is not None and np.abs(now - self._sent).max() < SAME:
            return
        self._sent = now
        for i, (ring, (radius, _)) in enumerate(zip(self._rings, RINGS, strict=True)):
            ring.batched_positions = np.column_stack(
                [here[:, :2], np.full(len(here), floor + ABOVE * (1 + 0.3 * i))]
            ).astype(np.float32)
            ring.batched_scales = np.column_stack(
                [radius * wide, radius * wide, np.ones(len(wide))]
            ).astype(np.float32)


def _disc() -> tuple[np.ndarray, np.ndarray]:
    made = trimesh.creation.cylinder(radius=1.0, height=1e-4, sections=32)
    return np.asarray(made.vertices, np.float32), np.asarray(made.faces, np.uint32)
