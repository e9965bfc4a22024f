"""Rigid contact: time stepping on velocities, without penetration (M16)."""

from __future__ import annotations

from detent.kernels.inertia import unwhiten, whiten_rows, whiten_velocity
from detent.kernels.jit import kernel
from detent.kernels.projection import iteration_limit, project_onto_rows
from detent.kernels.stages import call_stage
from detent.kernels.vectors import copy_vector
from detent.servo.move import accelerate
from detent.servo.records import STAGE_PROJECT, UNILATERAL, Servo
from detent.servo.response import add_row_torque


@kernel
def project_rigid(s: Servo) -> None:
    r"""Stage: the velocity nearest to mo.after that does not penetrate (M16).

    .. math:: \min \tfrac12 \|\dot q^+ - \dot q_{free}\|^2_D \quad
              \text{s.t.} \quad J \dot q^+ \ge -s/T

    A contact that would close within the step and has e > 0 leaves with −e v_n instead.
    Writes mo.after, and the impulses of the rows into hit_impulse.
    """
    sc, mo, rows, work = s.scene, s.motion, s.rows, s.work.restitution.impact
    step = s.parameters["step"][0]
    follows = s.parameters["coupling"][0] == UNILATERAL  # a god object does not bounce
    copy_vector(mo.after, work.u0)
    whiten_velocity(mo.damped, work.u0)
    for r in range(rows.tally[0]):
        gap, v, e = rows.separation[r], rows.velocity[r], rows.restitution[r]
        bounces = e > 0.0 and v < 0.0 and gap + step * v < 0.0 and not follows
        rows.bound[r] = -e * v if bounces else -gap / step
        copy_vector(rows.jac[r], work.N[r])
    whiten_rows(mo.damped, rows.tally[0], work.N)
    project_onto_rows(
        work.N, rows.bound, rows.tally[0], sc.nv, work.u0,
        iteration_limit(rows.tally[0], sc.nv), work.projection, work.u, rows.hit_impulse,
    )  # fmt: skip
    copy_vector(work.u, mo.after)
    unwhiten(mo.damped, mo.after)


@kernel
def step_rigid(s: Servo) -> None:
    """Stage: rigid contact, complementarity time stepping on velocities (M16)."""
    sc, mo, rows = s.scene, s.motion, s.rows
    step = s.parameters["step"][0]
    copy_vector(mo.torque, mo.after)
    accelerate(mo, s.closures, mo.after)
    for j in range(sc.nv):
        mo.after[j] = mo.velocity[j] + step * mo.after[j]
    call_stage(s.stages[STAGE_PROJECT], s)
    for r in range(rows.tally[0]):
        rows.force[r] = rows.hit_impulse[r] / step
        add_row_torque(rows, r, rows.force[r], sc.nv, mo.penalty)
