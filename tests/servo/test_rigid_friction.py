"""Rigid contact with Coulomb friction through the tick (M16): it sticks, slides, never gains."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Friction, Session, World
from detent.devices import IDEAL
from detent.errors import ParameterError
from detent.experiments.incline import GRAVITY, SIDE, slope_world
from detent.hands import Constant, Sinusoid
from detent.record.trace import Trace
from lab import PLANAR, advance, full_rows, loose, scene, start

MU = 0.25
ANGLE = float(np.arctan(MU))
FLOOR = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
WALLS = "".join(
    f'<geom type="plane" size="1 1 .1" pos="{p}" zaxis="{n}"/>'
    for p, n in (
        ("0 0 -.1", "0 0 1"), ("0 0 .1", "0 0 -1"), ("-.1 0 0", "1 0 0"),
        (".1 0 0", "-1 0 0"), ("0 -.1 0", "0 1 0"), ("0 .1 0", "0 -1 0"),
    )
)  # fmt: skip
PLACES = [(x, y, 0.0) for x in (-0.05, 0.0, 0.05) for y in (-0.05, 0.05)] + [(0.0, 0.0, 0.06)]
MASSES = np.array([1.0 + i % 3 for i in range(len(PLACES))])
TURNING = 4e-4  # [kg·m²] the same about all axes, so that free motion keeps its energy


def rigid(static: float = MU, kinetic: float | None = None, **options: object) -> Contact:
    kinetic = static if kinetic is None else kinetic
    return Contact(mode="rigid", friction=Friction(static, kinetic), **options)  # type: ignore[arg-type]


def slide(
    ratio: float, height: float, space: bool, heading: float = 0.0, seconds: float = 1.0
) -> Trace:
    """A block that is let go at once, touching a slope of this part of arctan μ."""
    world = slope_world(ratio * ANGLE, height, space, heading)
    place = np.array(world.qpos)
    place[2 if space else 1] = height
    return Session(world.placed(place), rigid(), device=IDEAL).run(seconds)


def moved(trace: Trace) -> float:
    return float(np.linalg.norm(trace["tool_position"][-1] - trace["tool_position"][0]))


@pytest.mark.parametrize("space", [False, True], ids=["plane", "space"])
@pytest.mark.parametrize("height", [0.001, SIDE / 2, SIDE])
@pytest.mark.parametrize("ratio", [0.9, 0.999])
def test_a_block_sticks_below_the_angle_of_friction(
    ratio: float, height: float, space: bool
) -> None:
    """Let go at once, tall or flat, for 10 s: what moves is the solver's first few steps."""
    trace = slide(ratio, height, space, seconds=10.0)
    assert moved(trace) < 2e-7
    later = trace["tool_position"][-1] - trace["tool_position"][1000]
    assert np.abs(later).max() < 1e-9
    assert trace["depth"].max() <= 1e-12


@pytest.mark.parametrize("space", [False, True], ids=["plane", "space"])
@pytest.mark.parametrize("height", [0.001, SIDE])
@pytest.mark.parametrize("ratio", [1.01, 1.5])
def test_a_block_slides_above_it_with_coulombs_acceleration(
    ratio: float, height: float, space: bool
) -> None:
    trace = slide(ratio, height, space)
    v = np.linalg.norm(trace["tool_twist"][:, :3], axis=1)
    found = np.polyfit(trace["time"][500:], v[500:], 1)[0]
    angle = ratio * ANGLE
    assert found == pytest.approx(GRAVITY * (np.sin(angle) - MU * np.cos(angle)), rel=1e-5)
    assert trace["depth"].max() <= 1e-12


def test_turning_the_scene_about_the_normal_changes_nothing() -> None:
    straight = slide(1.2, 0.001, True)["tool_position"]
    size = np.linalg.norm(straight[-1] - straight[0])
    for heading in np.linspace(0.0, 2.0 * np.pi, 8)[1:-1]:
        c, s = np.cos(heading), np.sin(heading)
        turned = slide(1.2, 0.001, True, heading)["tool_position"]
        back = turned @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        np.testing.assert_allclose(back, straight, rtol=0, atol=1e-9 * size)


def test_it_breaks_away_at_the_static_and_slides_with_the_kinetic_coefficient() -> None:
    body = f'<body name="peg">{PLANAR}<geom type="box" size=".021 .0105 .01"/></body>'
    world = World.from_string(scene(FLOOR + body, 'gravity="0 -10 0"')).placed((0, 0.0105, 0))
    contact, weight = rigid(0.5, 0.3), 20.0
    for push, slides in ((0.49 * weight, False), (0.51 * weight, True)):
        trace = loose(world, contact).run(0.8, Constant(force=(push, 0.0)))
        if not slides:
            assert moved(trace) < 1e-7
            continue
        v = trace["tool_twist"][:, 0]
        found = np.polyfit(trace["time"][500:], v[500:], 1)[0]
        assert found == pytest.approx((push - 0.3 * weight) / 2.0, rel=1e-3)


def test_a_sliding_ball_ends_up_rolling() -> None:
    """v = 5/7 v₀ for a solid ball, whatever μ; it slides for 2 v₀ / 7 μ g."""
    ball = """<geom type="plane" size="5 5 .1"/><body name="ball" pos="0 0 .05"><freejoint/>
    <inertial pos="0 0 0" mass="1" diaginertia=".001 .001 .001"/><geom size=".05"/></body>"""
    world = World.from_string(scene(ball, 'gravity="0 0 -9.81"'))
    ready = start(loose(world, rigid(0.2)), qvel=[0.6, 0.8, 0, 0, 0, 0])
    rows = advance(ready, 500)
    np.testing.assert_allclose(rows["tool_twist"][-1, :2], [0.6 * 5 / 7, 0.8 * 5 / 7], rtol=1e-6)
    speed = np.linalg.norm(rows["tool_twist"][:, :2], axis=1)
    rolling = rows["time"][np.argmax(speed < 5 / 7 + 1e-6)]
    assert rolling == pytest.approx(2.0 / (7 * 0.2 * 9.81), abs=2e-3)


def tumble(contact: Contact, kinds: tuple[str, ...], gravity: float) -> tuple[np.ndarray, ...]:
    """Energy of seven bodies in a box, tick by tick, and by how much bounds are missed."""
    bodies = "".join(
        f'<body name="b{i}" pos="{x} {y} {z}"><freejoint/>'
        f'<inertial pos="0 0 0" mass="{MASSES[i]}" diaginertia="{TURNING} {TURNING} {TURNING}"/>'
        f"<geom {kinds[i % len(kinds)]}/></body>"
        for i, (x, y, z) in enumerate(PLACES)
    )
    world = World.from_string(scene(WALLS + bodies, f'gravity="0 0 {-gravity}"'), tool="b0")
    speeds = np.random.default_rng(7).standard_normal((7, 6)) * ([0.5] * 3 + [5.0] * 3)
    ready = start(loose(world, contact), qvel=speeds.ravel())
    energies, missed = [], [0.0]
    for _ in range(1000):
        advance(ready, 1)
        v = ready.servo.scene.qvel.reshape(7, 6)
        z = ready.servo.scene.qpos.reshape(7, 7)[:, 2]
        kinetic = MASSES @ (v[:, :3] ** 2).sum(axis=1) + TURNING * (v[:, 3:] ** 2).sum()
        energies.append(0.5 * kinetic + gravity * MASSES @ z)
        rows, hits = ready.servo.rows, ready.servo.rows.hits[0]
        after = full_rows(ready, rows.jac) @ ready.servo.scene.qvel
        assert sorted(rows.hit_row[:hits]) == list(range(len(after)))
        missed.append((rows.hit_bound[:hits] - after[rows.hit_row[:hits]]).max(initial=0.0))
    return np.array(energies), np.array(missed)


KINDS = {
    "balls": ('type="sphere" size=".02"',),
    "boxes": ('type="box" size=".02 .02 .02"',),
    "all": (
        'type="sphere" size=".02"',
        'type="box" size=".02 .015 .01"',
        'type="capsule" size=".01 .02"',
    ),
}


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("gravity", [0.0, 9.81])
@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_energy_never_rises(kinds: str, gravity: float, mu: float) -> None:
    energy, missed = tumble(rigid(mu), KINDS[kinds], gravity)
    assert np.diff(energy).max() <= 1e-11
    assert energy[-1] < energy[0] - 1.0
    assert missed.max() < 1e-9  # [m/s] so it penetrates no more than without friction


def test_what_friction_holds_stays_there() -> None:
    """A box in the grip of two walls that close on it does not fall."""
    jaws = """<body name="left" pos="-.05 0 0"><joint name="left" type="slide" axis="1 0 0"/>
      <geom type="box" size=".02 .05 .05" mass="1"/></body>
    <body name="right" pos=".05 0 0"><joint type="slide" axis="1 0 0"/>
      <geom type="box" size=".02 .05 .05" mass="1"/></body>
    <body name="box" pos="0 0 0"><freejoint/><geom type="box" size=".03 .02 .02" mass="0.5"/></body>
    """
    motor = '<actuator><motor joint="left" ctrlrange="-100 100"/></actuator>'
    world = World.from_string(scene(jaws, 'gravity="0 0 -9.81"', motor), tool="right")
    world.ctrl[:] = 12.0
    hand = Constant(force=(-12.0, 0.0, 0.0))
    ready = start(loose(world, rigid(0.3)), hand)
    advance(ready, 1000)
    assert np.abs(ready.servo.scene.qpos[2:5]).max() < 1e-9
    load = ready.servo.rows.force[: ready.servo.rows.count[0]]  # eight corners share it
    assert load.sum() == pytest.approx(24.0)
    assert load.min() > 1.0
    ready = start(loose(world, rigid(0.1)), hand)
    advance(ready, 100)
    fall = -ready.servo.scene.qvel[4] / 0.1  # [m/s²] before it leaves the jaws
    assert fall == pytest.approx(9.81 - 0.1 * 24.0 / 0.5, rel=1e-2)


def test_a_joint_limit_has_no_friction() -> None:
    arm = """<body name="arm"><joint type="hinge" axis="0 0 1" range="-20 20"/>
    <geom type="capsule" size=".01" fromto="0 0 0 .3 0 0" mass="1"/></body>"""
    world = World.from_string(scene(arm, 'gravity="0 -9.81 0"'))
    trace = loose(world, rigid(0.8)).run(1.0)
    smooth = loose(world, Contact(mode="rigid")).run(1.0)
    np.testing.assert_allclose(
        trace["tool_quaternion"], smooth["tool_quaternion"], rtol=0, atol=1e-12
    )


def test_geoms_have_their_own_coefficients() -> None:
    body = f'<body name="peg">{PLANAR}<geom name="peg" type="box" size=".021 .0105 .01"/></body>'
    text = scene(FLOOR + body, 'gravity="0 -10 0"')
    world = World.from_string(text, properties={"floor": {"friction": 0.0}})
    trace = loose(world.placed((0, 0.0105, 0), (0.1, 0, 0)), rigid(0.5)).run(0.3)
    np.testing.assert_allclose(trace["tool_twist"][:, 0], 0.1, rtol=1e-12)


def test_loops_and_linkages_rub_too() -> None:
    for name in ("arm-7", "four-bar", "gripper"):
        hand = Sinusoid(force=(4.0, 3.0, 2.0), frequency=1.0, bias_force=(0.0, -1.0, -5.0))
        trace = Session(World.builtin(name), rigid(0.6)).run(1.0, hand)
        assert np.isfinite(trace["tool_position"]).all()
        assert trace["depth"].max() < 1e-3


def test_live_and_lockstep_and_repeated_runs_agree() -> None:
    hand = Sinusoid(force=(2.0, 3.0), torque=0.02, frequency=2.0, bias_force=(0.3, -0.4))
    session = Session(World.builtin("corner").placed([0.05, -0.06, 0.1]), rigid())
    assert session.run(1.0, hand).state_hash() == session.run(1.0, hand).state_hash()


@pytest.mark.parametrize("law", ["nahvi", "dahl", "classical"])
def test_laws_with_bonds_are_refused(law: str) -> None:
    with pytest.raises(ParameterError, match=f"friction law = '{law}'.*reset-integrator or none"):
        Contact(mode="rigid", friction=Friction(law=law))


def test_collisions_without_friction_are_refused() -> None:
    with pytest.raises(ParameterError, match="friction impacts = False"):
        Contact(mode="rigid", friction=Friction(impacts=False))
