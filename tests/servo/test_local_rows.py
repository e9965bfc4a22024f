"""Constraints of a local model as rows: what strikes, what is remembered, what becomes heat."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Friction, LocalModel, Session, World
from detent.local.constants import MOST_CONSTRAINTS
from detent.local.records import CONSTRAINT, COUNT, FACE, HEAD, ROWS, TIME, TRUST
from detent.servo import places
from detent.servo.constants import CREEP_BACK
from detent.servo.local.coherence import NONE, find_same
from detent.servo.local.merge import merge_update
from detent.servo.local.report import note_heat
from detent.servo.local.sense import strike_late
from detent.servo.local.separation import true_separation
from detent.servo.parameters import IMPULSE, PENALTY
from detent.servo.shown import NEAR
from detent.servo.structs import COLLIDING, RESTING, Servo
from lab import advance, run_stage, start

STEP = 1e-3


def servo(contact: Contact | None = None, **options: object) -> Servo:
    """Of a session with a local model, which no update has reached."""
    local = LocalModel(**options)  # type: ignore[arg-type]
    s: Servo = start(Session(World.builtin("corner"), contact, local=local)).servo
    run_stage(s, places.MERGE)
    return s


def planes(s: Servo, count: int, group: int = -1) -> np.ndarray:
    """Constraints below points of the tool, a millimetre deep."""
    new = np.zeros(count, CONSTRAINT)
    link = int(np.argmax(s.scene.body_tree >= 0))
    new["link"], new["group"], new["normal"], new["weight"] = link, group, (0.0, 1.0, 0.0), 1.0
    new["point"][:, 0] = 0.01 * np.arange(count)
    new["place"] = s.scene.xpos[link] + (0.0, 1e-3, 0.0) + new["point"]
    new["separation"] = -1e-3
    for name in ("stiffness", "damping", "restitution", "friction"):
        new[name] = np.nan
    return new


def merged(s: Servo, new: np.ndarray, tick: int) -> np.ndarray:
    head, all_of_it = np.zeros(HEAD), np.zeros(MOST_CONSTRAINTS, CONSTRAINT)
    head[COUNT], head[TIME], all_of_it[: len(new)] = len(new), tick * STEP, new
    assert merge_update(s.scene, s.local, head, all_of_it, s.parameters, tick, tick)
    return s.local.held[: s.local.number[0]]


@pytest.mark.parametrize("turned", range(4))
def test_a_constraint_is_found_wherever_it_stands_in_the_set(turned: int) -> None:
    s = servo()
    new = planes(s, 4)
    for name in ("link", "other", "shapes", "normal", "point", "place"):
        s.local.before[name][:4] = np.roll(new[name], turned, axis=0)
    s.local.number[0], s.local.taken[:] = 4, 0
    found = [find_same(s.local, new, i, 0.9) for i in range(4)]
    assert found == [(i + turned) % 4 for i in range(4)]
    s.local.before["point"][:4] += 1.0
    assert find_same(s.local, new, 3, 0.9) == NONE


@pytest.mark.parametrize("mode", [IMPULSE, PENALTY])
@pytest.mark.parametrize("late", [0.0, 0.01, np.inf])
@pytest.mark.parametrize("depth", [0.0009, 0.0011])
@pytest.mark.parametrize("speed", [-0.1, -1e-6, 0.1])
def test_what_comes_too_late_and_approaches_is_struck(
    mode: int, late: float, depth: float, speed: float
) -> None:
    """If it may have been crossed since the engine saw nothing there: 1 mm at 0.1 m/s in 10 ms."""
    s = servo()
    merged(s, planes(s, 1), 1)
    run_stage(s, places.SENSE)
    assert s.local.counts[ROWS] == 1
    tree = int(s.rows.tree[0].max())
    s.rows.group_state[:], s.rows.velocity[0] = RESTING, speed
    held = s.local.held
    held["late"][0], held["separation"][0], held["offset"][0] = late, -1e-4, depth - 1e-4
    strike_late(s.local, s.rows, mode)
    struck = s.rows.group_state[s.rows.parent[tree]] == COLLIDING
    crossed = np.isinf(late) or (late > 0.0 and depth < 0.001)
    assert struck == (crossed and speed == -0.1 and mode == IMPULSE)
    assert s.local.held["late"][0] == 0  # once


def test_rows_remember_what_their_constraints_do() -> None:
    """In whatever order the constraints are, those that are touched are rows."""
    s = servo(Contact(friction=Friction(0.5, 0.4)))
    new = planes(s, 3)
    new["place"][1, 1] -= 0.01  # far away from its plane
    new["separation"][1] += 0.01
    held = merged(s, new, 1)
    held["memory"][:, 0] = 3.0, 4.0, 5.0
    run_stage(s, places.SENSE)
    assert s.local.counts[ROWS] == 2
    for r in range(2):
        np.testing.assert_array_equal(s.rows.memory[r, 0], (3.0, 5.0)[r])


def test_only_what_is_predicted_creeps_back() -> None:
    """A plane of a movable object that was known before; not new ones, not those of the scene."""
    for constraints, group, creeps in (
        ("inertial", 0, True), ("inertial", -1, False), ("kinematic", 0, False),
    ):  # fmt: skip
        s = servo(constraints=constraints)
        assert merged(s, planes(s, 2, group), 1)["relax"][0] == 0.0
        again = merged(s, planes(s, 2, group), 2)
        np.testing.assert_array_equal(again["relax"], CREEP_BACK if creeps else 0.0)


def test_a_face_of_the_tool_turns_with_it() -> None:
    """Its normal, and so its distance from a point that stays."""
    s, rng = servo(), np.random.default_rng(2)
    new = planes(s, 1)
    link = int(new["link"][0])
    new["curve"], new["facing"] = FACE, (0.6, 0.8, 0.0)
    held = merged(s, new, 1)
    for _ in range(5):
        s.scene.qpos[:] = rng.uniform((-0.03, 0.0, -1.0), (0.03, 0.06, 1.0))
        run_stage(s, places.MERGE)
        turn = s.scene.xmat[link].reshape(3, 3)
        normal = turn @ (0.6, 0.8, 0.0)
        want = normal @ (s.scene.xpos[link] + turn @ new["point"][0] - held["place"][0])
        assert true_separation(s.scene, held, 0) == pytest.approx(want, abs=1e-12)
        np.testing.assert_allclose(held["normal"][0], normal, atol=1e-12)


@pytest.mark.parametrize("damping", [0.0, 40.0])
def test_heat_is_what_a_damper_takes_and_nothing_of_a_spring(damping: float) -> None:
    """Pressed in slowly and let out again: B v d each way."""
    s, stiffness, speed, ticks = servo(), 2000.0, 0.01, 100
    merged(s, planes(s, 1), 1)
    run_stage(s, places.SENSE)
    lo, rows = s.local, s.rows
    lo.held["heat"][0], lo.times[TRUST], rows.stiffness[0] = 0.0, 1.0, stiffness
    jac = rows.jac[0, :3].copy()
    depth, felt = 0.0, []
    for way in (-1.0, 1.0):
        for _ in range(ticks):
            velocity = way * speed
            rows.separation[0], rows.velocity[0] = -depth, velocity
            rows.force[0] = stiffness * (depth - 0.5 * way * speed * STEP) - damping * velocity
            s.scene.qvel[:] = velocity * jac / (jac @ jac)
            note_heat(s.scene, lo, rows, 0, STEP)
            depth -= velocity * STEP
        felt.append(float(lo.held["heat"][0]))
    each = damping * speed * (speed * ticks * STEP)
    np.testing.assert_allclose(felt, [each, 2 * each], atol=1e-3 * stiffness * 1e-6)


def test_a_row_of_a_trace_tells_how_the_local_model_does() -> None:
    """And of a session without one that nothing is missing."""
    local = Session(World.builtin("corner"), local=LocalModel())
    ready = start(local)
    run_stage(ready.servo, places.MERGE)
    merged(ready.servo, planes(ready.servo, 3), 1)
    assert advance(ready, 1)[0]["local"] == 3
    plain = start(Session(World.builtin("corner")))
    plain.servo.local.number[0] = 3
    row = advance(plain, 1)[0]
    assert row["local"] == 0 and row["trust"] == 1.0


def test_a_constraint_that_is_near_is_shown_and_pushes_nobody() -> None:
    s = servo()
    new = planes(s, 2)
    new["place"][1, 1] -= 0.01
    new["separation"][1] += 0.01
    merged(s, new, 1)
    run_stage(s, places.SENSE)
    run_stage(s, places.SHOW)
    near = s.shown[s.shown["kind"] == NEAR]
    assert len(near) == 1
    assert near["force"][0] == near["friction"][0] == 0.0 and not near["rub"].any()
    assert near["separation"][0] == pytest.approx(0.009)
    np.testing.assert_array_equal(near["normal"][0], (0.0, 1.0, 0.0))
