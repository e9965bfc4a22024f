"""The kinetic energy of closed loops, which an explicit step would let grow."""

from __future__ import annotations

import math

from detent.kernels.inertia import whiten_velocity
from detent.kernels.jit import kernel
from detent.servo.constants import ENERGY_STEP
from detent.servo.structs import GRAVITY, Closures, Motion, Scene
from detent.servo.world.weight import weight_torque


@kernel
def span_energy(sc: Scene, mo: Motion, first: int, end: int) -> float:
    """½ q̇ᵀ D q̇ of these dofs."""
    rownnz, rowadr, colind = mo.inertia.rownnz, mo.inertia.rowadr, mo.inertia.colind
    total = 0.0
    for k in range(first, end):
        diagonal = rowadr[k] + rownnz[k] - 1
        s = 0.5 * sc.M[diagonal] * sc.qvel[k]
        for a in range(rowadr[k], diagonal):
            s += sc.M[a] * sc.qvel[colind[a]]
        total += s * sc.qvel[k]
    return total


@kernel
def expect_energy(sc: Scene, mo: Motion, cl: Closures, step: float) -> None:
    r"""What the energy must be at the end of the step; on entry mo.scratch is the old q̇.

    Coriolis terms c and the forces λ of closures do no work, but in the explicit step, with the old
    inertia and the old directions, they do, so

    .. math:: KE^+ = \tfrac12 \dot q^{+T} D(q) \, \dot q^+
              + T \, \bar{\dot q}^T (c - W^T \lambda)

    whatever else acted: that identity holds for impulses, damping and contacts alike. cl.rates is
    λ along the rows of Q, as `closed_acceleration` left it.
    """
    mean = mo.white
    for j in range(sc.nv):
        mean[j] = 0.5 * (mo.scratch[j] + sc.qvel[j])
    whiten_velocity(mo.damped, mean)
    for i in range(cl.span.shape[0]):
        first, end = cl.span[i, 0], cl.span[i, 0] + cl.span[i, 1]
        energy = span_energy(sc, mo, first, end)
        for j in range(first, end):
            c = sc.bias[j]
            if sc.features[GRAVITY] != 0:
                c += weight_torque(sc, j)
            energy += 0.5 * step * (mo.scratch[j] + sc.qvel[j]) * c
            for k in range(mo.damped.closed[0]):
                energy -= step * cl.rates[k] * mo.damped.Q[k, j] * mean[j]
        cl.energy[i] = energy


@kernel
def keep_energy(sc: Scene, mo: Motion, cl: Closures) -> None:
    """Scale the velocities of closed loops to the energy that they must have, with the new D."""
    for i in range(cl.span.shape[0]):
        first, end = cl.span[i, 0], cl.span[i, 0] + cl.span[i, 1]
        wanted, found = cl.energy[i], span_energy(sc, mo, first, end)
        if not (wanted > 0.0 and found > 0.0):
            continue
        factor = math.sqrt(wanted / found)
        factor = min(max(factor, 1.0 - ENERGY_STEP), 1.0 + ENERGY_STEP)
        for j in range(first, end):
            sc.qvel[j] *= factor
