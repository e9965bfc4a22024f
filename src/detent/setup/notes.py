"""What a run says of itself: where the step bounded something, and what MuJoCo warned of.

It reads what the tick keeps anyway, so it may be called while the servo runs.
"""

from __future__ import annotations

import math

import mujoco

from detent.local.records import ACTIVE
from detent.servo.constants import MOST_TURN
from detent.servo.guarded import REASONS
from detent.servo.mechanism_structs import MechanismServo
from detent.servo.observed import ACTED, LOW
from detent.servo.parameters import OBSERVED
from detent.servo.structs import Servo
from detent.setup.bounds import unbounded_from
from detent.setup.sinking import sunk
from detent.shapes.structs import LEFT_OUT
from detent.world.names import geom_name, joint_name


def run_notes(
    servo: Servo | MechanismServo, model: mujoco.MjModel, data: mujoco.MjData, rate: float
) -> list[str]:
    """All that a run has to say so far; *model* and *data* are the servo's, *rate* is in Hz."""
    if not isinstance(servo, Servo):  # a mechanism has stops, and neither contacts nor hinges
        return withheld_force(servo) + at_the_end(servo) + kept_passive(servo)
    return [
        *withheld_force(servo),
        *at_the_end(servo),
        *spared_hand(servo),
        *kept_passive(servo),
        *lost_contacts(servo),
        *left_out_patches(servo),
        *bounded_contacts(servo, model, rate),
        *sunk(servo, model, rate),
        *loosened_bonds(servo, rate),
        *bounded_hinges(servo, model, rate),
        *physics_warnings(data),
    ]


def withheld_force(servo: Servo | MechanismServo) -> list[str]:
    """For how long the device got no force, and why."""
    ticks = zip(servo.device.guard.off_ticks, REASONS, strict=True)
    return [f"no force for {int(count)} ticks: {why}" for count, why in ticks if count]


def at_the_end(servo: Servo | MechanismServo) -> list[str]:
    """For how long the hand pressed the device against its end stop."""
    ticks = int(servo.device.guard.stopped[0])
    if ticks == 0:
        return []
    return [
        f"the device was at its end stop for {ticks} ticks, and the tool went no farther: a larger "
        "device reaches on, or a mapping by a scale (devices.Mapped)"
    ]


def spared_hand(servo: Servo) -> list[str]:
    """For how long the world asked for more than a hand bears."""
    ticks = int(servo.device.guard.blows[1])
    if ticks == 0:
        return []
    return [
        f"beside impulses, more than the {servo.parameters['bearable'][0]:g} N that a hand may "
        f"bear was asked for in {ticks} ticks, and cut; device=Inertial() gives all of it"
    ]


def kept_passive(servo: Servo | MechanismServo) -> list[str]:
    """In how many ticks the controller of passivity acted, and how far energy went below zero."""
    observed = servo.device.observed
    low = 1e3 * float(observed.energy[LOW])
    if servo.parameters["passivity"][0] == OBSERVED and low < 0.0:
        return [f"up to {-low:.3g} mJ came out that nobody put in; nothing was done about it"]
    if not observed.counts[ACTED]:
        return []
    return [
        f"the controller of passivity acted in {int(observed.counts[ACTED])} ticks; "
        f"up to {-low:.3g} mJ had come out that nobody put in"
    ]


def lost_contacts(servo: Servo) -> list[str]:
    """How many contacts found no room: of those without the tool, the shallowest."""
    ticks, most, total = (int(number) for number in servo.rows.lost)
    if ticks == 0:
        return []
    return [
        f"{total} contacts did not fit in {ticks} ticks, up to {most} in one: there is room for "
        f"{len(servo.rows.separation)}, and for {len(servo.work.W)} in one collision; those of the "
        "tool's group are kept, then the deepest"
    ]


def left_out_patches(servo: Servo) -> list[str]:
    """In how many ticks shapes that are felt as they are had more to look at than there is time."""
    ticks = int(servo.shapes.felt.totals[LEFT_OUT])
    if ticks == 0:
        return []
    return [f"parts of concave shapes were not looked at in {ticks} ticks: the deepest were kept"]


def bounded_contacts(servo: Servo, model: mujoco.MjModel, rate: float) -> list[str]:
    """Where the step bounded the gains of contacts most, and from which rate on it would not."""
    soft, ease, ticks = servo.rows.worst
    if ticks == 0.0:
        return []
    geoms = servo.rows.worst_geom
    where = "a limit of a joint or tendon"
    if geoms[0] >= 0:
        where = "–".join(geom_name(model, int(g)) for g in geoms)
        if servo.local.counts[ACTIVE]:  # whose constraints know no geoms
            where = "a constraint of the local model"
    left = (("stiffness", soft), ("damping", ease))
    most = ", ".join(f"{what} to {100 * share:.3g} %" for what, share in left if share < 1.0)
    return [
        f"the step of {1e3 / rate:.3g} ms bounded gains of contacts in {ticks:.0f} ticks, "
        f"most at {where}: {most}" + unbounded_from(1.0 / rate, soft, ease)
    ]


def loosened_bonds(servo: Servo, rate: float) -> list[str]:
    """By how much the step lengthened what friction stretches before it slips."""
    times, ticks = servo.rows.loosened
    if ticks == 0.0 or times <= 1.0:
        return []
    length = 1e6 * servo.parameters["friction_breakaway"][0]
    return [
        f"the step of {1e3 / rate:.3g} ms bounded the stiffness of friction: contacts give way by "
        f"up to {times * length:.3g} µm before they slip, not by {length:.3g}; from "
        f"{rate * math.sqrt(times):.4g} Hz on they would not"
    ]


def bounded_hinges(servo: Servo, model: mujoco.MjModel, rate: float) -> list[str]:
    """Which of three hinges in a row was too fast for the step, near gimbal lock."""
    ticks, dof, fastest = servo.motion.spun
    if ticks == 0.0:
        return []
    hinge = joint_name(model, int(model.dof_jntid[int(dof)]))
    return [
        f"the step of {1e3 / rate:.3g} ms bounded how fast hinges turn near their gimbal lock in "
        f"{ticks:.0f} ticks, most at {hinge}: {fastest:.4g} rad/s to {MOST_TURN * rate:.4g}; "
        f"from {fastest / MOST_TURN:.4g} Hz on it would not be"
    ]


def physics_warnings(data: mujoco.MjData) -> list[str]:
    """What MuJoCo warned of during a run, such as contacts that did not fit its memory."""
    return [
        f"MuJoCo warned {int(warning.number)} times: {mujoco.mjtWarning(i).name}"
        for i, warning in enumerate(data.warning)
        if warning.number
    ]
