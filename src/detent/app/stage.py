"""Where things are seen from: the size of the world, what the hand can do in it, the camera."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import mujoco
import numpy as np

from detent.app.shapes import drawn_geoms, geom_mesh, is_endless
from detent.servo.world.start import ToolStart
from detent.session import Session
from detent.world.world import World

PLANAR_VIEW, SPATIAL_VIEW = np.radians([20.0, 35.0])  # fields of view
PAGE_SIZE = 2.0  # the world's largest side on the page: viser is made for worlds of that size
ROOM = 4.0  # times what moves, on each side: walls are framed as far as that
VAST, FLOOR = 6.0, 0.35  # times what moves: of planes as large as that so much is framed
OUT = 1.2  # reaches of the held link by which things are drawn before it, towards the eye
MOST_OUT = 0.5  # of the way to the eye
LIFT = 0.02  # of the world's size, above its walls
MARGIN = 1.1  # around the world
LEVEL = 0.99  # cosine of how far a floor may tilt
_AZIMUTHS = np.radians([-125.0, -55.0, 55.0, 125.0])
_ELEVATION = np.radians(32.0)


class OnTop(NamedTuple):
    """Points of the page moved towards the eye, and how much smaller things are drawn there."""

    points: np.ndarray  # (n, 3)
    scales: np.ndarray  # (n,)


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

    @cached_property
    def floor(self) -> float | None:
        """[m] the height of the highest level plane below the hand point; None if there is none."""
        model, data = self.world.model, self.data
        plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        static = model.body_weldid[model.geom_bodyid] == 0
        heights = [
            float(data.geom_xpos[geom, 2])
            for geom in np.nonzero(plane & static)[0]
            if data.geom_xmat[geom, 8] > LEVEL and data.geom_xpos[geom, 2] < self.start.position[2]
        ]
        return None if self.planar or not heights else max(heights)

    def body_reach(self, body: int) -> float:
        """[m] from a body's origin to what is farthest on it."""
        corners = _corners(self.world.model, self.data, self.world.model.geom_bodyid == body)
        return float(np.linalg.norm(corners - self.data.xpos[body], axis=1).max(initial=0.0))

    @cached_property
    def link_reach(self) -> float:
        """[m] from the hand point to what is farthest on the held link; 0 if nothing is drawn."""
        corners = _corners(self.world.model, self.data, self._of_held)
        return float(np.linalg.norm(corners - self.start.position, axis=1).max(initial=0.0))

    @property
    def _of_held(self) -> np.ndarray:
        bodies: np.ndarray = self.world.model.geom_bodyid == self.world.held
        return bodies

    def on_top(self, points: np.ndarray, eye: np.ndarray | None) -> OnTop:
        """Points of the page (n, 3) as seen from an eye, but before the held link.

        They lie on the same line of sight and are drawn smaller, so that they look the same and
        are not hidden; in a plane they are lifted above the walls.
        """
        points = np.atleast_2d(np.asarray(points, float))
        if self.planar:
            return OnTop(self.lifted(points), np.ones(len(points)))
        sight = (self.to_page(self.camera()) if eye is None else eye) - points
        far = np.maximum(np.linalg.norm(sight, axis=1), 1e-9)
        part = np.minimum(OUT * self.scale * self.link_reach / far, MOST_OUT)
        return OnTop(points + part[:, None] * sight, 1.0 - part)

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
        return self._eye

    @cached_property
    def _eye(self) -> np.ndarray:
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
    """The corners of what is framed: all that moves, and what is near it of what does not.

    Of walls that is much, of planes little: a robot on a wide floor shall be seen.
    """
    plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    moving = model.body_treeid[model.geom_bodyid] >= 0
    solid = _corners(model, data, ~plane)
    if not len(solid):
        return model.stat.center - model.stat.extent, model.stat.center + model.stat.extent
    near = _corners(model, data, ~plane & moving)
    near = near if len(near) else solid
    low, high = near.min(axis=0), near.max(axis=0)
    across = np.ptp(near, axis=0).max()
    walls = np.clip(solid, low - ROOM * across, high + ROOM * across)
    points = [near, walls]
    for geom in np.nonzero(plane)[0]:
        one = _corners(model, data, np.arange(model.ngeom) == geom)
        reach = FLOOR if len(one) and np.ptp(one, axis=0).max() > VAST * across else ROOM
        points.append(np.clip(one, low - reach * across, high + reach * across))
    framed = np.concatenate(points)
    return framed.min(axis=0), framed.max(axis=0)


def _corners(model: mujoco.MjModel, data: mujoco.MjData, chosen: np.ndarray) -> np.ndarray:
    """(n, 3) Vertices of the chosen geoms that are drawn and have an end."""
    corners = [np.zeros((0, 3))]
    for body in np.unique(model.geom_bodyid[chosen]):
        for geom in drawn_geoms(model, body):
            if chosen[geom] and not is_endless(model, geom):
                mesh = geom_mesh(model, geom, 0.0)
                if mesh is not None:
                    points = np.asarray(mesh.vertices) @ data.xmat[body].reshape(3, 3).T
                    corners.append(points + data.xpos[body])
    return np.concatenate(corners)
