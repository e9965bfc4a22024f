"""What a tick costs in which a concave mesh is felt as it is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from detent.bench.hits import time_steps
from detent.bench.rounds import Numbers, rounds
from detent.bench.scenes import RATE, RING, corner_at_rest
from detent.bench.tick import mujoco_corner
from detent.kernels.jit import JIT_ENABLED, kernel
from detent.kernels.stages import call_stage
from detent.servo import places
from detent.servo.loop.clock import now_ns
from detent.servo.structs import Servo
from detent.session import Session
from detent.setup.prepared import Prepared
from detent.shapes.structs import CANDIDATES, LEFT_OUT, REFINEMENTS
from detent.world.contact import Contact
from detent.world.world import World

TICKS = 400  # per turn
STEP = 2e-6  # [m] by which the tool slides in each tick
SMALL, LARGE = 8_000, 524_000  # triangles
BAR = '<geom type="box" size="{} .0003 .0003" mass=".2"/>'  # [m] touches along two edges


@kernel
def slide_ticks(
    s: Servo, qpos: np.ndarray, device: np.ndarray, shift: np.ndarray, costs: np.ndarray
) -> None:
    """The cost of ticks [ns] of a tool that is put a little farther along x each time."""
    for i in range(costs.shape[0]):
        s.scene.qpos[:] = qpos
        s.port.state.true_pose[:] = device
        s.scene.qpos[0] += shift[i]
        s.port.state.true_pose[0] += shift[i]
        s.scene.qvel[:] = 0.0
        s.port.state.true_twist[:] = 0.0
        began = now_ns(s.clock.timespec)
        call_stage(s.stages[places.TICK], s)
        costs[i] = now_ns(s.clock.timespec) - began
        s.written[0] += 1


class Case(NamedTuple):
    """A tool on a dented block, so deep in it, of so many triangles."""

    name: str
    tool: str
    deep: float  # [m]
    triangles: int


def cases(quick: bool) -> list[Case]:
    """Few candidates and many on a small mesh, and the few on a large one."""
    few = BAR.format(0.0004)
    found = [
        Case("50", few, 2e-5, SMALL),
        Case("500", BAR.format(0.0072), 2e-5, SMALL),
        Case("free", few, -1.5e-4, SMALL),
    ]
    return found if quick else [*found, Case("large", few, 2e-5, LARGE)]


def block(triangles: int) -> tuple[np.ndarray, np.ndarray]:
    """A block of 100 × 100 × 30 mm whose upper side has dents of 1 mm but for its middle."""
    side = round(math.sqrt(triangles / 4.0))
    x, y = np.meshgrid(*[np.linspace(-0.05, 0.05, side + 1)] * 2)
    far = np.clip((np.hypot(x, y) - 0.015) / 0.01, 0.0, 1.0)
    z = -0.0005 * far * (1.0 - np.cos(200.0 * x) * np.cos(170.0 * y))
    top = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    low = top * (1.0, 1.0, 0.0) + (0.0, 0.0, -0.03)
    place = np.arange((side + 1) ** 2).reshape(side + 1, side + 1)
    a, b, c, d = (
        p.ravel() for p in (place[:-1, :-1], place[:-1, 1:], place[1:, 1:], place[1:, :-1])
    )
    up = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    rim = np.concatenate([place[0, :-1], place[:-1, -1], place[-1, :0:-1], place[:0:-1, 0]])
    after, below = np.roll(rim, -1), len(top)
    sides = [
        np.stack([rim, rim + below, after], 1),
        np.stack([after, rim + below, after + below], 1),
    ]
    return np.concatenate([top, low]), np.concatenate([up, up[:, ::-1] + below, *sides])


def on_block(case: Case) -> Prepared:
    """The tool of a case on its block, ready to tick."""
    vertices, faces = block(case.triangles)
    numbers = " ".join(f"{x:.7g}" for x in vertices.ravel())
    world = World.from_string(
        f"""<mujoco><custom><text name="detent.friction" data="none"/></custom>
        <option gravity="0 0 0"/><asset><mesh name="block" vertex="{numbers}"
        face="{" ".join(map(str, faces.ravel()))}"/></asset><worldbody>
        <geom name="block" type="mesh" mesh="block"/>
        <body name="tool" pos="0 0 {0.0003 - case.deep}"><freejoint/>{case.tool}</body>
        </worldbody></mujoco>""",
        tool="tool",
        concave=["block"],
    )
    return Session(world, Contact(4000.0, 30.0)).prepare(None, RATE, RING)


def bench_concave(quick: bool) -> Numbers:
    """Whole ticks against `mj_step` of twelve contacts, in turns."""
    if not JIT_ENABLED:
        return {}
    model, data = mujoco_corner(corner_at_rest().data.qpos)
    state = (data.qpos, data.qvel, data.qacc_warmstart)
    start = (data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy())
    shift = STEP * np.abs(np.arange(TICKS) - TICKS // 2)
    ours, theirs = np.zeros(TICKS, np.int64), np.zeros(TICKS, np.int64)
    numbers: Numbers = {}
    ticks: dict[str, np.ndarray] = {}
    for case in cases(quick):
        ready, medians = on_block(case), []
        servo, counts = ready.servo, ready.servo.shapes.felt.totals
        qpos, device = servo.scene.qpos.copy(), servo.port.state.true_pose.copy()
        for _ in range(1 + rounds(quick)):
            slide_ticks(servo, qpos, device, shift, ours)
            addresses = model._address, data._address
            time_steps(*addresses, state, start, servo.clock.timespec, theirs)
            medians.append((np.median(ours), np.median(theirs)))
        a, b = np.array(medians[1:]).T  # the first turn may compile
        ticks[case.name] = a / b
        numbers |= {
            f"concave_{case.name}_over_mj_step": float(np.median(a / b)),
            f"concave_{case.name}_candidates": int(counts[CANDIDATES]),
            f"concave_{case.name}_refined": int(counts[REFINEMENTS]),
            f"concave_{case.name}_left_out": int(counts[LEFT_OUT]),
        }
    if "large" in ticks:
        numbers["concave_524k_over_8k"] = float(np.median(ticks["large"]) / np.median(ticks["50"]))
    return numbers | {"concave_allocations": allocations(servo, qpos, device, shift, ours)}


def allocations(
    servo: Servo, qpos: np.ndarray, device: np.ndarray, shift: np.ndarray, costs: np.ndarray
) -> int:
    """Of all such ticks but the first."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    taken = []
    for some in (costs[:1], costs):  # a call from Python takes some by itself
        before = rtsys.get_allocation_stats().alloc
        slide_ticks(servo, qpos, device, shift, some)
        taken.append(int(rtsys.get_allocation_stats().alloc - before))
    return taken[1] - taken[0]
