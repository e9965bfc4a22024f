"""A session begins without a push: what acts on the tool comes in as what acts on the device."""

from __future__ import annotations

from detent.kernels.contact import group_root
from detent.kernels.jit import kernel
from detent.servo.contact.identity import NO_ROW
from detent.servo.contact.impulses import normal_velocity
from detent.servo.contact.plastic import give_way
from detent.servo.hand.constants import FADED, FALLING
from detent.servo.hand.limit import scale_group
from detent.servo.hand.point import add_hand_torque
from detent.servo.parameters import PULLED, SCALE
from detent.servo.structs import GRAVITY, TICKS, Servo
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
def fade_in(s: Servo) -> None:
    r"""Stage: what acts on the tool and on all that it touches, in the first moments of a session.

    .. math:: \tau \leftarrow a \, \tau, \qquad a = \min(1, t / t_{ramp})

    Contacts and impulses, weight, springs, servos and the position channel alike, so that what
    balances still does; the force path does the same to the device's wrench (`servo.guard`). A
    collision goes on until its momentum is delivered, but for what weight brings in a few ticks,
    and its wall is where it ended.
    """
    rows, per_tick = s.rows, s.parameters["fade"][0]
    fade = (s.clock.counts[TICKS] + 1) * per_tick
    if rows.yields[0] != 0 and s.parameters["strategy"][0] < SCALE:  # else `limit` has said so
        rows.spreading[0] = 0
    if fade >= 1.0:
        settled = fade > 1.0 + FADED * per_tick and rows.spreading[0] == 0
        if rows.yields[0] != 0 and rows.yielded[0] == 0.0 and settled:
            rows.yields[0] = 0  # and contacts need no longer be recognised for that
        return
    scale_group(s.scene, s.motion, rows, fade, 0)
    fade_torques(s, fade)
    if rows.struck[0] > 0:
        rows.spreading[0] = int(fastest_approach(s) > FALLING * s.parameters["step"][0])
        give_way(s.scene, rows, s.parameters, False)
