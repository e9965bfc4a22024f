"""Friction at resting contacts: from normal forces to torques (TH 4.4, 4.6)."""

from __future__ import annotations

import numpy as np

from detent.kernels.friction import friction_force
from detent.kernels.inertia import whiten
from detent.kernels.jit import kernel
from detent.kernels.vectors import dot
from detent.servo.records import MEMORY_FRICTION, MEMORY_WALL, Motion, Rows, Scene, Servo


@kernel
def sliding_velocity(rows: Rows, r: int, qvel: np.ndarray, nv: int, out: np.ndarray) -> None:
    """out = the relative velocity at a contact, without its normal part."""
    along = 0.0
    for k in range(3):
        out[k] = dot(rows.point_jac[r, k], qvel, nv)
        along += out[k] * rows.normal[r, k]
    for k in range(3):
        out[k] -= along * rows.normal[r, k]


@kernel
def sliding_direction(rows: Rows, r: int, velocity: np.ndarray, out: np.ndarray) -> None:
    """A unit tangent: along the sliding, else along the bond, else any."""
    n = rows.normal[r]
    size = dot(velocity, velocity, 3)
    for k in range(3):
        out[k] = velocity[k]
    if size < 1e-16:
        bond = rows.memory[r, MEMORY_FRICTION : MEMORY_FRICTION + 3]
        size = dot(bond, bond, 3)
        for k in range(3):
            out[k] = bond[k]
    if size < 1e-24:
        least = 0  # the axis that is least along the normal
        for k in range(1, 3):
            if abs(n[k]) < abs(n[least]):
                least = k
        for k in range(3):
            out[k] = -n[least] * n[k]
        out[least] += 1.0
        size = dot(out, out, 3)
    for k in range(3):
        out[k] /= size**0.5


@kernel
def tangential_mobility(sc: Scene, mo: Motion, rows: Rows, r: int, direction: np.ndarray) -> float:
    """How much a unit force along the tangent accelerates the contact [1/kg]."""
    row = mo.tangent
    for j in range(sc.nv):
        row[j] = 0.0
        for k in range(3):
            row[j] += direction[k] * rows.point_jac[r, k, j]
    whiten(mo.inertia, row)
    return dot(row, row, sc.nv)


@kernel
def is_rubbing(rows: Rows, r: int) -> bool:
    """Whether a row is a contact (not a joint limit) that is pressed."""
    return rows.geom[r, 0] >= 0 and rows.force[r] > 0.0 and rows.friction[r] > 0.0


@kernel
def rub(s: Servo) -> None:
    """Stage: friction forces of all resting contacts into mo.penalty.

    The gains of the bond are bounded by what the step can hold: the load of all contacts,
    Σ f_n G_tt, is what the sum of their stiffnesses, each in proportion to its normal force,
    puts on the bodies.
    """
    sc, mo, rows, p = s.scene, s.motion, s.rows, s.parameters
    v, direction, force = mo.vector3[0], mo.vector3[1], mo.vector3[2]
    load = 0.0
    for r in range(rows.tally[0]):
        if is_rubbing(rows, r):
            sliding_velocity(rows, r, sc.qvel, sc.nv, v)
            sliding_direction(rows, r, v, direction)
            load += rows.force[r] * tangential_mobility(sc, mo, rows, r, direction)
    static = p["friction_static"][0]
    ratio = p["friction_kinetic"][0] / static if static > 0.0 else 1.0
    for r in range(rows.tally[0]):
        memory = rows.memory[r, MEMORY_FRICTION:MEMORY_WALL]
        if not is_rubbing(rows, r):
            for k in range(memory.shape[0]):
                memory[k] = 0.0
            continue
        sliding_velocity(rows, r, sc.qvel, sc.nv, v)
        friction_force(
            p["friction"][0],
            p["friction_literal"][0],
            v,
            rows.force[r],
            rows.normal[r],
            load / rows.force[r],
            p["step"][0],
            rows.friction[r],
            ratio * rows.friction[r],
            p["friction_breakaway"][0],
            p["friction_damping"][0],
            p["friction_dead_band"][0],
            memory,
            force,
        )
        for k in range(3):
            rows.rub[r, k] = force[k]
            for j in range(sc.nv):
                mo.penalty[j] += rows.point_jac[r, k, j] * force[k]
