"""Friction from rows to torques: against mj_jac and a dense inertia, in crowded random scenes."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import pytest

from detent import Contact, Friction, World
from detent.kernels.constants import FRICTION_MEMORY, MEMORY_FRICTION
from detent.kernels.friction import LAWS, friction_force
from detent.servo import places
from detent.setup.prepared import Prepared
from lab import (
    closed_pose,
    closures_of,
    full_rows,
    inertia_of,
    loose,
    mirror,
    run_stage,
    scene,
    start,
)

CAPSULE = '<geom type="capsule" size=".01" fromto=".012 0 0 {0} 0 0" mass=".4"/>'
FLOOR = '<geom type="plane" size="1 1 .1"/>'


def arm(name: str, at: str) -> str:
    """Three links, folded so that the last lies on the first; a joint with a limit."""
    last = f"""<body pos=".06 0 .008" euler="0 0 130"><joint axis="0 .1 1"/>
      {CAPSULE.format(0.06)}</body>"""
    middle = f"""<body pos=".06 0 .008" euler="0 0 140"><joint type="ball"/>
      {CAPSULE.format(0.06)}{last}</body>"""
    return f"""<body name="{name}" pos="{at}"><joint type="slide" axis="0 0 1" range="0 .01"/>
      <joint type="slide" axis="1 .2 0"/><joint axis="0 0 1"/>{CAPSULE.format(0.06)}
      {middle}</body>"""


def box(name: str) -> str:
    return f"""<body name="{name}" pos=".06 .02 .02"><freejoint name="{name}"/>
      <geom type="box" size=".03 .02 .015" mass=".7"/></body>"""


#: two linkages and two free boxes in a heap on a floor
HEAP = scene(FLOOR + arm("tool", "0 0 .01") + arm("other", ".02 .03 .02") + box("a") + box("b"))
#: four sides of a pentagon on a floor, closed by the world; with a free box on it
SIDES = f'<site name="end" pos=".05 0 0"/>{CAPSULE.format(0.05)}'
for _ in range(3):
    SIDES = f"""{CAPSULE.format(0.05)}<body pos=".05 0 0" euler="0 0 72"><joint axis="0 0 1"/>
      {SIDES}</body>"""
LOOP = scene(
    f"""{FLOOR}<body name="tool" pos="0 0 .009"><joint axis="0 0 1"/>{SIDES}</body>
    <site name="pivot" pos="-.0154508497 .0475528258 .009"/>{box("a")}""",
    more='<equality><connect site1="end" site2="pivot"/></equality>',
)


def rubbing(xml: str, seed: int, law: str) -> Prepared:
    """A random state, sensed and responded to, with bonds from nowhere."""
    rng = np.random.default_rng(seed)
    world = World.from_string(xml, tool="tool")
    friction = Friction(law=law, static=0.5, kinetic=0.4, damping_ratio=1.0)
    ready = start(loose(world, Contact(2000.0, 5.0, mode="penalty", friction=friction)))
    model, sc = ready.model, ready.servo.scene
    mujoco.mj_integratePos(model, sc.qpos, rng.normal(size=model.nv, scale=0.05), 1.0)
    sc.qpos[:] = closed_pose(model, sc.qpos)
    sc.qvel[:] = rng.normal(size=model.nv) * 10.0 ** rng.uniform(-4, 0, model.nv)
    for stage in (places.SENSE, places.APPROACH, places.REACT):
        run_stage(ready.servo, stage)
    return ready


def pressed(ready: Prepared) -> Sequence[int]:
    """Rows of contacts with a force."""
    rows = ready.servo.rows
    return [r for r in range(rows.count[0]) if rows.geom[r, 0] >= 0 and rows.force[r] > 0.0]


def relative_jacobian(ready: Prepared, data: mujoco.MjData, r: int) -> np.ndarray:
    """J₂ − J₁ at the contact of row r, from MuJoCo's Python API."""
    out = np.zeros((3, ready.model.nv))
    for side, sign in ((0, -1.0), (1, 1.0)):
        jac = np.zeros((3, ready.model.nv))
        body = ready.model.geom_bodyid[ready.servo.rows.geom[r, side]]
        mujoco.mj_jac(ready.model, data, jac, None, ready.servo.rows.point[r], body)
        out += sign * jac
    return out


def group_of(ready: Prepared, r: int) -> int:
    """The contact group of row r."""
    parent = ready.servo.rows.parent
    tree = int(ready.servo.rows.tree[r].max())
    while parent[tree] != tree:
        tree = int(parent[tree])
    return tree


def closed_response(ready: Prepared, data: mujoco.MjData) -> np.ndarray:
    """D⁻¹ of the mechanism with its loops closed."""
    inverse = np.linalg.inv(inertia_of(ready.model, data))
    W, _ = closures_of(ready.model, data)
    held = W @ inverse
    return inverse - held.T @ np.linalg.pinv(held @ W.T, rcond=1e-9) @ held if len(W) else inverse


@pytest.mark.parametrize("law", LAWS[1:])
@pytest.mark.parametrize("xml", [HEAP, LOOP], ids=["heap", "loop"])
def test_friction_is_that_of_each_contact_by_mj_jac(xml: str, law: str) -> None:
    """Forces by the law of one contact, the mobility of its group; their torque is Σ J_tᵀ f."""
    contacts = two_moving = same_tree = 0
    for seed in range(20):
        ready = rubbing(xml, seed, law)
        data, rows, p = mirror(ready), ready.servo.rows, ready.servo.parameters[0]
        response = closed_response(ready, data)
        jacs = {r: relative_jacobian(ready, data, r) for r in pressed(ready)}
        slides = {}
        load = np.zeros(ready.model.ntree)  # of each contact group
        for r, J in jacs.items():
            v = J @ ready.servo.scene.qvel
            slides[r] = v - v @ rows.normal[r] * rows.normal[r]
            row = slides[r] / np.linalg.norm(slides[r]) @ J
            load[group_of(ready, r)] += rows.force[r] * (row @ response @ row)
        torque = np.zeros(ready.model.nv)
        for r, J in jacs.items():
            force, memory = np.zeros(3), np.zeros(FRICTION_MEMORY)
            mobility = load[group_of(ready, r)] / rows.force[r]
            friction_force(
                LAWS.index(law), 0, slides[r], rows.force[r], rows.normal[r], mobility,
                p["step"], 0.5, 0.4, p["friction_breakaway"], p["friction_damping"],
                p["friction_dead_band"], memory, force,
            )  # fmt: skip
            np.testing.assert_allclose(rows.rub[r], force, rtol=1e-7, atol=1e-10)
            kept = rows.memory[r, MEMORY_FRICTION : MEMORY_FRICTION + FRICTION_MEMORY]
            np.testing.assert_allclose(kept, memory, rtol=1e-7, atol=1e-10)
            torque += J.T @ rows.rub[r]
            two_moving += bool(rows.tree[r].min() >= 0)
            same_tree += bool(rows.tree[r, 0] == rows.tree[r, 1])
        count = rows.count[0]
        normal = full_rows(ready, rows.jac).T @ rows.force[:count]
        rubbed = ready.servo.motion.penalty - normal
        np.testing.assert_allclose(rubbed, torque, rtol=1e-9, atol=1e-12 * rows.force.max())
        contacts += len(jacs)
    assert contacts > 40
    assert two_moving > 5
    assert same_tree > 5 or xml is LOOP


def test_a_joint_limit_does_not_rub() -> None:
    """Its row lies where a contact was in the tick before."""
    ready = rubbing(HEAP, 3, "reset-integrator")
    sc, rows = ready.servo.scene, ready.servo.rows
    before = int(rows.count[0])
    rows.friction[:] = 0.7  # as contacts would leave it
    sc.qpos[:] = ready.model.qpos0
    for name in ("a", "b"):
        sc.qpos[ready.model.joint(name).qposadr[0] + 2] += 0.5  # out of the way
    sc.qpos[[0, 8]] = -1e-4  # the slides of both arms
    sc.qvel[:] = 0.0
    for stage in (places.SENSE, places.APPROACH, places.REACT):
        run_stage(ready.servo, stage)
    limits = [r for r in range(rows.count[0]) if rows.geom[r, 0] < 0]
    assert before > 0
    assert limits
    assert all(rows.force[r] > 0.0 for r in limits)
    assert not rows.rub[limits].any()
    assert not rows.memory[limits, MEMORY_FRICTION : MEMORY_FRICTION + FRICTION_MEMORY].any()


def test_without_kinetic_friction_nothing_rubs() -> None:
    world = World.from_string(HEAP, tool="tool")
    ready = start(
        loose(world, Contact(2000.0, 5.0, mode="penalty", friction=Friction(kinetic=0.0)))
    )
    ready.servo.scene.qvel[:] = 0.1
    for stage in (places.SENSE, places.APPROACH, places.REACT):
        run_stage(ready.servo, stage)
    assert pressed(ready)
    assert not ready.servo.rows.rub.any()
    assert np.isfinite(ready.servo.motion.penalty).all()
