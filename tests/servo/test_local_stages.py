"""The steps of a local model one by one: what is merged, gives way, is let go, returns."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent import LocalModel, Session, World
from detent.local.constants import MOST_CONSTRAINTS
from detent.local.records import (
    AGE,
    ARRIVED,
    BALL,
    CONSTRAINT,
    COUNT,
    FRESH,
    HEAD,
    HEALED,
    LOADED,
    MEAN_PERIOD,
    PLANE,
    REJECTED,
    RESETS,
    ROD,
    SEEN,
    STRUCK,
    TIME,
    TRUST,
    Local,
    make_local,
    update_size,
)
from detent.servo import places
from detent.servo.local.coherence import NONE, find_same, match_update
from detent.servo.local.merge import (
    is_sound,
    merge_update,
    move_plane,
    note_period,
)
from detent.servo.local.report import give_way, note_push
from detent.servo.local.sense import watch_age
from detent.servo.local.separation import true_separation
from detent.servo.structs import Servo
from detent.setup.prepared import Prepared
from lab import run_stage, start

STEP = 1e-3


def empty() -> Local:
    """A local model of three degrees of freedom without constraints."""
    return make_local(True, 8, 3, np.zeros((3, update_size()), np.uint8))


def prepared(**options: object) -> Prepared:
    """A session with a local model, which no update has reached."""
    local = LocalModel(**options)  # type: ignore[arg-type]
    return start(Session(World.builtin("corner"), local=local))


# --- what is believed of an update


def sound(rng: np.random.Generator) -> np.ndarray:
    """A constraint with random numbers, of unit normal."""
    item = np.zeros(1, CONSTRAINT)
    for name in ("place", "velocity", "point", "give"):
        item[name][0] = rng.standard_normal(item[name].shape[1])
    item["normal"][0] = Rotation.random(random_state=rng).apply([0.0, 0.0, 1.0])
    item["separation"], item["drift"], item["link"] = *rng.standard_normal(2), 1
    item["weight"] = 1.0
    return item


def test_a_constraint_of_unit_normal_is_sound() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert is_sound(sound(rng), 0, 2)


@pytest.mark.parametrize(
    "name", ["place", "velocity", "point", "give", "normal", "separation", "drift"]
)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_not_believed(name: str, bad: float) -> None:
    item = sound(np.random.default_rng(2))
    item[name].reshape(-1)[-1] = bad
    assert not is_sound(item, 0, 2)


def test_a_long_normal_or_a_link_that_is_not_there_is_not_believed() -> None:
    item = sound(np.random.default_rng(3))
    for link in (-1, 2, 5):
        item["link"] = link
        assert not is_sound(item, 0, 2)
    item["link"] = 0
    assert is_sound(item, 0, 2)
    item["normal"] *= 1.01
    assert not is_sound(item, 0, 2)


def test_an_update_is_merged_as_far_as_it_goes() -> None:
    """What lies behind its count is of an older one, and neither taken nor rejected."""
    ready, rng = prepared(), np.random.default_rng(5)
    s = ready.servo
    run_stage(s, places.MERGE)
    new, head = np.zeros(MOST_CONSTRAINTS, CONSTRAINT), np.zeros(HEAD)
    link = int(np.argmax(s.scene.body_tree >= 0))
    for i in range(5):
        new[i] = sound(rng)[0]
        new["link"][i] = link
    new["normal"][1] *= 2.0
    head[COUNT], head[TIME] = 3, 1.0
    assert merge_update(s.scene, s.local, head, new, s.parameters, 1000, 1000)
    assert s.local.number[0] == 2 and s.local.counts[REJECTED] == 1
    np.testing.assert_array_equal(s.local.held["place"][:2], new["place"][[0, 2]])
    assert not merge_update(s.scene, s.local, head, new, s.parameters, 1001, 1001)  # not newer
    head[COUNT], head[TIME] = MOST_CONSTRAINTS + 9, 1.1  # the rest is of zero normal
    assert merge_update(s.scene, s.local, head, new, s.parameters, 1100, 1100)
    assert s.local.number[0] == 4


def test_the_mean_period_is_that_of_the_last_updates() -> None:
    lo, rng, times = empty(), np.random.default_rng(4), [0.5]
    for n in range(12):
        lo.head[TIME] = times[-1]
        note_period(lo)
        assert lo.counts[SEEN] == n + 1
        last = np.diff(times)[-len(lo.periods) :]
        assert lo.times[MEAN_PERIOD] == pytest.approx(last.mean() if n else 0.0)
        times.append(times[-1] + rng.uniform(0.01, 0.1))


# --- objects that give way


def pushed(force: list[float], drift: float = 0.0, group: tuple[int, int] = (7, 7)) -> Local:
    """Two parallel planes of one block of 2 kg, which is pushed at both for a tick."""
    lo = empty()
    lo.number[0] = 2
    lo.held["group"][:2], lo.held["force"][:2], lo.held["drift"][:2] = group, force, drift
    lo.held["give"][:2, 0] = np.sqrt(0.5)
    lo.held["rate"][:2], lo.held["yielded"][:2] = 0.3, 0.1
    give_way(lo, 0, STEP)
    return lo


def test_a_block_takes_the_momentum_of_all_that_pushes_it() -> None:
    """Δu = −T Σ f / m, and nothing of what pushes another block."""
    lo = pushed([4.0, 6.0])
    assert lo.held["rate"][0] == pytest.approx(0.3 - STEP * 10.0 / 2.0)
    assert lo.held["yielded"][0] == pytest.approx(0.1 + STEP * 10.0 / 2.0)
    assert lo.held["rate"][1] == 0.3
    assert pushed([4.0, 6.0], group=(7, 8)).held["rate"][0] == pytest.approx(0.3 - STEP * 2.0)
    assert pushed([4.0, 6.0], group=(-1, -1)).held["rate"][0] == 0.3


@pytest.mark.parametrize(("drift", "moved"), [(-3.0, 8.0), (3.0, 2.0), (9.0, 0.0)])
def test_what_resists_does_not_push_back(drift: float, moved: float) -> None:
    """5 m/s² of pushing, and its own acceleration; against the push at most to a standstill."""
    lo = pushed([4.0, 6.0], drift)
    assert lo.held["rate"][0] == pytest.approx(0.3 - STEP * moved)


def test_what_an_object_received_is_kept_for_the_engine() -> None:
    lo = pushed([4.0, 6.0])
    lo.held["normal"][0], lo.held["place"][0] = (0.0, 0.6, 0.8), (0.1, 0.2, 0.3)
    lo.held["drag"][0], lo.held["shift"][0], lo.held["track"][0] = (0.5, 0.0, 0.0), 0.01, 3
    for _ in range(2):
        note_push(lo, 0, STEP)
    push = lo.pushes[3]
    np.testing.assert_allclose(push["impulse"], -2 * STEP * np.array([0.5, 2.4, 3.2]), atol=1e-15)
    np.testing.assert_allclose(push["place"], [0.1, 0.206, 0.308], atol=1e-15)


def test_a_plane_has_moved_since_the_engine_looked() -> None:
    """With its speed then, less what it gave way since: by so much it is slower, and less far."""
    s = prepared(constraints="inertial").servo
    lo, tick, ticks = s.local, 40, 5
    lo.held["normal"][0], lo.held["velocity"][0] = (0.0, 0.6, 0.8), (9.0, 0.5, 0.5)
    lo.held["track"][0], given = 2, np.array([0.1, 0.12, 0.15, 0.2, 0.22, 0.3])  # [m/s]
    lo.history[tick - ticks : tick + 1, 2] = given
    lo.held["yielded"][0] = given[-1]
    move_plane(lo, 0, s.parameters, tick, ticks)
    assert lo.held["rate"][0] == pytest.approx(0.7 - 0.2)
    want = STEP * (ticks * 0.7 - (given[1:] - given[0]).sum())
    assert lo.held["shift"][0] == pytest.approx(want)
    move_plane(lo, 0, s.parameters, tick, 10**6)  # older than anybody remembers: no crash
    assert np.isfinite(lo.held["shift"][0])


SAME_PAIR = ("link", "other", "shapes")


@pytest.mark.parametrize("differs", ["nothing", *SAME_PAIR, "normal", "taken"])
def test_a_known_constraint_is_that_of_the_same_shapes(differs: str) -> None:
    """Its point is where it was on the tool, wherever that is in the world by now."""
    lo, new = empty(), sound(np.random.default_rng(6))
    lo.number[0] = 1
    for name in (*SAME_PAIR, "normal", "point"):
        lo.before[name][0] = new[name][0]
    lo.before["place"][0] = 5.0
    if differs == "taken":
        lo.taken[0] = 1
    elif differs == "normal":
        new["normal"] *= -1.0
    elif differs != "nothing":
        new[differs] += 1
    assert find_same(lo, new, 0, 0.9) == (0 if differs == "nothing" else NONE)


def test_neighbours_do_not_swap_however_far_the_tool_went() -> None:
    """Two corners of a tool that slid by their spacing; and a corner of the other, on its face."""
    lo, new = empty(), np.concatenate([sound(np.random.default_rng(7))] * 2)
    new["place"], new["velocity"] = ((0.02, 0, 0), (0.01, 0, 0)), 0.0
    new["point"] = (0.01, 0, 0), (0.0, 0, 0)
    lo.number[0] = 2
    lo.before[:2] = 0
    for name in (*SAME_PAIR, "normal"):
        lo.before[name][:2] = new[name]
    lo.before["point"][:2] = new["point"][::-1]
    lo.before["place"][:2] = (0.0, 0, 0), (0.01, 0, 0)
    lo.match[:2] = NONE
    match_update(lo, new, 2, 0.1, 0.9, 0.01)
    np.testing.assert_array_equal(lo.match[:2], [1, 0])
    lo.taken[:2], lo.match[:2] = 0, NONE
    new["place"], new["point"] = lo.before["place"][:2], ((0.3, 0, 0), (0.4, 0, 0))
    match_update(lo, new, 2, 0.1, 0.9, 0.01)
    np.testing.assert_array_equal(lo.match[:2], [0, 1])


def corner_of(s: Servo, depth: float) -> np.ndarray:
    """A constraint of a plane that a point of the tool is that deep in."""
    new = np.zeros(1, CONSTRAINT)
    link = int(np.argmax(s.scene.body_tree >= 0))
    new["link"], new["group"], new["normal"], new["weight"] = link, -1, (0.0, 1.0, 0.0), 1.0
    new["place"], new["separation"] = s.scene.xpos[link] + (0.0, depth, 0.0), -depth
    for name in ("stiffness", "damping", "restitution", "friction"):
        new[name] = np.nan
    return new


def merged(s: Servo, new: np.ndarray, tick: int) -> np.ndarray:
    """The set after an update with these constraints."""
    head, all_of_it = np.zeros(HEAD), np.zeros(MOST_CONSTRAINTS, CONSTRAINT)
    head[COUNT], head[TIME], all_of_it[: len(new)] = len(new), tick * STEP, new
    assert merge_update(s.scene, s.local, head, all_of_it, s.parameters, tick, tick)
    return s.local.held[: s.local.number[0]]


def test_a_neighbour_takes_over_the_memory_and_is_no_collision() -> None:
    """However far the point jumps, but once: bonds are not doubled. Other sides have their own."""
    s = prepared().servo
    run_stage(s, places.MERGE)
    new = corner_of(s, 1e-3)
    held = merged(s, new, 1)
    assert held["late"][0] == np.inf  # nothing was pressed: a landing
    held["separation"][0], held["offset"][0], held["memory"][0, 0] = -9e-4, 1e-4, 7.0
    new = np.concatenate([new] * 3)
    new["point"] = ((0.5, 0.0, 0.0), (0.6, 0.0, 0.0), (0.5, 0.0, 0.0))
    new["place"] += new["point"]
    new["normal"][2] = (0.6, -0.8, 0.0)
    new["place"][2] += (0.0, -2e-3, 0.0)  # as deep, from the other side
    held = merged(s, new, 4)
    np.testing.assert_array_equal(held["memory"][:3, 0], [7.0, 0.0, 0.0])
    np.testing.assert_allclose(held["late"][:3], 3 * STEP)  # since the engine last looked


@pytest.mark.parametrize("heal", [True, False])
def test_a_neighbour_takes_over_the_depth_of_its_pair(heal: bool) -> None:
    """A vertex replaced by the next: the spring is neither loaded nor unloaded."""
    s = prepared(heal=heal).servo
    run_stage(s, places.MERGE)
    new = corner_of(s, 1e-3)
    held = merged(s, new, 1)
    assert held["separation"][0] == 0.0 and held["offset"][0] == pytest.approx(1e-3)
    held["separation"][0], held["offset"][0] = -1e-3, 0.0
    new["point"] = (0.5, 0.0, 0.0)  # far away on the tool
    new["place"] += (0.5, 0.0, 0.0)
    held = merged(s, new, 3)
    assert held["separation"][0] == pytest.approx(-1e-3)
    assert held["late"][0] == 0 and s.local.counts[RESETS] == 0
    held = merged(s, new, 5)  # the same once more changes nothing
    assert held["separation"][0] == pytest.approx(-1e-3) and held["offset"][0] == 0.0
    new = np.concatenate([new] * 2)  # and two share what one stored
    new["point"][1] += (0.0, 0.0, 0.4)
    new["place"][1] += (0.0, 0.0, 0.4)
    held = merged(s, new, 7)
    assert (held["separation"] ** 2).sum() <= 1e-6 * (1.0 + 1e-9)
    assert s.local.times[LOADED] <= 1e-15


def test_an_update_in_step_is_what_a_synchronous_session_sees() -> None:
    """Springs are as deep as they are in truth; what nothing has paid for is booked, and owed."""
    s = prepared().servo
    run_stage(s, places.MERGE)
    new = corner_of(s, 1e-3)
    held = merged(s, new, 1)
    held["separation"][0], held["offset"][0] = -1e-3, 0.0
    new = np.concatenate([new] * 2)
    new["point"][1] += (0.0, 0.0, 0.4)
    new["place"][1] += (0.0, 0.001, 0.4)
    held = merged(s, new, 2)
    np.testing.assert_allclose(held["separation"], [-1e-3, -2e-3])
    spring = 0.5 * s.parameters["stiffness"][0] * 4e-6
    assert s.local.times[HEALED] == pytest.approx(spring)
    assert held["heat"].sum() == pytest.approx(-spring)
    held["separation"], held["offset"] = [-0.0, -1e-3], [1e-3, 1e-3]  # a late landing heals as ever
    held = merged(s, new, 3)
    np.testing.assert_allclose(held["offset"], 1e-3)


def test_bonds_of_friction_go_with_their_constraints() -> None:
    """In whatever order the next update has them, and wherever the tool went."""
    s = prepared().servo
    run_stage(s, places.MERGE)
    new = np.concatenate([corner_of(s, 1e-3)] * 2)
    new["point"][1], new["place"][1] = (0.01, 0.0, 0.0), new["place"][1] + (0.01, 0.0, 0.0)
    held = merged(s, new, 1)
    held["memory"][:, 0] = 3.0, 4.0
    new["place"] += (0.01, 0.0, 0.0)
    np.testing.assert_array_equal(merged(s, new[::-1], 2)["memory"][:, 0], [4.0, 3.0])


def test_a_round_tool_is_where_its_centre_is() -> None:
    """However it turned since: a ball on a plane, and round a rod, against their distances."""
    s, rng = prepared().servo, np.random.default_rng(8)
    link = int(np.argmax(s.scene.body_tree >= 0))
    for curve, radius in ((PLANE, 0.0), (BALL, 0.02), (ROD, 0.03)):
        run_stage(s, places.MERGE)
        new = corner_of(s, 0.0)
        new["bulge"], new["curve"], new["radius"], new["axis"] = 0.01, curve, radius, (0, 0, 1)
        new["axis"] *= curve == ROD
        new["point"] = (0.0, 0.01, 0.0)  # the centre, above the place
        held = merged(s, new, 10 * curve + 1)
        middle = new["place"][0] - (0.0, radius, 0.0)
        for _ in range(5):
            s.scene.qpos[:] = rng.uniform((-0.03, 0.0, -0.03), (0.03, 0.06, 0.03))
            run_stage(s, places.MERGE)
            turn = s.scene.xmat[link].reshape(3, 3)
            way = s.scene.xpos[link] + turn @ (0.0, 0.01, 0.0) - middle
            want = way[1] if curve == PLANE else np.linalg.norm(way[:2]) - radius
            assert true_separation(s.scene, held, 0) == pytest.approx(want - 0.01, abs=1e-12)


def test_the_age_of_an_update_is_that_of_the_clock() -> None:
    """A host that skips ticks does not trust an update for longer than the wall clock allows."""
    lo, p = empty(), prepared(age_limit=0.1, decay=0.02).servo.parameters
    lo.counts[ARRIVED] = 0
    watch_age(lo, p, 100)
    assert lo.times[AGE] == pytest.approx(0.1) and lo.times[TRUST] == 1.0
    watch_age(lo, p, 111)  # ten ticks were skipped
    assert lo.times[TRUST] == pytest.approx(1.0 - 0.011 / 0.02)
    watch_age(lo, p, 300)
    assert lo.times[TRUST] == 0.0 and lo.times[AGE] == pytest.approx(0.3)


# --- through the compiled stages


def test_kinematics_are_those_of_the_state_before_an_update_is_merged() -> None:
    ready = prepared()
    ready.servo.scene.qpos[:] = (0.05, -0.06, 0.4)
    run_stage(ready.servo, places.MERGE)
    data = mujoco.MjData(ready.model)
    data.qpos[:] = ready.servo.scene.qpos
    mujoco.mj_kinematics(ready.model, data)
    np.testing.assert_allclose(ready.servo.scene.xpos, data.xpos, atol=1e-15)
    np.testing.assert_allclose(ready.servo.scene.xmat, data.xmat, atol=1e-15)


@pytest.mark.parametrize("slew", [500.0, None])
def test_an_update_changes_the_force_by_the_slew_and_no_more(slew: float | None) -> None:
    """The tool of the corner moves as its coordinates say, so torques are forces."""
    ready = prepared(slew_force=slew, slew_torque=None)
    s = ready.servo
    for place in (places.MERGE, places.SENSE, places.APPROACH):
        run_stage(s, place)
    before, after = np.array([3.0, -4.0, 0.0]), np.array([-1.0, 2.0, 0.0])
    s.local.kept[:], s.motion.penalty[:] = before, after
    s.local.counts[FRESH], s.local.counts[STRUCK], s.rows.struck[0] = 1, 0, 0
    run_stage(s, places.SMOOTH)
    gap = before - after
    keep = 0.0 if slew is None else 1.0 - slew * STEP / np.linalg.norm(gap)
    np.testing.assert_allclose(s.motion.penalty, after + keep * gap, atol=1e-12)
    np.testing.assert_allclose(s.local.kept, s.motion.penalty)
    s.local.counts[FRESH] = 0
    s.motion.penalty[:] = after
    run_stage(s, places.SMOOTH)  # and goes on until nothing is left
    keep = 0.0 if slew is None else 1.0 - 2.0 * slew * STEP / np.linalg.norm(gap)
    np.testing.assert_allclose(s.motion.penalty, after + keep * gap, atol=1e-12)


@pytest.mark.parametrize(("trust", "age", "left"), [(1.0, 0.0, 1), (0.5, 0.0, 0), (0.5, 9.0, 1)])
def test_springs_return_unloaded_and_fade_loaded(trust: float, age: float, left: int) -> None:
    ready = prepared()
    s, depth = ready.servo, 1e-3
    run_stage(s, places.MERGE)
    held, link = s.local.held, int(np.argmax(s.scene.body_tree >= 0))
    held["normal"][0], held["point"][0] = (0.0, 1.0, 0.0), 0.0
    held["place"][0], held["link"][0] = s.scene.xpos[link] + (0.0, depth, 0.0), link
    for name in ("stiffness", "damping", "restitution", "friction"):
        held[name][0] = np.nan
    held["group"][0], held["weight"][0], s.local.number[0] = -1, 1.0, 1
    held["rate"][0], s.scene.qvel[1] = 0.04, 0.1
    s.local.times[TRUST], s.local.times[AGE] = trust, age
    run_stage(s, places.SENSE)
    assert s.rows.count[0] == 1
    assert s.rows.separation[0] == pytest.approx(-left * depth, abs=1e-15)
    assert s.rows.trust[0] == trust
    assert s.rows.velocity[0] == pytest.approx(0.1 - 0.04)  # relative to the plane
    s.local.times[TRUST] = 1.0
    run_stage(s, places.SENSE)  # and so it stays
    assert s.rows.separation[0] == pytest.approx(-left * depth, abs=1e-15)
