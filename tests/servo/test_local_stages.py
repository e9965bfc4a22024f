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
    CONSTRAINT,
    COUNT,
    FRESH,
    HEAD,
    MEAN_PERIOD,
    REJECTED,
    SEEN,
    STRUCK,
    TIME,
    TRUST,
    Local,
    make_local,
    update_size,
)
from detent.servo import places
from detent.servo.local.merge import (
    NONE,
    find_known,
    is_sound,
    merge_update,
    move_plane,
    note_period,
    spring_energy,
)
from detent.servo.local.report import give_way, note_push
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
    assert merge_update(s.scene, s.local, head, new, s.parameters, 1000)
    assert s.local.number[0] == 2 and s.local.counts[REJECTED] == 1
    np.testing.assert_array_equal(s.local.held["place"][:2], new["place"][[0, 2]])
    assert not merge_update(s.scene, s.local, head, new, s.parameters, 1001)  # it is not newer
    head[COUNT], head[TIME] = MOST_CONSTRAINTS + 9, 1.1  # the rest is of zero normal
    assert merge_update(s.scene, s.local, head, new, s.parameters, 1100)
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


def test_springs_store_half_k_s_squared_of_what_is_touched() -> None:
    lo = empty()
    lo.number[0] = 3
    lo.held["separation"][:3] = (-0.002, 0.001, -0.001)
    lo.held["stiffness"][:3] = (500.0, 800.0, np.nan)
    assert spring_energy(lo, 1000.0) == pytest.approx(0.5 * (500 * 4e-6 + 1000 * 1e-6))


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


@pytest.mark.parametrize("same", ["all", "link", "other", "place", "normal", "taken"])
def test_a_known_constraint_is_that_of_the_same_bodies_near_it(same: str) -> None:
    lo, new = empty(), sound(np.random.default_rng(6))
    lo.number[0] = 1
    for name in ("link", "other", "place", "normal"):
        lo.before[name][0] = new[name][0]
    if same == "taken":
        lo.taken[0] = 1
    elif same == "normal":
        new["normal"] *= -1.0
    elif same != "all":
        new[same] += 1
    assert find_known(lo, new, 0, 0.1, 0.9) == (0 if same == "all" else NONE)


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
    held["group"][0], s.local.number[0] = -1, 1
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
