"""The scenes that are measured."""

from __future__ import annotations

from collections.abc import Callable

from detent.engines.hush import quiet
from detent.hands import Constant
from detent.servo.loop.loop import run_lockstep
from detent.session import Session
from detent.setup.prepared import Prepared
from detent.world.contact import Contact
from detent.world.friction import NO_FRICTION, Friction
from detent.world.world import World

RATE = 1000.0  # [Hz]
SETTLE = 3000  # [ticks] until everything rests
RING = 4096  # [rows]
PUSH = Constant((3.0, 3.0, -3.0))  # [N] into the corner
SPACING, RADIUS = 0.03, 0.005  # [m] of the balls below a plate
FACE, REACH = 0.04, 0.02  # [m] from the middle of a studded cube to its faces; of the balls there


def at_rest(
    world: World, hand: Constant | None, friction: Friction = NO_FRICTION, ring: int = RING
) -> Prepared:
    """A world that has come to rest."""
    session = Session(world, Contact(4000.0, 30.0, friction=friction))
    ready = session.prepare(hand, RATE, ring)
    run_lockstep(ready.servo, SETTLE)
    return ready


def corner_at_rest(friction: Friction = NO_FRICTION) -> Prepared:
    """A free box that is pushed into a corner of three box walls: twelve contacts."""
    return at_rest(World.builtin("corner-boxes"), PUSH, friction)


def bullet_corner() -> Callable[[], None] | None:
    """PyBullet's step of the same scene, or None where it is not installed."""
    try:
        with quiet():
            import pybullet as bullet

            bullet.connect(bullet.DIRECT)
    except ImportError:
        return None
    bullet.setGravity(0, 0, -9.81)
    bullet.setTimeStep(1.0 / RATE)
    walls = (
        ((0.12, 0.12, 0.01), (0, 0, -0.01)),
        ((0.01, 0.12, 0.11), (0.11, 0, 0.09)),
        ((0.12, 0.01, 0.11), (0, 0.11, 0.09)),
    )
    for half, place in walls:
        shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=half)
        bullet.createMultiBody(0, shape, basePosition=place)
    shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=(0.021, 0.015, 0.0105))
    box = bullet.createMultiBody(2.0, shape, basePosition=(0.0791, 0.0851, 0.0104))

    def step() -> None:
        bullet.applyExternalForce(box, -1, PUSH.force, (0, 0, 0), bullet.LINK_FRAME)
        bullet.stepSimulation()

    for _ in range(500):
        step()
    return step


def plate(contacts: int) -> World:
    """A free plate that rests on as many balls as it shall have contacts."""
    balls = [(SPACING * (i % 8), SPACING * (i // 8), -RADIUS) for i in range(contacts)]
    wide, deep = SPACING * min(contacts - 1, 7) / 2, SPACING * ((contacts - 1) // 8) / 2
    place, middle = (-wide, -deep, 2 * RADIUS - 5e-5), (wide, deep, 0.0)
    return _world('<geom type="plane" size="1 1 0.1"/>', balls, place, middle)


def studded_cube() -> World:
    """A free cube in a corner of planes, on 16 balls: six below, five at each of two sides.

    No motion is left free, so the rank of its contacts is six: the most that a body can have.
    """
    five = [(-REACH, -REACH), (REACH, -REACH), (-REACH, REACH), (REACH, REACH), (0.0, 0.0)]
    balls = [(x, y, -FACE) for x in (-REACH, 0.0, REACH) for y in (-REACH, REACH)]
    balls += [(FACE, y, z) for y, z in five] + [(x, FACE, z) for x, z in five]
    inside = FACE + RADIUS - 1e-4
    walls = """<geom type="plane" size="1 1 0.1"/>
        <geom type="plane" size="1 1 0.1" xyaxes="0 1 0 0 0 -1"/>
        <geom type="plane" size="1 1 0.1" xyaxes="1 0 0 0 0 1"/>"""
    return _world(walls, balls, (-inside, -inside, inside), (0.0, 0.0, 0.0))


Place = tuple[float, float, float]  # [m]


def _world(walls: str, balls: list[Place], place: Place, middle: Place) -> World:
    """A free body of balls among walls, with its mass in its middle."""
    geoms = "".join(f'<geom type="sphere" size="{RADIUS}" pos="{x} {y} {z}"/>' for x, y, z in balls)
    return World.from_string(
        f"""<mujoco><option gravity="0 0 -9.81"/><worldbody>{walls}
        <body name="tool" pos="{place[0]} {place[1]} {place[2]}"><freejoint/>
        <inertial pos="{middle[0]} {middle[1]} {middle[2]}" mass="2" diaginertia="0.01 0.01 0.01"/>
        {geoms}</body></worldbody></mujoco>""",
        tool="tool",
    )
