"""What contacts do through a real tick (M2-M7): forces, states, impulses, rigid steps."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Session, World
from detent.hands import Constant
from detent.servo import places
from detent.servo.structs import COLLIDING, FREE, RESTING, Servo
from detent.setup import world as setup_world
from lab import PLANAR, advance, full_inertia, loose, run_stage, scene, start

FLOOR = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
WALL = '<geom name="wall" type="box" size=".1 1 1" pos=".1 0 0"/>'


def peg(x: float, y: float, statics: str = FLOOR, turn: float = 0.0) -> World:
    """A planar peg of 42 × 21 mm, 2 kg, 0.005 kg m²; its centre at (x, y), static geoms."""
    body = f'<body name="peg">{PLANAR}<geom type="box" size=".021 .0105 .01"/></body>'
    return World.from_string(scene(statics + body)).placed([x, y, turn])


def rows_now(ready: object) -> list[int]:
    """Indices of the rows that touched in the last tick."""
    rows = ready.servo.rows  # type: ignore[attr-defined]
    return [r for r in range(int(rows.count[0])) if rows.separation[r] <= 0.0]


# --- penalty: depth and count


@pytest.mark.parametrize("mode", ["impulse", "penalty"])
@pytest.mark.parametrize("force", [0.5, 3.0])
def test_a_static_load_sinks_by_f_over_c_k(mode: str, force: float) -> None:
    """M2: F on c contacts, depth F / (c K)."""
    for world, push, count in (
        (peg(0, 0.0105), (0, -force), 2),
        (peg(-0.021, 0.0105, FLOOR + WALL), (force, -force), 4),
    ):
        contact = Contact(stiffness=2000, damping=50, mode=mode)
        run = loose(world, contact).run(4.0, Constant(force=push))
        assert run["contacts"][-1] == count
        assert run["depth"][-1] == pytest.approx(force / (2 * 2000), rel=1e-6)
        np.testing.assert_allclose(run["environment_wrench"][-1, :2], -np.array(push), atol=1e-6)


def test_a_free_box_on_a_plane_has_four_contacts() -> None:
    world = World.from_string(
        scene(
            """<geom type="plane" size="1 1 .1"/><body name="box" pos="0 0 .0105"><freejoint/>
            <inertial pos="0 0 0" mass="2" diaginertia=".005 .005 .005"/>
            <geom type="box" size=".021 .015 .0105"/></body>""",
            'gravity="0 0 -9.81"',
        )
    )
    run = loose(world, Contact(stiffness=4000, damping=100)).run(2.0)
    assert run["contacts"][-1] == 4
    assert run["depth"][-1] == pytest.approx(2 * 9.81 / (4 * 4000), rel=1e-6)


def test_copies_in_z_are_counted_once() -> None:
    """M3: flat peg on a wall 2, in a corner 4, in a tight hole 4."""
    tight = (
        '<geom type="box" size=".1 .1 .1" pos="0 -.11 0"/>'
        '<geom type="box" size=".1 .1 .1" pos="0 .11 0"/>'
    )
    for world, count in (
        (peg(0, 0.0104), 2),
        (peg(-0.0209, 0.0104, FLOOR + WALL), 4),
        (peg(0, 0, tight), 4),
    ):
        ready = start(loose(world))
        assert advance(ready, 1)["contacts"][0] == count
        normals = ready.servo.rows.normal[rows_now(ready)]
        assert np.abs(normals[:, 2]).max() < 1e-12


@pytest.mark.parametrize("shape", ["sphere", "capsule", "box"])
def test_no_contact_is_left_out_by_the_number_of_its_geom(shape: str) -> None:
    """MuJoCo puts the lower type first: the floor, geom 0, may be the second of a pair."""
    ball = f"""<body name="ball"><joint type="slide" axis="0 1 0"/>
      <geom type="{shape}" size=".02 .02 .02" mass="1"/></body>"""
    ready = start(loose(World.from_string(scene(FLOOR + ball)).placed([0.02 - 1e-4])))
    assert advance(ready, 1)["contacts"][0] >= 1
    assert (ready.servo.rows.geom[0] == 0).any()


# --- two balls: one impulse, equal and opposite


def collide_balls(
    e: float, v: tuple[float, float], **contact: str
) -> tuple[np.ndarray, np.ndarray]:
    """Velocities right after the impulse of two equal balls, and all rows."""
    ball = (
        '<body name="{}" pos="{} 0 0"><joint type="slide" axis="1 0 0"/>'
        '<geom size=".05" mass="1"/></body>'
    )
    apart = 0.1 + 10e-3 * (v[0] - v[1]) - 1e-7
    world = World.from_string(scene(ball.format("a", 0) + ball.format("b", apart)), tool="a")
    ready = start(loose(world, Contact(restitution=e, **contact)), qvel=v)  # type: ignore[arg-type]
    rows = []
    for _ in range(30):
        rows.append(advance(ready, 1))
        if rows[-1]["collisions"][0]:
            break
    assert rows[-1]["state"][0] == COLLIDING
    return ready.servo.scene.qvel.copy(), np.concatenate(rows)


@pytest.mark.parametrize(
    ("e", "after"), [(0.0, (0.5, 0.5)), (0.5, (0.25, 0.75)), (1.0, (0.0, 1.0))]
)
@pytest.mark.parametrize("method", ["complementarity", "equality"])
def test_two_equal_balls_share_the_momentum(
    e: float, after: tuple[float, float], method: str
) -> None:
    velocity, rows = collide_balls(e, (1.0, 0.0), method=method)
    np.testing.assert_allclose(velocity, after, atol=1e-14)
    assert velocity.sum() == pytest.approx(1.0, abs=1e-15)
    assert rows["impact_energy"][-1] == pytest.approx(-0.25 * (1 - e**2), abs=1e-14)


def test_overtaking_is_galilean() -> None:
    velocity, _ = collide_balls(0.5, (2.0, 1.0))
    np.testing.assert_allclose(velocity, (1.25, 1.75), atol=1e-14)


@pytest.mark.parametrize(
    ("v", "e", "after"),
    [
        ((1.0, 0.0), 0.0, (0.0, 0.0)),
        ((1.0, 0.0), 0.5, (-0.5, 0.0)),
        ((1.0, 0.0), 1.0, (-1.0, 0.0)),
        ((2.0, 1.0), 0.0, (0.0, 0.0)),
        ((2.0, 1.0), 1.0, (-2.0, -1.0)),
    ],
)
def test_split_rows_are_the_documents_to_the_letter(
    v: tuple[float, float], e: float, after: tuple[float, float]
) -> None:
    """Errata E3: every other body acts as a fixed wall. TH 4.22-4.23 is equality per body."""
    velocity, _ = collide_balls(e, v, self_collision="split", method="equality")
    np.testing.assert_allclose(velocity, after, atol=1e-14)


@pytest.mark.parametrize("first", ["box", "sphere"])
def test_split_rows_whichever_geom_comes_first(first: str) -> None:
    """MuJoCo puts the sphere first, whichever body comes first."""
    kinds = [first, "sphere" if first == "box" else "box"]
    bodies = "".join(
        f'<body name="{name}" pos="{x} 0 0"><joint type="slide" axis="1 0 0"/>'
        f'<geom type="{kind}" size=".05 .05 .05" mass="1"/></body>'
        for name, x, kind in zip("ab", (0.0, 0.1 - 1e-7), kinds, strict=True)
    )
    contact = Contact(restitution=0.5, self_collision="split", method="equality")
    ready = start(loose(World.from_string(scene(bodies), tool="a"), contact), qvel=[1.0, -0.4])
    assert advance(ready, 1)["state"][0] == COLLIDING
    np.testing.assert_allclose(ready.servo.scene.qvel, [-0.5, 0.2], atol=1e-12)


def test_split_rows_with_impulses_that_only_push() -> None:
    """The ball that stands still gets nothing from a wall that it does not approach."""
    velocity, _ = collide_balls(0.5, (1.0, 0.0), self_collision="split")
    np.testing.assert_allclose(velocity, (-0.5, 0.0), atol=1e-14)


# --- impulses on a peg


@pytest.mark.parametrize("method", ["complementarity", "equality"])
def test_a_spinning_peg_is_glued_by_equality_only(method: str) -> None:
    """Errata E4: p = (0.219, −0.019) N·s glues; the LCP lets one vertex lift off."""
    ready = start(loose(peg(0, 0.0105 - 1e-6), Contact(method=method)), qvel=[0.0, -0.1, 1.0])
    row = advance(ready, 1)[0]
    assert row["state"] == COLLIDING
    assert row["collisions"] == 2
    after = ready.servo.scene.qvel
    impulse = np.sort(ready.servo.rows.force[rows_now(ready)]) * 1e-3
    x = 0.021
    if method == "equality":
        np.testing.assert_allclose(after, 0.0, atol=1e-12)
        np.testing.assert_allclose(impulse, [-0.019, 0.219], atol=5e-4)
    else:
        push = (0.1 + x) / (1 / 2 + x**2 / 0.005)
        np.testing.assert_allclose(impulse, [0.0, push], atol=1e-6)
        np.testing.assert_allclose(after[1] + x * after[2] * np.array([-1, 1]) >= -1e-12, True)
        assert after[2] > 0.0


def test_the_hand_feels_the_impulse_of_one_step() -> None:
    """M7: F_env · T is the change of momentum."""
    ready = start(loose(peg(0, 0.0105 - 1e-6), Contact(restitution=0.4)), qvel=[0.3, -0.1, 0.0])
    row = advance(ready, 1)[0]
    np.testing.assert_allclose(
        row["environment_wrench"] * 1e-3, [0, 2 * 0.14, 0, 0, 0, 0], atol=1e-13
    )
    np.testing.assert_allclose(ready.servo.scene.qvel, [0.3, 0.04, 0.0], atol=1e-14)


def test_only_the_tools_contacts_reach_the_hand() -> None:
    ball = (
        '<body pos="{} {} 0"><joint type="slide" axis="1 0 0"/><geom size=".05" mass="1"/></body>'
    )
    body = f'<body name="peg" pos="0 .5 0">{PLANAR}<geom type="box" size=".021 .0105 .01"/></body>'
    world = World.from_string(
        scene(body + ball.format(0, 0) + ball.format(0.1 - 1e-6, 0)), tool="peg"
    )
    ready = start(loose(world), qvel=[0, 0, 0, 1.0, 0.0])
    row = advance(ready, 1)[0]
    assert row["collisions"] == 1
    assert row["state"] == FREE
    assert row["contacts"] == 0
    assert not row["environment_wrench"].any()
    assert row["impact_energy"] == pytest.approx(-0.25)


# --- states (M4)


def test_penalty_mode_never_collides() -> None:
    world = peg(-0.05, 0.03, FLOOR + WALL, turn=0.3)
    contact = Contact(mode="penalty", damping=10)
    run = loose(world, contact).run(2.0, Constant(force=(0.5, -0.5)))
    assert (run["contacts"] > 0).any()
    assert (run["collisions"] == 0).all()
    assert not run["impact_energy"].any()
    assert set(np.unique(run["state"])) == {FREE, RESTING}


def test_a_new_contact_that_separates_rests_without_impulse() -> None:
    """TH Fig 4.4: the collision was missed, pushing now would be wrong."""
    ready = start(loose(peg(0, 0.0105 - 1e-6), Contact(1000, 0)), qvel=[0, 0.1, 0])
    row = advance(ready, 1)[0]
    assert row["state"] == RESTING
    assert row["collisions"] == 0
    assert row["environment_wrench"][1] == pytest.approx(2 * 1000 * 1e-6)


def test_a_fast_turning_body_does_not_miss_its_first_collision() -> None:
    """Its path is not straight, so that s − T v may lie inside although it came from outside."""
    box = '<body name="box"><freejoint/><geom type="box" size=".1 .06 .04" mass="1"/></body>'
    world = World.from_string(scene('<geom type="plane" size="5 5 .1"/>' + box))
    rng = np.random.default_rng(5)
    for _ in range(100):  # a straight path misses the 91st
        turn = rng.normal(size=4)
        pose = [0.0, 0.0, 0.2, *(turn / np.linalg.norm(turn))]
        fast = [0.0, 0.0, -rng.uniform(0.3, 1.0), *rng.normal(size=3, scale=15.0)]
        trace = advance(start(loose(world.placed(pose), Contact()), qvel=fast), 400)
        first = int(np.argmax(trace["contacts"] > 0))
        assert trace["contacts"][first] > 0
        came = trace["tool_energy"][first + 1] < trace["tool_energy"][first]
        assert trace["state"][first] == COLLIDING or not came


@pytest.mark.parametrize("ticks", [1, 2, 3, 4, 7])
def test_a_ball_that_touches_exactly_at_a_tick_bounces(ticks: int) -> None:
    ball = '<body name="ball"><freejoint/><geom size=".05" mass=".5"/></body>'
    world = World.from_string(scene('<geom type="plane" size="5 5 .1"/>' + ball))
    at = world.placed([0.0, 0.0, 0.05 + ticks * 1e-3, 1.0, 0.0, 0.0, 0.0])
    ready = start(loose(at, Contact(restitution=1.0)), qvel=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    trace = advance(ready, 20)
    assert trace["tool_twist"][-1, 2] == pytest.approx(1.0, abs=1e-9)
    assert trace["depth"].max() <= 1.001e-3


def test_a_colliding_group_gets_impulses_instead_of_penalties() -> None:
    ready = start(loose(peg(0, 0.0105 - 5e-5), Contact(1e5, 100)), qvel=[0, -0.1, 0])
    row = advance(ready, 1)[0]
    assert row["state"] == COLLIDING
    assert row["environment_wrench"][1] == pytest.approx(2 * 0.1 / 1e-3)  # no K·depth in it


def test_a_second_contact_re_activates_the_first() -> None:
    """S0 Fig 1c: resting on the floor, the peg meets the wall with its upper edge."""
    step = '<geom type="box" size=".1 .1 1" pos=".1 .105 0"/>'  # a wall above y = 5 mm
    ready = start(
        loose(peg(-0.021 + 1e-6, 0.0105 - 1e-4, FLOOR + step), Contact(4000, 30)),
        qvel=[0.1, 0.0, 0.0],
    )
    row = advance(ready, 1)[0]
    assert row["state"] == COLLIDING
    rows, touching = ready.servo.rows, rows_now(ready)
    floor = [r for r in touching if abs(rows.normal[r, 1]) > 0.9]
    assert len(floor) == 2
    assert rows.force[floor].max() > 0.0  # an impulse on the floor, which nobody struck
    after = rows.jac[touching] @ ready.servo.scene.qvel
    assert after.min() >= -1e-12
    assert abs(ready.servo.scene.qvel[2]) < 10.0


def test_a_receding_contact_joins_if_the_collision_turns_it_around() -> None:
    """X1: a thin rod whose left end hits while its right end recedes.

    With G = J D⁻¹ Jᵀ = [[4, −2], [−2, 4]] 1/kg the impulse of the left end alone would leave the
    right one with 0.2 v − v/2 < 0; p = G⁻¹ (v, −0.2 v) stops both.
    """
    half, inertia, v = 0.1, 1.0 / 300.0, 0.1
    body = PLANAR.replace('mass="2"', 'mass="1"').replace("0.005", f"{inertia:.17g}")
    rod = f'<body name="rod">{body}<geom type="box" size="{half} .01 .01"/></body>'
    world = World.from_string(scene(FLOOR + rod)).placed([0.0, 0.01 - 1e-6, 0.0])
    before = np.array([0.0, -0.4 * v, 0.6 * v / half])
    ready = start(loose(world), qvel=before)
    D = full_inertia(ready)
    np.testing.assert_allclose(D, np.diag([1.0, 1.0, inertia]), atol=1e-12)
    row = advance(ready, 1)
    rows, touching = ready.servo.rows, rows_now(ready)
    ends = sorted(touching, key=lambda r: float(rows.point[r, 0]))
    assert row["state"][0] == COLLIDING and len(ends) == 2
    np.testing.assert_allclose(rows.velocity[ends], [-v, 0.2 * v], rtol=1e-4)
    np.testing.assert_allclose(1e-3 * rows.force[ends], [0.3 * v, 0.1 * v], rtol=1e-4)
    np.testing.assert_allclose(ready.servo.scene.qvel, 0.0, atol=1e-12)
    torque = rows.jac[ends].T @ rows.force[ends]
    np.testing.assert_allclose(ready.servo.motion.impulsive, torque, atol=1e-9)
    np.testing.assert_allclose(1e-3 * torque, -D @ before, atol=1e-12)
    assert row["impact_energy"][0] == pytest.approx(-0.5 * before @ D @ before)


# --- what neither collides nor is held as stiff as it was asked for


def one_ball(speed: float, contact: Contact, depth: float = 1e-8) -> tuple[np.ndarray, Servo]:
    """A ball of 1 kg, a hair inside a plane, for one tick."""
    world = World.from_string(
        scene(
            """<geom type="plane" size="1 1 .1"/><body name="ball" pos="0 0 .02">
            <joint type="slide" axis="0 0 1"/><geom size=".02" mass="1"/></body>"""
        )
    )
    ready = start(loose(world.placed([-depth]), contact), qvel=[-speed])
    return advance(ready, 1), ready.servo


@pytest.mark.parametrize(("speed", "collides"), [(0.9e-4, False), (1.1e-4, True)])
def test_a_contact_that_creeps_does_not_collide(speed: float, collides: bool) -> None:
    """Slower than 0.1 mm/s there is no impulse, only the penalty force."""
    row, servo = one_ball(speed, Contact(stiffness=1.0, damping=0.0))
    assert row["state"][0] == (COLLIDING if collides else RESTING)
    assert row["collisions"][0] == int(collides)
    assert servo.motion.impulsive.any() == collides
    assert servo.scene.qvel[0] == pytest.approx(0.0 if collides else -speed, abs=1e-9)


@pytest.mark.parametrize(
    ("stiffness", "damping", "held"),
    [(10.0, 5.0, (10.0, 5.0)), (10.0, 1e6, (10.0, 500.0)), (1e9, 5.0, (250e3, 5.0))],
)
def test_gains_of_a_contact_are_what_the_step_can_hold(
    stiffness: float, damping: float, held: tuple[float, float]
) -> None:
    """K T² ≤ m/4 and B T ≤ m/2, each by itself; and it is counted only where it happens.

    A spring that would be softened to less than a third is taken at the end of the step instead.
    """
    contact = Contact(stiffness=stiffness, damping=damping, mode="penalty")
    _, servo = one_ball(0.0, contact, depth=1e-4)
    assert (servo.rows.stiffness[0], servo.rows.damping[0]) == pytest.approx(held)
    assert servo.rows.bounded[0] == int(held != (stiffness, damping))
    ahead = 1.0 + 1e-3 * (1e-3 * stiffness + damping)  # 1 kg, 1 ms
    soft = held[0] < stiffness / 3.0
    expected = 1e-4 * stiffness / ahead if soft else 1e-4 * held[0]
    assert servo.rows.force[0] == pytest.approx(expected)


# --- bouncing


@pytest.mark.parametrize("e", [0.3, 0.7, 1.0])
def test_a_ball_bounces_to_e_squared_of_its_height(e: float) -> None:
    world = World.from_string(
        scene(
            """<geom type="plane" size="1 1 .1"/><body name="ball" pos="0 0 .12">
            <joint type="slide" axis="0 0 1"/><geom size=".02" mass="1"/></body>""",
            'gravity="0 0 -9.81"',
        )
    )
    run = loose(world, Contact(restitution=e), rate=4000).run(0.5)
    height = run["tool_position"][:, 2] - 0.02
    first = int(np.argmax(run["collisions"] > 0))
    assert first > 0
    until = first + round(2 * e * np.sqrt(2 * 0.1 / 9.81) * 4000 * 0.9)
    assert height[first:until].max() == pytest.approx(0.1 * e**2, rel=0.02, abs=5e-4)
    assert run["collisions"][first:until].sum() == 1


# --- rigid time stepping


def test_rigid_contacts_do_not_penetrate() -> None:
    world = World.builtin("corner").placed([0.05, -0.06, 0.2])
    run = loose(world, Contact(mode="rigid"), rate=512).run(4.0, Constant(force=(0.32, -0.4)))
    assert run["depth"].max() <= 1e-9
    np.testing.assert_allclose(run["environment_wrench"][-1, :2], [-0.32, 0.4], atol=1e-9)
    np.testing.assert_allclose(run["tool_position"][-1, :2], [0.059, -0.0695], atol=1e-6)
    stiff = Contact(9_000.0, 5.0, mode="rigid")  # which means nothing here
    again = loose(world, stiff, rate=512).run(0.5, Constant(force=(0.32, -0.4)))
    assert (again["tool_position"] == run["tool_position"][: len(again)]).all()


def test_a_rigid_box_falls_flat_without_penetrating() -> None:
    world = World.from_string(
        scene(
            """<geom type="plane" size="1 1 .1"/><body name="box" pos="0 0 .05" euler="20 10 0">
            <freejoint/><geom type="box" size=".03 .02 .01" mass="1"/></body>""",
            'gravity="0 0 -9.81"',
        )
    )
    run = loose(world, Contact(mode="rigid")).run(2.0)
    # the normal turns within a step, so a tilted box may sink by second order of the step
    assert run["depth"].max() <= 1e-3
    assert run["depth"][-1] <= 1e-9
    assert run["tool_position"][-1, 2] == pytest.approx(0.01, abs=1e-6)


def test_the_state_of_a_rigid_contact_does_not_flicker() -> None:
    """At rest a rigid contact has s = ±1e-18: it must not be called colliding again and again."""
    world = World.builtin("corner").placed([0.05, -0.06, 0.1])
    session = Session(world, Contact(mode="rigid"), rate=512)
    run = session.run(4.0, Constant(force=(0.32, -0.4)))
    last = run["state"][-512:]
    assert (last == RESTING).all()


# --- passivity of impulses


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("method", ["complementarity", "equality"])
@pytest.mark.parametrize("rows", ["relative", "split"])
def test_impulses_never_raise_the_energy(e: float, method: str, rows: str) -> None:
    """Seven bodies tumbling in a box: ΔKE ≤ 0 at every tick with an impulse."""
    rng = np.random.default_rng(7)
    walls = "".join(
        f'<geom type="plane" size="1 1 .1" pos="{p}" zaxis="{n}"/>'
        for p, n in (
            ("0 0 -.1", "0 0 1"), ("0 0 .1", "0 0 -1"), ("-.1 0 0", "1 0 0"),
            (".1 0 0", "-1 0 0"), ("0 -.1 0", "0 1 0"), ("0 .1 0", "0 -1 0"),
        )
    )  # fmt: skip
    kinds = ['type="sphere" size=".02"', 'type="box" size=".02 .015 .01"',
             'type="capsule" size=".01 .02"', 'type="cylinder" size=".015 .02"']  # fmt: skip
    places = [(x, y, 0.0) for x in (-0.05, 0.0, 0.05) for y in (-0.05, 0.05)] + [(0.0, 0.0, 0.06)]
    bodies = "".join(
        f'<body name="b{i}" pos="{x} {y} {z}"><freejoint/>'
        f'<geom {kinds[i % 4]} mass="{1 + i % 3}"/></body>'
        for i, (x, y, z) in enumerate(places)
    )
    world = World.from_string(scene(walls + bodies, 'gravity="0 0 -9.81"'), tool="b0")
    contact = Contact(restitution=e, method=method, self_collision=rows)
    ready = start(loose(world, contact), qvel=rng.standard_normal(6 * len(places)))
    trace = advance(ready, 1500)
    struck = trace["collisions"] > 0
    assert struck.sum() > 20
    scale = 0.5 * np.abs(full_inertia(ready)).max()
    assert trace["impact_energy"].max() <= 1e-12 * max(scale, 1.0)
    assert np.isfinite(trace["tool_position"]).all()
    if e == 1.0 and method == "equality":
        np.testing.assert_allclose(trace["impact_energy"], 0.0, atol=1e-9)


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for 128 contacts, whatever the scene holds."""
    monkeypatch.setattr(setup_world, "row_capacity", lambda model, felt: 128)


@pytest.mark.usefixtures("few_rows")
def test_the_tools_contacts_are_kept_when_there_are_too_many() -> None:
    """40 boxes on a floor make 160 contacts; 128 fit, and what is dropped is counted."""
    boxes = "".join(
        f'<body name="b{i}" pos="{i % 8 / 10} {i // 8 / 10} .0095"><freejoint/>'
        '<geom type="box" size=".02 .02 .01" mass="1"/></body>'
        for i in range(40)
    )
    floor = '<geom type="plane" size="5 5 .1"/>'
    world = World.from_string(scene(floor + boxes, 'gravity="0 0 -9.81"'), tool="b39")
    rows = advance(start(loose(world, Contact(4000, 60))), 400)
    assert (rows["dropped"] == 160 - 128).all()
    assert (rows["contacts"] == 4).all()
    assert rows["depth"][-1] == pytest.approx(9.81 / 16000, rel=0.05)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("tool", ["b0", "b17", "b39"])
def test_the_deepest_contacts_are_kept_beside_the_tools(tool: str) -> None:
    """One tick of 160 contacts, each box deeper than the last: 31 boxes and the tool's remain."""
    boxes = "".join(
        f'<body name="b{i}" pos="{i % 8 / 10} {i // 8 / 10} {0.01 - 1e-5 * (1 + i * 7 % 40)}">'
        '<joint type="slide" axis="0 0 1"/><geom type="box" size=".02 .02 .01" mass="1"/></body>'
        for i in range(40)
    )
    world = World.from_string(scene('<geom type="plane" size="5 5 .1"/>' + boxes), tool=tool)
    ready = start(loose(world, Contact(4000, 60)))
    row = advance(ready, 1)
    rows = ready.servo.rows
    kept = {int(g) for g in rows.geom[: rows.count[0]].max(axis=1)}
    own = 1 + int(tool[1:])
    deep = sorted(range(40), key=lambda i: -(i * 7 % 40))
    assert row["dropped"][0] == 160 - 128
    assert own in kept
    assert {1 + i for i in deep[:31]} <= kept


@pytest.mark.parametrize("contacts", [3, 4, 9, 25])
def test_resultant_stiffness_does_not_count_contacts(contacts: int) -> None:
    """B9: pressed with F, a face sinks by F/K, on however many points it stands."""
    side = round(contacts**0.5)
    spots = [(0.0, 0.0), (0.04, 0.0), (0.0, 0.04)]
    if contacts > 3:
        spots = [(0.02 * i, 0.02 * j) for i in range(side) for j in range(side)]
    middle = np.mean(spots, axis=0)
    balls = "".join(f'<geom size="0.005" pos="{x} {y} 0"/>' for x, y in spots)
    world = World.from_string(
        scene(
            '<geom type="plane" size="1 1 0.1"/><body name="tool" pos="0 0 0.005"><freejoint/>'
            f'<inertial pos="{middle[0]} {middle[1]} 0" mass="2" diaginertia="0.01 0.01 0.01"/>'
            f"{balls}</body>"
        ),
        tool="tool",
    )
    for resultant, stiffness in ((True, 4000.0), (False, contacts * 4000.0)):
        contact = Contact(4000.0, 60.0, mode="penalty", resultant=resultant)
        ready = start(loose(world, contact), Constant((0.0, 0.0, -2.0)))
        rows = advance(ready, 3000)
        assert rows["contacts"][-1] == contacts
        assert rows["depth"][-1] == pytest.approx(2.0 / stiffness, rel=1e-3)


def test_contacts_that_recede_are_no_part_of_a_collision() -> None:
    """One end of a turning peg strikes, and the other one leaves."""
    floor = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
    peg = f'<body name="peg">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
    world = World.from_string(scene(floor + peg)).placed((0, 0.01 - 1e-6, 0))
    ready = start(loose(world, Contact(restitution=0.5)), qvel=[0.0, 0.0, 1.0])
    for place in (places.SENSE, places.APPROACH, places.REACT):
        run_stage(ready.servo, place)
    rows = ready.servo.rows
    leaving = rows.velocity[: rows.count[0]] > 0.0
    assert rows.count[0] == 2 and leaving.sum() == 1
    assert rows.struck[0] == 1
    np.testing.assert_array_equal(rows.force[:2] > 0.0, ~leaving)


@pytest.mark.parametrize("resultant", [True, False])
def test_a_face_shares_its_damping_as_it_does_its_stiffness(resultant: bool) -> None:
    """Pressed flat and sinking: B v of the whole face, or of each of its contacts."""
    floor = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
    peg = f'<body name="peg">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
    world = World.from_string(scene(floor + peg)).placed((0, 0.01 - 1e-4, 0))
    contact = Contact(4000.0, 60.0, mode="penalty", resultant=resultant)
    felt = [
        advance(start(loose(world, contact), qvel=[0.0, -v, 0.0]), 1)[0]["environment_wrench"][1]
        for v in (0.0, 0.01)
    ]
    assert felt[1] - felt[0] == pytest.approx((1 if resultant else 2) * 60.0 * 0.01, rel=1e-6)
