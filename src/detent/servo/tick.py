"""One tick of the servo, the same for lockstep and live (design: "The tick")."""

from __future__ import annotations

from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage
from detent.servo import places
from detent.servo.mechanism_structs import MechanismServo
from detent.servo.port import read, take, write
from detent.servo.structs import TICKS, Servo


@kernel
def tick(s: Servo) -> None:
    """Stage: a world. Each line is a step; `idle` stands where a configuration needs none."""
    read(s)  # 1 the device: pose, twist, the hand's wrench
    take(s)  # 2 what is new: parameters, targets
    call_stage(s.stages[places.MERGE], s)  # 3 the update of a local model, TH 6.2
    call_stage(s.stages[places.SENSE], s)  # 4 kinematics, inertia, loops, contacts as rows
    call_stage(s.stages[places.APPROACH], s)  # 4 the hand point, position channels, torques
    call_stage(s.stages[places.REACT], s)  # 5 impulses or penalty, friction, TH 4
    call_stage(s.stages[places.SMOOTH], s)  # 5 no update makes the force jump, TH 6.2
    call_stage(s.stages[places.REACH], s)  # 6 torques become a wrench at the hand, TH 5.2-5.12
    call_stage(s.stages[places.LIMIT], s)  # 6 what the device can render, TH 4.5.2
    call_stage(s.stages[places.FADE], s)  # 6 what acts on the tool comes in slowly
    call_stage(s.stages[places.YIELD], s)  # 6 walls that gave way come back
    call_stage(s.stages[places.RING], s)  # 7 impulses ring as a material does, B7
    call_stage(s.stages[places.COMMAND], s)  # 7 the coupling, TH 4.1, 5.15, S2 17-18
    call_stage(s.stages[places.PASSIVE], s)  # 8 no energy that nobody put in
    call_stage(s.stages[places.GUARD], s)  # 8 the force path
    call_stage(s.stages[places.RECORD], s)  #   one row
    write(s)  # 9 the device
    call_stage(s.stages[places.MOVE], s)  # 9 the world, its loops closed
    call_stage(s.stages[places.TALLY], s)  #   energy of engine and actuators
    s.clock.counts[TICKS] += 1
    call_stage(s.stages[places.REPORT], s)  #   the proxy, for the engine


@kernel
def tick_mechanism(s: MechanismServo) -> None:
    """Stage: a mechanism under an admittance, S2 Algorithm 1 with the errata."""
    read(s)  # 1 the display: pose, twist, the hand's wrench
    take(s)  # 2 what is new: parameters, targets
    call_stage(s.stages[places.SENSE], s)  # 4 dynamics and kinematics of this state, S2 5-7
    call_stage(s.stages[places.APPROACH], s)  # 4 the reference, and what the display lacks, S2 17
    call_stage(s.stages[places.REACT], s)  # 5 constrained acceleration, stops, S2 13
    call_stage(s.stages[places.COMMAND], s)  # 7 feedforward and feedback, S2 18
    call_stage(s.stages[places.PASSIVE], s)  # 8 no energy that nobody put in
    call_stage(s.stages[places.GUARD], s)  # 8 the force path
    call_stage(s.stages[places.RECORD], s)  #   one row
    write(s)  # 9 the display
    call_stage(s.stages[places.MOVE], s)  # 9 the mechanism, on its manifold
    s.clock.counts[TICKS] += 1
