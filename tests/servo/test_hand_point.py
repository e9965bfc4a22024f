"""The hand point of a free body: Jacobian, mobility and wrench, against MuJoCo and NumPy."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent import Session, World
from detent.servo import places
from detent.servo.structs import FREE_BODY, NEVER_SINGULAR
from lab import run_stage, scene, start

POINT = (0.03, -0.02, 0.05)  # [m] of the hand, in the body's frame


def free_body(more: str = "") -> World:
    """Its middle lies beside its origin, its axes of inertia across its own."""
    body = f"""<body name="t" pos=".1 .2 .3"><freejoint/>
      <inertial pos=".01 .02 -.03" quat=".9 .1 -.3 .2" mass="1.7" diaginertia=".02 .013 .03"/>
      <geom size=".01" contype="0" conaffinity="0"/>{more}</body>"""
    return World.from_string(scene(body), tool="t", point=POINT)


def dense(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """J_h and D of the present state."""
    point = data.body("t").xpos + data.body("t").xmat.reshape(3, 3) @ POINT
    jac, inertia = np.zeros((6, model.nv)), np.zeros((model.nv, model.nv))
    mujoco.mj_jac(model, data, jac[:3], jac[3:], point, model.body("t").id)
    mujoco.mj_fullM(model, data, inertia)
    return jac, inertia


@pytest.mark.parametrize("seed", range(5))
def test_a_free_body_at_the_hand(seed: int) -> None:
    world, rng = free_body(), np.random.default_rng(seed)
    ready = start(Session(world))
    servo, model, data = ready.servo, ready.model, ready.data
    assert servo.scene.features[NEVER_SINGULAR] == FREE_BODY
    data.qpos[:3], data.qpos[3:7] = rng.normal(size=3), rng.normal(size=4)
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    data.qvel[:] = rng.normal(size=6)
    for place in (places.SENSE, places.APPROACH):
        run_stage(servo, place)
    jac, inertia = dense(model, data)
    mo = servo.motion
    np.testing.assert_allclose(mo.jac, jac, atol=1e-14)
    np.testing.assert_allclose(mo.twist, jac @ data.qvel, atol=1e-14)
    np.testing.assert_allclose(mo.mobility, jac @ np.linalg.solve(inertia, jac.T), rtol=1e-10)
    mo.penalty[:] = rng.normal(size=6)
    run_stage(servo, places.REACH)
    wanted = np.linalg.solve(jac.T, mo.penalty)
    np.testing.assert_allclose(servo.device.environment, wanted, rtol=1e-11, atol=1e-12)


def test_a_body_that_carries_another_is_weighed() -> None:
    """The inertia of both counts, so the closed form of one does not hold."""
    carried = '<body pos="0 0 .1"><geom size=".02" contype="0" conaffinity="0" mass="1"/></body>'
    ready = start(Session(free_body(carried)))
    assert ready.servo.scene.features[NEVER_SINGULAR] == 1
    for place in (places.SENSE, places.APPROACH):
        run_stage(ready.servo, place)
    jac, inertia = dense(ready.model, ready.data)
    wanted = jac @ np.linalg.solve(inertia, jac.T)
    np.testing.assert_allclose(ready.servo.motion.mobility, wanted, rtol=1e-10)
