"""What starts beyond a limit or inside something: taken back slowly, without an impulse."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from detent.servo.constants import BACK_WITHIN, COME_BACK, FREE_INSIDE, STARTS_INSIDE
from detent.servo.structs import Rows, Scene
from detent.world.names import geom_name, joint_name
from detent.world.nested import NEVER

_HINGE = int(mujoco.mjtJoint.mjJNT_HINGE)
MOST_NOTES = 5


def limit_count(model: mujoco.MjModel) -> int:
    """As many ends of ranges as there may be."""
    return 2 * (model.njnt + model.ntendon)


def fill_slack(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    sc: Scene,
    rows: Rows,
    feel: Callable[[], None] = lambda: None,
) -> list[str]:
    """Into the rows, from the start; a note of each limit and each overlap.

    *feel* appends contacts of shapes to those that MuJoCo has just found.
    """
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_tendon(model, data)
    mujoco.mj_collision(model, data)
    feel()
    notes = _limits(model, data, sc, rows) + _overlaps(model, data, sc, rows)
    rows.slack_left[0] = bool(rows.limit_slack.any() or rows.geom_slack.any())
    return notes


def _limits(model: mujoco.MjModel, data: mujoco.MjData, sc: Scene, rows: Rows) -> list[str]:
    """In the order of `gather_joint_limits`: joints, balls, tendons."""
    notes, joints, balls = [], len(sc.joint_limit_dof), len(sc.ball_dof)
    for i in range(joints):
        joint = int(model.dof_jntid[sc.joint_limit_dof[i]])
        angular, q = int(model.jnt_type[joint] == _HINGE), data.qpos[sc.joint_limit_qpos[i]]
        name = f"the joint {joint_name(model, joint)}"
        notes += _ends(rows, 2 * i, q, sc.joint_limit_range[i], angular, name)
    for i in range(balls):
        q = data.qpos[sc.ball_qpos[i] : sc.ball_qpos[i] + 4]
        angle = 2.0 * np.arctan2(np.linalg.norm(q[1:]), abs(q[0]))
        span = np.array([-np.inf, sc.ball_most[i]])
        name = f"the joint {joint_name(model, int(model.dof_jntid[sc.ball_dof[i]]))}"
        notes += _ends(rows, 2 * joints + i - 1, angle, span, 1, name)
    for i in range(len(sc.tendon_limit)):
        tendon = int(sc.tendon_limit[i])
        name = f"tendon {tendon}"
        place, length = 2 * joints + balls + 2 * i, data.ten_length[tendon]
        notes += _ends(rows, place, length, sc.tendon_limit_range[i], 0, name)
    return notes


def _ends(rows: Rows, place: int, q: float, span: np.ndarray, angular: int, name: str) -> list[str]:
    notes = []
    for end, beyond in enumerate((span[0] - q, q - span[1])):
        if beyond > STARTS_INSIDE[angular]:
            rate = max(COME_BACK[angular], beyond / BACK_WITHIN)
            rows.limit_slack[place + end] = beyond, rate, 0.0
            size = f"{beyond:.3g} rad" if angular else f"{1e3 * beyond:.3g} mm"
            notes.append(f"{name} starts {size} outside its range: it is brought back slowly")
    return notes


def _overlaps(model: mujoco.MjModel, data: mujoco.MjData, sc: Scene, rows: Rows) -> list[str]:
    """Of moving geoms, the deepest contact of each; those of links inside each other are none."""
    worst: dict[int, tuple[float, int]] = {}
    nested = {tuple(pair) for pair in sc.nested[:, :2].tolist()}
    for contact in data.contact:
        if tuple(sorted(contact.geom.tolist())) in nested:
            continue
        for side in range(2):
            geom, other = int(contact.geom[side]), int(contact.geom[1 - side])
            if geom < 0 or model.body_treeid[model.geom_bodyid[geom]] < 0:
                continue
            worst[geom] = max(worst.get(geom, (0.0, -1)), (-float(contact.dist), other))
    notes = []
    for geom, (depth, other) in sorted(worst.items()):
        if depth > (FREE_INSIDE if _is_free(model, geom) else STARTS_INSIDE[0]):
            rows.geom_slack[geom] = depth, max(COME_BACK[0], depth / BACK_WITHIN), 0.0
            names = [geom_name(model, g) for g in (geom, other)]
            notes.append(
                f"the geom {names[0]} starts {1e3 * depth:.3g} mm inside {names[1]}: "
                "it is brought out slowly"
            )
    return _nested(model, sc) + shortened(notes, "start inside something")


def _is_free(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a geom is of a free body, with no other link."""
    body = model.geom_bodyid[geom]
    return bool(model.tree_dofnum[model.body_treeid[body]] == 6 and model.body_dofnum[body] == 6)


def shortened(notes: list[str], what: str) -> list[str]:
    """The first of these, and how many more there are."""
    more = len(notes) - MOST_NOTES
    return notes[:MOST_NOTES] + ([f"{more} more {what}"] if more > 0 else [])


def _nested(model: mujoco.MjModel, sc: Scene) -> list[str]:
    """A note of each pair of links that do not touch."""
    notes = []
    for one, two, kind, _ in sc.nested.tolist():
        names = f"the geoms {geom_name(model, one)} and {geom_name(model, two)} overlap"
        if kind == NEVER:
            notes.append(f"{names} in every pose of their joints: they do not touch each other")
        else:
            notes.append(f"{names} where joints start outside their ranges: they touch once apart")
    return shortened(notes, "pairs do not touch")
