"""Which stage stands at which place of a tick, and when: one line per stage.

The first one that a configuration needs stands at its place; where it needs none, `idle` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from detent.kernels.advance import advance
from detent.kernels.constrained import settle
from detent.kernels.mechanics import Mechanics
from detent.kernels.struct import Struct
from detent.local.records import ACTIVE
from detent.servo import places
from detent.servo.contact.feel import feel
from detent.servo.contact.impulses import resolve_hits, resolve_sliding_hits
from detent.servo.contact.react import react
from detent.servo.contact.rigid import project_rigid, project_rubbing, step_rigid
from detent.servo.contact.rub import rub
from detent.servo.contact.turn import turn
from detent.servo.contact.walls_back import yield_and_return
from detent.servo.guard import guard, guard_mechanism
from detent.servo.hand.approach import approach
from detent.servo.hand.command import command_wrench
from detent.servo.hand.fade import fade_in
from detent.servo.hand.lead import command_motion, lead_device
from detent.servo.hand.limit import limit, limit_plastic
from detent.servo.hand.reach import reach
from detent.servo.hand.ring import ring
from detent.servo.hand.shape import shape
from detent.servo.hand.topology import weigh_free, weigh_linkage, weigh_rigid
from detent.servo.local.report import report
from detent.servo.local.sense import merge, sense_local
from detent.servo.local.smooth import smooth
from detent.servo.mechanism import (
    act,
    act_with_stops,
    approach_mechanism,
    move_mechanism,
    react_mechanism,
    sense_mechanism,
)
from detent.servo.mechanism_structs import MechanismServo
from detent.servo.parameters import GOD_OBJECT, PULLED, RIGID, SCALE
from detent.servo.passivity import keep_display_passive, keep_passive, tally
from detent.servo.record import record, record_mechanism
from detent.servo.shown import show
from detent.servo.structs import ACTUATORS, FREE_BODY, NEVER_SINGULAR, TURNING, Servo
from detent.servo.tick import tick, tick_mechanism
from detent.servo.world.close import close
from detent.servo.world.move import move
from detent.servo.world.sense import sense
from detent.shapes.contacts import touch_pair
from detent.shapes.structs import Pair


@dataclass(frozen=True)
class Stage:
    """A compiled function, its place, what it takes, and when it is needed."""

    place: int
    function: Any
    takes: type[Struct]
    needed: Callable[[Any], bool]


def always(servo: Any) -> bool:
    """In every configuration."""
    return True


def _where(name: str) -> Callable[[Any], bool]:
    """Where a parameter is not zero."""
    return lambda servo: bool(servo.parameters[name][0])


def _local(servo: Servo) -> bool:
    return bool(servo.local.counts[ACTIVE])


def _rigid(servo: Servo) -> bool:
    return bool(servo.parameters["contact_mode"][0] == RIGID)


def _projects(servo: Servo) -> bool:
    return _rigid(servo) or bool(servo.parameters["tool"][0] == GOD_OBJECT)


def _rubs_and_projects(servo: Servo) -> bool:
    return _projects(servo) and bool(servo.parameters["friction"][0])


def _rubs(servo: Servo) -> bool:
    return bool(servo.parameters["friction"][0]) and not _rigid(servo)


def _turns(servo: Servo) -> bool:
    return bool(servo.parameters["friction"][0] and servo.scene.features[TURNING])


def _limits(servo: Servo) -> bool:
    return bool(servo.parameters["strategy"][0] >= SCALE)


def _fades(servo: Servo) -> bool:
    return bool(servo.parameters["fade"][0] < 1.0)


def _yields(servo: Servo) -> bool:
    return _fades(servo) or bool(servo.parameters["plastic"][0])


def _tallies(servo: Servo) -> bool:
    watched = bool(servo.parameters["passivity"][0])
    return watched and (_local(servo) or bool(servo.scene.features[ACTUATORS]))


def _has_loops(servo: Servo) -> bool:
    return len(servo.closures.kind) > 0


def _feels(servo: Servo) -> bool:
    return len(servo.shapes.pairs) > 0


def _pulls_free_body(servo: Servo) -> bool:
    p = servo.parameters
    fresh = p["frozen"][0] == 0 and p["tool"][0] == PULLED
    return bool(fresh and servo.scene.features[NEVER_SINGULAR] == FREE_BODY)


def _never_singular(servo: Servo) -> bool:
    return bool(servo.scene.features[NEVER_SINGULAR])


def _has_stops(servo: MechanismServo) -> bool:
    return len(servo.mechanics.stop) > 0


WORLD = (
    Stage(places.MERGE, merge, Servo, _local),
    Stage(places.SENSE, sense_local, Servo, _local),
    Stage(places.SENSE, sense, Servo, always),
    Stage(places.FEEL, feel, Servo, _feels),
    Stage(places.TOUCH, touch_pair, Pair, _feels),
    Stage(places.CLOSE, close, Servo, _has_loops),
    Stage(places.APPROACH, approach, Servo, always),
    Stage(places.LEAD, lead_device, Servo, _where("leads")),
    Stage(places.WEIGH, weigh_free, Servo, _pulls_free_body),
    Stage(places.WEIGH, weigh_rigid, Servo, _never_singular),
    Stage(places.WEIGH, weigh_linkage, Servo, always),
    Stage(places.REACT, react, Servo, always),
    Stage(places.RUB, rub, Servo, _rubs),
    Stage(places.TURN, turn, Servo, _turns),
    Stage(places.COLLIDE, resolve_sliding_hits, Servo, _where("friction_impacts")),
    Stage(places.COLLIDE, resolve_hits, Servo, always),
    Stage(places.PROJECT, project_rubbing, Servo, _rubs_and_projects),
    Stage(places.PROJECT, project_rigid, Servo, _projects),
    Stage(places.STEP, step_rigid, Servo, _rigid),
    Stage(places.SMOOTH, smooth, Servo, _local),
    Stage(places.REACH, reach, Servo, always),
    Stage(places.LIMIT, limit_plastic, Servo, _where("plastic")),
    Stage(places.LIMIT, limit, Servo, _limits),
    Stage(places.FADE, fade_in, Servo, _fades),
    Stage(places.YIELD, yield_and_return, Servo, _yields),
    Stage(places.RING, ring, Servo, _where("material")),
    Stage(places.COMMAND, shape, Servo, _where("shaping")),
    Stage(places.COMMAND, command_motion, Servo, _where("leads")),
    Stage(places.COMMAND, command_wrench, Servo, always),
    Stage(places.PASSIVE, keep_passive, Servo, _where("passivity")),
    Stage(places.GUARD, guard, Servo, always),
    Stage(places.RECORD, record, Servo, always),
    Stage(places.MOVE, move, Servo, always),
    Stage(places.TALLY, tally, Servo, _tallies),
    Stage(places.REPORT, report, Servo, _local),
    Stage(places.TICK, tick, Servo, always),
    Stage(places.SHOW, show, Servo, always),
)

MECHANISM = (
    Stage(places.SENSE, sense_mechanism, MechanismServo, always),
    Stage(places.SETTLE, settle, Mechanics, always),
    Stage(places.APPROACH, approach_mechanism, MechanismServo, always),
    Stage(places.REACT, react_mechanism, MechanismServo, always),
    Stage(places.ACT, act_with_stops, Mechanics, _has_stops),
    Stage(places.ACT, act, Mechanics, always),
    Stage(places.COMMAND, command_motion, MechanismServo, always),
    Stage(places.PASSIVE, keep_display_passive, MechanismServo, _where("passivity")),
    Stage(places.GUARD, guard_mechanism, MechanismServo, always),
    Stage(places.RECORD, record_mechanism, MechanismServo, always),
    Stage(places.MOVE, move_mechanism, MechanismServo, always),
    Stage(places.ADVANCE, advance, Mechanics, always),
    Stage(places.TICK, tick_mechanism, MechanismServo, always),
)

#: places at which a servo is not what is passed
_PART_AT: dict[int, type[Struct]] = {
    **{places.SETTLE: Mechanics, places.ACT: Mechanics, places.ADVANCE: Mechanics},
    places.TOUCH: Pair,
}


def taken_at(servo: type[Struct], place: int) -> type[Struct]:
    """What callers of a place pass: the servo itself, or the part of it that the stage is about."""
    return _PART_AT.get(place, servo)


#: what each kind of servo has
TABLES: dict[type[Struct], tuple[Stage, ...]] = {Servo: WORLD, MechanismServo: MECHANISM}
