"""The structs of a world's tick: all that it reads and writes.

Every array is allocated when a session is prepared, sized from the model, so that a tick
allocates nothing and Numba compiles once for all worlds. docs/structs-and-stages.md says how.
"""

from __future__ import annotations

import numpy as np

from detent.devices.port import Port
from detent.kernels.inertia import Inertia
from detent.kernels.rank import MappingWork
from detent.kernels.sliding import FrictionWork
from detent.kernels.struct import Struct
from detent.local.records import Local
from detent.servo.guarded import Guarded
from detent.servo.loop.exchange import Slot
from detent.servo.observed import Observed
from detent.servo.world.slumber import Sleep
from detent.shapes.structs import Shapes

# Places of `Scene.features`.
# JOINT_DAMPING: C is not zero; IMPLICIT: it is more than the damping of joints.
# NEVER_SINGULAR: 1 = the hand moves in all directions in every pose, FREE_BODY = as a free body.
TENDONS, ACTUATORS, GRAVITY, JOINT_DAMPING, NEVER_SINGULAR, PASSIVE, TOUCHABLE = range(7)
# TURNING: some contacts resist turning.
IMPLICIT, DRY_JOINTS, DRY_TENDONS, TURNING = range(7, 11)
FREE_BODY = 2


class Scene(Struct):
    """The world as the tick sees it: MuJoCo's memory, and what was prepared at load."""

    model: int  # addresses
    data: int
    nv: int
    features: np.ndarray  # (11,) see above
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
    control: np.ndarray  # (nu,) what actuators are told
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
    tree_dofs: np.ndarray  # (ntree, 2) first dof and size of the tree
    tree_awake: np.ndarray  # (ntree,) MuJoCo's: 0 = sleeps
    tree_span: np.ndarray  # (ntree, 2) first dof and size of the tree, and of all it is tied to
    tree_free: np.ndarray  # (ntree,) 1 = one free body, whose span is its own six dofs
    tree_load: np.ndarray  # (ntree,) where the matrices of that span lie in `Motion.load`
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
    nested: np.ndarray  # (n, 4) geoms that do not touch, when they will, were they found so
    corner_start: np.ndarray  # (ngeom + 1,) where those of a box or a mesh begin
    corners: np.ndarray  # (n, 3) in the frames of their geoms; none without cylinders
    seam_start: np.ndarray  # (ngeom + 1,) into the following: the tree of what touches this geom
    seam_geom: np.ndarray  # a static geom, -1 = a knot with others below it
    seam_skip: np.ndarray  # the next one that is not below it
    seam_bounds: np.ndarray  # (n, 6) of all that is below it
    geom_bounds: np.ndarray  # (ngeom, 6) of static geoms, upright in the world
    geom_upright: np.ndarray  # (ngeom,) 1 = a static box that fills its bounds
    spin_dof: np.ndarray  # (n,) first turning dof of bodies on a free or ball joint alone
    spin_qpos: np.ndarray  # (n,) of their quaternions
    spin_free: np.ndarray  # (n,) 1 = a free joint
    spin_inertia: np.ndarray  # (n, 3, 3) about the middle, or about the ball, in the body's axes
    spin_inverse: np.ndarray  # (n, 3, 3)
    spin_middle: np.ndarray  # (n, 3) from the origin, in the body's axes
    gimbal_dof: np.ndarray  # hinges of bodies that have three: Euler angles may lock
    joint_limit_dof: np.ndarray
    joint_limit_qpos: np.ndarray
    joint_limit_range: np.ndarray  # (n, 2)
    ball_dof: np.ndarray  # limited ball joints
    ball_qpos: np.ndarray
    ball_most: np.ndarray  # (n,) [rad]
    tendon_limit: np.ndarray  # limited tendons
    tendon_limit_range: np.ndarray  # (n, 2)
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


# What a contact group, and so a body, is doing (TH 4.2).
FREE, COLLIDING, RESTING = range(3)


class Rows(Struct):
    """Unilateral rows: contacts first, then joint limits. Capacity is the first axis."""

    count: np.ndarray  # (1,) how many there are in this tick
    dropped: np.ndarray  # (1,) contacts that did not fit
    bounded: np.ndarray  # (1,) rows whose gains the step bounded
    struck: np.ndarray  # (1,) rows that received an impulse
    hits: np.ndarray  # (1,) rows of the collision that is being resolved
    impact: np.ndarray  # (3,) [J, -, J] energy of all impulses; of one collision: e, its energy
    span: np.ndarray  # (cap, 2, 2) first dof and size of what the row moves: its columns
    jac: np.ndarray  # (cap, width) J in those columns; what stands behind them is of other ticks
    white: np.ndarray  # (cap, width) J, whitened
    gain: np.ndarray  # (cap, 4) G_ii, y·K y, y·B y, scratch: what loads a row that may be too stiff
    separation: np.ndarray  # (cap,) [m] s, negative inside
    velocity: np.ndarray  # (cap,) [m/s] v_n, negative approaching
    stiffness: np.ndarray
    damping: np.ndarray
    restitution: np.ndarray
    friction: np.ndarray  # (cap,) [-] μ_s of the pair
    turning: np.ndarray  # (cap, 2) [m] its torsional and its rolling coefficient, static
    force: np.ndarray  # (cap,) [N]
    carry: np.ndarray  # (cap, 3) [m/s] of the plane of a local constraint, else 0
    rub: np.ndarray  # (cap, 3) [N] friction force on the second body
    slide: np.ndarray  # (cap, 3) [m/s] sliding velocity of contacts that rub
    rubbing: np.ndarray  # (cap,) which rows those are
    tangent: np.ndarray  # (cap, width) whitened rows along the sliding of those not on the tool
    tangent_row: np.ndarray  # (cap,) the rows behind them
    pressing: np.ndarray  # (cap,) [N s²/m²] their normal forces over the square of that direction
    memory: np.ndarray  # (cap, CONTACT_MEMORY) of the contact, see kernels.constants
    local: np.ndarray  # (cap, 2, 3) the point in the frames of both geoms, or the world's if static
    old_count: np.ndarray  # (1,) contacts of the last tick
    old_row: np.ndarray  # (cap,) the rows that they were
    old_taken: np.ndarray  # (cap,) 1 = recognised in this tick
    patch: np.ndarray  # (cap,) of a shape that is felt as it is, else -1
    old_patch: np.ndarray  # (cap,)
    old_geom: np.ndarray  # (cap, 2)
    old_local: np.ndarray  # (cap, 2, 3)
    old_normal: np.ndarray  # (cap, 3)
    old_memory: np.ndarray  # (cap, CONTACT_MEMORY)
    recalled: np.ndarray  # (cap,) the row that a contact was in the last tick, or -1
    worst: np.ndarray  # (3,) least share left of K and B by a bound; ticks in which one acted
    worst_geom: np.ndarray  # (2,) where that was
    joined: np.ndarray  # (cap,) 1 = joined a collision after its first solution
    geom: np.ndarray  # (cap, 2) -1 for a joint limit
    body: np.ndarray  # (cap, 2) what moves there, -1 = nothing (static) or a joint limit
    tree: np.ndarray  # (cap, 2) -1 = static
    normal: np.ndarray  # (cap, 3)
    point: np.ndarray  # (cap, 3)
    hit_row: np.ndarray  # (2 cap,) the row behind each row of the collision
    hit_jac: np.ndarray  # (2 cap, width): two per row where self-collisions are split
    hit_bound: np.ndarray  # (2 cap,) [m/s] of J q̇⁺ in rigid time stepping
    hit_restitution: np.ndarray  # (2 cap,) [-]
    hit_friction: np.ndarray  # (2 cap,) [-] μ_s, or μ_k of what slides; zero where there is none
    hit_tangent: np.ndarray  # (2 cap, 2, width) rows of the sliding velocity
    hit_impulse: np.ndarray  # (2 cap,) [N·s]
    hit_slide: np.ndarray  # (2 cap, 2) [N·s] impulses along the tangents
    packs: np.ndarray  # (1,) spans of the collision that is being resolved
    packed: np.ndarray  # (ntree, 2) those, in ascending order
    place: np.ndarray  # (nv,) the column there of the first dof of a span, else -1
    slack_left: np.ndarray  # (1,) 1 = some of the following is left
    limit_slack: np.ndarray  # (n, 3) how far a limit starts violated, its rate [1/s], is it stuck
    blows: np.ndarray  # (ntree,) for how many ticks a tree has been colliding
    pressed: np.ndarray  # (capacity,) separation from where a row's spring has its zero
    geom_slack: np.ndarray  # (ngeom, 3) how deep a geom starts in another, likewise
    heap: np.ndarray  # (cap,) keys of the contacts that are kept when they do not fit
    lost: np.ndarray  # (3,) ticks with contacts that did not fit; the most of one tick; all
    parent: np.ndarray  # (ntree,) union-find over trees
    near: np.ndarray  # (ntree,) the same over trees with rows between them, touching or not
    group_row: np.ndarray  # (ntree,) the first row of the group whose root is this tree, or -1
    next_row: np.ndarray  # (cap,) the next row of the same group, or -1
    tree_row: np.ndarray  # (ntree,) the first of the rows between two spans, by span, or -1
    next_pair: np.ndarray  # (cap, 2) the next such row
    tree_gain: np.ndarray  # (ntree, 2) [1/s², 1/s] traces of G K and G B of the rows of a span
    group_load: np.ndarray  # (ntree,) [m/s²] Σ f_n G_tt of the contacts of a group that rub
    turning_load: np.ndarray  # (ntree,) Σ μ f_n G of those that resist turning
    braked: np.ndarray  # (nv,) scratch: the velocity ahead of what rubs
    group_state: np.ndarray  # (ntree,) of the group whose root is this tree
    trust: np.ndarray  # (1,) [-] how much of contact forces is rendered
    spreading: np.ndarray  # (1,) 1 = the tool's last impulse was cut short and goes on
    yields: np.ndarray  # (1,) 1 = walls yield for a while, whatever the parameters say
    yielded: np.ndarray  # (3,) [m, J, m/s] farthest plastic wall; energy taken; speed of return
    constrained: np.ndarray  # (1,) 1 = a god object was held back by a contact
    group_restitution: np.ndarray  # (ntree,)
    touched: np.ndarray  # (ntree,) 1 = the tree touched something in the last tick
    loosened: np.ndarray  # (2,) the most by which the step lengthened a friction bond; ticks


class Motion(Struct):
    """Vectors and matrices of the proxy in configuration space, and at the hand."""

    inertia: Inertia  # D
    damped: Inertia  # D + T·C
    M: np.ndarray  # D + T·C in MuJoCo's layout, before it is factored
    dry_damping: np.ndarray  # (nv,) what dry friction adds to the diagonal of C
    bond: np.ndarray  # (nv + ntendon,) stretch of what sticks
    rank_one: np.ndarray  # (2, nv) scratch: the row of a tendon
    torque: np.ndarray  # (nv,) all smooth torques of this tick
    external: np.ndarray  # (nv,) T_ext
    penalty: np.ndarray  # (nv,) torques of contact forces
    impulsive: np.ndarray  # (nv,) J_cᵀ p / T
    velocity: np.ndarray  # (nv,) q̇ after the impulses
    after: np.ndarray  # (nv,) q̇ after the collision that is being resolved
    met: np.ndarray  # (nv,) the same as the step's damping leaves it
    scratch: np.ndarray  # (nv,)
    white: np.ndarray  # (nv,) scratch, whitened
    load: np.ndarray  # (2, Σ n²) Σ K jᵀj and Σ B jᵀj of the rows of each span alone
    turn: np.ndarray  # (11,) scratch: a quaternion, by how much it turns, and then
    spun: np.ndarray  # (3,) ticks in which hinges were too fast; the fastest's dof and [rad/s]
    jac: np.ndarray  # (6, nv) J_h
    jac_white: np.ndarray  # (6, nv) J_h, whitened
    jac_rate: np.ndarray  # (6, nv) its rate, where it is needed
    twist: np.ndarray  # (6,) of the hand point
    mobility: np.ndarray  # (6, 6) Λ_h⁻¹
    open: np.ndarray  # (6, 6) the same if loops were cut, where there are any
    link: np.ndarray  # (6, 6) M_hl, inertia of the held link
    inside: np.ndarray  # (2, 6, 6) Λ_h⁻¹ and M_hl within the device's subspace, packed
    mapping: MappingWork
    rank: np.ndarray  # (2,) of Λ_h⁻¹ there; topological constraints
    tied: np.ndarray  # (6,) [-] how far each of the least free directions counts as constrained
    slack: np.ndarray  # (6,) by how much the device was ahead when constraints came, as far as left
    error: np.ndarray  # (2, 6) pose and twist of the device minus those of the tool
    reaction: np.ndarray  # (nv,) torques of the topological penalty on the linkage
    bias: np.ndarray  # (6,) J̇_h q̇ − J_h D⁻¹ B
    on_tool: np.ndarray  # (6,) wrench of the coupling on the tool
    on_device: np.ndarray  # (6,) that of the position channel on the device
    pushed: np.ndarray  # (6,) scratch: what goes into a map at the hand
    mapped: np.ndarray  # (6,) scratch: what comes out of it
    part: np.ndarray  # (6,) scratch of those who call a map: one wrench
    other: np.ndarray  # (6,) and another
    point: np.ndarray  # (3,) the hand point in the world
    start: np.ndarray  # (7,) pose of the hand point at the start (held directions)


class Device(Struct):
    """The device as the tick reckons with it, and the wrench on its way to the port."""

    mass: np.ndarray  # (6, 6)
    mobility: np.ndarray  # (6, 6) M⁻¹ in the subspace, zero outside
    mask: np.ndarray  # (6,) 1 inside the device's motion subspace
    axes: np.ndarray  # (6,) the axes inside, first
    dimension: np.ndarray  # (1,) how many
    packed: np.ndarray  # (2, 6, 6) mass and mobility within it
    matched: np.ndarray  # (1,) 1 = impulses change its velocity by no more than the tool's
    topology: np.ndarray  # (6,) wrench of the topological constraints
    environment: np.ndarray  # (6,) F_env
    borne: np.ndarray  # (1,) [-] share of the tool's weight in it
    felt: np.ndarray  # (6,) F_env as the device is to render it: impulses may ring
    ring_memory: np.ndarray  # (6, 4) of impulses that ring
    ringing: np.ndarray  # (1,) 1 = one still does
    lag: np.ndarray  # (6,) twist that the device has yet to receive from it
    raw: np.ndarray  # (6,) wrench before the force path
    filtered: np.ndarray  # (6,)
    altered: np.ndarray  # (1,) 1 = the force path changed it
    guard: Guarded
    observed: Observed


class Lead(Struct):
    """What an admittance knows: the reference, what the device lacks of it, the hand's wrench."""

    gains: np.ndarray  # (3, 6, 6) K_p [1/s²], K_i [1/s³], K_d [1/s]
    senses: np.ndarray  # (1,) 1 = the device has a force sensor and takes a motion
    reference: np.ndarray  # (7,) pose
    twist: np.ndarray  # (6,) of the reference
    feedforward: np.ndarray  # (6,) ẍ_ff
    error: np.ndarray  # (2, 6) of pose and twist, as seen
    sum: np.ndarray  # (6,) ∫ e dt
    feedback: np.ndarray  # (6,) ẍ_fb
    sensed: np.ndarray  # (6,) the hand's wrench as the coupling knows it


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
    turning: np.ndarray  # (rows,) Ẇ q̇
    trust: np.ndarray  # (rows,) how much of an error is corrected
    angular: np.ndarray  # (rows,) 1 = of an angle
    span: np.ndarray  # (spans, 2) first dof and size of what loops tie together
    energy: np.ndarray  # (spans,) [J] kinetic, as it must be; negative = not known
    jac: np.ndarray  # (2, 6, nv) scratch: rate of J of the point and of the rotation
    place: np.ndarray  # (2, 7) scratch: where the two points are


# Places of `Clock.counts`.
# ALTERED: ticks that the force path changed; LATCHED: those of them with a zero that is held.
TICKS, SKIPS, FAULT, ALTERED, STARTED, STOP, LATCHED = range(7)


class Clock(Struct):
    """Counters of the loop. All integers."""

    counts: np.ndarray  # (8,) see above
    lateness: np.ndarray  # (bins,) histogram [µs]
    compute: np.ndarray  # (bins,) histogram [µs]
    timespec: np.ndarray  # (2,)


class Servo(Struct):
    """All that the loop works on."""

    scene: Scene
    motion: Motion
    rows: Rows
    work: FrictionWork
    closures: Closures
    sleep: Sleep
    shapes: Shapes
    local: Local
    port: Port
    device: Device
    lead: Lead
    clock: Clock
    parameters: np.ndarray  # (1,) PARAMETERS
    parameter_bytes: np.ndarray  # the same memory
    target: np.ndarray  # (7 + nu,) where an impedance hand wants to be; controls, NaN = as it is
    target_bytes: np.ndarray
    script: np.ndarray  # (ticks, 6) what a playback hand does [N, N·m]
    poses: np.ndarray  # (nbody, 7) for whoever draws
    shown: np.ndarray  # (most,) SHOWN: contacts, and directions that are lost
    pose_bytes: np.ndarray  # both
    commands: Slot  # parameters, towards the servo
    targets: Slot  # hand targets, towards the servo
    updates: Slot  # of the local model, towards the servo
    states: Slot  # of the proxy, from the servo
    state: np.ndarray  # (1 + nq + 2 nv,) time, qpos, qvel, impulses of contacts so far
    state_bytes: np.ndarray
    views: Slot  # poses, what is shown and the newest row, from the servo
    ring: np.ndarray  # (n,) ROW
    ring_bytes: np.ndarray  # (n, bytes)
    written: np.ndarray  # (1,) rows written so far
    stages: np.ndarray  # (PLACES,) addresses, see servo.places
