"""A session with a local model: what is felt, between updates and at them."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, FourChannel, LocalModel, Pace, Session, Wall, World
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import Inertial
from detent.errors import EngineError, ParameterError, UnknownNameError
from detent.hands import Constant, Sinusoid
from detent.local.records import NEAR
from detent.servo.local.separation import true_separation
from detent.setup.prepared import advance
from lab import PLANAR, scene

pytestmark = pytest.mark.slow

CONTACT = Contact(4000.0, 30.0)
PUSH = Constant((0.32, -0.4))
WALLS = scene(
    '<geom type="plane" size="1 1 .1" pos="0 -.05 0" zaxis="0 1 0"/>'
    f'<body name="peg">{PLANAR}<geom type="box" size=".021 .0105 .01"/></body>'
)
BLOCK = scene(
    f'<body name="peg">{PLANAR}<geom type="box" size=".02 .02 .01" friction="0"/></body>'
    f'<body name="block" pos=".05 0 0">{PLANAR}'
    '<geom type="box" size=".02 .02 .01" friction="0"/></body>',
    'gravity="0 0 0" timestep="0.002"',
)


def corner(local: LocalModel | None, pace: Pace | None = None, **options: object) -> Session:
    options = {"coupling": TABLE_4_1, "rate": 512.0, **options}
    return Session(World.builtin("corner"), CONTACT, local=local, pace=pace, **options)


def test_early_geometry_feels_as_the_whole_world() -> None:
    """With all constraints there in time, the local model of a static world is the world."""
    exact = corner(None).run(2.0, PUSH)
    local = corner(LocalModel(epsilon=0.02)).run(2.0, PUSH)
    np.testing.assert_allclose(local["device_position"], exact["device_position"], atol=1e-12)
    np.testing.assert_allclose(local["device_wrench"], exact["device_wrench"], atol=1e-9)
    assert local["deformation"].max() < 1e-15


def test_runs_are_repeatable_and_seeds_differ() -> None:
    pace = Pace(0.02, jitter=0.5, loss=0.2, seed=3)
    a, b = (corner(LocalModel(), pace).run(1.0, PUSH) for _ in range(2))
    assert a.state_hash() == b.state_hash()
    c = corner(LocalModel(), Pace(0.02, jitter=0.5, loss=0.2, seed=4)).run(1.0, PUSH)
    assert not np.array_equal(a["update"], c["update"])


def test_late_constraints_deform_the_proxy_and_let_it_expand() -> None:
    """M22: pushed in too far, the wall is felt too deep; after a retreat it is where it was."""
    world = World.from_string(WALLS, tool="peg")
    session = Session(world, CONTACT, TABLE_4_1, rate=1000.0, local=LocalModel(epsilon=0.0),
                      pace=Pace(0.05))  # fmt: skip
    hand = Sinusoid((0.0, -1.0, 0.0), frequency=0.4)
    trace = session.run(4.0, hand)
    assert 1e-3 < trace["deformation"].max() < 0.05
    assert trace["deformation"][-1] == 0.0  # it has left the wall
    at_update = np.diff(trace["update"], prepend=trace["update"][0]) != 0
    assert (trace["impact_energy"] <= 1e-12).all()
    assert at_update.sum() > 50


def test_literal_reference_moves_the_wall_by_speed_times_latency() -> None:
    """TH 6.1 to the letter takes the proxy as it is when the update comes."""
    world = World.from_string(WALLS, tool="peg").placed((0, 0, 0), (0, -0.05, 0))
    floor = -0.05 + 0.0105
    felt = {}
    for reference in ("engine", "proxy"):
        local = LocalModel(epsilon=0.01, reference=reference)
        session = Session(world, CONTACT, TABLE_4_1, rate=1000.0, local=local,
                          pace=Pace(0.02, latency=0.04))  # fmt: skip
        trace = session.run(1.2)
        felt[reference] = floor - trace["tool_position"][-1, 1]
    assert abs(felt["engine"]) < 1e-4
    assert felt["proxy"] == pytest.approx(0.05 * 0.04, rel=0.15)


@pytest.mark.parametrize("mode", ["penalty", "impulse"])
def test_updates_do_not_step_the_force(mode: str) -> None:
    """No update changes the wrench at the hand by more than the slew limit allows in a tick."""
    rng = np.random.default_rng(5)
    world = World.builtin("peg-in-hole").placed((0.0, -0.045, 0.01))
    for seed in range(8):
        pace = Pace(rng.uniform(0.005, 0.2), jitter=rng.uniform(), loss=0.5 * rng.uniform(),
                    seed=seed)  # fmt: skip
        local = LocalModel(epsilon=rng.choice([0.0, 0.002]), slew_force=500.0, slew_torque=10.0)
        session = Session(world, Contact(4000.0, 30.0, mode=mode), TABLE_4_1, rate=1000.0,
                          local=local, pace=pace)  # fmt: skip
        trace = session.run(3.0, Sinusoid((2.0, -1.0, 0.0), 0.01, frequency=1.5))
        fresh = np.diff(trace["update"], prepend=trace["update"][0]) != 0
        struck = trace["collisions"] > 0
        quiet = fresh & ~struck & ~np.roll(struck, 1)
        step = np.diff(trace["environment_wrench"], axis=0, prepend=0.0)
        assert quiet.sum() > 5
        assert np.linalg.norm(step[quiet, :3], axis=1).max() <= 0.5 * (1 + 1e-9) + 1e-12
        assert np.abs(step[quiet, 5]).max() <= 0.01 * (1 + 1e-9) + 1e-12


def test_updates_never_load_the_springs() -> None:
    """Proxy energy at updates: ½ Σ K s² with the new set is not above that with the old one."""
    session = Session(World.builtin("peg-in-hole").placed((0.0, -0.045, 0.01)), CONTACT,
                      TABLE_4_1, rate=1000.0, local=LocalModel(epsilon=0.0, heal=False),
                      pace=Pace(0.03, jitter=1.0, loss=0.3, seed=1))  # fmt: skip
    hand = Sinusoid((3.0, -2.0, 0.0), 0.02, frequency=2.0)
    ready = session.prepare(hand, 1000.0, 4096)
    engine, lo = session.play_engine(ready), ready.servo.local
    seen = 0
    for tick in range(1500):
        old, sequence = lo.held[: lo.number[0]].copy(), lo.head[0]
        before = 0.0
        advance(ready, hand, tick, 1, engine)
        if lo.head[0] == sequence:
            continue
        seen += 1
        for i in range(len(old)):  # at the pose of the update: that of the tick that merged it
            present = true_separation(ready.servo.scene, old, i) + old["offset"][i]
            before += 0.5 * 4000.0 * min(present, 0.0) ** 2
        after = 0.5 * 4000.0 * (np.minimum(lo.held["separation"][: lo.number[0]], 0.0) ** 2).sum()
        assert after <= before + 1e-12
    assert seen > 20


def test_old_updates_fade_and_new_ones_return_by_a_ramp() -> None:
    """After the age limit the force falls to zero within 20 ms; it comes back without a step."""
    world = World.builtin("corner").placed((0.0, -0.0695, 0.0))
    session = Session(world, Contact(4000.0, 30.0, mode="penalty"), TABLE_4_1, rate=1000.0,
                      local=LocalModel(age_limit=0.1))  # fmt: skip
    ready = session.prepare(Constant((0.0, -2.0)), 1000.0, 4096)
    engine = session.play_engine(ready)
    advance(ready, None, 0, 400, engine)
    rows = ready.servo.ring
    assert rows["environment_wrench"][399, 1] > 1.0
    advance(ready, None, 400, 300)  # the engine is dead
    age, force = rows["age"][400:700], rows["environment_wrench"][400:700, 1]
    limit = int(np.nonzero(age > 0.1)[0][0])
    assert (force[:limit] > 1.0).all()
    assert np.abs(force[limit + 20 :]).max() == 0.0
    assert rows["trust"][699] == 0.0
    advance(ready, None, 700, 300, engine)
    returned, speed = rows["environment_wrench"][699:1000, 1], rows["tool_twist"][699:1000, 1]
    assert rows["trust"][999] == 1.0
    natural = 8000.0 * np.abs(speed).max() * 0.001 + 60.0 * np.abs(np.diff(speed)).max()
    assert np.abs(np.diff(returned)).max() < natural + 2.0  # and the slew limit, 2 N a tick


@pytest.mark.parametrize("wall", ["zoh", "seh", "pi", "pulse", "hysteretic"])
def test_every_wall_fades(wall: str) -> None:
    world = World.builtin("corner").placed((0.0, -0.0695, 0.0))
    contact = Contact(4000.0, 30.0, wall=Wall(wall))
    session = Session(world, contact, TABLE_4_1, rate=1000.0, local=LocalModel(age_limit=0.05))
    ready = session.prepare(Constant((0.0, -2.0)), 1000.0, 4096)
    advance(ready, None, 0, 400, session.play_engine(ready))
    assert ready.servo.ring["environment_wrench"][:400, 1].max() > 1.0
    advance(ready, None, 400, 200)
    assert not ready.servo.ring["environment_wrench"][500:600].any()


@pytest.mark.parametrize("mode", ["penalty", "impulse"])
def test_a_returning_wall_is_no_catapult(mode: str) -> None:
    """The tool sank in while the engine was dead; the wall comes back unloaded."""
    world = World.builtin("corner").placed((0.0, -0.0695, 0.0))
    contact = Contact(4000.0, 30.0, mode=mode)
    session = Session(world, contact, TABLE_4_1, rate=1000.0, local=LocalModel(age_limit=0.1))
    ready = session.prepare(Constant((0.0, -2.0)), 1000.0, 4096)
    engine = session.play_engine(ready)
    advance(ready, None, 0, 300, engine)
    advance(ready, None, 300, 400)
    advance(ready, None, 700, 1500, engine)
    rows = ready.servo.ring
    sunk = -0.0695 - rows["tool_position"][699, 1]
    assert sunk > 0.02
    brought = rows["tool_energy"][699] + 2.0 * sunk  # the hand pushes with 2 N
    assert rows["tool_energy"][700:2200].max() < brought
    assert np.abs(rows["environment_wrench"][700:2200, 1]).max() < 50.0


def test_frozen_is_exact_while_nothing_turns() -> None:
    """M25: D̂ of the last update is D for a body that only slides."""
    exact = corner(LocalModel(epsilon=0.02)).run(1.5, PUSH)
    frozen = corner(LocalModel(epsilon=0.02, frozen=True)).run(1.5, PUSH)
    np.testing.assert_allclose(frozen["device_position"], exact["device_position"], atol=1e-9)


@pytest.mark.parametrize("engine", ["mujoco", "bullet"])
def test_a_free_block_accelerates_as_one_with_the_tool(engine: str) -> None:
    """B4: F/(m₁ + m₂), though the engine looks only sixty times a second."""
    if engine == "bullet":
        pytest.importorskip("pybullet")
    world = World.from_string(BLOCK, tool="peg")
    session = Session(world, CONTACT, TABLE_4_1, rate=1000.0, engine=engine,
                      local=LocalModel(constraints="inertial"))  # fmt: skip
    trace = session.run(2.0, Constant((0.4, 0.0)))
    late = trace["time"] > 1.2
    slope = np.polyfit(trace["time"][late], trace["device_twist"][late, 0], 1)[0]
    assert slope == pytest.approx(0.4 / 4.0, rel=0.01)
    assert (trace["contacts"][late] > 0).all()


RESISTING = {
    "damped": ('damping="10"', 1.0, 0.004),
    "rubbing": ('frictionloss="3"', 2.0, 0.002),
    "sprung": ('stiffness="20"', 1.0, 0.004),
}


@pytest.mark.parametrize("kind", RESISTING)
def test_the_tool_does_not_sink_into_what_resists(kind: str) -> None:
    """B4: between updates an object gives way as its mass does, but not through its joint."""
    joint, force, most = RESISTING[kind]
    slide = f'<joint type="slide" axis="1 0 0" {joint}/>'
    body = '<inertial pos="0 0 0" mass="2" diaginertia=".005 .005 .005"/>'
    world = World.from_string(
        scene(
            f'<body name="peg">{PLANAR}<geom type="box" size=".02 .02 .01" friction="0"/></body>'
            f'<body name="block" pos=".041 0 0">{slide}{body}'
            '<geom type="box" size=".02 .02 .01" friction="0"/></body>',
            'gravity="0 0 0" timestep="0.002"',
        ),
        tool="peg",
    )
    session = Session(world, CONTACT, TABLE_4_1, rate=1000.0, outside="hold",
                      local=LocalModel(constraints="inertial"))  # fmt: skip
    ready = session.prepare(Constant((force, 0.0)), 1000.0, 8192)
    engine = session.play_engine(ready)
    advance(ready, None, 0, 3000, engine)
    block = float(engine._frames.engine.data.qpos[3])
    tool = float(ready.servo.ring["tool_position"][2999, 0])
    speed = abs(float(ready.servo.ring["tool_twist"][2999, 0]))
    assert tool - (0.001 + block) < most + speed * 2.0 / 60.0


def test_a_touched_object_does_not_switch_collisions_off() -> None:
    """The peg falls on the floor while its side touches a block that stands there."""
    world = World.from_string(
        scene(
            '<geom type="plane" size="1 1 .1" pos="0 -.05 0" zaxis="0 1 0"/>'
            f'<body name="peg">{PLANAR}<geom type="box" size=".02 .02 .01"/></body>'
            f'<body name="block" pos=".03999 -.03 0">{PLANAR}'
            '<geom type="box" size=".02 .02 .01"/></body>'
        ),
        tool="peg",
    ).placed((0.0,) * 6, (0.0, -0.3, 0.0, 0.0, 0.0, 0.0))
    session = Session(world, CONTACT, TABLE_4_1, rate=1000.0,
                      local=LocalModel(epsilon=0.02, constraints="inertial"))  # fmt: skip
    trace = session.run(0.3)
    assert -0.03 - trace["tool_position"][:, 1].min() < 5e-4


@pytest.mark.parametrize("strategy", ["full", "scale", "spread"])
def test_limits_of_the_device_keep_momentum(strategy: str) -> None:
    """What the device cannot render, the object does not get either."""
    world = World.from_string(BLOCK, tool="peg").placed((0.0,) * 6, (0.3, 0, 0, 0, 0, 0))
    contact = Contact(4000.0, 30.0, strategy=strategy)
    coupling = FourChannel(stiffness=0.0, damping=0.0, topology=None)
    session = Session(world, contact, coupling, Inertial(limits=(5.0, 5.0, 1.0)), rate=1000.0,
                      local=LocalModel(constraints="inertial"))  # fmt: skip
    ready = session.prepare(None, 1000.0, 4096)
    engine = session.play_engine(ready)
    advance(ready, None, 0, 1000, engine)
    block = 2.0 * float(engine._frames.engine.data.qvel[3])
    tool = 2.0 * float(ready.servo.ring["tool_twist"][999, 0])
    assert block > 0.05
    assert block + tool == pytest.approx(0.6, rel=0.02)


def test_inertial_constraints_bounce_less_than_kinematic_ones() -> None:
    world = World.from_string(BLOCK, tool="peg")
    losses = {}
    for kind in ("kinematic", "inertial"):
        session = Session(world, CONTACT, TABLE_4_1, rate=1000.0,
                          local=LocalModel(constraints=kind))  # fmt: skip
        touching = session.run(2.5, Constant((0.4, 0.0)))["contacts"] > 0
        losses[kind] = int((np.diff(touching.astype(int)) == -1).sum())
    assert losses["inertial"] < losses["kinematic"]


class Loud:
    """An engine that reports more walls than fit, or nonsense, or raises."""

    what = "many"

    def __init__(self, task: object) -> None:
        self.task = task

    def advance(self, target: object, seconds: float) -> None:
        if self.what == "lost":
            raise EngineError("lost the world")
        if self.what == "broken":
            raise RuntimeError("a bug of the adapter")

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        poses = np.zeros((2, 7))
        poses[:, 3] = 1.0
        return poses, np.zeros((2, 6))

    def near(self) -> np.ndarray:
        out = np.zeros(100, NEAR)
        out["link"], out["group"] = 1, -1
        out["place"][:, 0] = 0.01 * np.arange(100)
        out["normal"][:, 1] = 1.0
        out["separation"] = 1e-4 * np.arange(100) + 1e-3
        for name in ("stiffness", "damping", "restitution", "friction"):
            out[name] = np.nan
        if self.what == "nan":
            out["place"][3, 1] = np.nan
        return out

    def bodies(self) -> np.ndarray:
        return self.links()[0]


def loud(what: str) -> type:
    return type("Loud", (Loud,), {"what": what})


def run_loud(what: str) -> object:
    world = World.from_string(WALLS, tool="peg")
    session = Session(world, CONTACT, TABLE_4_1, engine=loud(what), local=LocalModel(epsilon=1.0))
    return session.run(0.3, Constant((0.0, -0.1)))


def test_more_constraints_than_fit_keeps_the_nearest() -> None:
    trace = run_loud("many")
    assert trace["local"].max() == 64
    assert trace["dropped"].max() == 36


def test_a_diverged_engine_is_not_believed() -> None:
    trace = run_loud("lost")
    assert trace["local"].max() == 0
    assert trace["age"][-1] > 0.25 and trace["trust"][-1] < 1.0


def test_a_pace_is_nothing_without_a_local_model() -> None:
    with pytest.raises(ParameterError, match=r"pace = Pace.*left out without local=LocalModel"):
        Session(World.builtin("corner"), pace=Pace(0.02))


def test_a_raising_engine_raises() -> None:
    with pytest.raises(RuntimeError, match="bug of the adapter"):
        run_loud("broken")


def test_nan_of_an_engine_is_not_rendered() -> None:
    trace = run_loud("nan")
    assert trace["local"].max() == 0 and trace["trust"][-1] < 1.0
    assert any("place" in note for note in trace.meta["notes"])


def test_wrong_sessions_are_refused() -> None:
    world = World.from_string(WALLS, tool="peg")
    with pytest.raises(UnknownNameError, match="vortex"):
        Session(world, local=LocalModel(), engine="vortex")
    with pytest.raises(ParameterError, match="advance"):
        Session(world, local=LocalModel(), engine=dict)
    with pytest.raises(ParameterError, match="rigid"):
        Session(world, Contact(mode="rigid"), local=LocalModel())
    with pytest.raises(ParameterError, match="frozen"):
        Session(world, local=LocalModel(), frozen=0.1)
    with pytest.raises(ParameterError, match="loss"):
        Pace(loss=1.5)


def test_intent_finds_a_wall_that_epsilon_misses_with_less_data() -> None:
    """B5: at 0.4 m/s and 20 ms, ε = 5 mm is late; looking ahead is not, and sends no more."""
    world = World.from_string(WALLS, tool="peg").placed((0, 0, 0), (0, -0.4, 0))
    floor, felt, sent = -0.05 + 0.0105, {}, {}
    for name, local in {
        "epsilon": LocalModel(epsilon=0.005, heal=False),
        "intent": LocalModel(epsilon=0.001, horizon=0.06, heal=False),
    }.items():
        session = Session(world, CONTACT, TABLE_4_1, rate=1000.0, local=local, pace=Pace(0.02))
        trace = session.run(0.6)
        felt[name] = floor - trace["tool_position"][:, 1].min()
        sent[name] = trace["local"].mean()
    assert felt["epsilon"] > 5e-3
    assert felt["intent"] < 1e-3
    assert sent["intent"] <= sent["epsilon"]
