"""What the tests of the servo share: a prepared servo, its stages, small worlds."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import mujoco
import numpy as np

from detent import Contact, FourChannel, Session, World
from detent.hands import Hand
from detent.kernels.jit import JIT_ENABLED
from detent.kernels.stages import call_stage
from detent.servo.loop import run_lockstep
from detent.servo.records import Servo
from detent.session import Prepared

#: forces only: nothing ties the positions of tool and device
LOOSE = FourChannel(stiffness=0.0, damping=0.0, topology=None)

PLANAR = """
  <joint type="slide" axis="1 0 0"/>
  <joint type="slide" axis="0 1 0"/>
  <joint type="hinge" axis="0 0 1"/>
  <inertial pos="0 0 0" mass="2" diaginertia="0.005 0.005 0.005"/>"""


def scene(bodies: str, option: str = 'gravity="0 0 0"', more: str = "") -> str:
    """MJCF text of a scene."""
    return f"<mujoco><option {option}/><worldbody>{bodies}</worldbody>{more}</mujoco>"


def loose(world: World, contact: Contact | None = None, rate: float = 1000.0) -> Session:
    """A session whose tool moves as if nobody held it."""
    return Session(world, contact=contact, coupling=LOOSE, rate=rate)


def start(
    session: Session,
    hand: Hand | None = None,
    qvel: Sequence[float] | None = None,
    ring: int = 4096,
) -> Prepared:
    """A servo ready to run in lockstep, with an initial velocity."""
    ready = session.prepare(hand, session.rate, ring)
    if qvel is not None:
        ready.servo.scene.qvel[:] = qvel
    return ready


def advance(ready: Prepared, ticks: int) -> np.ndarray:
    """Tick in lockstep; the rows written."""
    first = int(ready.servo.written[0])
    done = run_lockstep(ready.servo, ticks)
    return ready.servo.ring[np.arange(first, first + done) % len(ready.servo.ring)].copy()


def run_stage(servo: Servo, place: int) -> None:
    """Run one stage of the tick, as compiled."""
    if not JIT_ENABLED:
        call_stage(servo.stages[place], servo)
        return
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(int(servo.stages[place]))(servo.address)


def full_inertia(ready: Prepared) -> np.ndarray:
    """D of the present state, from MuJoCo's Python API."""
    dense = np.zeros((ready.model.nv, ready.model.nv))
    mujoco.mj_fullM(ready.model, ready.data, dense)
    return dense
