"""The first half of a tick: what MuJoCo knows about this state, as unilateral rows."""

from __future__ import annotations

import math

import numpy as np

from detent.kernels.contact import (
    CREEP,
    group_root,
    is_new,
    join_groups,
)
from detent.kernels.inertia import factor_inertia, project_on_closures, whiten_open_rows
from detent.kernels.jit import kernel
from detent.kernels.loops import DEPENDENT
from detent.kernels.stages import call_stage
from detent.kernels.vectors import clear_vector, dot, largest
from detent.local.records import ACTIVE, FRESH
from detent.servo.drag import drag
from detent.servo.identity import keeps_memory, recall
from detent.servo.records import (
    ACTUATORS,
    COLLIDING,
    FREE,
    GRAVITY,
    IMPULSE,
    PASSIVE,
    RESTING,
    RIGID,
    STAGE_CLOSE,
    TENDONS,
    TICKS,
    TOUCHABLE,
    Motion,
    Rows,
    Scene,
    Servo,
)
from detent.servo.seams import is_seam
from detent.servo.stops import gather_limits, stops
from detent.servo.weight import weight_torque
from detent.world.bridge import (
    mj_collision,
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

Vector = np.ndarray | tuple[float, float, float]

TOUCH = 1e-9  # [m] a rigid contact this near is touching
LEVER = 1e-9  # [m, -] a row that moves its bodies by less than this moves nothing
NO_IMPULSE = -0.99  # [-] a restitution below which a contact takes no part in collisions
SAME = 1e-9  # [m, -] two contacts are copies if row and separation agree to this


@kernel
def update_physics(sc: Scene, mo: Motion) -> None:
    """Kinematics, contacts, bias, passive and actuator torques of the present state."""
    mj_kinematics(sc.model, sc.data)
    mj_comPos(sc.model, sc.data)
    if sc.features[TENDONS] > 0:
        mj_tendon(sc.model, sc.data)
    if sc.features[TOUCHABLE] != 0:
        mj_collision(sc.model, sc.data)
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
    """D of the present state, factored; `drag` makes D + T·C of it."""
    mj_makeM(sc.model, sc.data)
    factor_inertia(sc.M, mo.inertia)


@kernel
def rank_contacts(sc: Scene, rows: Rows, room: int) -> int:
    """When the contacts do not fit: the tool's own first, then the deepest."""
    kept = 0
    for c in range(sc.ncon[0]):
        key = contact_key(sc, c)
        if kept == room and key >= contact_key(sc, rows.order[kept - 1]):
            continue
        slot = kept if kept < room else room - 1
        while slot > 0 and contact_key(sc, rows.order[slot - 1]) > key:
            rows.order[slot] = rows.order[slot - 1]
            slot -= 1
        rows.order[slot] = c
        kept = min(kept + 1, room)
    return kept


@kernel
def contact_key(sc: Scene, c: int) -> float:
    """Sorts contacts: smaller is more important."""
    g1, g2 = sc.contact["geom"][c, 0], sc.contact["geom"][c, 1]
    key = sc.contact["dist"][c]
    if g1 < 0 or g2 < 0:
        return key
    tree1, tree2 = sc.body_tree[sc.geom_body[g1]], sc.body_tree[sc.geom_body[g2]]
    if tree1 == sc.tool_tree or tree2 == sc.tool_tree:
        key -= 1e6
    return key


@kernel
def add_point_row(
    sc: Scene, body: int, point: np.ndarray, direction: Vector, sign: float, out: np.ndarray
) -> None:
    r"""out += sign · directionᵀ J of a point of a body, from MuJoCo's spatial axes.

    .. math:: d^T J_j = d^T (v_j + \omega_j \times r) = d^T v_j + \omega_j^T (r \times d)
    """
    centre, root = sc.subtree_com, sc.body_root[body]
    rx, ry, rz = point[0] - centre[root, 0], point[1] - centre[root, 1], point[2] - centre[root, 2]
    x, y, z = sign * direction[0], sign * direction[1], sign * direction[2]
    turn = (ry * z - rz * y, rz * x - rx * z, rx * y - ry * x)
    add_wrench(sc, body, turn, (x, y, z), out)


@kernel
def add_wrench(sc: Scene, body: int, turn: Vector, push: Vector, out: np.ndarray) -> None:
    """out += the torques of a moment and a force on a body, about MuJoCo's centre of its tree."""
    cdof, parent = sc.cdof, sc.dof_parent  # read once: what is written might be the table itself
    mx, my, mz, x, y, z = turn[0], turn[1], turn[2], push[0], push[1], push[2]
    j = sc.body_last_dof[body]
    while j >= 0:
        rotation = cdof[j, 0] * mx + cdof[j, 1] * my + cdof[j, 2] * mz
        out[j] += rotation + (cdof[j, 3] * x + cdof[j, 4] * y + cdof[j, 5] * z)
        j = parent[j]


@kernel
def write_contact_row(sc: Scene, rows: Rows, c: int, r: int) -> None:
    """Row r ← contact c: J = nᵀ(J₂ − J₁), n from geom 1 to geom 2 (TH 4.21)."""
    for side in range(2):
        geom = sc.contact["geom"][c, side]
        body = sc.geom_body[geom]
        rows.geom[r, side] = geom
        rows.tree[r, side] = sc.body_tree[body]
        rows.body[r, side] = body if sc.body_tree[body] >= 0 else -1
    for k in range(3):
        rows.normal[r, k] = sc.contact["frame"][c, k]
        rows.point[r, k] = sc.contact["pos"][c, k]
    rows.separation[r] = sc.contact["dist"][c]
    for j in range(sc.nv):
        rows.jac[r, j] = 0.0
    add_relative_row(sc, rows, r, rows.normal[r], rows.jac[r])


@kernel
def add_relative_row(sc: Scene, rows: Rows, r: int, direction: Vector, out: np.ndarray) -> None:
    """out += directionᵀ(J₂ − J₁) at the contact of row r."""
    for side in range(2):
        if rows.body[r, side] >= 0:
            sign = 1.0 if side == 1 else -1.0
            add_point_row(sc, rows.body[r, side], rows.point[r], direction, sign, out)


@kernel
def add_normal_row(sc: Scene, rows: Rows, r: int, side: int, sign: float) -> None:
    """rows.jac[r] += sign · nᵀ J of the body on that side."""
    add_point_row(sc, rows.body[r, side], rows.point[r], rows.normal[r], sign, rows.jac[r])


@kernel
def pair_property(sc: Scene, geom1: int, geom2: int, column: int, world: float) -> float:
    """The smaller of two geoms' values; NaN stands for the world's."""
    a, b = sc.geom_properties[geom1, column], sc.geom_properties[geom2, column]
    a = world if math.isnan(a) else a
    b = world if math.isnan(b) else b
    return min(a, b)


@kernel
def forget_round_off(row: np.ndarray) -> None:
    """Clear the row of a contact or closure that no joint moves: what is left is round-off."""
    if largest(row) <= LEVER:
        clear_vector(row)


@kernel
def is_copy(rows: Rows, r: int, nv: int) -> bool:
    """Whether an earlier row is the same constraint (the z-copies of a planar contact)."""
    for i in range(r):
        if abs(rows.separation[i] - rows.separation[r]) > SAME:
            continue
        same = True
        for j in range(nv):
            if abs(rows.jac[i, j] - rows.jac[r, j]) > SAME:
                same = False
                break
        if same:
            return True
    return False


@kernel
def gather_contacts(sc: Scene, mo: Motion, rows: Rows, p: np.ndarray) -> None:
    """All contacts of the world as rows; copies and seams are left out."""
    room = rows.jac.shape[0] - stops(sc)
    found = sc.ncon[0]
    ranked = found > room
    if ranked:
        found = rank_contacts(sc, rows, room)
    rows.tally[1] = sc.ncon[0] - found
    r = 0
    for i in range(found):
        c = rows.order[i] if ranked else i
        g1, g2 = sc.contact["geom"][c, 0], sc.contact["geom"][c, 1]
        if g1 < 0 or g2 < 0 or (sc.contact["dist"][c] > 0.0 and p["contact_mode"][0] != RIGID):
            continue
        if sc.body_tree[sc.geom_body[g1]] < 0 and sc.body_tree[sc.geom_body[g2]] < 0:
            continue
        write_contact_row(sc, rows, c, r)
        forget_round_off(rows.jac[r])
        if is_copy(rows, r, sc.nv) or is_seam(sc, rows, r):
            continue
        rows.stiffness[r] = pair_property(sc, g1, g2, 0, p["stiffness"][0])
        rows.damping[r] = pair_property(sc, g1, g2, 1, p["damping"][0])
        rows.restitution[r] = pair_property(sc, g1, g2, 2, p["restitution"][0])
        rows.friction[r] = pair_property(sc, g1, g2, 3, p["friction_static"][0])
        r += 1
    rows.tally[0] = r


@kernel
def yield_to_closures(mo: Motion, rows: Rows, r: int, nv: int) -> None:
    """Project a whitened row on the closures of loops; clear a row that they resist alone.

    What would be left of it is their drift, and dividing by that would move the linkage by
    anything. The contact keeps its force, which the loop balances.
    """
    before = dot(rows.white[r], rows.white[r], nv)
    taken = project_on_closures(mo.inertia, rows.white[r])
    if before - taken < DEPENDENT * DEPENDENT * before:
        clear_vector(rows.white[r])
        clear_vector(rows.jac[r])
        rows.velocity[r] = 0.0


@kernel
def respond(sc: Scene, mo: Motion, rows: Rows, p: np.ndarray) -> None:
    """Velocities of the rows, and the rows whitened; gains of the limits."""
    for r in range(rows.tally[0]):
        v = 0.0
        for j in range(sc.nv):
            v += rows.jac[r, j] * sc.qvel[j]
            rows.white[r, j] = rows.jac[r, j]
        rows.velocity[r] = v
    whiten_open_rows(mo.inertia, rows.tally[0], rows.white)
    for r in range(rows.tally[0]):
        if mo.inertia.closed[0] > 0:
            yield_to_closures(mo, rows, r, sc.nv)
        if rows.stiffness[r] < 0.0:
            mobility = dot(rows.white[r], rows.white[r], sc.nv)
            mass = 1.0 / mobility if mobility > 0.0 else 0.0  # none: loops hold that joint
            omega = min(p["limit_frequency"][0], 0.25 / p["step"][0])
            rows.stiffness[r] = omega * omega * mass
            rows.damping[r] = 2.0 * omega * mass


@kernel
def classify_groups(sc: Scene, rows: Rows, mode: int, step: float) -> None:
    """Contact groups and their states: free, colliding or resting (TH 4.2).

    Only impulses know a colliding state. Rigid contacts touch within round-off.
    """
    touch = TOUCH if mode == RIGID else 0.0
    for t in range(rows.parent.shape[0]):
        rows.parent[t] = t
        rows.group_state[t] = FREE
        rows.group_restitution[t] = 1.0
    for i in range(sc.equality_trees.shape[0]):
        join_groups(rows.parent, sc.equality_trees[i, 0], sc.equality_trees[i, 1])
    for r in range(rows.tally[0]):
        if rows.separation[r] <= touch:
            join_groups(rows.parent, rows.tree[r, 0], rows.tree[r, 1])
    for r in range(rows.tally[0]):
        if rows.separation[r] > touch:
            continue
        root = row_group(rows, r)
        strikes = rows.restitution[r] > NO_IMPULSE
        if strikes:
            rows.group_restitution[root] = min(rows.group_restitution[root], rows.restitution[r])
        goes_on = rows.spreading[0] != 0 and rows.velocity[r] < 0.0
        spread = goes_on and root == group_root(rows.parent, sc.tool_tree)
        new = spread or arrives(rows, r) or is_new(rows.separation[r], rows.velocity[r], step)
        if new and strikes and mode == IMPULSE:
            rows.group_state[root] = COLLIDING
        elif rows.group_state[root] == FREE:
            rows.group_state[root] = RESTING
    note_touched(rows, touch)


@kernel
def arrives(rows: Rows, r: int) -> bool:
    """Whether row r is a contact of a tree that touched nothing before, and approaches.

    Such a contact is new, however fast the body turns; `is_new` takes its path for straight.
    """
    if rows.geom[r, 0] < 0 or rows.velocity[r] >= -CREEP:
        return False
    for side in range(2):
        tree = rows.tree[r, side]
        if tree >= 0 and rows.touched[tree] == 0:
            return True
    return False


@kernel
def note_touched(rows: Rows, touch: float) -> None:
    """Which trees touch something, for the next tick."""
    clear_vector(rows.touched)
    for r in range(rows.tally[0]):
        if rows.separation[r] <= touch and rows.geom[r, 0] >= 0:
            for side in range(2):
                if rows.tree[r, side] >= 0:
                    rows.touched[rows.tree[r, side]] = 1


@kernel
def row_group(rows: Rows, r: int) -> int:
    """The group of a row: that of whichever of its two trees moves."""
    tree = rows.tree[r, 0] if rows.tree[r, 0] >= 0 else rows.tree[r, 1]
    return group_root(rows.parent, tree)


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
def sense(s: Servo) -> None:
    """Stage: everything about the present state that the response needs."""
    p = s.parameters
    update_physics(s.scene, s.motion)
    fresh = is_fresh(s)
    if fresh:
        update_inertia(s.scene, s.motion)
    drag(s.scene, s.motion, p["step"][0], fresh)
    if p["frozen"][0] != 0:
        drop_coriolis(s.scene)
    if s.closures.kind.shape[0] > 0:
        call_stage(s.stages[STAGE_CLOSE], s)
    gather_contacts(s.scene, s.motion, s.rows, p)
    gather_limits(s.scene, s.rows, p)
    if keeps_memory(p):
        recall(s.scene, s.rows)
    respond(s.scene, s.motion, s.rows, p)
    classify_groups(s.scene, s.rows, p["contact_mode"][0], p["step"][0])
