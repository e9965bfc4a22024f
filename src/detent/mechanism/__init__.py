"""Mechanisms for admittance displays: described by expressions, derived, compiled, cached."""

from detent.mechanism.mechanism import BodyDamper, BodySpring, Mechanism
from detent.mechanism.rotations import Orientation, rot_x, rot_y, rot_z

__all__ = ["BodyDamper", "BodySpring", "Mechanism", "Orientation", "rot_x", "rot_y", "rot_z"]
