"""The depth by which the local model is judged, beside MuJoCo's own distances."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from local.enclosures import WALLS, make_case, true_depths

ROWS = np.dtype([("tool_position", "f8", 3), ("tool_quaternion", "f8", 4)])


@pytest.mark.parametrize("tool", ["prism", "sphere", "capsule", "box"])
@pytest.mark.parametrize("around", WALLS)
def test_depths_are_those_of_mujoco(tool: str, around: str) -> None:
    """Turned and moved at random, into walls and out of them: to 0.1 mm inside, to 1 µm apart."""
    world = make_case(3, tools=(tool,), enclosures=(around,)).world
    model, data, rng = world.model, mujoco.MjData(world.model), np.random.default_rng(1)
    geom, rows = int(model.body_geomadr[world.tool]), np.zeros(30, ROWS)
    depths = np.zeros((30, model.ngeom - 1))
    for t in range(30):
        data.qpos[:3] = (*rng.uniform(-0.03, 0.03, 2), rng.uniform(-3.0, 3.0))
        mujoco.mj_kinematics(model, data)
        rows[t] = data.xpos[world.tool], data.xquat[world.tool]
        for wall in range(model.ngeom - 1):
            depths[t, wall] = -mujoco.mj_geomDistance(model, data, wall, geom, 0.1, None)
    mine = true_depths(world, rows)
    inside, near = depths > 0.0, depths > -0.09
    assert inside.sum() > 5
    np.testing.assert_array_equal(mine[near] > 1e-7, depths[near] > 1e-7)
    np.testing.assert_allclose(mine[near & ~inside], depths[near & ~inside], atol=1e-6)
    shallow = inside & (depths < 0.003)
    np.testing.assert_allclose(mine[shallow], depths[shallow], atol=1e-4)
