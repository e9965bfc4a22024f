"""Ticks that begin in one and the same state, at rest or with a hit, against `mj_step` there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numpy as np
from numba import types

from detent.bench.rounds import Numbers, rounds
from detent.bench.scenes import PUSH, RATE, RING, at_rest
from detent.hands import Constant
from detent.kernels.jit import JIT_ENABLED, kernel
from detent.kernels.stages import call_stage
from detent.servo import places
from detent.servo.loop.clock import now_ns
from detent.servo.structs import Servo
from detent.setup.prepared import Prepared
from detent.world.friction import NO_FRICTION, Friction
from detent.world.world import World

TICKS = 500  # per turn
SPEED = 0.5  # [m/s] of a hit
mj_step = types.ExternalFunction("mj_step", types.void(types.intp, types.intp))


@kernel
def time_ticks(
    s: Servo, qpos: np.ndarray, device: np.ndarray, qvel: np.ndarray, costs: np.ndarray
) -> None:
    """The cost of ticks [ns] that all begin in the same state; the device moves as the tool."""
    for i in range(costs.shape[0]):
        s.scene.qpos[:] = qpos
        s.scene.qvel[:] = qvel
        s.port.state.true_pose[:] = device
        s.port.state.true_twist[:] = qvel
        began = now_ns(s.clock.timespec)
        call_stage(s.stages[places.TICK], s)
        costs[i] = now_ns(s.clock.timespec) - began
        s.written[0] += 1


@kernel
def time_steps(
    model: int,
    data: int,
    state: tuple[np.ndarray, np.ndarray, np.ndarray],
    start: tuple[np.ndarray, np.ndarray, np.ndarray],
    timespec: np.ndarray,
    costs: np.ndarray,
) -> None:
    """The same of MuJoCo's steps; its solver starts from what it knew at rest."""
    for i in range(costs.shape[0]):
        for k in range(3):
            state[k][:] = start[k]
        began = now_ns(timespec)
        mj_step(model, data)
        costs[i] = now_ns(timespec) - began


class Case(NamedTuple):
    """A scene at rest, and the way in which it is hit."""

    contacts: int
    world: Callable[[], World]
    hand: Constant | None
    hit: np.ndarray  # (6,) [m/s, rad/s]


def box_on_floor() -> World:
    """A free box on a floor that is a box: four contacts."""
    return World.from_string(
        """<mujoco><option gravity="0 0 -9.81"/>
        <custom><text name="detent.friction" data="none"/></custom><worldbody>
        <geom type="box" size="1 1 .1" pos="0 0 -.1"/><body name="tool" pos="0 0 .0199"><freejoint/>
        <geom type="box" size=".02 .02 .02" mass=".1"/></body></worldbody></mujoco>""",
        tool="tool",
    )


CASES = (
    Case(12, lambda: World.builtin("corner-boxes"), PUSH, SPEED * np.array([1, 1, -1, 0, 0, 0.0])),
    Case(4, box_on_floor, None, SPEED * np.array([0, 0, -1, 0, 0, 0.0])),
)


def mujoco_at_rest(case: Case, ready: Prepared, rubs: bool) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The same scene at rest in MuJoCo's own hands, with friction or without."""
    world = case.world()
    model = world.model
    model.geom_condim[:] = 3 if rubs else 1
    model.opt.timestep = 1.0 / RATE
    data = mujoco.MjData(model)
    data.qpos[:] = ready.data.qpos
    if case.hand is not None:
        data.xfrc_applied[world.tool, :3] = case.hand.force
    mujoco.mj_step(model, data, nstep=2000)
    return model, data


def compare(case: Case, rubs: bool, turns: int) -> Numbers:
    """Medians of the ratios, at rest and with a hit."""
    ready = at_rest(case.world(), case.hand, Friction() if rubs else NO_FRICTION, RING)
    servo, name = ready.servo, f"{case.contacts}_friction" if rubs else f"{case.contacts}"
    device, qpos = servo.port.state.true_pose.copy(), servo.scene.qpos.copy()
    model, data = mujoco_at_rest(case, ready, rubs)
    state = (data.qpos, data.qvel, data.qacc_warmstart)
    ours, theirs = np.zeros(TICKS, np.int64), np.zeros(TICKS, np.int64)
    numbers: Numbers = {}
    tick: dict[str, list[float]] = {}
    for what, qvel in (("rest", np.zeros(6)), ("hit", case.hit)):
        start = (qpos.copy(), qvel, data.qacc_warmstart.copy())
        medians = []
        for _ in range(1 + turns):
            time_ticks(servo, qpos, device, qvel, ours)
            addresses = model._address, data._address
            time_steps(*addresses, state, start, servo.clock.timespec, theirs)
            medians.append((np.median(ours), np.median(theirs)))
        a, b = np.array(medians[1:]).T  # the first turn may compile
        tick[what] = list(a)
        numbers[f"{what}_{name}_us"] = 1e-3 * float(np.median(a))
        numbers[f"{what}_{name}_over_mj_step"] = float(np.median(a / b))
        last = servo.ring[(servo.written[0] - 1) % RING]
        numbers[f"{what}_{name}_collisions"] = int(last["collisions"])
    ratio = np.median(np.array(tick["hit"]) / np.array(tick["rest"]))
    return numbers | {f"hit_over_rest_{name}": float(ratio)}


def bench_hits(quick: bool) -> Numbers:
    """Twelve contacts in a corner and four on a floor, without friction and with it."""
    numbers: Numbers = {}
    if JIT_ENABLED:
        for case in CASES:
            for rubs in (False, True):
                numbers |= compare(case, rubs, rounds(quick))
    return numbers
