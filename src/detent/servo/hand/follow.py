"""A tool that goes where the device goes."""

from __future__ import annotations

import numpy as np

from detent.devices.port import State
from detent.kernels.inertia import unwhiten
from detent.kernels.jit import kernel
from detent.kernels.limits import length
from detent.kernels.mapping import map_torques
from detent.kernels.so3 import pose_error
from detent.kernels.vectors import dot
from detent.servo.structs import Device, Motion, Scene


@kernel
def respond_to_hand(mo: Motion, de: Device, wrench: np.ndarray) -> None:
    """mo.white ← D⁻¹ J_hᵀ of a wrench in the device's subspace."""
    for j in range(mo.inertia.nv):
        total = 0.0
        for i in range(de.dimension[0]):
            total += mo.jac_white[de.axes[i], j] * wrench[i]
        mo.white[j] = total
    unwhiten(mo.inertia, mo.white)


@kernel
def follow_device(sc: Scene, mo: Motion, st: State, de: Device, step: float, most: float) -> None:
    r"""Direct coupling: the held link arrives where the device is at the end of the step.

    .. math:: \dot q \leftarrow \dot q + \bar J_h ((x_{device} - x_{tool}) / T - J_h \dot q)

    It turns by *most* [rad] in the step at the most.
    """
    way, want, push = mo.pushed, mo.part, mo.mapped
    pose_error(st.position, st.quaternion, mo.point, sc.xquat[sc.held_body], way)
    turn = length(way[3:6])
    if turn > most:
        for i in range(3, 6):
            way[i] *= most / turn
    n = de.dimension[0]
    for i in range(n):
        a = de.axes[i]
        want[i] = way[a] / step - dot(mo.jac[a], sc.qvel, sc.nv)
    map_torques(n, mo.rank[0], mo.mapping, want, push)
    respond_to_hand(mo, de, push)
    for j in range(sc.nv):
        sc.qvel[j] += mo.white[j]
