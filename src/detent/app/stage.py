"""Where things are seen from: the size of the world, what the hand can do in it, the camera."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from detent.app.shapes import drawn_geoms, geom_mesh, is_endless
from detent.servo.world.start import ToolStart
from detent.session import Session
from detent.world.world import World

PLANAR_VIEW, SPATIAL_VIEW = np.radians([20.0, 35.0])  # fields of view
PAGE_SIZE = 2.0  # the world's largest side on the page: viser is made for worlds of that size
VAST = 25.0  # times what moves: planes that are larger are not all shown
LIFT = 0.02  # of the world's size, above its walls
MARGIN = 1.1  # around the world
_AZIMUTHS = np.radians([-125.0, -55.0, 55.0, 125.0])
_ELEVATION = np.radians(32.0)


@dataclass(frozen=True)
class Stage:
    """The world at its start, as the page and the script need it."""

    world: World
    start: ToolStart
    free: np.ndarray  # (6,) bool: directions in which device and tool move
    reach: float  # [m] from the start, within which the device can be; infinite if it says none
    centre: np.ndarray  # (3,) [m]
    size: float  # [m] largest side
    radius: float  # [m] of a ball around all
    bottom: float  # [m] lowest z
    top: float  # [m] highest z
    poses: np.ndarray  # (nbody, 7)
    data: mujoco.MjData

    @property
    def planar(self) -> bool:
        """Whether the hand moves in x, y and about z only."""
        return not self.free[2:5].any()

    @property
    def tool_size(self) -> float:
        """[m] of the held link, across its thinnest drawn geom; infinite if nothing is drawn."""
        model, held = self.world.model, self.world.held
        sizes = [
            float(np.ptp(np.asarray(mesh.vertices), axis=0).min())
            for geom in drawn_geoms(model, held)
            if (mesh := geom_mesh(model, geom, 0.0)) is not None
        ]
        return min(sizes, default=np.inf)

    @property
    def scale(self) -> float:
        """Page units per metre."""
        return PAGE_SIZE / self.size

    @property
    def up(self) -> np.ndarray:
        """What is up on the page."""
        return np.eye(3)[1 if self.planar else 2]

    def to_page(self, point: np.ndarray) -> np.ndarray:
        """A point of the world [m] on the page, where the centre is the origin."""
        return self.scale * (np.asarray(point) - self.centre)

    def from_page(self, point: np.ndarray) -> np.ndarray:
        """A point of the page in the world [m]."""
        return np.asarray(point) / self.scale + self.centre

    def lifted(self, point: np.ndarray) -> np.ndarray:
        """A point of the page, moved towards the camera: above the walls of a planar world."""
        return point + self._closer * (self.to_page(self.camera()) - point)

    def lowered(self, point: np.ndarray) -> np.ndarray:
        """Where a lifted point was."""
        return (point - self._closer * self.to_page(self.camera())) / (1.0 - self._closer)

    @property
    def _closer(self) -> float:
        """The part of the way to the camera that lifts the hand point above all walls."""
        if not self.planar:
            return 0.0
        height = self.top - self.start.position[2] + LIFT * self.size
        return float(height / (self.camera()[2] - self.start.position[2]))

    @property
    def field_of_view(self) -> float:
        """[rad] of the camera; narrow over a plane, so that its walls hide little."""
        return float(PLANAR_VIEW if self.planar else SPATIAL_VIEW)

    def camera(self) -> np.ndarray:
        """Where to look at the centre from [m]: down on a plane, or where the tool is seen."""
        half = np.tan(0.5 * self.field_of_view)
        if self.planar:
            return self.centre + MARGIN * 0.5 * self.size / half * np.array([0.0, 0.0, 1.0])
        level, height = np.cos(_ELEVATION), np.sin(_ELEVATION)
        ways = [np.array([level * np.cos(a), level * np.sin(a), height]) for a in _AZIMUTHS]
        eyes = [self.centre + MARGIN * self.radius / half * way for way in ways]
        return next((eye for eye in eyes if self._sees_tool(eye)), eyes[0])

    def _sees_tool(self, eye: np.ndarray) -> bool:
        """Whether nothing static stands between the eye and the hand point."""
        sight = self.start.position - eye
        distance = float(np.linalg.norm(sight))
        return self.free_way(eye, sight / distance) > distance

    def free_way(self, origin: np.ndarray, direction: np.ndarray) -> float:
        """[m] from a point to the first geom in a direction that is not the tool's; ∞ if none."""
        model, travelled = self.world.model, 0.0
        for _ in range(model.ngeom):
            geom = np.array([-1], np.int32)
            point = origin + travelled * direction
            hit = mujoco.mj_ray(model, self.data, point, direction, None, 1, -1, geom, None)
            if hit < 0.0:
                return np.inf
            travelled += hit
            if model.body_treeid[model.geom_bodyid[geom[0]]] != self.world.tree:
                return travelled
            travelled += 1e-6 * self.size
        return np.inf


def set_stage(session: Session) -> Stage:
    """Look at the world of a session at its start."""
    world = session.world
    data = mujoco.MjData(world.model)
    data.qpos[:] = world.qpos
    mujoco.mj_kinematics(world.model, data)
    mujoco.mj_comPos(world.model, data)
    start = session.subject.start()
    low, high = _bounds(world.model, data)
    return Stage(
        world=world,
        start=start,
        free=np.asarray(session.device.mask(start.mask)) * start.mask > 0.0,
        reach=session.device.safety.reach or np.inf,
        centre=0.5 * (low + high),
        size=float((high - low).max()),
        radius=0.5 * float(np.linalg.norm(high - low)),
        bottom=float(low[2]),
        top=float(high[2]),
        poses=np.hstack([data.xpos, data.xquat]),
        data=data,
    )


def _bounds(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """The corners of what is drawn; of planes that are vast or have no end only what is near."""
    plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    moving = model.body_treeid[model.geom_bodyid] >= 0
    solid = _corners(model, data, ~plane)
    if not len(solid):
        return model.stat.center - model.stat.extent, model.stat.center + model.stat.extent
    near = _corners(model, data, ~plane & moving)
    near = near if len(near) else solid
    across = np.ptp(near, axis=0).max()
    floor = _corners(model, data, plane)
    if len(floor) and np.ptp(floor, axis=0).max() > VAST * across:
        floor = np.clip(floor, near.min(axis=0) - across, near.max(axis=0) + across)
    points = np.concatenate([solid, floor])
    return points.min(axis=0), points.max(axis=0)


def _corners(model: mujoco.MjModel, data: mujoco.MjData, chosen: np.ndarray) -> np.ndarray:
    """(n, 3) Vertices of the chosen geoms that are drawn and have an end."""
    corners = [np.zeros((0, 3))]
    for body in range(model.nbody):
        for geom in drawn_geoms(model, body):
            if chosen[geom] and not is_endless(model, geom):
                mesh = geom_mesh(model, geom, 0.0)
                if mesh is not None:
                    points = np.asarray(mesh.vertices) @ data.xmat[body].reshape(3, 3).T
                    corners.append(points + data.xpos[body])
    return np.concatenate(corners)
