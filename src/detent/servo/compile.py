"""Stages compiled, or loaded from the cache, into the table of a servo."""

from __future__ import annotations

from typing import Any, NamedTuple

from detent.devices.adapters import Adapter
from detent.errors import StageError
from detent.kernels.keep import kept_by
from detent.kernels.mechanics import Mechanics
from detent.kernels.stages import IDLE, is_kept, put_stage
from detent.kernels.struct import Struct
from detent.servo import places
from detent.servo.hand.ring import ring
from detent.servo.mechanism_structs import MechanismServo
from detent.servo.structs import Servo
from detent.servo.table import TABLES, Stage, always, taken_at

#: stages that take longest to compile, the slowest first; all others come after them
SLOWEST = (
    *("resolve_sliding_hits", "project_rubbing", "resolve_hits", "sense", "settle", "sense_local"),
    *("weigh_linkage", "act_with_stops", "react", "move", "approach", "project_rigid", "advance"),
    *("merge", "close", "limit", "rub", "record", "record_mechanism", "smooth", "step_rigid"),
)


class Fitted(NamedTuple):
    """A stage with the struct that it will be called with."""

    stage: Stage
    struct: Struct


def fitted(servo: Any, adapter: Adapter) -> list[Fitted]:
    """The stages that ticks of this servo call, with its device behind the port."""
    if adapter.port.adapter != adapter.struct.address:
        raise StageError("the port does not lead to the struct of this adapter")
    parts: dict[type, Any] = {type(part): part for part in (servo, adapter.struct)}
    if isinstance(servo, MechanismServo):
        parts[Mechanics] = servo.mechanics
    else:
        parts |= {type(pair): pair for pair in kept_by(servo.shapes)}
    device = (
        Stage(places.READ, adapter.read, type(adapter.struct), always),
        Stage(places.WRITE, adapter.write, type(adapter.struct), always),
    )
    chosen: dict[int, Stage] = {}
    for stage in (*device, *TABLES[type(servo)]):
        if stage.place not in chosen and stage.needed(servo):
            chosen[stage.place] = stage
    return [Fitted(stage, parts[stage.takes]) for stage in chosen.values()]


def missing(stages: list[Fitted]) -> list[Fitted]:
    """Those that are not in the cache yet, the slowest first."""
    order = {name: i for i, name in enumerate(SLOWEST)}
    found = [one for one in stages if not is_kept(one.stage.function, one.struct)]
    return sorted(found, key=lambda one: order.get(one.stage.function.__name__, len(order)))


def fill_table(servo: Any, stages: list[Fitted]) -> None:
    """Put the stages in their places; all others stay idle. No step of a tick may be missing."""
    for stage, struct in stages:
        device = stage.place in (places.READ, places.WRITE)
        takes = type(struct) if device else taken_at(type(servo), stage.place)
        put_stage(servo.stages, stage.place, stage.function, struct, takes)
    for stage in TABLES[type(servo)]:
        if stage.needed is always and servo.stages[stage.place] == IDLE:
            raise StageError(f"the table has no stage {stage.function.__name__}")
    for place in (places.READ, places.WRITE):
        if servo.stages[place] == IDLE:
            raise StageError("the table has no stages of a device")


def prepare_material(servo: Any) -> None:
    """Make the stage of ringing impulses ready, where nobody had asked for it at the start."""
    if isinstance(servo, Servo) and servo.stages[places.RING] == IDLE:
        put_stage(servo.stages, places.RING, ring, servo, Servo)
