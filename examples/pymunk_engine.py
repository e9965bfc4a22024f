"""Detent beside pymunk (planar): a disc pushes crates. `python examples/pymunk_engine.py`"""

import numpy as np
import pymunk

from detent import LocalModel, Session, World, hands
from detent.local import NEAR

RADIUS, FLOOR, HALF, MASS, STEP = 0.02, -0.1, 0.025, 0.5, 0.001  # [m, m, m, kg, s]
SCENE = f"""<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="disc"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
    <inertial pos="0 0 0" mass="1" diaginertia="0.001 0.001 0.001"/>
    <geom type="sphere" size="{RADIUS}"/></body></worldbody></mujoco>"""


class PymunkEngine:
    """The floor is shape 0, crates are the others; their centres of mass are their origins."""

    def __init__(self, task) -> None:
        self.reach = task.local.reach
        self.space = pymunk.Space()
        self.space.gravity, self.space.collision_slop = (0.0, -9.81), 1e-5
        self.shapes = [pymunk.Segment(self.space.static_body, (-9, FLOOR - 1), (9, FLOOR - 1), 1)]
        for x in (0.08, 0.16):
            body = pymunk.Body(MASS, pymunk.moment_for_box(MASS, (2 * HALF, 2 * HALF)))
            body.position = (x, FLOOR + HALF)
            self.shapes.append(pymunk.Poly.create_box(body, (2 * HALF, 2 * HALF)))
            self.space.add(body)
        for shape in self.shapes:
            shape.friction = 0.3**0.5  # Chipmunk multiplies those of two shapes
            self.space.add(shape)

    def advance(self, target, seconds: float) -> None:
        """The disc is where the proxy is; crates get the forces of the local model."""
        self.tool, self.twist = target.poses, target.twists
        before = np.array([shape.body.velocity for shape in self.shapes])
        steps = int(np.ceil(seconds / STEP - 1e-9))
        for k in range(steps):
            for push in target.pushes:
                force = push.first + (k + 0.5) / steps * (push.last - push.first)
                at, body = tuple(push.place[:2].tolist()), self.shapes[push.other].body
                body.apply_force_at_world_point(tuple(force[:2]), at)
            self.space.step(seconds / steps)
        after = np.array([shape.body.velocity for shape in self.shapes])
        self.drift = (after - before) / max(seconds, 1e-9)
        for push in target.pushes:  # what is left is friction
            self.drift[push.other] -= 0.5 * (push.first + push.last)[:2] / MASS

    def links(self):
        return self.tool, self.twist

    def near(self):
        found = (self._entry(i, shape) for i, shape in enumerate(self.shapes))
        return np.array([one for one in found if one["separation"] < self.reach], NEAR)

    def _entry(self, other: int, shape):
        one, body = np.zeros((), NEAR), shape.body
        seen = shape.point_query(tuple(self.tool[1, :2].tolist()))
        normal = np.append(seen.gradient, 0.0) / np.hypot(*seen.gradient)
        one["link"], one["other"], one["group"], one["bulge"] = 1, other, other - 1, RADIUS
        one["place"][:2], one["normal"] = seen.point, normal
        one["separation"] = seen.distance - RADIUS
        one[["stiffness", "damping", "restitution", "friction"]] = (np.nan,) * 4  # the session's
        if other:  # a = D^-1/2 Jᵀ n of a body that moves in the plane
            arm = one["place"][:2] - body.position
            lever = (arm[0] * normal[1] - arm[1] * normal[0]) / np.sqrt(body.moment)
            one["give"][:3] = *(normal[:2] / np.sqrt(body.mass)), lever
            one["velocity"][:2] = body.velocity_at_world_point(tuple(one["place"][:2]))
            one["drift"] = normal[:2] @ self.drift[other]
        return one

    def bodies(self):
        return self.tool


if __name__ == "__main__":
    world = World.from_string(SCENE, tool="disc").placed((0.0, FLOOR + HALF))
    session = Session(world, local=LocalModel(constraints="inertial"), engine=PymunkEngine)
    print(session.run(2.0, hands.Constant((3.0, 0.0)))["tool_position"][-1])
