"""The world on the page: its bodies, the device's ghost, and where they are seen from."""

from __future__ import annotations

import mujoco
import numpy as np
import viser

from detent.app.shapes import TOOL_COLOUR, WORLD_COLOUR, Shape, body_shapes
from detent.app.stage import PAGE_SIZE, Stage

GHOST_COLOUR = (0.34, 0.71, 0.91, 0.15)
GHOST_EDGE = (0, 114, 178)
ALARM = (217, 41, 26)
LAMP = 0.8  # intensity of a light at the camera
EDGE = 0.004 * PAGE_SIZE  # thickness of a line
GRID_COLOUR, GRID_SECTION = (232, 235, 240), (205, 210, 218)
GHOST_SWELL = 1.02  # so that ghost and tool do not flicker through each other


class Picture:
    """Draws the bodies of the world, in page units; *under* names its place among others."""

    def __init__(self, server: viser.ViserServer, stage: Stage, under: str = "") -> None:
        self._server, self._stage, self._under = server, stage, under
        self.tool_meshes: list[viser.MeshHandle] = []
        self._tool_colours: list[tuple[int, int, int]] = []
        self._warned = False
        self._moving: dict[int, viser.FrameHandle] = {}
        for body in range(stage.world.model.nbody):
            self._draw_body(body)
        self._ghost = self._draw_ghost()
        self._draw_grid()
        if not under:
            self._place_camera()

    def update(self, poses: np.ndarray, row: np.ndarray) -> None:
        """Move everything to where it is now.

        Args:
            poses: (nbody, 7) of all bodies.
            row: the newest row of the servo.
        """
        for body, node in self._moving.items():
            node.position = self._stage.to_page(poses[body, :3])
            node.wxyz = poses[body, 3:]
        offset = np.zeros(3)
        mujoco.mju_rotVecQuat(offset, self._stage.world.point, row["device_quaternion"])
        self._ghost.position = self._stage.to_page(row["device_position"] - offset)
        self._ghost.wxyz = row["device_quaternion"]

    def warn(self, deep: bool) -> None:
        """Paint the tool red while it is too deep in something."""
        if deep == self._warned:
            return
        self._warned = deep
        for mesh, colour in zip(self.tool_meshes, self._tool_colours, strict=True):
            mesh.color = ALARM if deep else colour

    def _draw_body(self, body: int) -> None:
        model, name = self._stage.world.model, f"{self._under}/world/{body}"
        pose = self._stage.poses[body]
        node = self._server.scene.add_frame(
            name, show_axes=False, position=self._stage.to_page(pose[:3]), wxyz=pose[3:]
        )
        if model.body_weldid[body] != 0:
            self._moving[body] = node
        for i, shape in enumerate(self._shapes(body)):
            mesh = self._add_mesh(f"{name}/{i}", shape)
            if self._is_tool(body):
                self.tool_meshes.append(mesh)
                self._tool_colours.append(mesh.color)

    def _is_tool(self, body: int) -> bool:
        world = self._stage.world
        return bool(world.model.body_treeid[body] == world.tree)

    def _shapes(self, body: int) -> list[Shape]:
        plain = TOOL_COLOUR if self._is_tool(body) else WORLD_COLOUR
        return body_shapes(self._stage.world.model, body, self._stage.size, plain)

    def _add_mesh(self, name: str, shape: Shape) -> viser.MeshHandle:
        return self._server.scene.add_mesh_simple(
            name,
            self._stage.scale * shape.vertices,
            shape.faces,
            color=shape.colour[:3],
            opacity=shape.colour[3] if shape.colour[3] < 1.0 else None,
        )

    def _draw_ghost(self) -> viser.FrameHandle:
        """The held body once more, where the device is."""
        held = self._stage.world.held
        pose = self._stage.poses[held]
        name = f"{self._under}/ghost"
        node = self._server.scene.add_frame(
            name, show_axes=False, position=self._stage.to_page(pose[:3]), wxyz=pose[3:]
        )
        for i, shape in enumerate(self._shapes(held)):
            middle = shape.vertices.mean(axis=0)
            vertices = middle + GHOST_SWELL * (shape.vertices - middle)
            edges = middle + GHOST_SWELL * (shape.edges - middle)
            mesh = self._add_mesh(f"{name}/{i}", Shape(vertices, shape.faces, edges, GHOST_COLOUR))
            mesh.cast_shadow = mesh.receive_shadow = False
            if len(edges):
                self._server.scene.add_line_segments(
                    f"{name}/{i}/edges", self._stage.scale * edges, GHOST_EDGE, thickness=EDGE
                )
        return node

    def _draw_grid(self) -> None:
        """A grid below the world, as a measure: cells of 1, 10, 100 … mm."""
        stage = self._stage
        cell = 10.0 ** np.floor(np.log10(0.1 * stage.size))
        self._server.scene.add_grid(
            f"{self._under}/grid",
            width=2.0 * PAGE_SIZE,
            height=2.0 * PAGE_SIZE,
            cell_size=stage.scale * cell,
            section_size=stage.scale * 5.0 * cell,
            cell_color=GRID_COLOUR,
            section_color=GRID_SECTION,
            position=(0.0, 0.0, stage.scale * (stage.bottom - stage.centre[2]) - 0.002),
        )

    def _place_camera(self) -> None:
        stage, camera = self._stage, self._server.initial_camera
        self._server.scene.set_up_direction(stage.up)
        self._server.scene.configure_default_lights(cast_shadow=False)  # slow without a GPU
        camera.position = stage.to_page(stage.camera())
        camera.look_at = np.zeros(3)
        camera.up = stage.up
        camera.fov = stage.field_of_view
        self._server.scene.add_light_directional(
            "/lamp", intensity=LAMP, position=tuple(stage.to_page(stage.camera()).tolist())
        )
