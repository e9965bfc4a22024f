"""The columns of a trace: one row per tick."""

from __future__ import annotations

import numpy as np

from detent.local.constants import OBJECTS
from detent.mechanism.mechanism import MOST, MOST_ENERGIES

ROW = np.dtype(
    [
        ("time", "f8"),  # [s] tick × T
        ("device_position", "f8", 3),  # [m]
        ("device_quaternion", "f8", 4),
        ("device_twist", "f8", 6),  # [m/s, rad/s]
        ("tool_position", "f8", 3),  # [m] of the hand point on the held link
        ("tool_quaternion", "f8", 4),
        ("tool_twist", "f8", 6),
        ("hand_wrench", "f8", 6),  # [N, N·m]
        ("environment_wrench", "f8", 6),  # F_env, TH 5.2
        ("raw_wrench", "f8", 6),  # what the coupling asked of the device
        ("device_wrench", "f8", 6),  # what the force path let through
        ("topology_wrench", "f8", 6),  # the part of it that holds topological constraints
        ("constraints", "i8"),  # how many topological constraints the hand is under
        ("closure", "f8"),  # [m] largest component of the errors of closed loops
        ("closure_angle", "f8"),  # [rad] likewise
        ("state", "i8"),  # of the tool's contact group: free, colliding, resting
        ("contacts", "i8"),  # touching rows of the tool's group
        ("collisions", "i8"),  # rows that received an impulse
        ("dropped", "i8"),  # contacts that did not fit
        ("depth", "f8"),  # [m] deepest penetration of the tool's group that some motion opens
        ("tool_energy", "f8"),  # [J] kinetic, of the tool's tree
        ("device_energy", "f8"),  # [J] kinetic
        ("yielded", "f8"),  # [m] how far a plastic wall of the tool's group is from its surface
        (
            "taken_energy",
            "f8",
        ),  # [J] that those walls took from it since it touches, less what they gave
        ("impact_energy", "f8"),  # [J] change of kinetic energy by this tick's impulses
        ("update", "i8"),  # number of the newest update of a local model
        ("local", "i8"),  # constraints in it
        ("age", "f8"),  # [s] since it arrived
        ("trust", "f8"),  # [-] how much of it is rendered
        ("deformation", "f8"),  # [m] largest of the proxy
        ("update_step", "f8", 2),  # [N, N·m] change of contact wrenches in the tick of an update
        ("update_energy", "f8"),  # [J] by which an update loaded the springs of contacts
        ("healed", "f8"),  # [J] spent on taking back deformation in this tick
        ("resets", "i8"),  # pressed pairs of shapes that an update unloaded, since the start
        (
            "near_body",
            "i8",
            OBJECTS,
        ),  # what moves near the tool, as the scene numbers it
        ("near_pose", "f8", 7 * OBJECTS),  # [m] place and quaternion of each, as the update saw it
        ("bounded", "i8"),  # rows whose gains were bounded by the step
        ("altered", "i8"),  # 1 if the force path changed the wrench
        ("port_energy", "f8"),  # [J] W: from the hand, by the force that was held
        ("passive_energy", "f8"),  # [J] with what the device took, and the world's sources
        ("engine_energy", "f8"),  # [J] from the tool to the world behind a local model
        ("passivity_wrench", "f8", 6),  # what the controller of passivity added
        ("passive", "i8"),  # 1 if it did
        ("lateness_ns", "i8"),  # live only
        ("compute_ns", "i8"),  # live only
    ]
)


TIMING_FIELDS = ("lateness_ns", "compute_ns")


#: a row of a mechanism: the tool is the reference, the device the display
MECHANISM_ROW = np.dtype(
    [
        *ROW.descr,
        ("coordinates", "f8", MOST),  # q
        ("velocities", "f8", MOST),  # u
        ("multipliers", "f8", MOST),  # λ of constraints, then of stops that hold
        ("reference_acceleration", "f8", 6),  # ẍ_ff
        ("seen_position", "f8", 3),  # [m] of the display, as the encoders see it
        ("seen_quaternion", "f8", 4),
        ("tracking_error", "f8", 6),  # [m, rad] reference minus what is seen
        ("sensed_wrench", "f8", 6),  # [N, N·m] what the mechanism is pushed with
        ("potential_energy", "f8"),  # [J]
        ("part_energies", "f8", MOST_ENERGIES),  # [J] kinetic, of the parts that were named
        ("forbidden_rate", "f8"),  # largest element of A u
        ("stop_energy", "f8"),  # [J] taken by stops in this tick
        ("track", "f8", 3),  # [m]
    ]
)
