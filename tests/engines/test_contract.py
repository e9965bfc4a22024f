"""What both engines promise, on the same scenes."""

from __future__ import annotations

from functools import partial

import mujoco
import numpy as np
import pytest

from detent import Contact, LocalModel, Pace, Session, World
from detent.coupling.four_channel import TABLE_4_1
from detent.engines import find_engine
from detent.engines.frame import Frames, find_pushes
from detent.engines.mirror import substeps
from detent.engines.protocol import Push, Task
from detent.errors import EngineError, SceneError
from detent.hands import Constant, Guided, Sinusoid
from detent.local.proxy import cut_to_tool
from detent.local.records import HEALTH, NEAR, PUSH, update_views
from detent.setup.prepared import advance
from lab import PLANAR, scene
from sweeps import LONG

ENGINES = ["mujoco", "bullet"]
BLOCKS = scene(
    f'<body name="peg">{PLANAR}<geom type="box" size=".02 .02 .01" friction="0"/></body>'
    f'<body name="block" pos=".05 0 0">{PLANAR}'
    '<geom type="box" size=".02 .02 .01" friction="0"/></body>',
)
SOLIDS = scene(
    '<geom type="plane" size="1 1 .1"/><geom type="sphere" size=".03" pos=".1 0 .03"/>'
    '<geom type="capsule" size=".02 .05" pos="-.1 0 .07"/>'
    '<geom type="cylinder" size=".02 .05" pos="0 .1 .05"/>'
    '<body name="tool" pos="0 0 .0324"><freejoint/><inertial pos=".002 0 0" mass="1" '
    'diaginertia=".001 .002 .003"/><geom type="box" size=".03 .02 .01" euler="10 20 30"/></body>'
    '<body name="free" pos="0 -.06 .05"><freejoint/><inertial pos=".001 .002 0" mass=".5" '
    'diaginertia=".001 .001 .001"/><geom type="box" size=".03 .02 .01"/></body>'
)
CHAIN = scene(
    '<body name="base" pos=".1 0 0" euler="0 0 20"><joint name="lift" type="slide" axis="0 0 1" '
    'range="-.1 .1"/><joint name="turn" axis="0 0 1" pos=".01 0 0" damping=".01"/>'
    '<geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" mass="1"/>'
    '<body name="tip" pos=".1 0 0"><joint name="elbow" axis="0 1 0"/>'
    '<geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" mass="1"/></body></body>'
)
SCENES = {"blocks": (BLOCKS, "peg"), "solids": (SOLIDS, "tool"), "chain": (CHAIN, "tip")}


def make(engine: str, xml: str, tool: str, **local: object) -> tuple[Frames, World]:
    if engine == "bullet":
        pytest.importorskip("pybullet")
    world = World.from_string(xml, tool=tool)
    task = Task(world, cut_to_tool(world), LocalModel(**{"epsilon": 0.02, **local}), Contact())
    return Frames(find_engine(engine)(task), task), world


def state(world: World, time: float = 0.0) -> np.ndarray:
    cut = cut_to_tool(world).world
    return np.concatenate([[time], cut.qpos, cut.qvel, np.zeros(cut.model.nv)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SCENES)
def test_links_are_where_the_scene_puts_them(engine: str, name: str) -> None:
    frames, world = make(engine, *SCENES[name])
    frames.make(state(world))
    data = mujoco.MjData(world.model)
    data.qpos[:] = world.qpos
    mujoco.mj_kinematics(world.model, data)
    expected = np.hstack([data.xpos, data.xquat])
    np.testing.assert_allclose(frames.engine.bodies(), expected, atol=1e-6)
    poses, twists = frames.engine.links()
    assert poses.shape == (len(cut_to_tool(world).bodies), 7) and not twists.any()


@pytest.mark.parametrize("engine", ENGINES)
def test_near_things_have_the_distance_that_mujoco_measures(engine: str) -> None:
    frames, world = make(engine, SOLIDS, "tool", epsilon=0.05)
    frames.make(state(world))
    near = frames.engine.near()
    assert near.dtype == NEAR and len(near) > 4
    np.testing.assert_allclose(np.linalg.norm(near["normal"], axis=1), 1.0, atol=1e-6)
    data = mujoco.MjData(world.model)
    mujoco.mj_kinematics(world.model, data)
    box = int(world.model.body("tool").geomadr[0])
    others = [g for g in range(world.model.ngeom) if g != box]
    closest = min(mujoco.mj_geomDistance(world.model, data, box, g, 1.0, None) for g in others)
    assert near["separation"].min() == pytest.approx(closest, abs=2e-4)
    centre = data.xipos[world.tool]
    towards = np.einsum("ij,ij->i", near["normal"], centre - near["place"])
    assert (towards > 0.0).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["blocks", "chain"])
def test_the_tool_follows_the_proxy(engine: str, name: str) -> None:
    frames, world = make(engine, *SCENES[name])
    frames.make(state(world))
    target = state(world)
    nq = cut_to_tool(world).world.model.nq
    for k in range(1, 61):
        target[0] = k / 60.0
        target[1] = 0.02 * np.sin(0.5 * np.pi * k / 60.0) - (0.0 if name == "chain" else 0.03)
        frames.make(target.copy())
    engine_q = frames.engine.data.qpos[cut_to_tool(world).qpos]
    np.testing.assert_allclose(engine_q, target[1 : 1 + nq], atol=2e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_forces_move_objects_by_newton(engine: str) -> None:
    """With inertial constraints an object gets the impulse and the displacement of the pushes."""
    frames, world = make(engine, SOLIDS.replace("gravity", "viscosity='0' gravity"), "tool",
                         constraints="inertial")  # fmt: skip
    first = np.concatenate([state(world), np.zeros(64 * PUSH.itemsize // 8)])
    frames.make(first)
    pushed = np.zeros(64, PUSH)
    pushed["serial"][3], pushed["other"][3] = 1, world.model.body("free").id
    pushed["place"][3] = frames.engine.data.xipos[world.model.body("free").id]
    pushed["impulse"][3] = (0.05, 0.0, 0.1)
    pushed["moment"][3] = pushed["impulse"][3] * 0.02 * 0.75  # most of it came early
    then = state(world, 0.02)
    frames.make(np.concatenate([then, pushed.view(np.float64)]))
    mirror = frames.engine
    dof = mirror.model.body("free").dofadr[0]
    np.testing.assert_allclose(mirror.data.qvel[dof : dof + 3], (0.1, 0.0, 0.2), atol=2e-3)
    moved = mirror.data.xpos[world.model.body("free").id] - (0.0, -0.06, 0.05)
    np.testing.assert_allclose(moved, 0.75 * 0.02 * np.array([0.1, 0.0, 0.2]), atol=4e-4)


def test_pushes_keep_impulse_and_displacement() -> None:
    rng = np.random.default_rng(0)
    before, now = np.zeros(2, PUSH), np.zeros(2, PUSH)
    for name in ("impulse", "moment"):
        before[name][0], now[name] = rng.normal(size=3), rng.normal(size=(2, 3))
    before["serial"], now["serial"] = (4, 0), (4, 7)
    old, new = find_pushes(before, now, 0.1)
    for push, start in ((old, before[0]), (new, np.zeros(1, PUSH)[0])):
        assert isinstance(push, Push)
        slope = (push.last - push.first) / 0.1
        index = 0 if push is old else 1
        np.testing.assert_allclose(
            0.1 * push.first + 0.005 * slope, now["impulse"][index] - start["impulse"]
        )
        moment = now["moment"][index] - start["moment"] - 0.1 * start["impulse"]
        np.testing.assert_allclose(0.005 * push.first + slope * 0.1**3 / 6.0, moment)


def test_no_substep_is_longer_than_the_engine_allows() -> None:
    for seconds in (0.0, 0.001, 0.002, 0.0167, 0.2):
        steps = substeps(seconds, 0.002)
        assert steps * 0.002 >= seconds - 1e-12 and (steps - 1) * 0.002 < seconds + 1e-12


@pytest.mark.parametrize("world", ["corner", "peg-in-hole"])
def test_the_hand_feels_the_same_through_both(world: str) -> None:
    """Static worlds: device trajectories agree to a nanometre in two seconds of shaking."""
    pytest.importorskip("pybullet")
    start = (0.0, -0.06, 0.0) if world == "corner" else (0.0, -0.045, 0.0)
    traces = [
        Session(World.builtin(world).placed(start), Contact(4000.0, 30.0), TABLE_4_1, rate=1000.0,
                local=LocalModel(epsilon=0.005), engine=engine, pace=Pace(0.02)).run(
            2.0, Sinusoid((1.0, 0.0, 0.0), frequency=2.0, bias_force=(0.0, -0.5, 0.0)))
        for engine in ENGINES
    ]  # fmt: skip
    apart = np.abs(traces[0]["device_position"] - traces[1]["device_position"])
    assert apart.max() < 1e-9
    assert traces[0]["contacts"].max() > 0


def spoil(engine: object) -> None:
    """Bullet's own divergence is hard to get: the state that is read is none."""
    engine.data.qpos[3] = np.nan


@pytest.mark.parametrize("name", ENGINES)
def test_a_diverged_world_is_noticed_and_goes_on_from_rest(name: str) -> None:
    """MuJoCo resets it silently: its counters tell. Bullet needs a new world."""
    frames, world = make(name, BLOCKS, "peg")
    frames.make(state(world))
    engine = frames.engine
    engine.data.qvel[3:6] = 1e12
    if name == "bullet":
        read = engine._read
        engine._read = partial(spoil, engine)
    head, _ = update_views(frames.make(state(world, 0.05)))
    assert head[HEALTH] != 0 and "diverged" in frames.trouble
    if name == "bullet":
        engine._read = read
    assert np.isfinite(engine.data.qpos).all() and not engine.data.qvel[3:].any()
    head, _ = update_views(frames.make(state(world, 0.1)))
    assert head[HEALTH] == 0


def test_bullet_refuses_what_it_does_not_know() -> None:
    pytest.importorskip("pybullet")
    world = World.builtin("four-bar")
    assert world.model.neq
    task = Task(world, cut_to_tool(world), LocalModel(), Contact())
    with pytest.raises(SceneError, match="loop closures"):
        find_engine("bullet")(task)


def test_an_engine_error_is_told_in_the_update() -> None:
    frames, world = make("mujoco", BLOCKS, "peg")

    def lose(*_: object) -> None:
        raise EngineError("out of memory")

    frames.engine.advance = lose
    head, _ = update_views(frames.make(state(world)))
    assert head[HEALTH] != 0 and frames.trouble == "out of memory"


def test_constant_pushes_of_the_hand_reach_a_pushed_object() -> None:
    """Static constraints: the block gets the hand's push through the tool, not a wall's."""
    world = World.from_string(BLOCKS, tool="peg")
    session = Session(world, Contact(4000.0, 30.0), TABLE_4_1, rate=1000.0, local=LocalModel())
    trace = session.run(2.0, Constant((0.4, 0.0)))
    assert trace["device_position"][-1, 0] > 0.05  # the block was not in the way


SLOW = '"slide" damping="10"'
HONEY = PLANAR.replace('"slide"', SLOW).replace('"hinge"', '"hinge" damping=".002"')


def push_off_centre(engine: str, constraints: str, beside: float = 0.006) -> np.ndarray:
    """Where a block in honey is that was pushed for 70 mm beside its middle: x, y and turn."""
    world = World.from_string(
        scene(
            f'<body name="peg">{PLANAR}<geom type="box" size=".02 .02 .01" friction="0"/></body>'
            f'<body name="block" pos=".045 {beside} 0">{HONEY}'
            '<geom type="box" size=".02 .02 .01" friction="0"/></body>'
        ),
        tool="peg",
    )
    hand = Guided(400.0, 10.0, 1.0, 0.02, path=[(0.0, 0, 0, 0), (2.0, 0.07, 0, 0)])
    session = Session(world, Contact(4000.0, 30.0), TABLE_4_1, rate=1000.0, engine=engine,
                      local=LocalModel(constraints=constraints))  # fmt: skip
    ready = session.prepare(hand, 1000.0, 2500)
    played = session.play_engine(ready)
    advance(ready, hand, 0, 2500, played)
    return played._frames.engine.data.qpos[3:6].copy()


def test_both_engines_push_a_block_as_far() -> None:
    """Beside its middle, with inertial constraints: within 3 % of the way, and 0.01 rad."""
    pytest.importorskip("pybullet")
    mujoco_block, bullet_block = (push_off_centre(engine, "inertial") for engine in ENGINES)
    assert mujoco_block[0] > 0.06
    apart = np.abs(mujoco_block - bullet_block)
    assert np.linalg.norm(apart[:2]) < 0.03 * mujoco_block[0]
    assert apart[2] < 0.01


@pytest.mark.parametrize("beside", np.linspace(0.002, 0.01, 9 if LONG else 2))
def test_both_engines_push_a_block_as_far_through_planes_that_stay(beside: float) -> None:
    """Static constraints, wherever it is pushed: within 3 % of the way.

    And about as far as in a synchronous session, 70.6 mm.
    """
    pytest.importorskip("pybullet")
    ours, theirs = (push_off_centre(engine, "static", beside) for engine in ENGINES)
    assert np.linalg.norm((ours - theirs)[:2]) < 0.03 * ours[0]
    assert ours[0] == pytest.approx(0.0706, rel=0.06)


def test_a_pushed_block_is_not_thrown() -> None:
    """In stiff honey it goes at 0.1 m/s: MuJoCo's warm start ended at 300 N, and threw it 7 m."""
    still = HONEY.replace('"10"', '"100"')
    text = f'<body name="peg">{PLANAR}<geom type="box" size=".02 .02 .01" friction="0"/></body>'
    text += f'<body name="block" pos=".05 0 0">{still}'
    text += '<geom type="box" size=".02 .02 .01" friction="0"/></body>'
    world = World.from_string(scene(text), tool="peg")
    for constraints in ("static", "kinematic"):
        session = Session(world, Contact(4000.0, 30.0), TABLE_4_1, rate=1000.0, outside="hold",
                          local=LocalModel(constraints=constraints))  # fmt: skip
        trace = session.run(2.0, Constant((10.0, 0.0)))
        assert 0.12 < trace["tool_position"][-1, 0] < 0.32  # 0.21 m in a synchronous session


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("constraints", ["static", "kinematic", "inertial"])
def test_a_cup_that_slides_beside_something_that_moves_stays_upright(
    engine: str, constraints: str
) -> None:
    """Dragged by its controller over a floor with friction, the engine's cup would tip over."""
    world = World.from_string(
        """<mujoco><custom><text name="detent.friction" data="none"/></custom><worldbody>
        <geom name="floor" type="plane" size="5 5 .1"/>
        <body pos="3 3 1"><joint axis="0 1 0" damping="2"/>
          <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body>
        <body name="cup" pos="0 0 .05"><freejoint/>
          <geom type="cylinder" size=".03 .05" mass=".1"/></body></worldbody></mujoco>""",
        tool="cup",
    )
    session = Session(world, local=LocalModel(constraints=constraints), engine=engine)
    trace = session.run(0.6, Constant((0.1, 0.0, -0.5)))
    np.testing.assert_allclose(trace["tool_position"][:, 2], 0.05, atol=5e-4)
    assert trace["tool_position"][-1, 0] > 0.1
