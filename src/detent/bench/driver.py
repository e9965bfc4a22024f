"""What a driver in compiled form costs beside a tick."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import numba
import numpy as np

from detent.bench.rounds import Job, Numbers, alternate, median_ratio, rounds, shorter
from detent.bench.scenes import corner_at_rest
from detent.devices import preset
from detent.devices.adapters import Placed
from detent.devices.drivers.native import Native
from detent.devices.port import CALIBRATED, DEAD_MAN, FORCE_ON, VALID
from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage, stage_address
from detent.servo.loop.loop import run_lockstep

TICKS, CALLS = 20_000, 200_000
READY = VALID | CALIBRATED | FORCE_ON | DEAD_MAN


def _answering() -> Any:
    """A C function of a device that does nothing but answer: for reading, and for writing."""

    @numba.cfunc(numba.types.int32(*[numba.types.intp] * 3))
    def answer(device: Any, message: Any, more: Any) -> int:
        return 0

    return answer


@kernel
def read_and_write(stages: np.ndarray, adapter: int, count: int) -> None:
    """The port's two stages, so many times."""
    for _ in range(count):
        call_stage(stages[0], adapter)
        call_stage(stages[1], adapter)


def bench_driver(quick: bool) -> Numbers:
    """Reading and writing by two C functions, against a tick of the 6-DOF box."""
    function = _answering()
    driver = Native(preset("omega.7"), function.address, function.address)
    mask = np.ones(6)
    pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    placed = Placed(pose, np.zeros(6), mask, np.eye(6), 2.5e-4, False, False, 400.0)
    adapter = driver.adapter(placed)
    assert adapter.begin is not None and adapter.end is not None
    struct: Any = adapter.struct
    struct.counts[3] = READY
    stages = np.array([stage_address(s, struct) for s in (adapter.read, adapter.write)])
    adapter.begin()
    adapter.port.command.wrench[:] = 1.0
    ready = corner_at_rest()
    calls, ticks = shorter(CALLS, quick), shorter(TICKS, quick)
    jobs = {
        "driver": Job(partial(read_and_write, stages, struct.address, calls), calls),
        "tick": Job(partial(run_lockstep, ready.servo, ticks), ticks),
    }
    costs = alternate(jobs, rounds(quick))
    adapter.end()
    return {
        "driver_us": statistics.median(costs["driver"]),
        "driver_over_tick": median_ratio(costs["driver"], costs["tick"]),
    }
