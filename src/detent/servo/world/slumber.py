"""What is remembered of trees that sleep (`detent.servo.world.sleep` says when they do)."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.kernels.constants import CONTACT_MEMORY
from detent.kernels.struct import Struct
from detent.servo.constants import SLEEP_TIME
from detent.world.bridge import update_sleep

# as integers: MuJoCo's enumerations do not compare with NumPy's
_ALLOWED = int(mujoco.mjtSleepPolicy.mjSLEEP_ALLOWED)
_NEVER = int(mujoco.mjtSleepPolicy.mjSLEEP_NEVER)
_AUTO_NEVER = int(mujoco.mjtSleepPolicy.mjSLEEP_AUTO_NEVER)


class Sleep(Struct):
    """Which trees may sleep, which do, and what their contacts knew."""

    patience: int  # ticks that a group must be still before it sleeps; 0 = none ever does
    may: np.ndarray  # (ntree,) 1 = may sleep
    still: np.ndarray  # (ntree,) ticks for which the tree has been still
    dozing: np.ndarray  # (ntree,) 1 = sleeps
    sleepers: np.ndarray  # (1,) how many do
    touched: np.ndarray  # (ntree,) whether it touched something when it fell asleep
    group: np.ndarray  # (ntree,) scratch: union-find
    ready: np.ndarray  # (ntree,) scratch: of a group, its first tree that sleeps from now on
    length: np.ndarray  # (nv,) [m, m/rad] of a dof, makes its velocity one of points
    asleep: np.ndarray  # (ntree,) MuJoCo's: the next tree of those that wake together, or < 0
    gravity: np.ndarray  # (3,) [m/s²] under which they fell asleep
    command: np.ndarray  # (1,) which buffer of parameters was read last
    kept: np.ndarray  # (1,) contacts of trees that sleep
    kept_tree: np.ndarray  # (cap,)
    kept_patch: np.ndarray  # (cap,)
    kept_geom: np.ndarray  # (cap, 2) these as in `Rows.old_…`
    kept_local: np.ndarray  # (cap, 2, 3)
    kept_normal: np.ndarray  # (cap, 3)
    kept_memory: np.ndarray  # (cap, CONTACT_MEMORY)


def make_sleep(
    model: mujoco.MjModel, data: mujoco.MjData, may: np.ndarray, rate: float, capacity: int
) -> Sleep:
    """Nobody sleeps yet; *may* says who will. The model is told, too."""
    model.tree_sleep_policy[:] = np.where(may, _ALLOWED, _NEVER)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    update_sleep(model, data)
    cap, ntree, whole = capacity if may.any() else 1, model.ntree, np.int64
    return Sleep(
        patience=round(SLEEP_TIME * rate) + 1 if may.any() else 0,
        may=may.astype(whole), still=np.zeros(ntree, whole), dozing=np.zeros(ntree, whole),
        sleepers=np.zeros(1, whole), touched=np.zeros(ntree, whole), group=np.zeros(ntree, whole),
        ready=np.zeros(ntree, whole), length=model.dof_length, asleep=data.tree_asleep,
        gravity=model.opt.gravity.copy(), command=np.full(1, -1, whole), kept=np.zeros(1, whole),
        kept_tree=np.zeros(cap, whole), kept_patch=np.zeros(cap, whole),
        kept_geom=np.zeros((cap, 2), whole),
        kept_local=np.zeros((cap, 2, 3)), kept_normal=np.zeros((cap, 3)),
        kept_memory=np.zeros((cap, CONTACT_MEMORY)),
    )  # fmt: skip


def may_sleep(model: mujoco.MjModel, tool: set[int]) -> np.ndarray:
    """(ntree,) All trees but the tool's, those with actuators, and those that the scene forbids."""
    never = np.isin(model.tree_sleep_policy, (_NEVER, _AUTO_NEVER))
    return ~never & ~np.isin(np.arange(model.ntree), list(tool))
