"""Rows of limits of joints, balls and tendons: MuJoCo's own lengths, and their slopes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent import Contact, World
from detent.servo import places
from detent.setup.prepared import Prepared
from lab import full_rows, loose, run_stage, scene, start

GEOM = '<geom size=".01" pos=".05 0 0" mass=".5" contype="0" conaffinity="0"/>'
RANGES = {"a": (-0.2, 0.3), "b": (-0.4, 0.1), "ball": (0.0, 0.5), "one": (-0.1, 0.15)}
RANGES["two"] = (-0.06, 0.05)

#: two trees, tied by the second tendon; every kind of limit
TREES = scene(
    f"""<body name="tool"><joint name="a" axis="0 0 1" range="-.2 .3"/>{GEOM}
      <body pos=".1 0 0"><joint name="b" axis="0 1 0" range="-.4 .1"/>{GEOM}
        <body pos=".1 0 0"><joint name="ball" type="ball" range="0 .5"/>{GEOM}</body></body></body>
    <body pos="0 .5 0"><joint name="s" type="slide" axis="1 0 0"/>{GEOM}</body>""",
    more="""<tendon>
      <fixed name="one" range="-.1 .15">
        <joint joint="a" coef=".5"/><joint joint="b" coef="-.7"/></fixed>
      <fixed name="two" range="-.06 .05">
        <joint joint="b" coef=".2"/><joint joint="s" coef="1.5"/></fixed>
    </tendon>""",
).replace("<option", '<compiler angle="radian"/><option', 1)


def pose(a: float = 0.0, b: float = 0.0, s: float = 0.0, turn: tuple = (0, 0, 0)) -> np.ndarray:
    """Joint positions, and the rotation vector of the ball."""
    quaternion = np.zeros(4)
    angle = float(np.linalg.norm(turn))
    mujoco.mju_axisAngle2Quat(quaternion, np.array(turn, float) / (angle or 1.0), angle)
    return np.array([a, b, *quaternion, s])


def sensed(ready: Prepared, qpos: np.ndarray) -> np.ndarray:
    """Separations in a pose."""
    ready.servo.scene.qpos[:] = qpos
    run_stage(ready.servo, places.SENSE)
    return ready.servo.rows.separation[: ready.servo.rows.count[0]].copy()


def ready_at(qpos: np.ndarray) -> Prepared:
    world = World.from_string(TREES, tool="tool").placed(qpos)
    return start(loose(world, Contact(mode="penalty")))


def gaps(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    """How far all limits are from their ends, in the order of the rows; negative beyond them."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_fwdPosition(model, data)
    turned = np.zeros(3)
    mujoco.mju_quat2Vel(turned, qpos[2:6], 1.0)
    values = {"a": qpos[0], "b": qpos[1]}
    found = [g for n, v in values.items() for g in (v - RANGES[n][0], RANGES[n][1] - v)]
    found.append(RANGES["ball"][1] - float(np.linalg.norm(turned)))
    for i, name in enumerate(("one", "two")):
        length = float(data.ten_length[i])
        found += [length - RANGES[name][0], RANGES[name][1] - length]
    return np.array(found)


POSES = [
    pose(a=-0.3, b=0.2, turn=(0.4, 0.5, -0.2)),
    pose(a=0.4, b=-0.5, s=0.12, turn=(0.1, 0.0, 0.0)),
    pose(s=-0.2, turn=(-0.7, 0.0, 0.1)),
    pose(a=0.35, b=0.3, s=0.2),
]


@pytest.mark.parametrize("qpos", POSES)
def test_separations_are_those_of_mujocos_lengths(qpos: np.ndarray) -> None:
    ready = ready_at(pose())
    wanted = gaps(ready.model, qpos)
    assert (wanted < 0.0).sum() >= 2
    np.testing.assert_allclose(sensed(ready, qpos), wanted[wanted < 0.0], atol=1e-12)


@pytest.mark.parametrize("qpos", POSES)
def test_a_row_is_the_slope_of_its_separation(qpos: np.ndarray) -> None:
    ready, size = ready_at(pose()), 1e-6
    sensed(ready, qpos)
    jac = full_rows(ready, ready.servo.rows.jac)
    for j in range(ready.model.nv):
        ends = []
        for sign in (-1.0, 1.0):
            moved, way = qpos.copy(), np.zeros(ready.model.nv)
            way[j] = sign * size
            mujoco.mj_integratePos(ready.model, moved, way, 1.0)
            ends.append(sensed(ready, moved))
        np.testing.assert_allclose(jac[:, j], (ends[1] - ends[0]) / (2 * size), atol=1e-8)


@pytest.mark.parametrize("later", POSES)
@pytest.mark.parametrize("first", POSES)
def test_what_is_passed_at_the_start_is_forgiven_and_nothing_else(
    first: np.ndarray, later: np.ndarray
) -> None:
    """Each limit has a forgiveness of its own, and never more than it needs."""
    ready = ready_at(first)
    beyond, now = np.maximum(-gaps(ready.model, first), 0.0), gaps(ready.model, later)
    wanted = now + np.minimum(beyond, np.maximum(-now, 0.0))
    np.testing.assert_allclose(sensed(ready, later), wanted[wanted <= 0.0], atol=1e-3)
