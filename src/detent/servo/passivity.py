"""The observer and the controller of passivity, before the force path.

The observer counts at the device's rate, with the force that was really held: the command that
the device took, *delay* ticks later. The controller adds a damper to the wrench on its way, so
that cap and slew hold for it, too, and the observer sees what they leave of it in the next ticks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from detent.devices.port import SEQUENCE, State
from detent.kernels.jit import kernel
from detent.kernels.limits import length, uniform_scale
from detent.kernels.passivity import (
    certain_travel,
    certain_work,
    damper_rate,
    held_work,
    least_loss,
    share_left,
    tank_share,
)
from detent.kernels.so3 import pose_error
from detent.kernels.vectors import clear_vector, copy_vector, dot
from detent.local.records import ACTIVE
from detent.servo.constants import NO_DEFICIT
from detent.servo.mechanism_structs import MechanismServo
from detent.servo.observed import (
    ACTED,
    BEGUN,
    CAUTION,
    CERTAIN,
    ENGINE,
    LATEST,
    LOW,
    OUT,
    OWN,
    PORT,
    PUT,
    QUIET,
    SINCE,
    SOURCES,
    Observed,
)
from detent.servo.parameters import OBSERVED, REFERENCE, TANK
from detent.servo.structs import ACTUATORS, Device, Rows, Scene, Servo


@kernel
def hold_wrench(ob: Observed, command: np.ndarray, fresh: bool) -> None:
    """The wrench that acted since the last tick, into the sum: that of *delay* ticks before.

    *command* is that of the last tick; a device took it if it had just sampled.
    """
    if fresh:
        copy_vector(command, ob.taken)
    size, now = ob.past.shape[0], ob.counts[PUT]
    copy_vector(ob.taken, ob.past[now % size])
    old = now - ob.delay[0]
    quiet = ob.counts[QUIET] + 1
    if old >= 0:
        for i in range(6):
            ob.sum[i] += ob.past[old % size, i]
    for i in range(6):
        if ob.taken[i] != 0.0:
            quiet = 0
    ob.counts[QUIET] = quiet
    ob.counts[PUT] = now + 1
    ob.counts[SINCE] += 1


@kernel
def count_own(ob: Observed, step: float) -> None:
    """What the device itself took since the last reading, at least; nothing while in doubt.

    ob.twist ← the speed of that certain travel: encoders that go to and fro by a step have none.
    With all of it counted, a wall that once gave more than the device takes could go on giving
    just as much: nothing would be left to damp what it has set in motion.
    """
    for block in range(2):
        part = slice(3 * block, 3 * block + 3)
        ob.still[block] += ob.counts[SINCE]
        copy_vector(ob.slack[part], ob.twist[part])
        moved = certain_travel(ob.slack[part], ob.travel[part], ob.blur[block])
        time = step * ob.still[block]
        for i in range(3 * block, 3 * block + 3):
            ob.twist[i] = (ob.twist[i] + ob.travel[i] - ob.slack[i]) / time if moved > 0.0 else 0.0
        if moved > 0.0:
            ob.still[block] = 0.0
            if ob.counts[CAUTION] == 0:
                ob.energy[OWN] += least_loss(moved, time, ob.damping[block], ob.friction[block])


@kernel
def count_port(ob: Observed, st: State, step: float) -> None:
    """W at a new reading, with the force that was held since the last one."""
    pose_error(st.position, st.quaternion, ob.pose[0:3], ob.pose[3:7], ob.travel)
    ticks = max(ob.counts[SINCE], 1)
    for i in range(6):
        ob.sum[i] /= ticks
        if ob.dual[0] != 0:  # what the hand did since then, by its sensor, seen from the display
            ob.sum[i] = -ob.sensed[i]
    ob.energy[OUT] = held_work(ob.sum, ob.travel)
    ob.energy[PORT] -= ob.energy[OUT]
    for i in range(6):
        work = certain_work(ob.tube[i], ob.travel[i], ob.sum[i], ob.spread[i // 3])
        ob.energy[CERTAIN] -= work
    if ob.dual[0] == 0:
        count_own(ob, step)
    clear_vector(ob.sum)
    ob.counts[SINCE] = 0


@kernel
def observe(ob: Observed, st: State, command: np.ndarray, step: float) -> None:
    """The energy at the hand port, up to the newest reading."""
    begun = ob.counts[BEGUN] != 0
    if begun:
        hold_wrench(ob, command, ob.counts[SINCE] == 0)
        if st.counts[SEQUENCE] == ob.counts[LATEST]:
            return
        count_port(ob, st, step)
    ob.counts[BEGUN] = 1
    ob.counts[LATEST] = st.counts[SEQUENCE]
    copy_vector(st.position, ob.pose[0:3])
    copy_vector(st.quaternion, ob.pose[3:7])
    copy_vector(st.wrench, ob.sensed)


@kernel
def energy_left(ob: Observed) -> float:
    """[J] that may still come out: what the hand gave, the device took, and weights gave.

    Weights that rise keep what there is, and owe nothing beyond it: a coupling lifts a tool also
    where the cap, or a device out of its reach, lets the hand feel little of it.
    """
    own, sources = ob.energy[PORT] + ob.energy[OWN], ob.energy[SOURCES]
    return own + sources if sources >= 0.0 else max(own + sources, min(own, 0.0))


@kernel
def forget(ob: Observed) -> None:
    """Let go of what the device took and nobody needs, where no force is, or is on its way.

    Then no spring is loaded at the port that could ask it back. A wall that bounces a device would
    else live on what free flight takes. What the hand gave to the world is never forgotten.
    """
    left = energy_left(ob)
    if left > 0.0:
        ob.energy[OWN] -= min(ob.energy[OWN], left)


@kernel
def find_motion(ob: Observed, de: Device, st: State) -> float:
    """ob.twist ← its part along actuated axes; vᵀMv [J] of it.

    Of readings with noise the difference is worth nothing: there the device's own twist is taken.
    """
    for i in range(6):
        if ob.blur[i // 3] > ob.radius[i // 3]:
            ob.twist[i] = st.twist[i]
        ob.twist[i] *= de.guard.actuated[i] * de.mask[i]
    total = 0.0
    for i in range(6):
        total += ob.twist[i] * dot(de.mass[i], ob.twist, 6)
    return total


@kernel
def share_within_cap(de: Device, p: np.ndarray) -> float:
    """What the cap would leave of the wrench anyway.

    The damper comes on top of that: of a spring beyond the cap with a damper the cap would leave
    the same spring.
    """
    scale = uniform_scale(de.raw, p["cap"][0])
    for block in range(2):
        size, ball = length(de.raw[3 * block : 3 * block + 3]), p["ball"][0, block]
        if ball > 0.0 and scale * size > ball:
            scale = ball / size
    return scale


@kernel
def damp(ob: Observed, de: Device, rate: float) -> None:
    """ob.wrench ← −a M v along actuated axes, on top of what is there."""
    for i in range(6):
        axis = de.guard.actuated[i] * de.mask[i]
        ob.wrench[i] -= axis * rate * dot(de.mass[i], ob.twist, 6)


@kernel
def paid_share(ob: Observed, de: Device, left: float, seconds: float) -> float:
    """The share of the wrench that the tank can pay for, until something can be done about it."""
    power = 0.0
    for i in range(6):
        power += de.raw[i] * ob.twist[i]
    return tank_share(left, power, seconds)


@kernel
def apply(ob: Observed, de: Device) -> None:
    """Onto the wrench on its way; counted where it changes it."""
    for i in range(6):
        if ob.wrench[i] != 0.0:
            ob.acts[0] = 1
        de.raw[i] += ob.wrench[i]
    ob.counts[ACTED] += ob.acts[0]


@kernel
def give_way(ob: Observed, de: Device, st: State, deficit: float, p: np.ndarray) -> None:
    r"""The dual, for a display: it yields to the hand, which takes from it; at last it stands.

    .. math:: u = a T M^{-1} f, \qquad a = \min\left(\frac{-W}{f^T M^{-1} f \, T^2}, a_{max}\right)

    u is a speed beside the one that the display is told: the wrench is M Δu/T. ob.twist is u. What
    stands still gives nothing, whatever the hand does: so the motion fades as a wrench does.
    """
    step, give, yields = p["step"][0], 0.0, 0.0
    for i in range(6):
        give += ob.sensed[i] * dot(de.mobility[i], ob.sensed, 6)
    if deficit > NO_DEFICIT and give > 0.0:
        yields = min(deficit / (give * step * step), p["passive_bound"][0])
    stop = 1.0 - share_left(deficit)
    slower = stop * min(p["passive_bound"][0], 1.0)
    for i in range(6):
        speed = yields * step * dot(de.mobility[i], ob.sensed, 6)
        ob.travel[i] = (speed - ob.twist[i] - slower * st.twist[i]) / step
        ob.twist[i] = speed
    for i in range(6):
        ob.wrench[i] = dot(de.mass[i], ob.travel, 6) - stop * de.raw[i]
    apply(ob, de)


@kernel
def wanted_energy(ob: Observed, de: Device, p: np.ndarray) -> float:
    r"""[J] below which the controller acts: none, or that of the springs which push just now.

    .. math:: E_{ref} = s F \cdot C F - \tfrac{1}{2} s^2 F \cdot C F

    The second is the reference of [Ryu05]: what ideal springs would have taken by now, of which
    the cap leaves the share s of the force. It counts where energy comes out: while the hand
    gives, a force with a damper in it says too much.
    """
    if p["passivity"][0] != REFERENCE or ob.energy[OUT] <= 0.0:
        return 0.0
    total = 0.0
    for i in range(6):
        total += 0.5 * p["passive_compliance"][0, i] * de.raw[i] * de.raw[i]
    share = share_within_cap(de, p)
    return total * share * (2.0 - share)


@kernel
def control(ob: Observed, de: Device, st: State, p: np.ndarray) -> None:
    """What the controller adds to de.raw."""
    clear_vector(ob.wrench)
    ob.acts[0] = 0
    left = energy_left(ob)
    ob.energy[LOW] = min(ob.energy[LOW], left)
    law = p["passivity"][0]
    if law == OBSERVED:
        return
    if ob.dual[0] != 0:
        give_way(ob, de, st, -left, p)
        return
    period = ob.period[0] * p["step"][0]
    motion = find_motion(ob, de, st)
    share = 1.0
    if law == TANK:
        share = paid_share(ob, de, left, period + ob.delay[0] * p["step"][0])
    deficit = wanted_energy(ob, de, p) - left
    ob.counts[CAUTION] = max(ob.counts[CAUTION] - 1, 0)
    if deficit > NO_DEFICIT or share < 1.0:
        ob.counts[CAUTION] = p["passive_memory"][0]
        certain = ob.energy[PORT] - ob.energy[CERTAIN] - left
        share *= share_within_cap(de, p) * share_left(min(-left, certain))
        for i in range(6):
            ob.wrench[i] = -(1.0 - share) * de.guard.actuated[i] * de.raw[i]
    if deficit > NO_DEFICIT and motion > 0.0:
        most = p["passive_bound"][0]
        damp(ob, de, damper_rate(deficit, max(motion, ob.floor[0]), period, most))
    apply(ob, de)


@kernel
def pushes(de: Device) -> bool:
    """Whether a wrench is asked for in this tick."""
    for i in range(6):
        if de.raw[i] != 0.0:
            return True
    return False


@kernel
def keep_port_passive(s: Any) -> None:
    """Observe the hand port, and act on what is there."""
    ob, p = s.device.observed, s.parameters
    observe(ob, s.port.state, s.port.command.wrench, p["step"][0])
    if ob.counts[QUIET] > ob.delay[0] and not pushes(s.device):
        forget(ob)
    control(ob, s.device, s.port.state, p)


@kernel
def potential(sc: Scene, weight: np.ndarray) -> float:
    """[J] of all weights [kg]."""
    total = 0.0
    for b in range(weight.shape[0]):
        if weight[b] != 0.0:
            total -= weight[b] * dot(sc.gravity, sc.xipos[b], 3)
    return total


@kernel
def count_weights(sc: Scene, ob: Observed, de: Device, ramp: float) -> None:
    """What weights gave since the last tick.

    One that moves by itself gives all of it. Of a tool that is led, which has no motion of its own,
    only what the device renders of its weight: not what cap and ramp leave out.
    """
    borne = de.borne[0] * min(1.0, de.guard.engaged[0] * ramp)
    for led in range(2):
        height = potential(sc, ob.weight[led])
        if ob.counts[BEGUN] != 0:
            ob.energy[SOURCES] += (ob.height[led] - height) * (borne if led == 1 else 1.0)
        ob.height[led] = height


@kernel
def loaded_springs(rows: Rows, error: np.ndarray, p: np.ndarray) -> float:
    """[J] in contacts and in the coupling: what overlaps at the start may spring back."""
    total = 0.0
    for r in range(rows.count[0]):
        depth = min(rows.separation[r], 0.0)
        total += 0.5 * rows.stiffness[r] * depth * depth
    for i in range(6):
        total += 0.5 * p["coupling_k"][0, i] * error[i] * error[i]
    return total


@kernel
def keep_passive(s: Servo) -> None:
    """Stage: what weights gave since the last tick, and the hand port."""
    ob = s.device.observed
    if ob.counts[BEGUN] == 0:
        ob.energy[SOURCES] += loaded_springs(s.rows, s.motion.error[0], s.parameters)
    count_weights(s.scene, ob, s.device, s.parameters["ramp"][0])
    keep_port_passive(s)


@kernel
def keep_display_passive(s: MechanismServo) -> None:
    """Stage: the hand port of a display that a mechanism leads."""
    keep_port_passive(s)


@kernel
def tally(s: Servo) -> None:
    """Stage: the engine port of a local model, and the work of actuators, of this tick.

    Contacts act on the tool along the mean of the velocities before and after the step, which is
    what its kinetic energy changes by; impulses by what they changed it.
    """
    ob, sc, mo, step = s.device.observed, s.scene, s.motion, s.parameters["step"][0]
    near = s.local.counts[ACTIVE] != 0
    acts = sc.features[ACTUATORS] != 0
    if near:
        ob.energy[ENGINE] -= s.rows.impact[0]
    for j in range(sc.nv):
        way = 0.5 * step * (mo.velocity[j] + sc.qvel[j])
        if near:
            ob.energy[ENGINE] -= mo.penalty[j] * way
        if acts:
            ob.energy[SOURCES] += sc.actuator[j] * way
