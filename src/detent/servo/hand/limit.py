"""What the simulation does about the limits of the device (TH 4.5.2, M8)."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.contact import group_root
from detent.kernels.inertia import kinetic_energy
from detent.kernels.jit import kernel
from detent.kernels.limits import length
from detent.servo.contact.groups import row_group
from detent.servo.contact.plastic import give_way
from detent.servo.hand.reach import map_to_hand, tell_device, weigh_tool
from detent.servo.parameters import RIGID, SPREAD
from detent.servo.structs import COLLIDING, GRAVITY, Device, Motion, Rows, Scene, Servo


@kernel
def share_within(other: np.ndarray, part: np.ndarray, limit: np.ndarray) -> float:
    r"""The largest a in [0, 1] for which other + a·part stays within the limits.

    Uniform: the direction of the part is kept, and with it passivity (errata E8).
    """
    share = 1.0
    for i in range(6):
        total = other[i] + share * part[i]
        if abs(total) > limit[i] and part[i] != 0.0:
            room = (limit[i] if total > 0.0 else -limit[i]) - other[i]
            share = min(share, max(room / part[i], 0.0))
    return share


@kernel
def share_in_ball(other: np.ndarray, part: np.ndarray, ball: np.ndarray) -> float:
    r"""The largest a in [0, 1] for which force and torque of other + a·part keep their lengths.

    .. math:: |o + a p| \le b: \quad a = \frac{-o p + \sqrt{(o p)^2 + p^2 (b^2 - o^2)}}{p^2}

    A length of 0 limits nothing. Where the other is too long by itself, there is no room.
    """
    share = 1.0
    for block in range(2):
        if ball[block] == 0.0:
            continue
        oo, op, pp = 0.0, 0.0, 0.0
        for i in range(3 * block, 3 * block + 3):
            oo += other[i] * other[i]
            op += other[i] * part[i]
            pp += part[i] * part[i]
        inside = op * op + pp * (ball[block] * ball[block] - oo)
        if pp > 0.0:
            share = min(share, max((math.sqrt(max(inside, 0.0)) - op) / pp, 0.0))
    return share


@kernel
def tool_part(sc: Scene, mo: Motion, impulses_only: int) -> None:
    """mo.scratch ← the contact torques on the tool that are to be limited."""
    for j in range(sc.nv):
        mo.scratch[j] = 0.0
        if sc.in_tool[sc.dof_tree[j]] != 0:
            mo.scratch[j] = mo.impulsive[j]
            if impulses_only == 0:
                mo.scratch[j] += mo.penalty[j]


@kernel
def scale_group(sc: Scene, mo: Motion, rows: Rows, share: float, impulses_only: int) -> None:
    """Scale what contacts do to all bodies of the tool's group: action is still reaction."""
    root = group_root(rows.parent, sc.tool_tree)
    for t in range(rows.blows.shape[0]):
        if rows.struck[0] > 0 and group_root(rows.parent, t) == root:
            rows.blows[t] = 0  # it goes on because it was cut
    for j in range(sc.nv):
        if group_root(rows.parent, sc.dof_tree[j]) != root:
            continue
        mo.impulsive[j] *= share
        mo.velocity[j] = sc.qvel[j] + share * (mo.velocity[j] - sc.qvel[j])
        if impulses_only == 0:
            mo.penalty[j] *= share
    for r in range(rows.count[0]):
        struck = rows.group_state[root] == COLLIDING
        if row_group(rows, r) == root and (struck or impulses_only == 0):
            rows.force[r] *= share
            for k in range(3):
                rows.rub[r, k] *= share


@kernel
def cut(s: Servo, share: float, impulses_only: int) -> None:
    """Tool and device receive a share of what contacts do, mo.part at the hand."""
    sc, mo, rows, de = s.scene, s.motion, s.rows, s.device
    scale_group(sc, mo, rows, share, impulses_only)
    for i in range(6):
        de.environment[i] += (share - 1.0) * mo.part[i]
    if rows.struck[0] > 0:
        rows.impact[0] = kinetic_energy(sc.M, mo.inertia, mo.velocity)
        rows.impact[0] -= kinetic_energy(sc.M, mo.inertia, sc.qvel)


@kernel
def limit(s: Servo) -> None:
    r"""Stage: scale the contact response so that the device can render it.

    .. math:: F_{env} = F_{other} + a F_{contact}, \quad |F_{env,i}| \le F_{lim,i}

    Tool and device then receive the same. By default all contact forces are limited, in
    every state; limiting impulses only lets the penalty spring give back energy that
    nobody put in (errata E9). ``spread`` stays in the colliding state until nothing had to
    be cut.
    """
    sc, mo, rows, de, p = s.scene, s.motion, s.rows, s.device, s.parameters
    impulses_only = p["collisions_only"][0]
    tool_part(sc, mo, impulses_only)
    part, other = mo.part, mo.other
    map_to_hand(sc, mo, de, mo.scratch, part)
    for i in range(6):
        other[i] = 0.0 if impulses_only != 0 else de.environment[i] - part[i]
    share = share_within(other, part, p["limit"][0])
    rows.spreading[0] = int(share < 1.0 and rows.struck[0] > 0 and p["strategy"][0] == SPREAD)
    if share == 1.0:
        return
    cut(s, share, impulses_only)
    tell_device(s)


@kernel
def is_beyond(wrench: np.ndarray, most: np.ndarray, ball: np.ndarray) -> bool:
    """Whether a wrench is more than the device can render."""
    for i in range(6):
        if abs(wrench[i]) > most[i]:
            return True
    for block in range(2):
        if ball[block] > 0.0 and length(wrench[3 * block : 3 * block + 3]) > ball[block]:
            return True
    return False


@kernel
def lighten(sc: Scene, mo: Motion, de: Device, most: np.ndarray, ball: np.ndarray) -> None:
    """Leave of the tool's weight what fits beside all else, for the tool and the device alike."""
    weight = mo.scratch
    weigh_tool(sc, mo, de, weight, mo.part)
    for i in range(6):
        mo.other[i] = de.environment[i] - mo.part[i]
    left = min(share_within(mo.other, mo.part, most), share_in_ball(mo.other, mo.part, ball))
    de.borne[0] = left
    for j in range(sc.nv):
        mo.torque[j] -= (1.0 - left) * weight[j]
    for i in range(6):
        de.environment[i] = mo.other[i] + left * mo.part[i]


@kernel
def limit_plastic(s: Servo) -> None:
    r"""Stage: what the device can render, contacts first; where they are cut, walls give way.

    .. math:: |a F_{contact,i} + o_i| \le F_{lim,i}, \qquad
              |a F_{contact} + F_{other} + b F_{weight}|_i \le F_{lim,i}

    o is what else opposes the contact on an axis, which leaves it more room; what points its way
    does not take any. The lengths of force and torque are kept alike. Weight gets the share b that
    is left. `servo.contact.plastic` says how walls give way.
    """
    sc, mo, rows, de, p = s.scene, s.motion, s.rows, s.device, s.parameters
    most, part, other = p["limit"][0], mo.part, mo.other
    tool_part(sc, mo, 0)
    map_to_hand(sc, mo, de, mo.scratch, part)
    for i in range(6):
        other[i] = de.environment[i] - part[i]
        if other[i] * part[i] >= 0.0:
            other[i] = 0.0
    share = min(share_within(other, part, most), share_in_ball(other, part, p["ball"][0]))
    rows.spreading[0] = int(share < 1.0 and rows.struck[0] > 0 and p["strategy"][0] == SPREAD)
    if share < 1.0:
        cut(s, share, 0)
        give_way(sc, rows, p, p["contact_mode"][0] != RIGID)
    if sc.features[GRAVITY] != 0 and is_beyond(de.environment, most, p["ball"][0]):
        lighten(sc, mo, de, most, p["ball"][0])
    tell_device(s)
