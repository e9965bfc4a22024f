"""Steps of the contact force that nothing explains."""

from __future__ import annotations

import numpy as np

from detent import Contact


def unexplained(rows: np.ndarray, contact: Contact, step: float, reach: float) -> np.ndarray:
    """[N] Steps that neither motion of the tool nor a collision explains, tick by tick.

    A spring changes by K v T and a damper by B Δv, of each contact; *reach* [m] is how far the
    farthest point of the tool is from its middle.
    """
    force, twist = rows["environment_wrench"][:, :3], rows["tool_twist"]
    speed = np.linalg.norm(twist[:, :3], axis=1) + reach * np.linalg.norm(twist[:, 3:], axis=1)
    change = np.diff(twist, axis=0)
    change = np.linalg.norm(change[:, :3], axis=1) + reach * np.linalg.norm(change[:, 3:], axis=1)
    contacts = np.maximum(rows["contacts"][1:], rows["contacts"][:-1])
    stiffness, damping = contact.gains
    moved = contacts * (stiffness * step * speed[:-1] + damping * change)
    steps = np.linalg.norm(np.diff(force, axis=0), axis=1) - moved
    hit = rows["collisions"] > 0
    return np.where(hit[1:] | hit[:-1], 0.0, steps)
