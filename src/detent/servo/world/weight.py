"""The weight of the bodies as torques."""

from __future__ import annotations

from detent.kernels.jit import kernel
from detent.servo.structs import Scene


@kernel
def weight_torque(sc: Scene, j: int) -> float:
    """−G: the torque of gravity on degree of freedom j, from MuJoCo's spatial axes."""
    body = sc.dof_body[j]
    root = sc.body_root[body]
    total = 0.0
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        arm_a = sc.subtree_com[body, a] - sc.subtree_com[root, a]
        arm_b = sc.subtree_com[body, b] - sc.subtree_com[root, b]
        moves = sc.cdof[j, 3 + k] + sc.cdof[j, a] * arm_b - sc.cdof[j, b] * arm_a
        total += sc.gravity[k] * moves
    return total * sc.subtree_mass[body]
