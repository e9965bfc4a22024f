"""The stages of an admittance session, compiled or loaded from the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from detent.kernels.advance import advance
from detent.kernels.constrained import settle
from detent.kernels.jit import JIT_ENABLED, compiled_cache
from detent.kernels.stages import stage_address
from detent.servo.admit import (
    STAGE_ACT,
    STAGE_ADVANCE,
    STAGE_NOTE,
    STAGE_SETTLE,
    AdmitServo,
    act,
    act_with_stops,
    admit,
    note,
)
from detent.servo.records import STAGE_TICK

#: all stages, those that take longest to compile first
ADMIT_ALL = (settle, act_with_stops, admit, advance, act, note)
_OF_MECHANICS = (settle, act_with_stops, advance, act)


def wanted(servo: AdmitServo) -> dict[int, Any]:
    """What ticks of this mechanism call, by the place of each."""
    stops = len(servo.mechanics.stop) > 0
    return {
        STAGE_SETTLE: settle,
        STAGE_ACT: act_with_stops if stops else act,
        STAGE_ADVANCE: advance,
        STAGE_NOTE: note,
        STAGE_TICK: admit,
    }


def _mark(function: Any, servo: AdmitServo) -> Path:
    return compiled_cache() / "stages" / f"{function.__name__}-{servo.numba_type.name}"


def missing(servo: AdmitServo) -> list[Any]:
    """Stages of this mechanism that are not in the cache yet."""
    if not JIT_ENABLED:
        return []
    needed = set(wanted(servo).values())
    return [f for f in ADMIT_ALL if f in needed and not _mark(f, servo).exists()]


def compile_one(function: Any, servo: AdmitServo) -> int:
    """The address of a stage; leaves a mark that it is in the cache."""
    struct = servo.mechanics if function in _OF_MECHANICS else servo
    address = stage_address(function, struct)
    if JIT_ENABLED:
        mark = _mark(function, servo)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return address


def fill_stages(servo: AdmitServo) -> None:
    """Fill the table of stages."""
    for place, function in wanted(servo).items():
        servo.stages[place] = compile_one(function, servo)
