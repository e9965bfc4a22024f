"""Impulses that ring at the device as a tapped material does (B7)."""

from __future__ import annotations

from detent.kernels.jit import kernel
from detent.kernels.ringing import ring_force
from detent.kernels.vectors import clear_matrix, clear_vector
from detent.servo.constants import LEAST_ROOM
from detent.servo.hand.command import device_command
from detent.servo.hand.limit import tool_part
from detent.servo.hand.reach import map_to_hand
from detent.servo.structs import Servo


@kernel
def ring(s: Servo) -> None:
    r"""Stage: the hand feels the tool's impulses as decaying sinusoids of the same momentum.

    .. math:: F_{felt} = F_{env} - J_h^{\#T} J_c^T p / T + f, \qquad
              \sum_k f_k T = J_h^{\#T} J_c^T p

    Catalogue B7, TH chapter 7, [Okamura01]; f is `ring_force`, within what all else leaves
    of the cap. Only the device's wrench is shaped, not what moves the bodies: the tool has
    its whole impulse at once, and the device lags behind by the momentum that is still owed.
    The position channels allow for that, or they would deliver it a second time.

    Limitations. Room is found when a ring starts: if all else grows while it lasts, the force
    path cuts the sum. The lag takes the device for free, and its inertia for known.
    """
    mo, de, p = s.motion, s.device, s.parameters
    if de.ringing[0] == 0 and (p["material"][0] == 0 or s.rows.struck[0] == 0):
        return
    impulse, force, room = mo.part, mo.mapped, mo.other
    if p["material"][0] == 0:  # switched off while it rang
        clear_matrix(de.ring_memory)
        clear_vector(de.lag)
        de.ringing[0] = 0
        return
    step = p["step"][0]
    tool_part(s.scene, mo, 1)
    map_to_hand(s.scene, mo, de, mo.scratch, impulse)
    for i in range(6):
        de.felt[i] -= impulse[i]
        impulse[i] *= step
    device_command(mo, de, s.rows.constrained[0] != 0, p)
    for i in range(6):
        cap = p["cap"][0, i]
        room[i] = max(cap - abs(de.raw[i]), LEAST_ROOM * cap)
    omega, decay = p["material_omega"][0], p["material_decay"][0]
    more = ring_force(de.ring_memory, impulse, omega, decay, step, room, force)
    de.ringing[0] = int(more)
    for i in range(6):
        de.felt[i] += force[i]
        de.lag[i] = 0.0
        for k in range(6):
            de.lag[i] += de.mobility[i, k] * de.ring_memory[k, 2]
