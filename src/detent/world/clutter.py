"""A tray full of loose bodies: a scene that an engine can hardly simulate in real time."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.checks import positive
from detent.errors import ParameterError
from detent.world.world import World

STEP = 0.03  # [s] of the engine: as coarse as the pile bears
SETTLE = 40  # steps until the pile lies
HALF = 0.15  # [m] half the tray
SPACING = 0.05  # [m] of the bodies before they fall
TOOL = np.array([0.015, 0.015, 0.03])  # [m] half the sides of the held block
ABOVE = 0.01  # [m] of the pile, at the start
_SHAPES = (
    ("box", "0.02 0.015 0.012"),
    ("capsule", "0.012 0.014"),
    ("sphere", "0.02"),
    ("cylinder", "0.018 0.014"),
)


def cluttered(count: int = 160, seed: int = 0) -> World:
    """Boxes, capsules, balls and cylinders that fell into a tray, and a block over them to hold.

    The tool is a free block of 0.2 kg without weight. All bodies touch each other through
    others, so that the engine has to solve one large problem.
    """
    if positive("count", count) != int(count):
        raise ParameterError("count", count, "a whole number")
    world = World.from_string(
        _scene(int(count), seed), tool="block", gravity=False, name="cluttered", trusted=True
    )
    return _settled(world)


def _scene(count: int, seed: int) -> str:
    rng = np.random.default_rng(seed)
    across = int(2.0 * HALF / SPACING)
    bodies = []
    for i in range(count):
        layer, place = divmod(i, across * across)
        grid = np.array(divmod(place, across)) - 0.5 * (across - 1)
        x, y = SPACING * grid + rng.uniform(-0.004, 0.004, 2)
        tilt = rng.uniform((-0.3, -0.3, 0.0), (0.3, 0.3, 3.0))
        kind, size = _SHAPES[i % len(_SHAPES)]
        at = f"{x:.5f} {y:.5f} {0.03 + SPACING * layer:.5f}"
        turn = " ".join(f"{angle:.4f}" for angle in np.degrees(tilt))
        bodies.append(
            f'<body pos="{at}" euler="{turn}"><freejoint/>'
            f'<geom type="{kind}" size="{size}" density="600"/></body>'
        )
    walls = "".join(
        f'<geom type="plane" size="1 1 0.1" pos="{x} {y} 0" zaxis="{-np.sign(x)} {-np.sign(y)} 0"/>'
        for x, y in ((HALF, 0.0), (-HALF, 0.0), (0.0, HALF), (0.0, -HALF))
    )
    size = " ".join(map(str, TOOL))
    return f"""
    <mujoco model="cluttered">
      <custom><text name="detent.friction" data="none"/></custom>
      <option timestep="{STEP}" integrator="implicitfast"/>
      <size memory="256M"/>
      <worldbody>
        <geom name="floor" type="plane" size="1 1 0.1"/>{walls}
        <body name="block" pos="0 0 1"><freejoint/>
          <geom type="box" size="{size}" mass="0.2" rgba="0.9 0.55 0.15 1"/></body>
        {"".join(bodies)}
      </worldbody>
    </mujoco>"""


def _settled(world: World) -> World:
    """Let the pile fall, and put the tool a little over its middle."""
    model = world.model
    data = mujoco.MjData(model)
    for _ in range(SETTLE):
        mujoco.mj_step(model, data)
    tool = model.jnt_qposadr[model.body_jntadr[world.tool]]
    near = np.abs(data.geom_xpos[:, :2]).max(axis=1) < TOOL[:2].max() + model.geom_rbound
    near &= (model.geom_bodyid != 0) & (model.geom_bodyid != world.tool)
    top = (data.geom_xpos[:, 2] + model.geom_rbound)[near].max(initial=0.0)
    start = data.qpos.copy()
    start[tool : tool + 3] = 0.0, 0.0, top + TOOL[2] + ABOVE
    start[tool + 3 : tool + 7] = 1.0, 0.0, 0.0, 0.0
    return world.placed(start)
