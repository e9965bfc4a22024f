"""Boxes of 4 cm in rows on a floor: free, static or heaped up; in Detent, MuJoCo and Bullet."""

from __future__ import annotations

import math
from collections.abc import Callable

import mujoco
import numpy as np

from detent.bench.rounds import shorter
from detent.engines.hush import quiet
from detent.world.world import World

HALF, SPACING = 0.02, 0.1  # [m] of the boxes
DEPTH = 1e-4  # [m] by which they are in the floor, and in each other in a heap
LOW, PITCH = HALF - DEPTH, 2.0 * HALF - DEPTH  # [m] height on the floor; from box to box
STEP = 0.001  # [s]

Places = list[tuple[float, float, float]]


def spread(count: int) -> Places:
    """In rows on the floor; none touches another."""
    side = math.ceil(math.sqrt(count))
    return [(SPACING * (i % side), SPACING * (i // side), LOW) for i in range(count)]


def heaped(count: int) -> Places:
    """Five by five in a layer, on top of each other, all touching."""
    return [(PITCH * (i % 5), PITCH * (i // 5 % 5), LOW + PITCH * (i // 25)) for i in range(count)]


def boxes(held: tuple[float, float, float], places: Places, free: bool) -> World:
    """A held free box, and others that are free, or geoms of the world."""
    geom = f'<geom type="box" size="{HALF} {HALF} {HALF}" mass="0.2"'
    body = '<body name="box{}" pos="{} {} {}"><freejoint/>' + geom + "/></body>"
    others = "".join(
        body.format(i + 1, *at) if free else f'{geom} pos="{at[0]} {at[1]} {at[2]}"/>'
        for i, at in enumerate(places)
    )
    return World.from_string(
        f"""<mujoco><custom><text name="detent.friction" data="none"/></custom>
        <option gravity="0 0 -9.81" timestep="{STEP}"/><worldbody>
        <geom type="plane" size="9 9 0.1"/>{body.format(0, *held)}{others}</worldbody></mujoco>""",
        tool="box0",
        name=f"{len(places)} boxes",
    )


def free_boxes(others: int) -> World:
    """A held box among as many free ones; none touches another."""
    first, *places = spread(others + 1)
    return boxes(first, places, free=True)


def static_boxes(others: int) -> World:
    """A held box among as many that do not move, which touch the floor."""
    first, *places = spread(others + 1)
    return boxes(first, places, free=False)


def heap(others: int) -> World:
    """A heap of boxes that touch each other, and the held one beside it, in its side."""
    return boxes(
        (-2.0 * HALF + DEPTH, 2.0 * (2.0 * HALF - DEPTH), HALF - DEPTH), heaped(others), True
    )


def mujoco_at_rest(world: World, qpos: np.ndarray, quick: bool) -> mujoco.MjData:
    """The same boxes in the same places in MuJoCo's own hands, with its default flags."""
    data = mujoco.MjData(world.model)
    data.qpos[:] = qpos
    mujoco.mj_step(world.model, data, nstep=shorter(500, quick))
    return data


def bullet_boxes(others: int, free: bool) -> Callable[[int], None] | None:
    """So many steps of Bullet with the boxes of `free_boxes` or `static_boxes`, where it is."""
    try:
        with quiet():
            import pybullet as bullet

            client = bullet.connect(bullet.DIRECT)
    except ImportError:
        return None
    bullet.setGravity(0, 0, -9.81, physicsClientId=client)
    bullet.setTimeStep(STEP, physicsClientId=client)
    floor = bullet.createCollisionShape(bullet.GEOM_PLANE, physicsClientId=client)
    bullet.createMultiBody(0, floor, physicsClientId=client)
    half = (HALF, HALF, HALF)
    shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=half, physicsClientId=client)
    for i, place in enumerate(spread(others + 1)):
        mass = 0.2 if free or i == 0 else 0.0
        bullet.createMultiBody(mass, shape, basePosition=place, physicsClientId=client)

    def step(count: int) -> None:
        for _ in range(count):
            bullet.stepSimulation(physicsClientId=client)

    step(200)
    return step
