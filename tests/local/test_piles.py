"""How far a pile of loose bodies deforms the tool that is dragged through it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent import Contact, LocalModel, Pace, Session, World
from detent.experiments.slow_engine import EPSILON, feel, stroke
from detent.hands import Guided
from detent.setup.prepared import advance
from detent.world.clutter import cluttered

pytestmark = pytest.mark.slow

EVERY = 4  # ticks between looks


def pile_of_meshes(count: int, seed: int) -> World:
    """Convex meshes that fell into a tray, and a block over them."""
    rng, assets, bodies = np.random.default_rng(seed), "", ""
    for i in range(count):
        points = rng.normal(size=(14, 3))
        points *= 0.02 * rng.uniform(0.6, 1.0, 3) / np.linalg.norm(points, axis=1, keepdims=True)
        assets += f'<mesh name="m{i}" vertex="{" ".join(f"{x:.6f}" for x in points.reshape(-1))}"/>'
        layer, place = divmod(i, 16)
        x, y = 0.045 * (np.array(divmod(place, 4)) - 1.5) + rng.uniform(-0.003, 0.003, 2)
        bodies += f'<body pos="{x:.4f} {y:.4f} {0.03 + 0.05 * layer}"><freejoint/>'
        bodies += f'<geom type="mesh" mesh="m{i}" density="1000"/></body>'
    sides = ((0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1))
    walls = "".join(
        f'<geom type="plane" size="1 1 .1" pos="{x} {y} 0" zaxis="{-x} {-y} 0"/>' for x, y in sides
    )
    world = World.from_string(
        f"""<mujoco><custom><text name="detent.friction" data="none"/></custom>
        <option timestep="0.004" integrator="implicitfast"/><size memory="128M"/>
        <asset>{assets}</asset><worldbody><geom type="plane" size="1 1 .1"/>{walls}
        <body name="block"><freejoint/><geom type="box" size=".015 .015 .03" mass=".2"/></body>
        {bodies}</worldbody></mujoco>""",
        tool="block", gravity=False,
    )  # fmt: skip
    data = mujoco.MjData(world.model)
    data.qpos[2] = 1.0
    for _ in range(500):
        mujoco.mj_step(world.model, data)
    top = data.geom_xpos[6:, 2].max() + 0.02
    data.qpos[:7] = 0.0, 0.0, top + 0.04, 1.0, 0.0, 0.0, 0.0
    return world.placed(data.qpos)


def deformations(session: Session, hand: Guided, delay: float) -> np.ndarray:
    """(looks, 2) [m] deformation, and v (T + latency).

    v is the speed of the contact point that moves fastest on the tool, within that time.
    """
    ticks = round(2.0 * session.rate)
    ready = session.prepare(hand, session.rate, ticks)
    engine, local, rows = session.play_engine(ready), ready.servo.local, []
    for tick in range(0, ticks, EVERY):
        advance(ready, hand, tick, EVERY, engine)
        row, held = ready.servo.ring[tick + EVERY - 1], local.held[: local.number[0]]
        arms = held["place"] - row["tool_position"]
        sliding = row["tool_twist"][:3] + np.cross(row["tool_twist"][3:], arms) - held["velocity"]
        speed = np.linalg.norm(sliding, axis=1).max(initial=0.0)
        rows.append((held["offset"].max(initial=0.0), speed))
    out, back = np.array(rows), round(delay * session.rate / EVERY) + 1
    fastest = [out[max(k - back, 0) : k + 1, 1].max() for k in range(len(out))]
    return np.column_stack([out[:, 0], delay * np.array(fastest)])


def check_deformed(rows: np.ndarray, epsilon: float) -> None:
    """2 mm where what is near comes in time, or nearly; as far as it came too late elsewhere."""
    deformed, way = rows.T
    in_time = way <= epsilon + 2e-3
    assert in_time.any() and (~in_time).any()
    assert deformed[in_time].max() <= 2e-3
    assert (deformed - way)[~in_time].max() <= 3e-4 - epsilon


def test_fifty_meshes_at_30_hz() -> None:
    world, period = pile_of_meshes(50, 0), 1.0 / 30.0
    session = Session(world, Contact(2000.0, 20.0), rate=1000.0, local=LocalModel(),
                      pace=Pace(period))  # fmt: skip
    check_deformed(deformations(session, stroke(world), 2.0 * period), LocalModel().epsilon)


@pytest.mark.long
def test_the_pile_of_slow_engine() -> None:
    world = cluttered(160)
    check_deformed(deformations(feel(world, 0.07), stroke(world), 0.14), EPSILON)
