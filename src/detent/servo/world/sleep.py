r"""Trees at rest that nothing moving touches sleep: they are neither sensed nor integrated.

A contact group sleeps when every point of it has been slower than `SLEEP_SPEED` for
`SLEEP_TIME`, and the tool is not in it; trees that loops or tendons tie sleep together. It wakes
as a whole in the tick in which a tree that is awake touches one of its trees, its state is
changed from outside, gravity changes, or new parameters arrive. A body that slept has lost its
velocity, so against a run without sleep it is late by at most

.. math:: |\Delta x| \le v_{sleep} \, t_{asleep}

and where contacts damp its motion with a time constant τ, by :math:`v_{sleep} \tau`. What its
contacts remember (bonds of friction, walls with a history) is kept and given back.

MuJoCo's own arrays say who sleeps: its kinematics, inertia, bias and collisions skip those
trees, and static geoms. Limitations: a body in an unstable equilibrium stays there, and what
creeps more slowly than `SLEEP_SPEED` stops.
"""

from __future__ import annotations

from detent.kernels.constants import CONTACT_MEMORY
from detent.kernels.contact import group_root, join_groups
from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage
from detent.servo import places
from detent.servo.constants import SLEEP_SPEED
from detent.servo.contact.identity import keeps_memory
from detent.servo.parameters import RIGID
from detent.servo.structs import Rows, Scene, Servo
from detent.servo.world.slumber import Sleep
from detent.world.bridge import mj_collision, mj_updateSleep

AWAKE = -11  # of MuJoCo's ``tree_asleep``: fully awake
NOBODY = -1


@kernel
def is_slow(sc: Scene, sl: Sleep, t: int) -> bool:
    """Whether no point of a tree moves faster than `SLEEP_SPEED`."""
    for j in range(sc.tree_dofs[t, 0], sc.tree_dofs[t, 0] + sc.tree_dofs[t, 1]):
        if not abs(sc.qvel[j]) * sl.length[j] < SLEEP_SPEED:
            return False
    return True


@kernel
def count_still(sc: Scene, sl: Sleep) -> bool:
    """For how many ticks each tree that is awake has been still; whether any may sleep."""
    found = False
    for t in range(sl.still.shape[0]):
        if sl.may[t] == 0 or sl.dozing[t] != 0:
            continue
        sl.still[t] = sl.still[t] + 1 if is_slow(sc, sl, t) else 0
        found = found or sl.still[t] >= sl.patience
    return found


@kernel
def find_groups(sc: Scene, sl: Sleep, rows: Rows) -> None:
    """sl.group ← contact groups of the last tick and what is tied; sl.ready: NOBODY = may sleep."""
    for t in range(sl.group.shape[0]):
        sl.group[t] = rows.parent[t]
    for t in range(sl.group.shape[0]):
        join_groups(sl.group, t, sc.dof_tree[sc.tree_span[t, 0]])
        sl.ready[t] = NOBODY
    for t in range(sl.group.shape[0]):
        if sl.dozing[t] == 0 and (sl.may[t] == 0 or sl.still[t] < sl.patience):
            sl.ready[group_root(sl.group, t)] = sl.group.shape[0]  # one is not ready: none is


@kernel
def keep_memories(sc: Scene, sl: Sleep, rows: Rows) -> None:
    """What the contacts of trees that have just fallen asleep remember."""
    for o in range(rows.old_count[0]):
        owner = NOBODY
        for side in range(2):
            t = sc.body_tree[sc.geom_body[rows.old_geom[o, side]]]
            if t >= 0 and sl.dozing[t] != 0:
                owner = t
        k = sl.kept[0]
        if owner == NOBODY or k == sl.kept_tree.shape[0]:
            continue
        sl.kept_tree[k], sl.kept_patch[k] = owner, rows.old_patch[o]
        for side in range(2):
            sl.kept_geom[k, side] = rows.old_geom[o, side]
            for i in range(3):
                sl.kept_local[k, side, i] = rows.old_local[o, side, i]
        for i in range(3):
            sl.kept_normal[k, i] = rows.old_normal[o, i]
        for i in range(CONTACT_MEMORY):
            sl.kept_memory[k, i] = rows.memory[rows.old_row[o], i]
        sl.kept[0] = k + 1


@kernel
def give_back(sl: Sleep, rows: Rows, k: int) -> None:
    """The contact k that was kept becomes one of the last tick, in a row behind the others."""
    o = rows.old_count[0]
    r = rows.old_row[o - 1] + 1 if o > 0 else 0
    if o == rows.old_row.shape[0] or r == rows.memory.shape[0]:
        return
    rows.old_row[o], rows.old_patch[o] = r, sl.kept_patch[k]
    for side in range(2):
        rows.old_geom[o, side] = sl.kept_geom[k, side]
        for i in range(3):
            rows.old_local[o, side, i] = sl.kept_local[k, side, i]
    for i in range(3):
        rows.old_normal[o, i] = sl.kept_normal[k, i]
    for i in range(CONTACT_MEMORY):
        rows.memory[r, i] = sl.kept_memory[k, i]
    rows.old_count[0] = o + 1


@kernel
def return_memories(sl: Sleep, rows: Rows) -> None:
    """The contacts of trees that woke; those of others move up."""
    left = 0
    for k in range(sl.kept[0]):
        if sl.dozing[sl.kept_tree[k]] == 0:
            give_back(sl, rows, k)
            continue
        if left < k:
            sl.kept_tree[left], sl.kept_patch[left] = sl.kept_tree[k], sl.kept_patch[k]
            sl.kept_geom[left] = sl.kept_geom[k]
            sl.kept_local[left] = sl.kept_local[k]
            sl.kept_normal[left] = sl.kept_normal[k]
            sl.kept_memory[left] = sl.kept_memory[k]
        left += 1
    sl.kept[0] = left


@kernel
def note_woken(sl: Sleep, rows: Rows) -> None:
    """Trees that MuJoCo or `wake` has woken are as they were when they fell asleep."""
    if sl.sleepers[0] == 0:
        return
    woken = 0
    for t in range(sl.dozing.shape[0]):
        if sl.dozing[t] != 0 and sl.asleep[t] < 0:
            sl.dozing[t], sl.still[t] = 0, 0
            rows.touched[t] = sl.touched[t]
            woken += 1
    if woken > 0:
        sl.sleepers[0] -= woken
        return_memories(sl, rows)


@kernel
def wake(sl: Sleep, t: int) -> None:
    """Tree t and all that fell asleep with it."""
    while sl.asleep[t] >= 0:
        following = sl.asleep[t]
        sl.asleep[t] = AWAKE
        t = following


@kernel
def is_stirred(s: Servo) -> bool:
    """Whether gravity changed or parameters arrived since the last tick."""
    sl, stirred = s.sleep, s.commands.reader[0] != s.sleep.command[0]
    sl.command[0] = s.commands.reader[0]
    for k in range(3):
        stirred = stirred or sl.gravity[k] != s.scene.gravity[k]
        sl.gravity[k] = s.scene.gravity[k]
    return stirred


@kernel
def fall_asleep(sc: Scene, sl: Sleep, rows: Rows, remembers: bool) -> None:
    """Every group that is ready, as a ring of trees that will wake together."""
    before = sl.sleepers[0]
    for t in range(sl.group.shape[0]):
        first = sl.ready[group_root(sl.group, t)]
        if sl.dozing[t] != 0 or first == sl.group.shape[0]:
            continue
        if first == NOBODY:
            sl.ready[group_root(sl.group, t)] = first = t
            sl.asleep[t] = t
        else:
            sl.asleep[t], sl.asleep[first] = sl.asleep[first], t
        sl.dozing[t], sl.touched[t] = 1, rows.touched[t]
        sl.sleepers[0] += 1
        for j in range(sc.tree_dofs[t, 0], sc.tree_dofs[t, 0] + sc.tree_dofs[t, 1]):
            sc.qvel[j] = 0.0
    if sl.sleepers[0] > before:
        mj_updateSleep(sc.model, sc.data)
        if remembers:
            keep_memories(sc, sl, rows)


@kernel
def doze(s: Servo) -> None:
    """Let groups that have been still fall asleep, where the kinematics of this tick have them."""
    sc, sl, rows = s.scene, s.sleep, s.rows
    note_woken(sl, rows)
    if is_stirred(s):
        for t in range(sl.still.shape[0]):
            sl.still[t] = 0
            wake(sl, t)
        mj_updateSleep(sc.model, sc.data)
        note_woken(sl, rows)
    if count_still(sc, sl):
        find_groups(sc, sl, rows)
        fall_asleep(sc, sl, rows, keeps_memory(s.parameters, rows))


@kernel
def wake_touched(s: Servo) -> bool:
    """Wake what touches a tree that is awake, or in rigid mode is near; whether there was any."""
    sc, sl, woken = s.scene, s.sleep, False
    for c in range(sc.ncon[0]):
        g1, g2 = sc.contact["geom"][c, 0], sc.contact["geom"][c, 1]
        if g1 < 0 or g2 < 0:
            continue
        if sc.contact["dist"][c] > 0.0 and s.parameters["contact_mode"][0] != RIGID:
            continue
        for geom in (g1, g2):
            t = sc.body_tree[sc.geom_body[geom]]
            other = sc.body_tree[sc.geom_body[g1 + g2 - geom]]
            if t >= 0 and other >= 0 and sl.asleep[t] >= 0:  # so the other is awake
                wake(sl, t)
                woken = True
    if woken:
        mj_updateSleep(sc.model, sc.data)
        note_woken(sl, s.rows)
    return woken


@kernel
def collide(s: Servo) -> None:
    """Contacts of all that is awake, what it wakes by touching it included."""
    mj_collision(s.scene.model, s.scene.data)
    call_stage(s.stages[places.FEEL], s)
    if s.sleep.sleepers[0] > 0:
        while wake_touched(s):
            mj_collision(s.scene.model, s.scene.data)
            call_stage(s.stages[places.FEEL], s)
