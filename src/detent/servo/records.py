"""What the tick reads and writes: the parameter record, the row record, and the arrays.

Every array lies on one preallocated block, sized from the model at load, so that a
tick allocates nothing and Numba compiles once for all worlds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from detent.kernels.impact_friction import FrictionWork
from detent.kernels.inertia import Inertia
from detent.kernels.mapping import MappingWork
from detent.kernels.struct import Struct
from detent.local.records import Local
from detent.servo.exchange import Slot

if TYPE_CHECKING:
    from detent.servo.display import Display

# Laws are data: an integer in the record and a branch in the kernel.
CONTACT_MODES = ("impulse", "penalty", "rigid")
IMPULSE, PENALTY, RIGID = range(3)
RESTITUTION_LAWS = ("complementarity", "equality")
SELF_COLLISION_ROWS = ("relative", "split")
COUPLINGS = ("four_channel", "direct", "virtual", "unilateral", "admittance")
FOUR_CHANNEL, DIRECT, VIRTUAL, UNILATERAL, ADMITTANCE = range(5)
STRATEGIES = ("full", "saturate", "scale", "spread")
FULL, SATURATE, SCALE, SPREAD = range(4)
HANDS = ("none", "sinusoid", "impedance", "playback")
NO_HAND, SINUSOID_HAND, IMPEDANCE_HAND, PLAYBACK_HAND = range(4)

# What a contact group, and so a body, is doing (TH 4.2).
FREE, COLLIDING, RESTING = range(3)

# Why the servo stopped.
INTEGRATORS = ("symplectic", "held")
SYMPLECTIC, HELD = range(2)

FAULTS = ("none", "the wrench for the device is not finite", "the world's motion is not finite")
NO_FAULT, WRENCH_NOT_FINITE, WORLD_NOT_FINITE = range(3)

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
        ("limit_frequency", "f8"),  # [rad/s] of the joint-limit penalty
        ("coupling", "i8"),
        ("coupling_k", "f8", 6),  # [N/m, N·m/rad]
        ("coupling_b", "f8", 6),  # [N·s/m, N·m·s/rad]
        ("adaptive_damping", "f8"),  # [s/m] K_b of TH D.6
        ("adaptive_most", "f8"),  # [N·s/m] that the step can hold
        ("shaping", "i8"),  # impedance control of the device's inertia (M19): off, or on
        ("shaping_damping", "f8", 6),  # [N·s/m, N·m·s/rad] b_d
        ("shaping_bias", "i8"),  # with J̇q̇ − J D⁻¹B (errata E10)
        ("topology_k", "f8"),  # [1/s²] k_tc, of the penalty on topological constraints (M20)
        ("topology_b", "f8"),  # [1/s] b_tc
        ("topology_literal", "i8"),  # euclidean directions (errata B2, TH 5.23)
        ("singular", "f8", 2),  # [-] where a direction becomes constrained, and free again
        ("closure_alpha", "f8"),  # [1/s] Baumgarte's frequency of the closures of loops
        ("closure_beta", "f8"),  # [-] and damping ratio
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
        ("limit", "f8", 6),  # [N, N·m] of the environment's wrench, inf = none
        ("frozen", "i8"),  # [ticks] for which inertia and constraint directions are kept; 0 = exact
        ("local_moving", "i8"),  # constraints move between updates (M25)
        ("local_inertia", "i8"),  # and give way as the objects behind them do (B4)
        ("local_literal", "i8"),  # contact points of the proxy as it is at the update (TH 6.1)
        ("local_recovery", "f8"),  # [s] of constraint interpolation, 0 = deformation (M26)
        ("local_speed", "f8"),  # [m/s] v_max of coherence (TH 6.13)
        ("local_turning", "f8"),  # [rad/s] ω_max
        ("local_angle", "f8"),  # [rad] θ_max
        ("local_age", "f8"),  # [s] after which an update is not trusted
        ("local_decay", "f8"),  # [s] in which its forces then vanish
        ("local_ramp", "f8"),  # [s] in which they return
        ("local_slew", "f8", 2),  # [N/s, N·m/s] fastest change that an update causes
        ("integrator", "i8"),  # velocity first, or positions as under a held force
        ("device_friction", "f8", 2),  # [N, N·m] Coulomb
        ("device_damping", "f8", 2),  # [N·s/m, N·m·s/rad]
        ("device_resolution", "f8"),  # [m] of the encoders, 0 = exact
        ("delay_ticks", "i8"),  # [ticks] of a simulated device
        ("filter_blend", "f8"),  # [-] 1 = no filter
        ("slew", "f8", 2),  # [N/tick, N·m/tick], inf = off
        ("cap", "f8", 6),  # [N, N·m], inf = off
    ]
)

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
        ("closure", "f8"),  # [m, rad] largest component of the errors of closed loops
        ("state", "i8"),  # of the tool's contact group: free, colliding, resting
        ("contacts", "i8"),  # touching rows of the tool's group
        ("collisions", "i8"),  # rows that received an impulse
        ("dropped", "i8"),  # contacts that did not fit
        ("depth", "f8"),  # [m] deepest penetration of the tool's group
        ("tool_energy", "f8"),  # [J] kinetic, of the tool's tree
        ("device_energy", "f8"),  # [J] kinetic
        ("impact_energy", "f8"),  # [J] change of kinetic energy by this tick's impulses
        ("update", "i8"),  # number of the newest update of a local model
        ("local", "i8"),  # constraints in it
        ("age", "f8"),  # [s] since it arrived
        ("trust", "f8"),  # [-] how much of it is rendered
        ("deformation", "f8"),  # [m] largest of the proxy
        ("update_step", "f8", 2),  # [N, N·m] change of contact wrenches in the tick of an update
        ("update_energy", "f8"),  # [J] by which an update loaded the springs of contacts
        ("bounded", "i8"),  # rows whose gains were bounded by the step
        ("altered", "i8"),  # 1 if the force path changed the wrench
        ("lateness_ns", "i8"),  # live only
        ("compute_ns", "i8"),  # live only
    ]
)

TIMING_FIELDS = ("lateness_ns", "compute_ns")


# Places of `Scene.features`.
# JOINT_DAMPING: C is not zero; IMPLICIT: it is more than the damping of joints.
TENDONS, ACTUATORS, GRAVITY, JOINT_DAMPING, NEVER_SINGULAR, PASSIVE, TOUCHABLE = range(7)
IMPLICIT, DRY_JOINTS, DRY_TENDONS = range(7, 10)


class Scene(Struct):
    """The world as the tick sees it: MuJoCo's memory, and what was prepared at load."""

    model: int  # addresses
    data: int
    nv: int
    features: np.ndarray  # (10,) see above
    qpos: np.ndarray
    qvel: np.ndarray
    passive: np.ndarray  # qfrc_passive
    actuator: np.ndarray  # qfrc_actuator
    bias: np.ndarray  # qfrc_bias
    xpos: np.ndarray
    xquat: np.ndarray
    xmat: np.ndarray
    cdof: np.ndarray
    cvel: np.ndarray
    subtree_com: np.ndarray
    subtree_mass: np.ndarray
    M: np.ndarray
    dof_damping: np.ndarray
    derivative: np.ndarray  # qDeriv: of smooth torques by velocities
    derivative_place: np.ndarray  # where it has the entries of M
    dry: np.ndarray  # (nv,) [N·m, N] dry friction of joints
    dry_reach: np.ndarray  # (nv,) [rad, m] by which it gives before it slips
    activation: np.ndarray  # (na,) state of actuators, its rate, its range
    activation_rate: np.ndarray
    activation_range: np.ndarray  # (na, 2)
    activation_time: np.ndarray  # (na,) [s] of an exact first-order filter, else 0
    tendon_length: np.ndarray
    tendon_velocity: np.ndarray
    tendon_dry: np.ndarray  # (ntendon,) [N] dry friction
    tendon_jac: np.ndarray  # derivatives of lengths, sparse
    tendon_start: np.ndarray
    tendon_count: np.ndarray
    tendon_dof: np.ndarray
    tendon_trees: np.ndarray  # (ntendon, 2) -1 = none
    dof_body: np.ndarray
    dof_parent: np.ndarray
    axes: np.ndarray  # (3, 3) x, y and z
    body_last_dof: np.ndarray  # the last dof that moves the body, -1 = none
    body_root: np.ndarray
    dof_tree: np.ndarray
    body_tree: np.ndarray
    gravity: np.ndarray
    ncon: np.ndarray
    contact: np.ndarray
    geom_body: np.ndarray
    geom_type: np.ndarray
    geom_size: np.ndarray
    geom_xpos: np.ndarray
    geom_xmat: np.ndarray
    geom_properties: np.ndarray  # (ngeom, 4) K, B, e, mu; NaN = the world's
    seam_start: np.ndarray  # (ngeom + 1,) into seam_geom: static geoms that touch this one
    seam_geom: np.ndarray
    geom_bounds: np.ndarray  # (ngeom, 6) of static geoms, upright in the world
    geom_upright: np.ndarray  # (ngeom,) 1 = a static box that fills its bounds
    gimbal_dof: np.ndarray  # hinges of bodies that have three: Euler angles may lock
    limit_dof: np.ndarray
    limit_qpos: np.ndarray
    limit_range: np.ndarray  # (n, 2)
    ball_dof: np.ndarray  # limited ball joints
    ball_qpos: np.ndarray
    ball_most: np.ndarray  # (n,) [rad]
    stop_tendon: np.ndarray  # limited tendons
    stop_range: np.ndarray  # (n, 2)
    equality_trees: np.ndarray  # (n, 2) trees joined by loop closures
    tool_tree: int
    in_tool: np.ndarray  # (ntree,) 1 = of the tool: its tree, and those its loops close over
    tool_first: int  # its first dof
    tool_end: int  # the dof behind its last one; dofs of others may lie between
    held_body: int
    body_mass: np.ndarray
    body_inertia: np.ndarray
    xipos: np.ndarray
    ximat: np.ndarray
    hand_point: np.ndarray  # (3,) in the held body's frame


class Rows(Struct):
    """Unilateral rows: contacts first, then joint limits. Capacity is the first axis."""

    tally: np.ndarray  # (5,) rows, dropped, bounded, impulses, rows of the present collision
    impact: np.ndarray  # (2,) [J, -] energy taken by impulses; restitution of the collision
    jac: np.ndarray  # (cap, nv) J
    white: np.ndarray  # (cap, nv) J, whitened
    separation: np.ndarray  # (cap,) [m] s, negative inside
    velocity: np.ndarray  # (cap,) [m/s] v_n, negative approaching
    stiffness: np.ndarray
    damping: np.ndarray
    restitution: np.ndarray
    friction: np.ndarray  # (cap,) [-] μ_s of the pair
    force: np.ndarray  # (cap,) [N]
    carry: np.ndarray  # (cap, 3) [m/s] of the plane of a local constraint, else 0
    rub: np.ndarray  # (cap, 3) [N] friction force on the second body
    slide: np.ndarray  # (cap, 3) [m/s] sliding velocity of contacts that rub
    rubbing: np.ndarray  # (cap,) which rows those are
    tangent: np.ndarray  # (cap, nv) rows along the sliding of those not on the held body, whitened
    pressing: np.ndarray  # (cap,) [N s²/m²] their normal forces over the square of that direction
    memory: np.ndarray  # (cap, MEMORY) of the contact, see the constants below
    local: np.ndarray  # (cap, 2, 3) the point in the frames of both geoms, or the world's if static
    old_count: np.ndarray  # (1,) contacts of the last tick
    old_row: np.ndarray  # (cap,) the rows that they were
    old_taken: np.ndarray  # (cap,) 1 = recognised in this tick
    old_geom: np.ndarray  # (cap, 2)
    old_local: np.ndarray  # (cap, 2, 3)
    old_normal: np.ndarray  # (cap, 3)
    old_memory: np.ndarray  # (cap, MEMORY)
    recalled: np.ndarray  # (cap,) the row that a contact was in the last tick, or -1
    bound: np.ndarray  # (cap,) [m/s] of J q̇⁺ in rigid time stepping
    worst: np.ndarray  # (3,) least share left of K and B by a bound; ticks in which one acted
    worst_geom: np.ndarray  # (2,) where that was
    joined: np.ndarray  # (cap,) 1 = joined a collision after its first solution
    geom: np.ndarray  # (cap, 2) -1 for a joint limit
    body: np.ndarray  # (cap, 2) what moves there, -1 = nothing (static) or a joint limit
    tree: np.ndarray  # (cap, 2) -1 = static
    normal: np.ndarray  # (cap, 3)
    point: np.ndarray  # (cap, 3)
    hit_row: np.ndarray  # (2 cap,) the row behind each row of the collision
    hit_jac: np.ndarray  # (2 cap, nv): two per row where self-collisions are split
    hit_restitution: np.ndarray  # (2 cap,) [-]
    hit_friction: np.ndarray  # (2 cap,) [-] μ_s, or μ_k of what slides; zero where there is none
    hit_tangent: np.ndarray  # (2 cap, 2, nv) rows of the sliding velocity
    hit_impulse: np.ndarray  # (2 cap,) [N·s]
    hit_slide: np.ndarray  # (2 cap, 2) [N·s] impulses along the tangents
    order: np.ndarray  # (ncon,) contacts, deepest first, when they do not fit
    parent: np.ndarray  # (ntree,) union-find over trees
    group_state: np.ndarray  # (ntree,) of the group whose root is this tree
    trust: np.ndarray  # (1,) [-] how much of contact forces is rendered
    spreading: np.ndarray  # (1,) 1 = the tool's last impulse was cut short and goes on
    constrained: np.ndarray  # (1,) 1 = a god object was held back by a contact
    group_restitution: np.ndarray  # (ntree,)
    touched: np.ndarray  # (ntree,) 1 = the tree touched something in the last tick
    loosened: np.ndarray  # (2,) the most by which the step lengthened a friction bond; ticks


# What a contact remembers while it lasts.
MEMORY_ZERO, MEMORY_STRUCK, MEMORY_FRICTION, MEMORY_WALL = 0, 1, 2, 7  # of MEMORY floats


class Motion(Struct):
    """Vectors and matrices of the proxy in configuration space, and at the hand."""

    inertia: Inertia  # D
    damped: Inertia  # D + T·C
    M: np.ndarray  # D + T·C in MuJoCo's layout, before it is factored
    drag: np.ndarray  # (nv,) what dry friction adds to the diagonal of C
    bond: np.ndarray  # (nv + ntendon,) stretch of what sticks
    rank_one: np.ndarray  # (2, nv) scratch: the row of a tendon
    torque: np.ndarray  # (nv,) all smooth torques of this tick
    external: np.ndarray  # (nv,) T_ext
    penalty: np.ndarray  # (nv,) torques of contact forces
    impulsive: np.ndarray  # (nv,) J_cᵀ p / T
    velocity: np.ndarray  # (nv,) q̇ after the impulses
    after: np.ndarray  # (nv,) q̇ after the collision that is being resolved
    scratch: np.ndarray  # (nv,)
    white: np.ndarray  # (nv,) scratch, whitened
    load: np.ndarray  # (2, nv, nv) Σ K jᵀj, Σ B jᵀj
    spun: np.ndarray  # (3,) ticks in which hinges were too fast; the fastest's dof and [rad/s]
    jac: np.ndarray  # (6, nv) J_h
    jac_white: np.ndarray  # (6, nv) J_h, whitened
    jac_rate: np.ndarray  # (6, nv) its rate, where it is needed
    vector3: np.ndarray  # (3, 3) scratch of friction
    twist: np.ndarray  # (6,) of the hand point
    mobility: np.ndarray  # (6, 6) Λ_h⁻¹
    link: np.ndarray  # (6, 6) M_hl, inertia of the held link
    inside: np.ndarray  # (2, 6, 6) Λ_h⁻¹ and M_hl within the device's subspace, packed
    mapping: MappingWork
    rank: np.ndarray  # (2,) of Λ_h⁻¹ there; topological constraints
    error: np.ndarray  # (2, 6) pose and twist of the device minus those of the tool
    reaction: np.ndarray  # (nv,) torques of the topological penalty on the linkage
    bias: np.ndarray  # (6,) J̇_h q̇ − J_h D⁻¹ B
    hand6: np.ndarray  # (6, 6) wrench on the tool, on the device; scratch
    point: np.ndarray  # (3,) the hand point in the world
    start: np.ndarray  # (7,) pose of the hand point at the start (held directions)


class Device(Struct):
    """A simulated impedance device, and the wrench on its way to it."""

    position: np.ndarray  # (3,)
    seen: np.ndarray  # (3,) the position as the encoders see it
    quaternion: np.ndarray  # (4,)
    twist: np.ndarray  # (6,)
    mass: np.ndarray  # (6, 6)
    mobility: np.ndarray  # (6, 6) M⁻¹ in the subspace, zero outside
    mask: np.ndarray  # (6,) 1 inside the device's motion subspace
    axes: np.ndarray  # (6,) the axes inside, first
    dimension: np.ndarray  # (1,) how many
    packed: np.ndarray  # (2, 6, 6) mass and mobility within it
    topology: np.ndarray  # (6,) wrench of the topological constraints
    acceleration: np.ndarray  # (6,)
    mean: np.ndarray  # (6,) velocity that moves it within the step
    wrench: np.ndarray  # (6,) to the device
    raw: np.ndarray  # (6,) before the force path
    filtered: np.ndarray  # (6,)
    hand: np.ndarray  # (6,) F_h
    environment: np.ndarray  # (6,) F_env
    felt: np.ndarray  # (6,) F_env as the device is to render it: impulses may ring
    resonance: np.ndarray  # (6, 4) memory of that ring
    resonating: np.ndarray  # (1,) 1 = it goes on
    lag: np.ndarray  # (6,) twist that the device has yet to receive from it
    delayed: np.ndarray  # (MAX_DELAY + 1, 6)


class Closures(Struct):
    """Loops: the bodies or joints that each closure ties, and its rows."""

    kind: np.ndarray  # (n,) a pin, a weld, a coupling of joints or of tendons
    body: np.ndarray  # (n, 2)
    point: np.ndarray  # (n, 2, 3) in the frames of the bodies
    quaternion: np.ndarray  # (n, 2, 4) likewise
    dof: np.ndarray  # (n, 2) of coupled joints, the second may be -1
    qpos: np.ndarray  # (n, 2)
    tendon: np.ndarray  # (n, 2) coupled tendons, the second may be -1
    reference: np.ndarray  # (n, 2) positions of joints, lengths of tendons in the scene's own pose
    polynomial: np.ndarray  # (n, 5)
    first: np.ndarray  # (n + 1,) row at which each begins
    W: np.ndarray  # (rows, nv) ∂h/∂q
    white: np.ndarray  # (rows, nv) scratch
    h: np.ndarray  # (rows,) [m, rad]
    wanted: np.ndarray  # (rows,) W q̈ that closes them
    covered: np.ndarray  # (rows,) scratch
    rates: np.ndarray  # (rows,) scratch
    jac: np.ndarray  # (2, 6, nv) scratch: rate of J of the point and of the rotation
    place: np.ndarray  # (2, 7) scratch: where the two points are


class Clock(Struct):
    """Counters of the loop. All integers."""

    counts: np.ndarray  # ticks, skips, fault, altered, started [ns], stop
    lateness: np.ndarray  # (bins,) histogram [µs]
    compute: np.ndarray  # (bins,) histogram [µs]
    timespec: np.ndarray  # (2,)


TICKS, SKIPS, FAULT, ALTERED, STARTED, STOP = range(6)
MAX_DELAY = 64  # [ticks]


class Servo(Struct):
    """All that the loop works on."""

    scene: Scene
    motion: Motion
    rows: Rows
    work: FrictionWork
    closures: Closures
    local: Local
    device: Device
    display: Display  # of an admittance coupling
    clock: Clock
    parameters: np.ndarray  # (1,) PARAMETERS
    parameter_bytes: np.ndarray  # the same memory
    target: np.ndarray  # (7,) where an impedance hand wants to be
    target_bytes: np.ndarray
    script: np.ndarray  # (ticks, 6) what a playback hand does [N, N·m]
    poses: np.ndarray  # (nbody, 7) for whoever draws
    pose_bytes: np.ndarray
    commands: Slot  # parameters, towards the servo
    targets: Slot  # hand targets, towards the servo
    updates: Slot  # of the local model, towards the servo
    states: Slot  # of the proxy, from the servo
    state: np.ndarray  # (1 + nq + 2 nv,) time, qpos, qvel, impulses of contacts so far
    state_bytes: np.ndarray
    views: Slot  # poses and the newest row, from the servo
    ring: np.ndarray  # (n,) ROW
    ring_bytes: np.ndarray  # (n, bytes)
    written: np.ndarray  # (1,) rows written so far
    stages: np.ndarray  # (STAGES,) addresses, see servo.compile


(
    STAGE_SENSE,
    STAGE_CLOSE,
    STAGE_APPROACH,
    STAGE_WEIGH,
    STAGE_COLLIDE,
    STAGE_PROJECT,
    STAGE_RIGID,
    STAGE_RUB,
    STAGE_REACT,
    STAGE_LIMIT,
    STAGE_RESONATE,
    STAGE_SHAPE,
    STAGE_SMOOTH,
    STAGE_COUPLE,
    STAGE_MOVE,
    STAGE_REPORT,
    STAGE_TICK,
    STAGE_ADMIT,
    STAGE_TRAVEL,
) = range(19)
STAGES = 19


class Block:
    """One preallocated, zeroed block of memory from which arrays are cut."""

    def __init__(self, size: int) -> None:
        self._memory = np.zeros(size, np.uint8)
        self._used = 0

    def array(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """The next array of the block, aligned to a cache line."""
        kind = np.dtype(dtype)
        count = int(np.prod(shape))
        start = -(-self._used // 64) * 64
        end = start + count * kind.itemsize
        if end > self._memory.size:
            raise MemoryError("the block of the tick is too small")  # a bug, not a user's error
        self._used = end
        return self._memory[start:end].view(kind).reshape(shape)
