"""Left alone and touching nothing, a scene from the wild moves as in MuJoCo itself."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import wild
from detent import Session, World
from detent.servo.loop.loop import run_lockstep
from lab import LOOSE

FOLDER = wild.package_folder()
SECONDS = 1.0
_OFF = (
    mujoco.mjtDisableBit.mjDSBL_CONTACT
    | mujoco.mjtDisableBit.mjDSBL_LIMIT
    | mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    | mujoco.mjtDisableBit.mjDSBL_EQUALITY
)

pytestmark = pytest.mark.skipif(FOLDER is None, reason="gymnasium and dm_control: make test")


def passive(path: Path) -> World:
    """The scene without contacts, limits and what else MuJoCo solves softly."""
    world = World.load(path, tool=wild.held_bodies(path)[0], allow_outside=True, trusted=True)
    world.model.opt.disableflags |= int(_OFF)
    v = 0.3 * np.random.default_rng(1).standard_normal(world.model.nv)
    for joint in np.nonzero(world.model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)[0]:
        v[world.model.jnt_dofadr[joint] + 3 :][:3] = 0.0  # they spin better than MuJoCo's do
    return world.placed(world.qpos, v)


def by_detent(world: World, rate: float) -> np.ndarray:
    """qpos and qvel after a second of the servo, with nobody holding the tool."""
    ready = Session(world, coupling=LOOSE, rate=rate, outside="free").prepare(None, rate, ring=16)
    run_lockstep(ready.servo, round(SECONDS * rate))
    return np.concatenate([ready.data.qpos, ready.data.qvel])


def by_mujoco(world: World, rate: float) -> np.ndarray:
    """The same by ``mj_step``."""
    model, data = world.model, mujoco.MjData(world.model)
    model.opt.timestep, model.opt.integrator = 1.0 / rate, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data.qpos[:], data.qvel[:] = world.qpos, world.qvel
    data.ctrl[:], data.act[:] = world.ctrl, world.act
    mujoco.mj_step(model, data, round(SECONDS * rate))
    return np.concatenate([data.qpos, data.qvel])


@pytest.mark.parametrize("name", wild.SAMPLE)
def test_a_passive_scene_follows_mujoco_to_round_off(name: str) -> None:
    assert FOLDER is not None
    world = passive(FOLDER / name)
    theirs = by_mujoco(world, 1000.0)
    assert np.abs(theirs - np.concatenate([world.qpos, world.qvel])).max() > 1e-2  # it moves
    assert np.abs(by_detent(world, 1000.0) - theirs).max() < 1e-9 * np.abs(theirs).max()
