"""The world on the page: its bodies, the device's ghost, and where they are seen from."""

from __future__ import annotations

import mujoco
import numpy as np
import viser

from detent.app.shadows import Shadows
from detent.app.shapes import TOOL_COLOUR, WORLD_COLOUR, Colour, Shape, body_shapes
from detent.app.stage import PAGE_SIZE, Stage

GHOST_COLOUR = (0.34, 0.71, 0.91, 0.15)
GHOST_EDGE = (0, 114, 178)
ENGINE_COLOUR, ENGINE_EDGE = (0.0, 0.62, 0.45, 0.12), (0, 158, 115)
ALARM = (217, 41, 26)
GLASS = 0.4  # opacity of walls in which the tool is too deep
SKY, GROUND, SKY_LIGHT = (255, 255, 255), (150, 155, 165), 1.7  # colours, intensity
LAMP, ASIDE = 2.1, 0.4  # intensity; how far up and to the left of the eye, of its distance
EDGE = 0.004 * PAGE_SIZE  # thickness of a line
GRID_COLOUR, GRID_SECTION = (214, 219, 226), (186, 193, 203)
DARK_GRID = (58, 62, 70), (84, 90, 100)
ABOVE = 0.002  # [page units] of the grid above a floor, or below the world
GHOST_SWELL = 1.02  # so that ghost and tool do not flicker through each other


class Picture:
    """Draws the bodies of the world, in page units; *under* names its place among others."""

    def __init__(
        self, server: viser.ViserServer, stage: Stage, under: str = "", engine: bool = False
    ) -> None:
        self._server, self._stage, self._under = server, stage, under
        self.tool_meshes: list[viser.MeshHandle] = []
        self._tool_colours: list[tuple[int, int, int]] = []
        self._walls: list[viser.MeshHandle] = []
        self._warned = False
        self._moving: dict[int, viser.FrameHandle] = {}
        for body in range(stage.world.model.nbody):
            self._draw_body(body)
        self._ghost = self._draw_ghost("ghost", GHOST_COLOUR, GHOST_EDGE)
        self._behind = self._draw_ghost("engine", ENGINE_COLOUR, ENGINE_EDGE) if engine else None
        self._draw_grid()
        self._shadows = Shadows(server, stage, list(self._moving), under)
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
        self._shadows.update(poses)
        offset = np.zeros(3)
        mujoco.mju_rotVecQuat(offset, self._stage.world.point, row["device_quaternion"])
        self._ghost.position = self._stage.to_page(row["device_position"] - offset)
        self._ghost.wxyz = row["device_quaternion"]

    def warn(self, deep: bool) -> None:
        """Paint the tool red, and let it be seen through the walls, while it is too deep."""
        if deep == self._warned:
            return
        self._warned = deep
        for mesh, colour in zip(self.tool_meshes, self._tool_colours, strict=True):
            mesh.color = ALARM if deep else colour
        for mesh in self._walls:
            mesh.opacity = GLASS if deep else None

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
            elif model.body_weldid[body] == 0 and mesh.opacity is None:
                self._walls.append(mesh)

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

    def show_engine(self, pose: np.ndarray) -> None:
        """Move the engine's own copy of the held body to a pose (7,)."""
        if self._behind is not None:
            self._behind.position, self._behind.wxyz = self._stage.to_page(pose[:3]), pose[3:]

    def _draw_ghost(
        self, name: str, colour: Colour, edge: tuple[int, int, int]
    ) -> viser.FrameHandle:
        """The held body once more, where the device is, or where the engine has it."""
        held = self._stage.world.held
        pose = self._stage.poses[held]
        name = f"{self._under}/{name}"
        node = self._server.scene.add_frame(
            name, show_axes=False, position=self._stage.to_page(pose[:3]), wxyz=pose[3:]
        )
        for i, shape in enumerate(self._shapes(held)):
            middle = shape.vertices.mean(axis=0)
            vertices = middle + GHOST_SWELL * (shape.vertices - middle)
            edges = middle + GHOST_SWELL * (shape.edges - middle)
            mesh = self._add_mesh(f"{name}/{i}", Shape(vertices, shape.faces, edges, colour))
            mesh.cast_shadow = mesh.receive_shadow = False
            if len(edges):
                self._server.scene.add_line_segments(
                    f"{name}/{i}/edges", self._stage.scale * edges, edge, thickness=EDGE
                )
        return node

    def _draw_grid(self) -> None:
        """A grid on the floor, or below the world, as a measure: cells of 1, 10, 100 … mm."""
        stage = self._stage
        cell = 10.0 ** np.floor(np.log10(0.1 * stage.size))
        height = stage.bottom if stage.floor is None else stage.floor
        above = -ABOVE if stage.floor is None else ABOVE
        self._grid = self._server.scene.add_grid(
            f"{self._under}/grid",
            width=2.0 * PAGE_SIZE,
            height=2.0 * PAGE_SIZE,
            cell_size=stage.scale * cell,
            section_size=stage.scale * 5.0 * cell,
            cell_color=GRID_COLOUR,
            section_color=GRID_SECTION,
            position=(0.0, 0.0, stage.scale * (height - stage.centre[2]) + above),
        )

    def darken(self, dark: bool) -> None:
        """Colours for a dark page, or for a light one."""
        cell, section = DARK_GRID if dark else (GRID_COLOUR, GRID_SECTION)
        self._grid.cell_color, self._grid.section_color = cell, section

    def _place_camera(self) -> None:
        stage, camera = self._stage, self._server.initial_camera
        self._server.scene.set_up_direction(stage.up)
        self._place_lights()
        camera.position = stage.to_page(stage.camera())
        camera.look_at = np.zeros(3)
        camera.up = stage.up
        camera.fov = stage.field_of_view

    def _place_lights(self) -> None:
        """A sky and a lamp beside the eye: without a GPU, viser's own lights, which mirror a room,
        take twice as long for a picture and three times as long for the first one."""
        scene, stage = self._server.scene, self._stage
        scene.configure_default_lights(False, cast_shadow=False)
        scene.configure_environment_map(None)
        scene.add_light_hemisphere("/sky", sky_color=SKY, ground_color=GROUND, intensity=SKY_LIGHT)
        eye = stage.camera() - stage.centre
        side = np.cross(stage.up, eye)
        lamp = eye + ASIDE * np.linalg.norm(eye) * (stage.up - side / np.linalg.norm(side))
        scene.add_light_directional(
            "/lamp", intensity=LAMP, position=tuple((stage.scale * lamp).tolist())
        )
