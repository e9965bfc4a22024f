"""The first half of a tick: what MuJoCo knows about this state, as unilateral rows."""

from __future__ import annotations

from detent.kernels.inertia import factor_block
from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage
from detent.local.records import ACTIVE, FRESH
from detent.servo import places
from detent.servo.contact.groups import classify_groups
from detent.servo.contact.identity import keeps_memory, recall
from detent.servo.contact.joint_limits import gather_joint_limits
from detent.servo.contact.rows import gather_contacts, note_lost, respond, use_up_slack
from detent.servo.structs import (
    ACTUATORS,
    GRAVITY,
    PASSIVE,
    TENDONS,
    TICKS,
    TOUCHABLE,
    Motion,
    Scene,
    Servo,
)
from detent.servo.world.dry import damp
from detent.servo.world.sleep import collide, doze
from detent.servo.world.weight import weight_torque
from detent.world.bridge import (
    mj_comPos,
    mj_comVel,
    mj_fwdActuation,
    mj_fwdVelocity,
    mj_kinematics,
    mj_makeM,
    mj_rne,
    mj_tendon,
    mj_transmission,
)


@kernel
def update_physics(s: Servo) -> None:
    """Kinematics, contacts, bias, passive and actuator torques of the present state."""
    sc = s.scene
    mj_kinematics(sc.model, sc.data)
    mj_comPos(sc.model, sc.data)
    if sc.features[TENDONS] > 0:
        mj_tendon(sc.model, sc.data)
    if s.sleep.patience > 0:
        doze(s)
    if sc.features[TOUCHABLE] != 0:
        collide(s)
    if sc.features[ACTUATORS] > 0:
        mj_transmission(sc.model, sc.data)
    if sc.features[PASSIVE] != 0:
        mj_fwdVelocity(sc.model, sc.data)
    else:  # nothing passive: what is left of it
        mj_comVel(sc.model, sc.data)
        mj_rne(sc.model, sc.data, 0, sc.bias.ctypes.data)
    if sc.features[ACTUATORS] > 0:
        mj_fwdActuation(sc.model, sc.data)


@kernel
def update_inertia(sc: Scene, mo: Motion) -> None:
    """D of the present state, factored; `damp` makes D + T·C of it. Who sleeps keeps it."""
    mj_makeM(sc.model, sc.data)
    for t in range(sc.tree_dofs.shape[0]):
        if sc.tree_awake[t] != 0:
            first, size = sc.tree_dofs[t, 0], sc.tree_dofs[t, 1]
            factor_block(sc.M, mo.inertia, first, first + size)


@kernel
def is_fresh(s: Servo) -> bool:
    """Whether inertia and constraint directions are those of this tick, not of a tick before."""
    frozen = s.parameters["frozen"][0]
    if frozen != 0 and s.local.counts[ACTIVE] != 0:
        return s.local.counts[FRESH] != 0 or s.clock.counts[TICKS] == 0
    return frozen == 0 or s.clock.counts[TICKS] % frozen == 0


@kernel
def drop_coriolis(sc: Scene) -> None:
    """Leave only the weight in the bias, as a local model does (TH 6.3, S3 eq. 11)."""
    for j in range(sc.nv):
        sc.bias[j] = -weight_torque(sc, j) if sc.features[GRAVITY] != 0 else 0.0


@kernel
def update_dynamics(s: Servo) -> None:
    """Inertia, with joint damping and without, and the closures of loops, where they are due."""
    p, fresh = s.parameters, is_fresh(s)
    if fresh:
        update_inertia(s.scene, s.motion)
    damp(s.scene, s.motion, p["step"][0], fresh)
    if p["frozen"][0] != 0:
        drop_coriolis(s.scene)
    call_stage(s.stages[places.CLOSE], s)


@kernel
def sense(s: Servo) -> None:
    """Stage: everything about the present state that the response needs."""
    p = s.parameters
    update_physics(s)
    update_dynamics(s)
    if s.rows.slack_left[0] != 0:
        use_up_slack(s.rows, p["step"][0])
    gather_contacts(s.scene, s.motion, s.rows, p)
    gather_joint_limits(s.scene, s.rows, p)
    note_lost(s.rows)
    if keeps_memory(p, s.rows):
        recall(s.scene, s.rows)
    respond(s.scene, s.motion, s.rows, p)
    classify_groups(s.scene, s.rows, p["contact_mode"][0], p["step"][0])
