"""An engine of one's own for Detent, whole: point masses on a plane, above a floor.

The world is MuJoCo's only as far as Detent needs it, to know the tool. Run it with

    python examples/planar_engine.py
"""

from __future__ import annotations

import numpy as np

import detent
from detent.local import NEAR

SCENE = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="disc"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
    <joint type="hinge" axis="0 0 1"/>
    <inertial pos="0 0 0" mass="1" diaginertia="0.001 0.001 0.001"/>
    <geom type="sphere" size="0.02"/></body></worldbody></mujoco>"""
RADIUS = 0.02  # [m] of the tool and of every ball
FLOOR = -0.1  # [m]


class PlanarEngine:
    """Balls on a floor, and a disc that follows the hand."""

    def __init__(self, task) -> None:
        self.reach = task.local.reach
        self.links_seen = len(task.cut.bodies)
        self.mass = 0.5  # [kg]
        self.balls = np.array([[0.08, -0.05], [0.16, 0.0]])
        self.velocity = np.zeros((2, 2))
        self.tool = np.zeros((self.links_seen, 7))
        self.twist = np.zeros((self.links_seen, 6))

    def advance(self, target, seconds: float) -> None:
        """The tool is where the proxy is; balls move by what it did to them."""
        self.tool, self.twist = target.poses, target.twists
        for push in target.pushes:
            if push.other > 0:
                mean = 0.5 * (push.first + push.last)[:2]
                self.velocity[push.other - 1] += mean * seconds / self.mass
        self.balls += self.velocity * seconds
        low = self.balls[:, 1] < FLOOR + RADIUS
        self.balls[low, 1] = FLOOR + RADIUS
        self.velocity[low, 1] = np.abs(self.velocity[low, 1])

    def links(self):
        """Poses and twists of the tool's links."""
        return self.tool, self.twist

    def near(self):
        """The floor, and the balls within reach of the disc."""
        centre = self.tool[1, :3]
        found = [self._entry(0, np.array([centre[0], FLOOR, 0.0]), np.array([0.0, 1.0, 0.0]))]
        for i, ball in enumerate(self.balls):
            away = centre - np.append(ball, 0.0)
            normal = away / np.linalg.norm(away)
            found.append(self._entry(1 + i, np.append(ball, 0.0) + RADIUS * normal, normal))
        found = [one for one in found if one["separation"] < self.reach]
        return np.array(found, NEAR) if found else np.zeros(0, NEAR)

    def _entry(self, other: int, place, normal):
        one = np.zeros((), NEAR)
        one["link"], one["other"], one["group"] = 1, other, other - 1  # -1: the floor stays
        one["place"], one["normal"] = place, normal
        one["separation"] = normal @ (self.tool[1, :3] - place) - RADIUS
        for name in ("stiffness", "damping", "restitution", "friction"):
            one[name] = np.nan  # as the session says
        if other:
            one["velocity"][:2] = self.velocity[other - 1]
            one["give"][:2] = normal[:2] / np.sqrt(self.mass)
        return one

    def bodies(self):
        """What can be drawn: the disc."""
        return self.tool


if __name__ == "__main__":
    world = detent.World.from_string(SCENE, tool="disc")
    session = detent.Session(
        world, local=detent.LocalModel(constraints="inertial"), engine=PlanarEngine
    )
    trace = session.run(2.0, detent.hands.Constant((0.4, -0.2)))
    print(f"the disc ended at {1e3 * trace['tool_position'][-1, :2].round(4)} mm")
    trace.plot("planar.png")
    print("planar.png shows how")
