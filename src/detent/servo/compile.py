"""Which stages a configuration needs, compiled or loaded from the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from detent.kernels.jit import JIT_ENABLED, compiled_cache, kernel
from detent.kernels.stages import stage_address
from detent.local.records import ACTIVE
from detent.servo.close import close
from detent.servo.display import admit_world, travel
from detent.servo.limit import limit_response
from detent.servo.local import report, sense_local
from detent.servo.move import move
from detent.servo.records import (
    ADMITTANCE,
    NEVER_SINGULAR,
    RIGID,
    SCALE,
    STAGE_ADMIT,
    STAGE_APPROACH,
    STAGE_CLOSE,
    STAGE_COLLIDE,
    STAGE_COUPLE,
    STAGE_LIMIT,
    STAGE_MOVE,
    STAGE_PROJECT,
    STAGE_REACT,
    STAGE_REPORT,
    STAGE_RESONATE,
    STAGE_RIGID,
    STAGE_RUB,
    STAGE_SENSE,
    STAGE_SHAPE,
    STAGE_SMOOTH,
    STAGE_TICK,
    STAGE_TRAVEL,
    STAGE_WEIGH,
    UNILATERAL,
    Servo,
)
from detent.servo.resonate import resonate
from detent.servo.response import react, resolve_hits, resolve_sliding_hits
from detent.servo.rigid import project_rigid, project_rubbing, step_rigid
from detent.servo.rub import rub
from detent.servo.sense import sense
from detent.servo.shape import shape
from detent.servo.smooth import smooth
from detent.servo.tick import approach, couple, tick
from detent.servo.topology import weigh_linkage, weigh_rigid


@kernel
def idle(s: Servo) -> None:
    """Stage: nothing. It stands in for stages that the configuration does not call."""


#: all stages, those that take longest to compile first
ALL = (
    resolve_sliding_hits, project_rubbing, resolve_hits, sense, sense_local, weigh_linkage, couple,
    approach, react, move, project_rigid, step_rigid, limit_response, close, resonate, smooth,
    shape, rub, admit_world, travel, weigh_rigid, report, tick, idle,
)  # fmt: skip


def wanted_stages(servo: Servo) -> dict[int, Any]:
    """What ticks of this configuration call, by the place of each."""
    p = servo.parameters[0]
    follows = p["coupling"] == UNILATERAL
    rigid = p["contact_mode"] == RIGID
    local = servo.local.counts[ACTIVE] != 0
    project = project_rubbing if p["friction"] else project_rigid
    return {
        STAGE_SENSE: sense_local if local else sense,
        STAGE_CLOSE: close if len(servo.closures.kind) else idle,
        STAGE_APPROACH: approach,
        STAGE_WEIGH: weigh_rigid if servo.scene.features[NEVER_SINGULAR] else weigh_linkage,
        STAGE_COLLIDE: resolve_sliding_hits if p["friction_impacts"] else resolve_hits,
        STAGE_PROJECT: project if rigid or follows else idle,
        STAGE_RIGID: step_rigid if rigid else idle,
        STAGE_RUB: rub if p["friction"] and not rigid else idle,
        STAGE_REACT: react,
        STAGE_LIMIT: limit_response if p["strategy"] >= SCALE else idle,
        STAGE_RESONATE: resonate if p["material"] else idle,
        STAGE_SHAPE: shape if p["shaping"] else idle,
        STAGE_SMOOTH: smooth if local else idle,
        STAGE_COUPLE: couple,
        STAGE_MOVE: move,
        STAGE_REPORT: report if local else idle,
        STAGE_TICK: tick,
        STAGE_ADMIT: admit_world if p["coupling"] == ADMITTANCE else idle,
        STAGE_TRAVEL: travel if p["coupling"] == ADMITTANCE else idle,
    }


def _mark(function: Any, servo: Servo) -> Path:
    return compiled_cache() / "stages" / f"{function.__name__}-{servo.numba_type.name}"


def missing_stages(servo: Servo) -> list[Any]:
    """Stages of this configuration that are not in the cache yet, the slowest first."""
    if not JIT_ENABLED:
        return []
    wanted = set(wanted_stages(servo).values())
    return [f for f in ALL if f in wanted and not _mark(f, servo).exists()]


def compile_stage(function: Any, servo: Servo) -> int:
    """The address of a stage, compiled or from the cache; leaves a mark that it is there."""
    address = stage_address(function, servo)
    if JIT_ENABLED:
        mark = _mark(function, servo)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return address


def prepare_material(servo: Servo) -> None:
    """Make the stage of ringing impulses ready, where nobody had asked for it at the start."""
    if servo.stages[STAGE_RESONATE] == compile_stage(idle, servo):
        servo.stages[STAGE_RESONATE] = compile_stage(resonate, servo)


def compile_stages(servo: Servo) -> None:
    """Fill the table of stages."""
    for place, function in wanted_stages(servo).items():
        servo.stages[place] = compile_stage(function, servo)
