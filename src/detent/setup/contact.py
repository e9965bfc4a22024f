"""How bodies meet, into the parameter record."""

from __future__ import annotations

import numpy as np

from detent.errors import ParameterError
from detent.kernels.friction import DEADBANDS, LAWS
from detent.kernels.ringing import MATERIALS
from detent.kernels.walls import WALLS
from detent.servo.parameters import SCALE
from detent.setup.constants import JOINT_LIMIT_FREQUENCY, SAMPLES_PER_PERIOD
from detent.world.contact import METHODS, MODES, SELF_COLLISIONS, Contact


def least_rate(material: str) -> float:
    """[Hz] at which the servo must run, at least, for a material's vibration."""
    return SAMPLES_PER_PERIOD * MATERIALS[material].frequency / (2.0 * np.pi)


def check_material(contact: Contact, rate: float) -> None:
    """Refuse a material whose vibration a servo of this rate [Hz] cannot follow."""
    if contact.material is None or rate >= least_rate(contact.material) * (1.0 - 1e-9):
        return
    least = least_rate(contact.material)
    allowed = f"one that rings more slowly, or the rate at least {least:g} Hz (it is {rate:g})"
    raise ParameterError("material", contact.material, allowed)


def fill_material(p: np.ndarray, contact: Contact) -> None:
    """How impulses ring at the device, into a parameter record whose step is set."""
    p["material"] = contact.material is not None
    p["material_omega"] = p["material_decay"] = 0.0
    if contact.material is None:
        return
    check_material(contact, 1.0 / float(p["step"][0]))
    p["material_omega"], p["material_decay"] = MATERIALS[contact.material]


def fill_contact(p: np.ndarray, contact: Contact) -> None:
    """Contact properties into a parameter record whose step and limits are set."""
    fill_material(p, contact)
    p["contact_mode"] = MODES.index(contact.mode)
    p["restitution_law"] = METHODS.index(contact.method)
    p["self_collision"] = SELF_COLLISIONS.index(contact.self_collision)
    p["clamp"] = contact.clamp
    p["collisions_only"] = contact.limit == "collision_only"
    p["rezero"] = contact.limit == "rezero"
    p["plastic"] = contact.limit == "plastic" and p["strategy"] >= SCALE
    p["stiffness"], p["damping"] = contact.gains
    p["resultant"] = contact.resultant
    p["restitution"] = contact.restitution
    p["joint_limit_frequency"] = JOINT_LIMIT_FREQUENCY
    wall, friction = contact.wall, contact.rubbing
    p["wall"] = WALLS.index(wall.law)
    p["wall_integral"] = wall.integral
    p["wall_blocks"] = wall.blocks
    p["wall_breakaway"] = wall.strongest(contact.gains[0], float(p["limit"][0, :3].min()))
    p["friction"] = LAWS.index(friction.law)
    p["friction_scene"] = friction.scene
    p["friction_static"] = friction.static
    p["friction_kinetic"] = friction.kinetic
    p["friction_breakaway"] = friction.breakaway
    p["friction_damping"] = friction.raw_damping
    p["friction_dead_band"] = friction.dead_band
    sliding = friction.law != "none" and friction.impacts and contact.method != "equality"
    p["friction_impacts"] = sliding and contact.mode == "impulse"
    p["friction_literal"] = DEADBANDS.index(friction.deadband)
