"""A device pushed against one wall: the case on which limits of stiffness are measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from detent import AT_ONCE, Passivity
from detent.coupling import Direct
from detent.devices import Inertial
from detent.devices.limits import stable_stiffness
from detent.hands import Constant, Playback
from detent.local import LocalModel, Pace
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.friction import NO_FRICTION
from detent.world.world import World

EASED = (
    4.5  # periods in which a hand begins to push at the surface; a whole number leaves no motion
)
_RADIUS = 0.01  # [m] of the ball that is the tool
_SCENE = f"""<mujoco><option gravity="0 0 0"/><worldbody>
  <geom name="wall" type="box" size="0.5 0.05 0.5" pos="0 -0.05 0"/>
  <body name="tool" pos="0 {_RADIUS} 0">
    <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
    <joint type="slide" axis="0 0 1"/><geom size="{_RADIUS}" mass="1000"/>
  </body></worldbody></mujoco>"""


@lru_cache(maxsize=16)
def placed_tool(gap: float, speed: float) -> World:
    """The scene with its tool there; the same one for runs that differ in gains (`setup.again`)."""
    return World.from_string(_SCENE, tool="tool").placed((0.0, gap, 0.0), (0.0, -speed, 0.0))


@dataclass(frozen=True)
class WallCase:
    """A wall, a device and a hand that pushes. The tool goes where the device goes."""

    stiffness: float  # [N/m] K
    damping: float = 0.0  # [N·s/m] B
    step: float = 1e-3  # [s] T
    delay: int = 0  # [ticks] d
    mass: float = 0.1  # [kg] m
    own_damping: float = 0.5  # [N·s/m] b
    coulomb: float = 0.0  # [N] c
    resolution: float = 0.0  # [m] D
    noise: float = 0.0  # [m] rms
    push: float = 2.0  # [N]
    cap: float = 12.0  # [N]
    engine: float | None = None  # [s] period and latency of an engine that has the wall
    ease: float = 0.0  # [s] in which the hand begins to push

    @property
    def boundary(self) -> float:
        """[N/m] the largest stable stiffness, by eigenvalues."""
        return stable_stiffness(self.mass, self.own_damping, self.step, self.delay, self.damping)

    @property
    def depth(self) -> float:
        """[m] at which the wall holds the push."""
        return self.push / self.stiffness

    def run(
        self, seconds: float, gap: float, speed: float = 0.0, passivity: Passivity | None = None
    ) -> Trace:
        """From a gap [m] over the wall (negative: in it), towards it at a speed [m/s]."""
        world = placed_tool(gap, speed)
        device = Inertial(
            mass=self.mass,
            subspace="translational",
            delay_ticks=self.delay,
            limits=(self.cap,) * 3,
            damping=(self.own_damping, 0.0),
            friction=(self.coulomb, 0.0),
            resolution=self.resolution,
            noise=self.noise,
        )
        contact = Contact(
            self.stiffness, self.damping, mode="penalty", strategy="saturate", friction=NO_FRICTION
        )
        session = Session(
            world, contact, Direct(), device, AT_ONCE, rate=1.0 / self.step, passivity=passivity,
            local=None if self.engine is None else LocalModel(),
            pace=None if self.engine is None else Pace(self.engine),
        )  # fmt: skip
        force = np.array([0.0, -self.push, 0.0, 0.0, 0.0, 0.0])
        if self.ease == 0.0:
            return session.run(seconds, Constant(tuple(force[:3])))
        rising = Playback([0.0, self.ease, seconds], [0.0 * force, force, force], "linear")
        return session.run(seconds, rising)


def height(trace: Trace) -> np.ndarray:
    """[m] of the device over the wall."""
    return np.asarray(trace["device_position"][:, 1]) - _RADIUS


def growth(case: WallCase, periods: float = 8.0) -> float:
    """[1/s] at which the energy of a small motion about the depth of rest grows, in the wall.

    It starts there, 2 µm off; the first periods, in which delayed forces arrive, do not count.
    A local model knows no wall that the tool was in before it looked: there the hand begins to
    push at the surface, so slowly that the tool never leaves it.
    """
    period, skipped = 2.0 * np.pi * np.sqrt(case.mass / case.stiffness), 2.0
    start = -(case.depth - 2e-6)
    if case.engine is not None:
        start, skipped, case = 0.0, 2.0 + EASED, replace(case, ease=EASED * period)
    trace = case.run((periods + skipped) * period, gap=start)
    off, speed = height(trace) + case.depth, trace["device_twist"][:, 1]
    energy = 0.5 * case.mass * speed**2 + 0.5 * case.stiffness * off**2
    counts = trace["time"] > skipped * period
    return float(np.polyfit(trace["time"][counts], np.log(energy[counts]), 1)[0])


def measured_boundary(case: WallCase) -> float:
    """[N/m] the stiffness at which growth crosses zero, between two runs beside the theory."""
    theory = case.boundary
    below, above = (growth(replace(case, stiffness=share * theory)) for share in (0.97, 1.03))
    return theory * (0.97 + 0.06 * below / (below - above))


def given(trace: Trace) -> float:
    """[J] that the motors have given by then, at most: what the port says, against its sign."""
    return float(max(0.0, -np.asarray(trace["port_energy"]).min()))


def given_to_hand(trace: Trace) -> float:
    """[J] that a simulated hand has received by then, at most: by its own force and way."""
    way = np.diff(trace["device_position"], axis=0)
    work = np.cumsum((np.asarray(trace["hand_wrench"])[:-1, :3] * way).sum(axis=1))
    return float(max(0.0, -work.min(initial=0.0)))


def swing(trace: Trace) -> float:
    """[m] from the lowest to the highest point in the second half."""
    late = height(trace)[len(trace) // 2 :]
    return float(np.ptp(late))


def roughness(trace: Trace) -> float:
    """[N] rms change of the force in a tick, in the second half."""
    force = np.asarray(trace["device_wrench"])[len(trace) // 2 :, 1]
    return float(np.sqrt(np.mean(np.diff(force) ** 2)))
