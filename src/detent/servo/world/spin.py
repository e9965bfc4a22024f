"""Bodies that turn freely: a step that keeps their angular momentum."""

from __future__ import annotations

import numpy as np

from detent.kernels.jit import kernel
from detent.kernels.so3 import turn_body
from detent.kernels.vectors import Triple, cross, inner, plus
from detent.servo.constants import SLOW_SPIN, SPIN_ROUNDS
from detent.servo.parameters import PULLED, RIGID
from detent.servo.structs import Motion, Rows, Scene

Frame = tuple[Triple, Triple, Triple]  # the columns of a rotation


@kernel
def turn_by(R: Frame, v: Triple) -> Triple:
    """R v."""
    return plus(plus(plus((0.0, 0.0, 0.0), v[0], R[0]), v[1], R[1]), v[2], R[2])


@kernel
def turn_back(R: Frame, v: Triple) -> Triple:
    """Rᵀ v."""
    return inner(R[0], v), inner(R[1], v), inner(R[2], v)


@kernel
def frame_of(w: float, x: float, y: float, z: float) -> Frame:
    """The rotation of a unit quaternion."""
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@kernel
def inertia_times(sc: Scene, i: int, v: Triple) -> Triple:
    """I v in the axes of spinning body i: about its middle, or about the ball that holds it."""
    A = sc.spin_inertia
    return (
        A[i, 0, 0] * v[0] + A[i, 0, 1] * v[1] + A[i, 0, 2] * v[2],
        A[i, 1, 0] * v[0] + A[i, 1, 1] * v[1] + A[i, 1, 2] * v[2],
        A[i, 2, 0] * v[0] + A[i, 2, 1] * v[1] + A[i, 2, 2] * v[2],
    )


@kernel
def inertia_under(sc: Scene, i: int, v: Triple) -> Triple:
    """I⁻¹ v, likewise."""
    A = sc.spin_inverse
    return (
        A[i, 0, 0] * v[0] + A[i, 0, 1] * v[1] + A[i, 0, 2] * v[2],
        A[i, 1, 0] * v[0] + A[i, 1, 1] * v[1] + A[i, 1, 2] * v[2],
        A[i, 2, 0] * v[0] + A[i, 2, 1] * v[1] + A[i, 2, 2] * v[2],
    )


@kernel
def spins(sc: Scene, mo: Motion, rows: Rows, i: int, p: np.ndarray) -> bool:
    """Whether body i turns freely in this tick, and so fast that it matters.

    A tool that is led goes where its device is. Impulses and rigid contacts, near ones too, have
    chosen the velocity at the end of the step, gyration and all.
    """
    j = sc.spin_dof[i]
    tree, squared = sc.dof_tree[j], 0.0
    for k in range(j, j + 3):
        squared += mo.scratch[k] * mo.scratch[k]
        if mo.velocity[k] != mo.scratch[k]:
            return False
    if p["contact_mode"][0] == RIGID:
        if rows.touched[tree] != 0:
            return False
        for k in range(j - 3 if sc.spin_free[i] != 0 else j, j + 3):
            if mo.penalty[k] != 0.0:
                return False
    led = p["tool"][0] != PULLED and sc.in_tool[tree] != 0
    step = p["step"][0]
    return sc.tree_awake[tree] != 0 and not led and squared * step * step > SLOW_SPIN * SLOW_SPIN


@kernel
def spin_bodies(sc: Scene, mo: Motion, rows: Rows, p: np.ndarray) -> None:
    """All bodies on a free or a ball joint of their own; on entry mo.scratch is the old q̇.

    Then it is the velocity that leads to the new pose.
    """
    for i in range(sc.spin_dof.shape[0]):
        j = sc.spin_dof[i]
        if spins(sc, mo, rows, i, p):
            old = (mo.scratch[j], mo.scratch[j + 1], mo.scratch[j + 2])
            spin_body(sc, mo, i, old, p["step"][0])
        else:
            for k in range(j - 3 if sc.spin_free[i] != 0 else j, j + 3):
                mo.scratch[k] = sc.qvel[k]


@kernel
def spin_body(sc: Scene, mo: Motion, i: int, old: Triple, step: float) -> None:
    r"""Turn a body by its mean angular velocity, so that its angular momentum is what it must be.

    .. math:: R^+ I \omega^+ = R I \omega + T \tau, \qquad
              R^+ = R \exp\!\left(\tfrac{T}{2} (\omega + \omega^+)\right)

    With ω in the body's axes a free body keeps its energy, too, to round-off: ω + ω⁺ is the axis
    of the turn that takes I ω⁺ to I ω, so :math:`(\omega + \omega^+)^T I (\omega^+ - \omega) = 0`.
    The explicit step has brought ω₁ = ω + T I⁻¹(τ − ω × I ω), all impulses included; so the
    right side is :math:`R (I \omega_1 + T \omega \times I \omega)`, and the velocity of the
    middle of a free body that of the step without its centripetal part. Fixed-point iteration.
    The new velocity goes to q̇, the one that leads to the new pose to mo.scratch.
    """
    j, q = sc.spin_dof[i], sc.spin_qpos[i]
    w, x, y, z = sc.qpos[q], sc.qpos[q + 1], sc.qpos[q + 2], sc.qpos[q + 3]
    R = frame_of(w, x, y, z)
    first = (sc.qvel[j], sc.qvel[j + 1], sc.qvel[j + 2])
    gyration = cross(old, inertia_times(sc, i, old))
    momentum = turn_by(R, plus(inertia_times(sc, i, first), step, gyration))
    after, new, turn = first, R, mo.turn
    turn[0], turn[1], turn[2], turn[3] = w, x, y, z
    for _ in range(SPIN_ROUNDS):
        for k in range(3):
            turn[4 + k] = 0.5 * step * (old[k] + after[k])
        turn_body(turn[0:4], turn[4:7], turn[7:11])
        new = frame_of(turn[7], turn[8], turn[9], turn[10])
        after = inertia_under(sc, i, turn_back(new, momentum))
    for k in range(3):
        mo.scratch[j + k] = turn[4 + k] / step
        sc.qvel[j + k] = after[k]
    if sc.spin_free[i] != 0:
        carry_middle(sc, mo, i, (R, new), (old, first), turn_by(new, after), step)


@kernel
def carry_middle(
    sc: Scene,
    mo: Motion,
    i: int,
    frames: tuple[Frame, Frame],
    rates: tuple[Triple, Triple],
    after: Triple,
    step: float,
) -> None:
    """The middle of a free body goes straight on, and its origin turns about it."""
    a = sc.spin_dof[i] - 3
    c = (sc.spin_middle[i, 0], sc.spin_middle[i, 1], sc.spin_middle[i, 2])
    arm, arm_after = turn_by(frames[0], c), turn_by(frames[1], c)
    inward = turn_by(frames[0], cross(rates[0], cross(rates[0], c)))
    carried = turn_by(frames[0], cross(rates[1], c))
    v = plus((sc.qvel[a], sc.qvel[a + 1], sc.qvel[a + 2]), 1.0, plus(carried, step, inward))
    swept = cross(after, arm_after)
    for k in range(3):
        mo.scratch[a + k] = v[k] - (arm_after[k] - arm[k]) / step
        sc.qvel[a + k] = v[k] - swept[k]
