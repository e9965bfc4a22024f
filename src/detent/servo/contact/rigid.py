"""Rigid contact: time stepping on velocities, without penetration (M16)."""

from __future__ import annotations

import numpy as np

from detent.kernels.constants import MEMORY_FRICTION, STEP_SWEEPS
from detent.kernels.inertia import unwhiten, whiten_rows, whiten_velocity
from detent.kernels.jit import kernel
from detent.kernels.projection import iteration_limit, project_onto_rows
from detent.kernels.stages import call_stage
from detent.kernels.step_friction import step_with_friction
from detent.kernels.vectors import copy_vector
from detent.servo import places
from detent.servo.contact.impulses import describe_hit, describe_sliding, tangent
from detent.servo.contact.press import add_row_torque
from detent.servo.parameters import GOD_OBJECT
from detent.servo.structs import Rows, Scene, Servo
from detent.servo.world.move import accelerate


@kernel
def bound_velocities(rows: Rows, p: np.ndarray) -> None:
    """How fast contacts must separate: −s/T, or −e v_n where one closes and bounces."""
    step = p["step"][0]
    follows = p["tool"][0] == GOD_OBJECT  # which does not bounce
    for r in range(rows.count[0]):
        gap, v, e = rows.separation[r], rows.velocity[r], rows.restitution[r]
        bounces = e > 0.0 and v < 0.0 and gap + step * v < 0.0 and not follows
        rows.bound[r] = -e * v if bounces else -gap / step


@kernel
def project_rigid(s: Servo) -> None:
    r"""Stage: the velocity nearest to mo.after that does not penetrate (M16).

    .. math:: \min \tfrac12 \|\dot q^+ - \dot q_{free}\|^2_D \quad
              \text{s.t.} \quad J \dot q^+ \ge -s/T

    A contact that would close within the step and has e > 0 leaves with −e v_n instead.
    Writes mo.after, and the impulses of the rows into hit_impulse.
    """
    sc, mo, rows, work = s.scene, s.motion, s.rows, s.work.restitution.impact
    bound_velocities(rows, s.parameters)
    copy_vector(mo.after, work.u0)
    whiten_velocity(mo.damped, work.u0)
    for r in range(rows.count[0]):
        copy_vector(rows.jac[r], work.N[r])
    whiten_rows(mo.damped, rows.count[0], work.N)
    project_onto_rows(
        work.N, rows.bound, rows.count[0], sc.nv, work.u0,
        iteration_limit(rows.count[0], sc.nv), work.projection, work.u, rows.hit_impulse,
    )  # fmt: skip
    copy_vector(work.u, mo.after)
    unwhiten(mo.damped, mo.after)


@kernel
def grip(sc: Scene, rows: Rows, r: int, p: np.ndarray) -> None:
    """The sliding of row r, and the impulses that it had in the last step, or -1."""
    rows.hit_impulse[r], rows.hit_slide[r, 0], rows.hit_slide[r, 1] = -1.0, 0.0, 0.0
    describe_sliding(sc, rows, r, r, p)
    if rows.hit_friction[r] <= 0.0:
        return
    memory = rows.memory[r, MEMORY_FRICTION : MEMORY_FRICTION + 5]
    if memory[4] == 0.0:
        return
    rows.hit_impulse[r] = memory[3]
    for k in range(2):
        t = tangent(rows.normal[r], k)
        rows.hit_slide[r, k] = t[0] * memory[0] + t[1] * memory[1] + t[2] * memory[2]


@kernel
def keep_grip(rows: Rows, r: int, smooth: float, step: float) -> None:
    """Remember the impulses of row r, if it had or would without friction have had any.

    Along the world's axes, since tangents turn.
    """
    memory = rows.memory[r, MEMORY_FRICTION : MEMORY_FRICTION + 5]
    a, b = tangent(rows.normal[r], 0), tangent(rows.normal[r], 1)
    for k in range(3):
        memory[k] = rows.hit_slide[r, 0] * a[k] + rows.hit_slide[r, 1] * b[k]
        rows.rub[r, k] = memory[k] / step
    memory[3] = rows.hit_impulse[r]
    memory[4] = 1.0 if memory[3] > 0.0 or smooth > 0.0 else 0.0


@kernel
def project_rubbing(s: Servo) -> None:
    """Stage: the same with Coulomb friction, impulses along the tangents into hit_slide (M16)."""
    sc, mo, rows, p = s.scene, s.motion, s.rows, s.parameters
    count = rows.count[0]
    bound_velocities(rows, p)
    for r in range(count):
        describe_hit(rows, r, r)
        grip(sc, rows, r, p)
    step_with_friction(
        mo.damped, rows.jac, rows.hit_tangent, rows.hit_friction, rows.bound, count, mo.after,
        iteration_limit(count, sc.nv), STEP_SWEEPS, s.work,
        mo.after, rows.hit_impulse, rows.hit_slide,
    )  # fmt: skip
    for r in range(count):
        keep_grip(rows, r, s.work.q[r, 0], p["step"][0])


@kernel
def step_rigid(s: Servo) -> None:
    """Stage: rigid contact, complementarity time stepping on velocities (M16)."""
    sc, mo, rows = s.scene, s.motion, s.rows
    step = s.parameters["step"][0]
    copy_vector(mo.torque, mo.after)
    accelerate(mo, s.closures, mo.after)
    for j in range(sc.nv):
        mo.after[j] = mo.velocity[j] + step * mo.after[j]
    call_stage(s.stages[places.PROJECT], s)
    for r in range(rows.count[0]):
        rows.force[r] = rows.hit_impulse[r] / step
        add_row_torque(rows, r, rows.force[r], sc.nv, mo.penalty)
        for k in range(2 if s.parameters["friction"][0] != 0 else 0):
            force = rows.hit_slide[r, k] / step
            for j in range(sc.nv):
                mo.penalty[j] += rows.hit_tangent[r, k, j] * force
