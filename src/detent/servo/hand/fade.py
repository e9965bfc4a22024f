"""A session begins without a push: what acts on the tool comes in as what acts on the device."""

from __future__ import annotations

from detent.kernels.constants import CUT_SHORT, MEMORY_STRUCK, MEMORY_ZERO
from detent.kernels.contact import group_root
from detent.kernels.jit import kernel
from detent.servo.constants import FALLING
from detent.servo.contact.identity import NO_ROW, keeps_memory
from detent.servo.contact.impulses import normal_velocity
from detent.servo.contact.plastic import give_way
from detent.servo.hand.constants import DEEP_HIT
from detent.servo.hand.limit import scale_group
from detent.servo.hand.point import add_hand_torque
from detent.servo.parameters import PULLED, RIGID, SCALE
from detent.servo.structs import COLLIDING, GRAVITY, TICKS, Servo
from detent.servo.world.move import accelerate
from detent.servo.world.weight import weight_torque


@kernel
def fade_torques(s: Servo, fade: float) -> None:
    """Take from mo.torque what is not yet there of all but inertia and the hand."""
    sc, mo, rows, p = s.scene, s.motion, s.rows, s.parameters
    root, left = group_root(rows.parent, sc.tool_tree), 1.0 - fade
    for j in range(sc.nv):
        if group_root(rows.parent, sc.dof_tree[j]) != root:
            continue
        smooth = sc.passive[j] + sc.actuator[j] + mo.reaction[j]
        if sc.features[GRAVITY] != 0:
            smooth += weight_torque(sc, j)
        mo.torque[j] -= left * smooth
    hand = p["tool"][0] == PULLED and p["hand_on_tool"][0] != 0
    for i in range(6):
        mo.other[i] = -left * (mo.on_tool[i] - (s.lead.sensed[i] if hand else 0.0))
    add_hand_torque(mo, mo.other, sc.nv, mo.torque)


@kernel
def fastest_approach(s: Servo) -> float:
    """[m/s] at which a row of the tool's group still approaches, after its impulses."""
    rows, most = s.rows, 0.0
    r = rows.group_row[group_root(rows.parent, s.scene.tool_tree)]
    while r != NO_ROW:
        if rows.separation[r] <= 0.0:
            most = max(most, -normal_velocity(rows, r, s.motion.velocity))
        r = rows.next_row[r]
    return most


@kernel
def walls_away(s: Servo) -> bool:
    """Whether a wall of the tool's group is not at its surface, or will not be."""
    rows = s.rows
    r = rows.group_row[group_root(rows.parent, s.scene.tool_tree)]
    while r != NO_ROW:
        memory = rows.memory[r]
        moved = memory[MEMORY_ZERO] < 0.0 or memory[MEMORY_STRUCK] == CUT_SHORT
        if rows.geom[r, 0] >= 0 and moved:
            return True
        r = rows.next_row[r]
    return rows.spreading[0] != 0


@kernel
def struck_deep(s: Servo) -> bool:
    """Whether contacts of the tool's group came deep inside within this tick: they stay there."""
    rows, p, found = s.rows, s.parameters, False
    root = group_root(rows.parent, s.scene.tool_tree)
    if rows.struck[0] == 0 or rows.group_state[root] != COLLIDING or not keeps_memory(p, rows):
        return False
    r = rows.group_row[root]
    while r != NO_ROW:
        deep = rows.geom[r, 0] >= 0 and rows.separation[r] < -DEEP_HIT
        if deep and rows.separation[r] - p["step"][0] * rows.velocity[r] >= 0.0:
            rows.memory[r, MEMORY_STRUCK] = CUT_SHORT
            found = True
        r = rows.next_row[r]
    return found


@kernel
def share_of_blow(s: Servo, fade: float) -> float:
    """What the tool gets of its impulses: all, where the rest would carry it a millimetre deep."""
    sc, rows, step = s.scene, s.rows, s.parameters["step"][0]
    r = rows.group_row[group_root(rows.parent, sc.tool_tree)]
    while r != NO_ROW:
        before = normal_velocity(rows, r, sc.qvel)
        after = normal_velocity(rows, r, s.motion.velocity)
        left = before + fade * (after - before)
        if left < -FALLING * step and rows.separation[r] + step * left < -DEEP_HIT:
            return 1.0
        r = rows.next_row[r]
    return fade


@kernel
def share_of_press(s: Servo, fade: float) -> float:
    r"""What the tool gets of resting contacts: as much as keeps the hand from pressing it deeper.

    .. math:: J_r \left(\dot q + T A^{-1} (\tau + a \tau_c)\right) \ge 0, \quad a_{fade} \le a \le 1

    for contacts a millimetre deep: the hand's push does not fade in, and what it presses against
    must hold it. mo.torque has faded already.
    """
    sc, mo, rows, step = s.scene, s.motion, s.rows, s.parameters["step"][0]
    free, pushed, share = rows.braked, mo.scratch, fade
    if s.parameters["contact_mode"][0] == RIGID:
        return fade
    for j in range(sc.nv):
        free[j], pushed[j] = mo.torque[j], mo.penalty[j]
    accelerate(sc, mo, s.closures, free)
    accelerate(sc, mo, s.closures, pushed)
    r = rows.group_row[group_root(rows.parent, sc.tool_tree)]
    while r != NO_ROW:
        if rows.geom[r, 0] >= 0 and rows.separation[r] < -DEEP_HIT:
            along = step * normal_velocity(rows, r, pushed)
            lacks = -normal_velocity(rows, r, mo.velocity) - step * normal_velocity(rows, r, free)
            if along > 0.0:
                share = max(share, min(lacks / along, 1.0))
        r = rows.next_row[r]
    return share


@kernel
def fade_in(s: Servo) -> None:
    r"""Stage: what acts on the tool and on all that it touches, in the first moments of a session.

    .. math:: \tau \leftarrow a \, \tau, \qquad a = \min(1, t / t_{ramp})

    Contacts and impulses, weight, springs, servos and the position channel alike, so that what
    balances still does; the force path does the same to the device's wrench (`servo.guard`). A
    collision goes on until its momentum is delivered, but for what weight brings in a few ticks,
    and its wall is where it ended. Before that is a millimetre deep the tool gets all of it: a
    hand that pushes something light would press it through the wall; and contacts that rest hold
    what the hand presses. Later, too, what strikes so fast that it is a millimetre deep within a
    tick stays there, and the wall comes back (`servo.contact.plastic`): its spring would throw the
    body out with energy that nobody put in
    (errata E9).
    """
    rows, per_tick = s.rows, s.parameters["fade"][0]
    fade = (s.clock.counts[TICKS] + 1) * per_tick
    if rows.yields[0] != 0 and s.parameters["strategy"][0] < SCALE:  # else `limit` has said so
        rows.spreading[0] = 0
    if fade >= 1.0:
        if struck_deep(s):
            rows.yields[0] = 1
        elif rows.yields[0] != 0 and rows.yielded[0] == 0.0 and not walls_away(s):
            rows.yields[0] = 0  # and contacts need no longer be recognised for that
        return
    fade_torques(s, fade)
    share = share_of_blow(s, fade) if rows.struck[0] > 0 else share_of_press(s, fade)
    scale_group(s.scene, s.motion, rows, share, 0)
    if rows.struck[0] > 0 and share < 1.0:
        rows.spreading[0] = int(fastest_approach(s) > FALLING * s.parameters["step"][0])
        give_way(s.scene, rows, s.parameters, False)
