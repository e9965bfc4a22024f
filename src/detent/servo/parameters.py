"""The parameter record of a tick. Laws are data: an integer here, and a branch in the kernel."""

from __future__ import annotations

import numpy as np

IMPULSE, PENALTY, RIGID = range(3)  # contact_mode
FULL, SATURATE, SCALE, SPREAD = range(4)  # strategy (M8)
NO_HAND, SINUSOID_HAND, IMPEDANCE_HAND, PLAYBACK_HAND = range(4)  # hand

# What a coupling does: columns of the record, described by `detent.coupling.base.Channels`.
NEVER, ALWAYS, CONSTRAINED = range(3)  # device_position: when the position channel acts
PULLED, MOVED, GOD_OBJECT = range(3)  # tool: by a wrench; to the device; as far as contacts let it

# passivity: who watches over energy; the last four act
UNWATCHED, OBSERVED, DAMPER, REFERENCE, TANK = range(5)

PARAMETERS = np.dtype(
    [
        ("step", "f8"),  # [s] T
        ("contact_mode", "i8"),
        ("restitution_law", "i8"),
        ("self_collision", "i8"),
        ("clamp", "i8"),  # a contact never pulls (errata B2, TH 4.5)
        ("stiffness", "f8"),  # [N/m] of the world; NaN in the per-geom array means this
        ("damping", "f8"),  # [N·s/m]
        ("resultant", "i8"),  # stiffness and damping are those of all contacts together (B9)
        ("restitution", "f8"),  # [-]
        ("wall", "i8"),  # normal-force law at rest
        ("wall_integral", "f8"),  # [N/(m·s)] of the PI wall
        ("wall_blocks", "i8"),  # of the hysteretic wall
        ("wall_breakaway", "f8"),  # [N] of its first block
        ("friction", "i8"),  # law
        ("friction_scene", "i8"),  # coefficients are those of the scene, times the next two
        ("friction_static", "f8"),  # [-] μ_s
        ("friction_kinetic", "f8"),  # [-] μ_k
        ("friction_breakaway", "f8"),  # [m] z₀
        ("friction_damping", "f8"),  # [N·s/m], or minus a damping ratio
        ("friction_dead_band", "f8"),  # [m/s] v_min
        ("friction_literal", "i8"),  # TH 4.8 to the letter (errata E7)
        ("friction_impacts", "i8"),  # collisions with Coulomb friction
        ("material", "i8"),  # how impulses ring at the device (B7): 0 = not at all
        ("material_omega", "f8"),  # [rad/s]
        ("material_decay", "f8"),  # [1/s]
        ("joint_limit_frequency", "f8"),  # [rad/s] of the penalty of a joint limit
        ("device_force", "i8"),  # the device feels the environment's wrench
        ("device_position", "i8"),  # and the position channel: never, always, constrained
        ("tool", "i8"),  # is pulled, moved, or a god object
        ("hand_on_tool", "i8"),  # the hand's wrench, as it is known, acts on the tool
        ("leads", "i8"),  # the tool leads, and the device follows (admittance)
        ("coupling_k", "f8", 6),  # [N/m, N·m/rad]
        ("coupling_b", "f8", 6),  # [N·s/m, N·m·s/rad]
        ("adaptive_damping", "f8"),  # [s/m] K_b of TH D.6
        ("adaptive_most", "f8"),  # [N·s/m] that the step can hold
        ("shaping", "i8"),  # impedance control of the device's inertia (M19): off, or on
        ("shaping_damping", "f8", 6),  # [N·s/m, N·m·s/rad] b_d
        ("shaping_bias", "i8"),  # with J̇q̇ − J D⁻¹B (errata E10)
        ("topology_k", "f8"),  # [1/s²] k_tc, of the penalty on topological constraints (M20)
        ("topology_b", "f8"),  # [1/s] b_tc
        ("topology_ease", "f8"),  # [1/tick] by which a constraint comes or goes, 1 = at once
        ("topology_literal", "i8"),  # euclidean directions (errata B2, TH 5.23)
        ("singular", "f8", 2),  # [-] where a direction becomes constrained, and free again
        ("closure_alpha", "f8"),  # [1/s] Baumgarte's frequency of the closures of loops
        ("closure_beta", "f8"),  # [-] and damping ratio
        ("closure_projected", "i8"),  # 1 = positions are kept on the closures
        ("hold_k", "f8", 6),  # outside the device's subspace
        ("hold_b", "f8", 6),
        ("hand", "i8"),
        ("hand_bias", "f8", 6),  # [N, N·m]
        ("hand_amplitude", "f8", 6),  # [N, N·m]
        ("hand_omega", "f8"),  # [rad/s]
        ("hand_phase", "f8"),  # [rad]
        ("hand_k", "f8", 6),  # [N/m, N·m/rad]
        ("hand_b", "f8", 6),  # [N·s/m, N·m·s/rad]
        ("strategy", "i8"),  # what the simulation does about the device's limits (M8)
        ("collisions_only", "i8"),  # literal TH 4.5.2: only impulses are limited (errata E9)
        ("rezero", "i8"),  # the other remedy of errata E9
        ("plastic", "i8"),  # walls yield where the device's limits bind, and come back slowly
        ("limit", "f8", 6),  # [N, N·m] of the environment's wrench at the device, inf = none
        ("frozen", "i8"),  # [ticks] for which inertia and constraint directions are kept; 0 = exact
        ("local_moving", "i8"),  # constraints move between updates (M25)
        ("local_inertia", "i8"),  # and give way as the objects behind them do (B4)
        ("local_literal", "i8"),  # contact points of the proxy as it is at the update (TH 6.1)
        ("local_recovery", "f8"),  # [s] of constraint interpolation, 0 = deformation (M26)
        ("local_speed", "f8"),  # [m/s] v_max of coherence (TH 6.13)
        ("local_heal", "f8"),  # [m/s] at which deformation is taken back, 0 = not while pressed
        ("local_angle", "f8"),  # [rad] θ_max
        ("local_age", "f8"),  # [s] after which an update is not trusted
        ("local_decay", "f8"),  # [s] in which its forces then vanish
        ("local_ramp", "f8"),  # [s] in which they return
        ("local_slew", "f8", 2),  # [N/s, N·m/s] fastest change that an update causes
        ("integrator", "i8"),  # of the world: velocity first, or positions as under a held force
        ("passivity", "i8"),  # law of the observer and the controller
        ("passive_bound", "f8"),  # [-] a_max of its damper
        ("passive_memory", "i8"),  # [ticks] for which a deficit is remembered
        ("passive_compliance", "f8", 6),  # [m/N, rad/(N·m)] of the springs of the reference
        ("filter_blend", "f8"),  # [-] 1 = no filter
        ("slew", "f8", 2),  # [N/tick, N·m/tick], inf = off
        ("cap", "f8", 6),  # [N, N·m], inf = off
        ("ball", "f8", 2),  # [N, N·m] cap of the lengths of force and torque, 0 = off
        ("continuous", "f8", 2),  # [-] share of the caps that can be held for ever
        ("heat_blend", "f8"),  # [-] of the thermal time constant
        ("bearable", "f8"),  # [N] at most outside of impulses, inf = off
        ("ramp", "f8"),  # [1/tick] of the ramp-in when the device is engaged, 1 = at once
        ("fade", "f8"),  # [1/tick] of the ramp-in of what acts on the tool, 1 = at once
        ("reach", "f8"),  # [m] of the device from its start, 0 = off
        ("speed", "f8", 2),  # [m/s, rad/s] beyond which it gets no force, 0 = off
        ("silence", "i8"),  # [ticks] without a reading after which it is lost, 0 = off
        ("jumps", "i8"),  # a reading that no hand could cause is a fault
    ]
)
