"""What a tick of somebody's scene costs here: with the whole scene in it, or a local model."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

from detent.bench.rounds import Job, alternate
from detent.errors import DetentError
from detent.local.model import LocalModel
from detent.servo.loop.loop import run_lockstep
from detent.session import Session
from detent.setup.notes import run_notes
from detent.setup.prepared import Prepared
from detent.world.world import World

RATE = 1000.0  # [Hz]
TURNS, TICKS = 25, 50  # each from the start; short, so that other jobs leave some alone
MUCH_DEARER = 2.0  # [-] than with a local model


class SceneCosts(NamedTuple):
    """The least of all turns, and what kept one from being measured."""

    whole: float  # [µs]
    local: float | None  # [µs]
    no_local: str  # why there is none
    bounds: list[str]  # gains that the step bounds at the start
    more_than_tool: bool  # whether anything else moves: a local model leaves the tool itself be

    @property
    def advice(self) -> str:
        """What to do about a scene that is dear, or nothing."""
        dearer = self.local is not None and self.whole > MUCH_DEARER * self.local
        if self.local is None or not dearer or not self.more_than_tool:
            return ""
        return (
            f"the whole scene is {self.whole / self.local:.2g} times as dear: hold it with "
            "--local, the tick then costs that of the tool and what is near"
        )


def scene_costs(world: World) -> SceneCosts:
    """Ticks of both kinds, taking turns."""
    alone = Session(world, rate=RATE)
    whole = alone.prepare(None, RATE, ring=TICKS)
    ready, trouble = {"whole": whole}, ""
    try:
        near = Session(world, rate=RATE, local=LocalModel(constraints="inertial", age_limit=1e9))
        ready["local"] = near.prepare(None, RATE, ring=TICKS)
        near.play_engine(ready["local"])  # which looks once
    except DetentError as error:
        trouble = str(error)
    jobs = {name: Job(partial(from_the_start, one), TICKS) for name, one in ready.items()}
    least = {name: min(cost) for name, cost in alternate(jobs, TURNS).items()}
    others = len(world.trees) < world.model.ntree
    bounds = [*whole.notes, *run_notes(whole.servo, whole.model, whole.data, RATE)]
    return SceneCosts(least["whole"], least.get("local"), trouble, bounds, others)


def from_the_start(ready: Prepared) -> None:
    """Ticks of a servo, whose world and device are put back where they were."""
    scene, device = ready.servo.scene, ready.servo.port.state
    state = [scene.qpos, scene.qvel, scene.activation]
    state += [device.true_pose, device.true_twist]
    before = [part.copy() for part in state]
    run_lockstep(ready.servo, TICKS)
    for part, was in zip(state, before, strict=True):
        part[:] = was


def microseconds(cost: float) -> str:
    """Three digits, and no exponent."""
    digits = max(2 - math.floor(math.log10(max(cost, 1e-3))), -3)
    return f"{round(cost, digits):.{max(digits, 0)}f} µs"
